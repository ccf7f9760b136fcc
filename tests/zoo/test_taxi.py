from __future__ import annotations

import pytest
from gymnasium.envs.toy_text.taxi import TaxiEnv

import recurl
from recurl import zoo


def best_by_count(breakdown: float, fine: float, most: int = 6) -> float:
    """The rules once more: value iteration over (state, tickets) on Gymnasium's own table."""
    env = TaxiEnv()
    first = env.encode(2, 2, 1, 3)
    x = {(s, n): 0.0 for s in range(500) if s % 4 == 3 for n in range(most + 1)}
    for _ in range(400):
        for s, n in x:
            worth = []
            for a in range(6):
                ((_, t, reward, ends),) = env.P[s][a]
                before, after = list(env.decode(s)), list(env.decode(t))
                tickets, total = n, float(reward)
                if after[:2] == [0, 0] != before[:2]:
                    tickets += 1
                ride = after[2] == 4 != before[2]
                arrived = before[2] == 4 and after[2] == after[3]
                if (ride or arrived) and n == 0:
                    worth.append(total + fine)
                    continue
                tickets -= ride
                worth.append(total + (0.0 if ends or arrived else x[t, min(tickets, most)]))
            x[s, n] = (1 - breakdown) * max(worth)
    return x[first, 0]


def test_value_is_that_of_counting_tickets() -> None:
    solution = recurl.solve(zoo.taxi())
    assert solution.gap <= 1e-6
    assert solution.value == pytest.approx(best_by_count(0.01, -30), abs=1e-5)


def test_wrong_parameters_are_refused() -> None:
    with pytest.raises(ValueError, match="two of 0, 1, 2, 3"):
        zoo.taxi(passenger=2, destination=2)
    with pytest.raises(ValueError, match="a row and a column"):
        zoo.taxi(start=(5, 0))
