from __future__ import annotations

from fractions import Fraction

import gymnasium as gym
import numpy as np
import pytest

import recurl
from recurl.automaton import LabelledMDP, Machine, Move, product, rule
from recurl.errors import LimitError, ModelError

IDLE = Machine("idle", [rule("idle", "False", "idle")])


def chain(p: str = "1/3") -> LabelledMDP:
    def step(state: int, action: str) -> list[Move]:
        rest = 1 - Fraction(p)
        return [Move(state, p, 1, ["stay"]), Move(state + 1, rest, 2, ["go"], state == 1)]

    return LabelledMDP.explore("chain", {0: 1}, lambda state: ["on"], step)


def test_explore_finds_what_can_be_reached() -> None:
    mdp = chain()
    assert mdp.states == ("0", "1")
    assert mdp.labels == ("go", "stay")
    assert [mdp.prob_values[i] for i in mdp.prob[:2]] == [Fraction(1, 3), Fraction(2, 3)]
    assert mdp.ends.tolist()[:4] == [False, False, False, True]


def test_a_process_alone_is_a_model_with_one_component() -> None:
    model = product(chain(), IDLE)
    # Two geometric waits: each pays 1 for every stay (p / (1 - p) = 1/2 of them) and 2 to go on.
    assert recurl.solve(model).value == pytest.approx(5, abs=1e-9)


def test_a_breakdown_ends_every_run() -> None:
    mdp = LabelledMDP.explore("loop", {"s": 1}, lambda s: ["on"], lambda s, a: [Move("s", 1, 1)])
    model = product(mdp.with_breakdown("1/10", reward=-3), IDLE)
    # Nine steps that pay 1 on average before the tenth breaks down.
    assert recurl.solve(model).value == pytest.approx(9 - 3, abs=1e-9)
    with pytest.raises(ValueError, match="breakdown"):
        mdp.with_breakdown(1)


def test_arrays_and_table_agree() -> None:
    p = np.array([[[0.5, 0.5], [0, 1]], [[0, 1], [1, 0]]])
    r = np.array([[1, 0], [0, -1]])
    kwargs = {"labels": lambda s, a, t: [f"x{t}"], "start": {0: 1}, "name": "small"}
    first = LabelledMDP.from_arrays(p, r, ends=[1], **kwargs)  # type: ignore[arg-type]
    table = {
        s: {a: [(p[s, a, t], t, float(r[s, a]), t == 1) for t in (0, 1)] for a in (0, 1)}
        for s in (0, 1)
    }
    second = LabelledMDP.from_table(table, **kwargs)  # type: ignore[arg-type]
    for name in ("target", "prob", "reward", "label", "ends", "action_start", "transition_start"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))
    assert first.label_sets == second.label_sets
    with pytest.raises(ValueError, match="shape"):
        LabelledMDP.from_arrays([[1]], r, **kwargs)  # type: ignore[arg-type]


def test_a_toy_text_has_the_value_of_its_own_table() -> None:
    env = gym.make("FrozenLake-v1")
    mdp = LabelledMDP.from_env(env, lambda s, a, t: []).with_breakdown("0.05")
    table = env.unwrapped.P  # type: ignore[attr-defined]
    x = np.zeros(16)
    for _ in range(2000):
        x = np.array([
            max(sum(p * 0.95 * (r + (0 if d else x[t])) for p, t, r, d in row)
                for row in table[s].values())
            for s in range(16)
        ])  # fmt: skip
    assert recurl.solve(product(mdp, IDLE)).value == pytest.approx(x[0], abs=1e-6)


@pytest.mark.parametrize(
    ("moves", "message"),
    [
        ([Move(0, "1/2")], "sum to 0.5"),
        ([Move(0, -1), Move(0, 2)], "not in"),
        ([Move(0, 1, "x")], "reward"),
        ([], "leads nowhere"),
    ],
)
def test_bad_moves_are_refused(moves: list[Move], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        LabelledMDP("bad", [{"a": moves}], {0: 1}, states=["s"])


def test_too_many_states_are_refused() -> None:
    with pytest.raises(LimitError, match="more than 10 states"):
        LabelledMDP.explore("n", {0: 1}, lambda s: ["on"], lambda s, a: [Move(s + 1)], limit=10)


def test_bad_states_and_starts_are_refused() -> None:
    with pytest.raises(ModelError, match="has no action"):
        LabelledMDP("bad", [{}], {0: 1}, states=["s"])
    with pytest.raises(ModelError, match="not a usable name"):
        LabelledMDP("bad", [{"a": [Move(0)]}], {0: 1}, states=["s.t"])
    with pytest.raises(ModelError, match="start"):
        LabelledMDP("bad", [{"a": [Move(0)]}], {3: 1}, states=["s"])
    with pytest.raises(ModelError, match="shows no transition table"):
        LabelledMDP.from_env(gym.make("CartPole-v1"), lambda s, a, t: [])
