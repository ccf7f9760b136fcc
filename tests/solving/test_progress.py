from __future__ import annotations

import itertools

from recurl.solving.progress import shown

import recurl


def test_intervals_are_passed_on_and_shown() -> None:
    seen: list[tuple[float, float, dict[str, float]]] = []
    with shown("model", lambda *told: seen.append(told)) as watched:
        watched(1.0, 3.0, {"rounds": 1})
        watched(1.5, 2.0, {"rounds": 2})
    assert seen == [(1.0, 3.0, {"rounds": 1}), (1.5, 2.0, {"rounds": 2})]


def test_nobody_need_listen() -> None:
    with shown("model", None) as watched:
        assert watched(0.0, 1.0, {}) is None


def test_certified_intervals_never_widen() -> None:
    seen: list[tuple[float, float]] = []
    solution = recurl.solve(
        recurl.zoo.stack_matters(),
        "certified",
        callback=lambda low, high, work: seen.append((low, high)),
    )
    for before, after in itertools.pairwise(seen):
        assert after[0] >= before[0]
        assert after[1] <= before[1]
    assert solution.lower - 1e-9 <= 43 / 55 <= solution.upper + 1e-9
