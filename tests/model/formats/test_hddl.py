"""HDDL: small domains of our own, solved to plan lengths known by hand, with certificates."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

import recurl
from recurl.errors import DocumentError, LimitError, MissingExtraError

DOMAINS = Path(__file__).parent / "hddl"


@pytest.fixture(autouse=True)
def _planning() -> None:
    pytest.importorskip("unified_planning", reason="needs the extra planning")


def problem(domain: str, objects: str, tasks: str, init: str) -> str:
    return f"""(define (problem p) (:domain {domain}) (:objects {objects})
        (:htn :ordered-subtasks (and {tasks})) (:init {init}))"""


def read(folder: Path, domain: str, text: str, slips: str | None = None) -> recurl.RMDP:
    (folder / "problem.hddl").write_text(text)
    if slips is not None:
        (folder / "slips.txt").write_text(slips)
    return recurl.load(
        DOMAINS / f"{domain}.hddl",
        problem=folder / "problem.hddl",
        slips=None if slips is None else folder / "slips.txt",
    )


def certified(model: recurl.RMDP) -> float:
    """The optimum, proved by its certificate."""
    solution = recurl.solve(model)
    verdict = recurl.verify(model, solution.certificate)
    assert verdict.lower is not None
    assert verdict.upper is not None
    assert verdict.upper - verdict.lower < 1e-5
    return solution.value


def hanoi(n: int) -> str:
    discs = [f"d{i}" for i in range(n)]
    on = " ".join(f"(on {d} a)" for d in discs)
    order = " ".join(f"(smaller {a} {b})" for a, b in pairwise(discs))
    init = f"{on} {order} (smallest d0)"
    return problem(
        "hanoi", f"{' '.join(discs)} - disc a b c - peg", f"(tower d{n - 1} a b c)", init
    )


@pytest.mark.parametrize("n", [1, 3, 4])
def test_hanoi_takes_all_its_moves(tmp_path: Path, n: int) -> None:
    assert certified(read(tmp_path, "hanoi", hanoi(n))) == pytest.approx(1 - 2**n)


def test_hanoi_with_discs_that_slip(tmp_path: Path) -> None:
    """Every move takes 1 / (1 - 1/5) tries in the mean."""
    model = read(tmp_path, "hanoi", hanoi(3), "move 1/5  # of the hand")
    assert certified(model) == pytest.approx(-7 / 0.8)


TRANSPORT = problem(
    "transport",
    "a b c - place p q - package",
    "(deliver p c) (deliver q a)",
    "(road a b) (road b c) (road b a) (road c b) (truck a) (at p b) (at q c)",
)


def test_transport_by_the_shortest_way(tmp_path: Path) -> None:
    """To b, load, to c, unload; load, to b and a, unload: 3 drives there and back are 4, with 4."""
    assert certified(read(tmp_path, "transport", TRANSPORT)) == pytest.approx(-8)


def test_transport_on_ice(tmp_path: Path) -> None:
    model = read(tmp_path, "transport", TRANSPORT, "drive 1/2")
    assert certified(model) == pytest.approx(-(4 * 2 + 4))


def test_a_walk_goes_over_every_edge_twice(tmp_path: Path) -> None:
    nodes = range(1, 8)
    edges = " ".join(f"(left n{i} n{2 * i}) (right n{i} n{2 * i + 1})" for i in range(1, 4))
    leaves = " ".join(f"(leaf n{i})" for i in range(4, 8))
    names = " ".join(f"n{i}" for i in nodes)
    text = problem("walk", f"{names} - node", "(visit n1)", f"(at n1) {edges} {leaves}")
    assert certified(read(tmp_path, "walk", text)) == pytest.approx(-12)


def test_errands_at_the_least_cost(tmp_path: Path) -> None:
    """The near price or 3: min(1, 3) + min(5, 3) + min(2, 3) = 6."""
    text = problem(
        "errands",
        "x y z - thing",
        "(shop x)",
        "(next x y) (next y z) (last z) (= (total-cost) 0) (= (price x) 1) (= (price y) 5) "
        "(= (price z) 2)",
    )
    assert certified(read(tmp_path, "errands", text)) == pytest.approx(-6)


@pytest.mark.parametrize(
    ("change", "slips", "message"),
    [
        (("(deliver p c)", "(deliver p"), None, "unified-planning cannot read it"),
        (("(define", "(" * 5000), None, "unified-planning cannot read it|nested"),
        (("a", "a"), "fly 1/2", "unknown action 'fly'"),
        (("a", "a"), "drive 2", "ACTION PROBABILITY"),
        (("a", "a"), "drive", "ACTION PROBABILITY"),
    ],
)
def test_what_is_wrong_is_one_clear_error(
    tmp_path: Path, change: tuple[str, str], slips: str | None, message: str
) -> None:
    with pytest.raises(DocumentError, match=message):
        read(tmp_path, "transport", TRANSPORT.replace(*change), slips)


def test_exits_that_explode_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = problem(
        "errands",
        "x y z - thing",
        "(shop x)",
        "(next x y) (next y z) (last z) (= (total-cost) 0)",
    )
    monkeypatch.setattr("recurl.model.formats.hddl._MOST_EXITS", 0)
    with pytest.raises(LimitError, match=r"the task .* can end in more than 0 states"):
        read(tmp_path, "errands", text)


def test_a_domain_needs_a_problem_and_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(DocumentError, match="name one: problem=FILE"):
        recurl.load(DOMAINS / "walk.hddl")
    monkeypatch.setitem(__import__("sys").modules, "unified_planning.io", None)
    with pytest.raises(MissingExtraError, match=r"recurl\[planning\]"):
        read(tmp_path, "hanoi", hanoi(1))
