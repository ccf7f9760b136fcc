from __future__ import annotations

import numpy as np
import pytest
from gymnasium.envs.toy_text.taxi import TaxiEnv
from tests.zoo.reference import solved

from recurl import zoo


def best_by_count(breakdown: float, fine: float, most: int = 6) -> float:
    """The rules once more: value iteration over (state, tickets) on Gymnasium's own table."""
    env = TaxiEnv()
    first = env.encode(2, 2, 1, 3)
    keys = [(s, n) for s in range(500) if s % 4 == 3 for n in range(most + 1)]
    place = {key: i for i, key in enumerate(keys)}
    paid = np.zeros((len(keys), 6))
    then = np.full(paid.shape, len(keys))  # one more, which is worth 0: the end
    for (s, n), i in place.items():
        for a in range(6):
            ((_, t, reward, ends),) = env.P[s][a]
            before, after = list(env.decode(s)), list(env.decode(t))
            tickets = n + (after[:2] == [0, 0] != before[:2])
            ride = after[2] == 4 != before[2]
            arrived = before[2] == 4 and after[2] == after[3]
            refused = (ride or arrived) and n == 0
            paid[i, a] = reward + refused * fine
            if not (refused or ends or arrived):
                then[i, a] = place[t, min(tickets - ride, most)]
    x = np.zeros(len(keys) + 1)
    for _ in range(3000):
        x[:-1] = (1 - breakdown) * (paid + x[then]).max(axis=1)
    return float(x[place[first, 0]])


def test_value_is_that_of_counting_tickets() -> None:
    solution = solved("taxi")
    assert solution.gap <= 1e-6
    assert solution.value == pytest.approx(best_by_count(0.01, -30), abs=1e-5)


def test_wrong_parameters_are_refused() -> None:
    with pytest.raises(ValueError, match="two of 0, 1, 2, 3"):
        zoo.taxi(passenger=2, destination=2)
    with pytest.raises(ValueError, match="a row and a column"):
        zoo.taxi(start=(5, 0))
