from __future__ import annotations

import numpy as np
import pytest

from recurl.env.protocol import check_recursive_env
from recurl.zoo.bracket_writing import CLOSED, END, OPENED, READ, BracketWriting


@pytest.mark.parametrize("depth", [1, 12])
def test_it_keeps_the_recursive_protocol(depth: int) -> None:
    check_recursive_env(BracketWriting(depth))


def oracle_return(env: BracketWriting, seed: int) -> float:
    """What a writer earns who remembers how each bracket looked."""
    seen, _ = env.reset(seed=seed)
    kinds: list[int] = []
    total, over = 0.0, False
    while not over:
        phase = int(seen[9:13].argmax())
        if phase == OPENED:
            kinds.append(int(seen[:3].argmax()))
        action = kinds.pop() if phase == END else READ
        seen, reward, over, _, _ = env.step(action)
        total += reward
    return total


@pytest.mark.parametrize(("depth", "reward"), [(3, 1.0), (12, 0.01)])
def test_the_oracle_is_what_a_writer_with_a_memory_earns(depth: int, reward: float) -> None:
    env = BracketWriting(depth, reward=reward)
    found = [oracle_return(env, seed) for seed in range(400)]
    error = np.std(found) / 20
    assert abs(np.mean(found) - env.oracle) < 4 * error + 0.01 * env.oracle
    assert env.oracle == pytest.approx(1.5 * depth * reward)


def test_wrong_brackets_and_actions_that_do_not_fit_cost() -> None:
    env = BracketWriting(1, noise=0.0, reward=2.0)
    env.reset(seed=0)
    same, reward, *_ = env.step(0)
    assert reward == -2
    opened, *_ = env.step(READ)
    kind = int(opened[:3].argmax())
    assert opened[9:13].argmax() == OPENED
    inside, _, _, _, info = env.step(READ)
    assert info["event"] == "call"
    assert not inside[:9].any()
    env.step(READ)
    wrong = (kind + 1) % 3
    back, reward, _, _, info = env.step(wrong)
    assert (info["event"], info["exit"], reward) == ("return", wrong, 0)
    assert back[9:13].argmax() == CLOSED
    assert env.step(READ)[1] == -2
    assert same.shape == (16,)
