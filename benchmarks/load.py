"""How long large models take: from arrays, and from documents.

    python benchmarks/load.py [rounds]

Builds 1e6 vertices with 4e6 transitions from arrays, and writes and reads 1e5 vertices (two actions
of two transitions each, all numbers different) as YAML and JSON. Prints the best of some rounds.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import recurl

# Local numbers: entry 0, exit 1, other nodes 2 to 97, call port 98, return port 99.
VERTICES, EXIT, CALL = 100, 1, 98
STATES = [v for v in range(VERTICES) if v not in (EXIT, CALL)]
CHOICES = 2


def layout(components: int) -> recurl.Layout:
    """Components of a hundred vertices, each with a box that calls some component."""
    ones, owner = np.ones(components, np.int64), np.arange(components)
    callee = np.random.default_rng(0).integers(0, components, components)
    nodes = ones * (CALL - 2)
    return recurl.Layout.of(ones, ones, nodes, box_owner=owner, box_component=callee)


def arrays(components: int) -> dict[str, Any]:
    """Two actions for each state, each with two transitions within the component."""
    random = np.random.default_rng(1)
    local = np.full(VERTICES, CHOICES)
    local[[EXIT, CALL]] = 0
    actions = components * len(STATES) * CHOICES
    first = random.random(actions)
    component = np.repeat(np.arange(components), len(STATES) * CHOICES * 2)
    return {
        "action_start": np.concatenate([[0], np.cumsum(np.tile(local, components))]),
        "transition_start": np.arange(0, 2 * actions + 1, 2),
        "target": component * VERTICES + random.integers(EXIT, CALL + 1, 2 * actions),
        "prob": np.stack([first, 1 - first], axis=1).ravel(),
        "reward": np.repeat(random.normal(size=actions), 2),
    }


def best(rounds: int, job: Callable[[], object]) -> float:
    """Least seconds of some rounds."""
    seconds = []
    for _ in range(rounds):
        begin = time.perf_counter()
        job()
        seconds.append(time.perf_counter() - begin)
    return min(seconds)


def build_row(rounds: int) -> str:
    components = 10_205
    shape, given = layout(components), arrays(components)
    seconds = best(rounds, lambda: recurl.RMDP.from_arrays(shape, **given))
    size = f"{shape.n_vertices:,} vertices, {len(given['target']):,} transitions"
    return f"from arrays  {size:44} {seconds:6.2f} s"


def document_rows(rounds: int, folder: Path) -> list[str]:
    model = recurl.RMDP.from_arrays(layout(1_000), **arrays(1_000))
    t = model.tables
    size = f"{t.n_vertices:,} vertices, {t.n_transitions:,} transitions"
    rows = []
    for format in ("yaml", "json"):
        path = folder / f"model.{format}"
        write = best(1, partial(recurl.dump, model, path))
        read = best(rounds, partial(recurl.load, path))
        assert recurl.load(path) == model
        megabytes = path.stat().st_size / 1e6
        rows.append(f"dump {format:7} {size:44} {write:6.2f} s  ({megabytes:.0f} MB)")
        rows.append(f"load {format:7} {size:44} {read:6.2f} s")
    return rows


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    print(build_row(rounds))
    with tempfile.TemporaryDirectory() as folder:
        print("\n".join(document_rows(rounds, Path(folder))))


if __name__ == "__main__":
    main()
