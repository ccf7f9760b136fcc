from __future__ import annotations

import pytest

import recurl
from recurl import zoo


def test_the_value_on_a_line_of_offices() -> None:
    # On OCM all ways are forced: w steps of worth -c each, survival s per step.
    solution = recurl.solve(zoo.office("OCM", asked="0.3"), epsilon=1e-7)
    reference = value_by_errands("OCM", 0.3, 0.01, 10, -0.2)
    assert solution.value == pytest.approx(reference, abs=1e-6)


def value_by_errands(layout: str, asked: float, broken: float, prize: float, cost: float) -> float:
    """Value iteration over (cell, stack of errands), a row of cells, stacks up to 21."""
    stacks = ["CM" * 12, "MC" * 12]
    states = {(x, "") for x in range(len(layout))}
    states |= {
        (x, text[:n][::-1]) for x in range(len(layout)) for text in stacks for n in range(1, 22)
    }
    states = {(x, s) for x, s in states if not s or s[-1] == "C"}
    value = dict.fromkeys(states, 0.0)
    for _ in range(3000):
        change = 0.0
        for x, stack in states:
            best = -1e9
            for there in (max(x - 1, 0), min(x + 1, len(layout) - 1), x):
                letter = layout[there]
                if stack and letter == stack[0]:
                    other = "M" if letter == "C" else "C"
                    more = value.get((there, other + stack), 0.0)
                    after = asked * more + (1 - asked) * value[there, stack[1:]]
                elif not stack and letter == "O":
                    after = prize
                else:
                    after = value[there, stack]
                best = max(best, cost + (1 - broken) * after)
            change = max(change, abs(best - value[x, stack]))
            value[x, stack] = best
        if change < 1e-12:
            break
    return value[layout.index("O"), "C"]


def test_the_default_is_certified() -> None:
    solution = recurl.solve(zoo.office())
    assert solution.gap <= 1e-6
    assert solution.value == pytest.approx(5.231738, abs=1e-5)


def test_wrong_maps_are_refused() -> None:
    with pytest.raises(ValueError, match="one O, a C and an M"):
        zoo.office("O.C")
