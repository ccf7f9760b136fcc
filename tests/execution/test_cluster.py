"""Pieces on a real Ray cluster of two nodes, one of which dies and comes back."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from tests.execution import works

import recurl
from recurl.errors import MissingExtraError
from recurl.execution.pieces import Observer, PieceCounts, PieceOutcome, run_pieces
from recurl.execution.store import Store
from recurl.experiment.paper import paper_experiments
from recurl.experiment.record import Record
from recurl.experiment.run import Watch, run_experiments
from recurl.experiment.search import read_search
from recurl.experiment.settings import Run
from recurl.experiment.tune import Tuned, TuneWatch, tune

pytest.importorskip("ray", reason="needs the extra 'ray'")

# Ray forks to start its processes; jax, which other tests may have loaded, warns of every fork.
pytestmark = pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning")


@pytest.fixture(scope="module")
def nodes():
    from tests.execution.nodes import two_nodes

    with two_nodes() as found:
        yield found


class Watching(Observer):
    def __init__(self, then: Callable[[int], None] = lambda done: None) -> None:
        self.counts: list[PieceCounts] = []
        self._then = then

    def count(self, counts: PieceCounts) -> None:
        self.counts.append(counts)

    def report(self, piece: int, done: int, latest: float) -> None:
        self._then(done)


def test_a_module_that_the_cluster_does_not_find_is_named(
    nodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "only_here.py").write_text("def work(shared, item, link):\n    return item\n")
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    (found,) = run_pieces(importlib.import_module("only_here").work, [1], on="ray")
    assert "the machines of the cluster cannot import only_here" in found.error
    assert "Traceback" not in found.error


def test_pieces_are_pulled_and_fail_as_on_other_engines(nodes) -> None:
    watching = Watching()
    found = run_pieces(works.fail_on_odd, range(8), on="ray", observer=watching)
    assert [outcome.result for outcome in found] == [0, None, 2, None, 4, None, 6, None]
    assert "ValueError: 3 is odd" in found[3].error
    first = watching.counts[0]
    assert (first.engine, first.slots, first.running, first.waiting) == ("ray", 2, 2, 6)


def test_many_seeds_are_the_same_as_here(nodes) -> None:
    model, settings = recurl.zoo.cloud(), {"episode_limit": 200}
    there = recurl.learn_many(model, 2, 2_000, on="ray", **settings)
    here = recurl.learn_many(model, 2, 2_000, **settings)
    assert [one.to_bytes() for one in there] == [one.to_bytes() for one in here]


def test_an_interrupt_lets_pieces_save_themselves(nodes, tmp_path: Path) -> None:
    store = Store(tmp_path)

    def press(done: int) -> None:
        if store.read("0.count"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_pieces(
            works.count_up, [0, 1], shared=(store, 10_000), on="ray", observer=Watching(press)
        )
    reached = int(store.read("0.count") or 0)
    (found, _) = run_pieces(works.count_up, [0, 1], shared=(store, reached + 5), on="ray")
    assert found.result == reached + 5
    first, second = map(int, (store.read("0.begun") or b"").split())
    # On a busy machine a piece that is given up may count once more before it ends.
    assert (first, second >= reached) == (0, True)


class Replacing(Observer):
    """Kills a node after the first piece, and adds another one; more pieces until that has one."""

    def __init__(self, nodes) -> None:
        self._nodes, self._ended, self._used = nodes, 0, False

    def end(self, outcome: PieceOutcome) -> list[int]:
        self._ended += 1
        if self._ended == 1:
            self._nodes.kill()
            self._nodes.add()
        self._used |= outcome.result == self._nodes.second
        return [0] if not self._used and self._ended < 200 else []


def test_an_added_node_gets_pieces(nodes) -> None:
    found = run_pieces(works.node_of, range(4), on="ray", observer=Replacing(nodes))
    assert not any(outcome.failed for outcome in found)
    assert nodes.second in {outcome.result for outcome in found}


class KillingOnce(Watch):
    """Kills a node when both runs that go on have a checkpoint, or when two runs were quicker."""

    def __init__(self, nodes, out: Path) -> None:
        self._nodes, self._out = nodes, out
        self.done_at_kill: int | None = None

    def count(self, counts: PieceCounts) -> None:
        self._done = counts.done
        self._kill(counts.done >= 2)

    def advance(self, run: Run, steps: int, latest: float) -> None:
        self._kill(len(list(self._out.rglob("*.partial"))) >= 2)

    def _kill(self, now: bool) -> None:
        if now and self.done_at_kill is None:
            self.done_at_kill = self._done
            self._nodes.kill()


def test_a_reproduction_survives_the_death_of_a_node(nodes, tmp_path: Path) -> None:
    cloud = paper_experiments(seeds=3)["cloud"]
    cloud = msgspec.structs.replace(cloud, methods=cloud.methods[:2], steps=150_000)
    watch = KillingOnce(nodes, tmp_path / "there")
    there = run_experiments([cloud], tmp_path / "there", on="ray", watch=watch, save_every=0.1)
    assert watch.done_at_kill is not None
    assert watch.done_at_kill < len(there)
    here = run_experiments([cloud], tmp_path / "here")
    assert [same(record) for record in there] == [same(record) for record in here]
    assert not any(record.failed for record in there)
    assert files(tmp_path / "there") == files(tmp_path / "here")


def same(record: Record) -> Record:
    """A record without what differs between two runs of the same thing."""
    return msgspec.structs.replace(record, started="", seconds=0.0, machine={})


def files(folder: Path) -> dict[str, bytes]:
    """The files of the runs by name; policies with their content.

    Half-written files begin with a dot; that they are removed is tested without a cluster, where
    it is known when a killed process is gone.
    """
    runs = [path for path in (folder / "cloud" / "runs").iterdir() if path.name[0] != "."]
    return {p.name: p.read_bytes() if p.suffix == ".policy" else b"" for p in runs}


class KillingOnceTuning(TuneWatch):
    """Kills a node in the middle of a search."""

    def __init__(self, nodes) -> None:
        self._nodes, self.killed_at = nodes, -1

    def count(self, counts: PieceCounts) -> None:
        if counts.done >= 5 and self.killed_at < 0:
            self.killed_at = counts.done
            self._nodes.kill()


def test_a_search_survives_the_death_of_a_node(nodes, tmp_path: Path) -> None:
    pytest.importorskip("optuna", reason="needs the extra 'tune'")
    nodes.add()
    search = read_search(SEARCH)
    watch = KillingOnceTuning(nodes)
    there = tune(search, tmp_path / "there", on="ray", watch=watch, save_every=0.1)
    assert 5 <= watch.killed_at < 3 * 2 * 4
    here = tune(search, tmp_path / "here")
    assert facts(there) == facts(here)
    assert not there.failures


SEARCH = {
    "models": {"cloud": ""},
    "methods": {"small": {"algorithm": "rql", "preset": "paper"}},
    "settings": {"episode_limit": "200", "evaluate_every": "500"},
    "steps": "20000",
    "seeds": "3",
    "trials": "4",
    "rungs": "2",
    "search": {"learning_rate": {"low": "0.001", "high": "1.0", "log": "true"}},
}


def facts(tuned: Tuned) -> list[tuple[object, ...]]:
    """All that is known of the trials, but for the time."""
    return [
        (one.number, one.state.name, one.params, one.intermediate_values, one.user_attrs)
        for one in tuned.study.trials
    ]


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"recurl\[ray\]"):
        run_pieces(works.square, [1], on="ray")
