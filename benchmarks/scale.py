"""Many pieces on every engine, samples by many workers, and models larger than memory.

    python benchmarks/scale.py pieces [count]     overhead of empty pieces, on every engine
    python benchmarks/scale.py workers            efficiency of two workers, pieces of a second
    python benchmarks/scale.py samples            samples a second of an environment, by workers
    python benchmarks/scale.py model TRANSITIONS [MEMORY [FOLDER]]
                                                  a 1-exit model on disk, solved part by part

Overhead is the time of a call, less that of starting the engine, divided by the pieces. Efficiency
is the wall time of one worker by that of two, divided by two: it needs a machine with nothing else
to do.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

import recurl
from recurl.execution.engine import PieceLink
from recurl.execution.pieces import Session, results_of
from recurl.learn.pac.environment_draws import Draws, draw_outcomes
from recurl.model.table_folder import TYPES, open_tables, write_header
from recurl.model.tables import CALLS, Tables
from recurl.solving.by_components import DEFAULT_MEMORY, solve_large

ENGINES = ("local", "processes", "ray")
WORKERS = 2


def nothing(shared: Any, item: int, link: PieceLink) -> int:
    return item


def busy(seconds: float, item: int, link: PieceLink) -> float:
    """Compute for some seconds of this process's own time; wall time taken."""
    began, end = time.perf_counter(), time.process_time() + seconds
    while time.process_time() < end:
        sum(range(1000))
    return time.perf_counter() - began


def pieces(count: int = 10_000) -> None:
    for engine in ENGINES:
        with Session(nothing, on=engine, workers=None) as session:
            session.run(range(4 * WORKERS))  # processes and nodes have started
            began = time.perf_counter()
            results_of(session.run(range(count)))
            seconds = time.perf_counter() - began
        print(f"{engine:10} {count:,} pieces, {1000 * seconds / count:.3f} ms a piece", flush=True)


def workers(number: int = 20) -> None:
    for engine in ENGINES[1:]:
        alone, _ = _busy(engine, 1, number)
        together, within = _busy(engine, WORKERS, number)
        print(
            f"{engine:10} {number} pieces of a second of computing: {alone:.1f} s by one worker, "
            f"{together:.1f} s by {WORKERS}; efficiency {alone / (WORKERS * together):.3f}, "
            f"{within:.3f} of their time within pieces",
            flush=True,
        )


def _busy(engine: str, many: int, number: int) -> tuple[float, float]:
    """Wall time of some pieces, and the share of the workers' time that is spent within them."""
    with Session(busy, shared=1.0, on=engine, workers=many) as session:
        session.run([0] * 2 * many)
        began = time.perf_counter()
        own = results_of(session.run(range(number)))
        seconds = time.perf_counter() - began
    return seconds, sum(own) / (many * seconds)


def timed_draws(env: Any, draws: Draws, link: PieceLink) -> tuple[int, float]:
    """Number of draws, and the computing that they took."""
    began = time.process_time()
    found = draw_outcomes(env, draws, link)
    return sum(times for *_, times in found), time.process_time() - began


def samples(number: int = 100_000) -> None:
    """Draws of one round of a learner with generative access, the bounds between rounds apart.

    Samples a second of computing of each worker tell how it scales where every worker has a core.
    """
    env = recurl.ModelEnv(recurl.zoo.gambler(p=0.25))
    state, _ = env.reset(seed=0)
    for many in (1, WORKERS):
        with Session(timed_draws, shared=env, on="processes", workers=many) as session:
            session.run([Draws([(state, 0)], [1], [0, worker]) for worker in range(many)])
            parts = [Draws([(state, 0)], [number // many], [1, worker]) for worker in range(many)]
            began = time.perf_counter()
            found = results_of(session.run(parts))
            seconds = time.perf_counter() - began
        total, least = sum(drawn for drawn, _ in found), max(spent for _, spent in found)
        print(
            f"{many} workers: {total / least:,.0f} samples a second of computing, "
            f"{total / seconds:,.0f} a second",
            flush=True,
        )


def large_model(transitions: int, folder: Path) -> None:
    """Write copies of a small model; each calls the one before it now and then."""
    t = recurl.zoo.random_model(seed=1, components=50, nodes=100, kind="one_exit", actions=2).tables
    copies = max(1, round(transitions / t.n_transitions))
    sizes = {name: len(getattr(t, name)) for name in TYPES}
    once = {"component_start": 1, "action_start": 1, "transition_start": 1}
    files = {
        name: np.lib.format.open_memmap(
            folder / f"{name}.npy",
            mode="w+",
            dtype=TYPES[name],
            shape=(copies * (size - once.get(name, 0)) + once.get(name, 0),),
        )
        for name, size in sizes.items()
    }
    random = np.random.default_rng(1)
    for copy in range(copies):
        for name, array in _copy(t, copy, random).items():
            step = sizes[name] - once.get(name, 0)
            files[name][copy * step : copy * step + len(array)] = array
    for file in files.values():
        file.flush()
    write_header(folder, (copies - 1) * t.n_components + t.start_component, t.start_prob.tolist())


def _copy(t: Tables, copy: int, random: np.random.Generator) -> dict[str, np.ndarray]:
    """The arrays of a copy, with other rewards; one box of twenty calls the copy before."""
    offset = {
        "component_start": t.n_vertices,
        "vertex_component": t.n_components,
        "box_owner": t.n_components,
        "box_component": t.n_components,
        "box_call": t.n_vertices,
        "box_return": t.n_vertices,
        "action_start": t.n_actions,
        "action_vertex": t.n_vertices,
        "transition_start": t.n_transitions,
        "target": t.n_vertices,
    }
    found = {name: getattr(t, name) + copy * offset.get(name, 0) for name in TYPES}
    for name in ("vertex_box", "move_box"):
        own = getattr(t, name)
        found[name] = np.where(own >= 0, own + copy * t.n_boxes, -1)
    found["reward"] = t.reward + random.uniform(-0.1, 0.1, t.n_transitions)
    back = (np.arange(t.n_boxes) % 20 == 0) if copy else np.zeros(t.n_boxes, bool)
    found["box_component"] = found["box_component"] - np.where(back, t.n_components, 0)
    calls = t.move == CALLS
    shift = np.where(t.move == 2, 0, copy * t.n_vertices)  # exits land at their index
    shift = shift - np.where(calls & back[t.move_box], t.n_vertices, 0)
    found["landing"] = t.landing + shift
    return found


def model(transitions: float, memory: float = DEFAULT_MEMORY, folder: str | None = None) -> None:
    """Time and peak memory of solving, the model being written beforehand."""
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(folder or temporary)
        place.mkdir(parents=True, exist_ok=True)
        if not (place / "tables.json").is_file():
            large_model(int(transitions), place)
        tables = open_tables(place)
        disk = sum(file.stat().st_size for file in place.iterdir())
        began = time.process_time()
        with OwnMemory() as own:
            found = solve_large(tables, memory=int(memory))
        spent = time.process_time() - began
        print(
            f"{tables.n_transitions:,} transitions, {tables.n_vertices:,} vertices, "
            f"{disk / 1e9:.2f} GB on disk; limit {memory / 1e9:.2f} GB, {found.parts} parts: "
            f"{spent:.1f} s of computing, {found.seconds:.1f} s in all, {own.peak / 1e9:.2f} GB at "
            f"most ({_peak() / 1e9:.2f} GB with mapped pages); optimum in "
            f"[{found.lower:.9f}, {found.upper:.9f}]",
            flush=True,
        )


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0


class OwnMemory:
    """Greatest memory of this process without mapped files, which the limit is about."""

    def __enter__(self) -> OwnMemory:
        self.peak, self._over = 0.0, threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._over.wait(0.02):
            lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
            fields = dict(line.split(":", 1) for line in lines)
            self.peak = max(self.peak, float(fields["RssAnon"].split()[0]) * 1024)


if __name__ == "__main__":
    what, *numbers = sys.argv[1:] or ["pieces"]
    if what == "model":
        size, limit, place = [*numbers, "", ""][:3]
        model(float(size), float(limit or DEFAULT_MEMORY), place or None)
    else:
        {"pieces": pieces, "workers": workers, "samples": samples}[what](*map(int, numbers))
