from __future__ import annotations

import gymnasium as gym
import pytest

import recurl
from recurl import zoo


def best_by_count(breakdown: float, most: int = 30) -> float:
    """The rules once more: value iteration over (cell, open brackets) on Gymnasium's own table."""
    table = gym.make("FrozenLake-v1").unwrapped.P  # type: ignore[attr-defined]
    x = {(s, n): 0.0 for s in range(16) for n in range(most + 1)}
    for _ in range(300):
        before = dict(x)
        for s, n in x:
            worth = []
            for a, row in table[s].items():
                after = n + {1: -1, 2: 1}.get(a, 0)
                total = 0.0
                for p, t, reward, ends in row:
                    if after >= 0 and ends:
                        total += p * reward * (after == 0)
                    elif after >= 0:
                        total += p * x.get((t, after), 0.0)
                worth.append((1 - breakdown) * total)
            x[s, n] = max(worth)
        if all(abs(value - before[key]) < 1e-13 for key, value in x.items()):
            break
    return x[0, 0]


@pytest.mark.parametrize("breakdown", [0.05, 0.2])
def test_value_is_that_of_counting_brackets(breakdown: float) -> None:
    solution = recurl.solve(zoo.frozen_lake(breakdown=breakdown))
    assert solution.gap <= 1e-6
    assert solution.value == pytest.approx(best_by_count(breakdown), abs=1e-5)


def test_a_safe_lake_cannot_go_on_for_ever() -> None:
    with pytest.raises(ValueError, match="breakdown must be in"):
        zoo.frozen_lake(breakdown=0)
