from __future__ import annotations

from functools import cache
from itertools import product as pairs
from typing import Any

import numpy as np
import pytest
from tests.automaton.reference import explicit_bounds

import recurl
from recurl.automaton import (
    LabelledMDP,
    Machine,
    Move,
    gridworld,
    product,
    read_reward_machine,
    rule,
)
from recurl.errors import LimitError, ModelError

MAPS = ["S.a/b.c", "S..a/.#../b..c", "a.S.b/.###./..c..", "Sa/bc"]
TASKS = {
    "one": "0\n[1]\n(0,0,'!a',ConstantRewardFunction(0))\n(0,1,'a',ConstantRewardFunction(1))",
    "sequence": """0 # initial
        [3]
        (0,0,'!a',ConstantRewardFunction(-0.1))
        (0,1,'a',ConstantRewardFunction(0.5))
        (1,1,'!b&!c',ConstantRewardFunction(0))
        (1,2,'b',ConstantRewardFunction(0))
        (1,3,'c&!b',ConstantRewardFunction(0.2))
        (2,2,'!c',ConstantRewardFunction(0))
        (2,3,'c',ConstantRewardFunction(2))""",
    "patrol": """0
        []
        (0,0,'!b',ConstantRewardFunction(0))
        (0,1,'b',ConstantRewardFunction(1))
        (1,1,'!c|a',ConstantRewardFunction(0))
        (1,0,'c&!a',ConstantRewardFunction(1))""",
}


def plain_value(mdp: LabelledMDP, machine: Machine) -> float:
    """Value iteration on (state, machine state), with the published rules of a step."""
    states = [q for q in machine.states if q not in machine.final]
    x = {(s, q): 0.0 for s in range(len(mdp.states)) for q in states}

    @cache
    def rules(q: str, label: int) -> list[Any]:
        labels = mdp.label_sets[label]
        return [r for r in machine.rules if r.source == q and r.guard.holds(labels)]  # type: ignore[union-attr]

    def worth(s: int, q: str, a: int) -> float:
        total = 0.0
        for t in range(mdp.transition_start[a], mdp.transition_start[a + 1]):
            found = rules(q, int(mdp.label[t]))
            paid = float(mdp.reward_values[mdp.reward[t]])
            after = 0.0
            if found:
                paid += float(found[0].reward)
                after = x.get((int(mdp.target[t]), found[0].target), 0.0)
            total += float(mdp.prob_values[mdp.prob[t]]) * (paid + (0 if mdp.ends[t] else after))
        return total

    for _ in range(400):
        before = dict(x)
        for s, q in x:
            actions = range(mdp.action_start[s], mdp.action_start[s + 1])
            x[s, q] = max(worth(s, q, a) for a in actions)
        if all(abs(value - before[key]) < 1e-13 for key, value in x.items()):
            break
    return sum(float(p) * x[s, machine.start] for s, p in enumerate(mdp.start))


@pytest.mark.parametrize(("layout", "task"), list(pairs(MAPS, TASKS)))
def test_a_regular_machine_has_the_value_of_the_plain_product(layout: str, task: str) -> None:
    mdp = gridworld(layout, slip="1/5", breakdown="1/10")
    machine = read_reward_machine(TASKS[task])
    model = product(mdp, machine)
    solution = recurl.solve(model)
    assert model.tables.n_components == 1
    assert solution.gap <= 1e-6
    assert solution.value == pytest.approx(plain_value(mdp, machine), abs=1e-6)


def random_world(seed: int) -> LabelledMDP:
    """Three states, two actions, labels a, b or none, and a breakdown of 0.6 per step."""
    rng = np.random.default_rng(seed)

    def step(state: int, action: str) -> list[Move]:
        ends = rng.integers(0, 3, 2)
        label = [[], ["a"], ["b"]]
        return [
            Move(int(end), "1/2", int(rng.integers(-2, 3)), label[int(rng.integers(3))])
            for end in ends
        ]

    world = LabelledMDP.explore("random", {0: "1/2", 1: "1/4", 2: "1/4"},
                                lambda s: ["x", "y"], step)  # fmt: skip
    return world.with_breakdown("3/5")


MACHINES = [
    Machine("push", [
        rule("p", "a", "p", push="A _", reward=1),
        rule("p", "b", "q", top="A", push="", reward=-1),
        rule("q", "b", "p", top="A", push="", reward=2),
        rule("q", "a", "q", top="A", push="B"),
        rule("q", "b", "p", top="B", push="A A B"),
        rule("q", "a", "end", top="B", reward=3),
        rule("q", "else", "p", top="bottom", reward=-1),
    ], final="end", exclusive=["ab"]),
    Machine("long", [
        rule("p", "a", "p", push="A B _"),
        rule("p", "b", "p", top="A", push="", reward=1),
        rule("p", "b", "p", top="B", push="", reward=-2),
        rule("p", "b", "end", top="bottom"),
    ], stack="A A bottom", final="end", exclusive=["ab"]),
    Machine("choices", [
        rule("p", "a", "p", push="A _", choice="push"),
        rule("p", "a", "q", reward=1, choice="turn"),
        rule("p", "b", "p", reward=-1),
        rule("q", "b", "q", top="A", push="", reward=3),
        rule("q", None, "p", top="bottom", choice="again"),
        rule("q", None, "end", top="bottom", choice="stop"),
    ], final="end", exclusive=["ab"]),
]  # fmt: skip


@pytest.mark.parametrize(("machine", "seed"), list(pairs(range(3), range(3))))
def test_a_pushdown_machine_has_the_value_of_explicit_stacks(machine: int, seed: int) -> None:
    world, watched = random_world(seed), MACHINES[machine]
    model = product(world, watched)
    solution = recurl.solve(model, epsilon=1e-6)
    # A step pays at most 2 of the world's and 3 of the machine's, and each is the last with 3/5.
    low, high = explicit_bounds(world, watched, 15, rest=5 * 5 / 3)
    assert high - low < 1e-4
    assert solution.gap <= 1e-6
    assert low - 1e-6 <= solution.value <= high + 1e-6
    assert not model.warnings


def test_only_exits_that_can_be_reached_exist() -> None:
    # A is pushed at the west end and popped at the east end only.
    mdp = gridworld("a..b", breakdown="1/10")
    machine = Machine(
        "ends",
        [rule("p", "a", "p", push="A _"), rule("p", "b", "p", top="A", push="", reward=1)],
        exclusive=["ab"],
    )
    model = product(mdp, machine)
    assert model.tables.n_exits.tolist() == [1, 2]
    assert [model.local_name(model.find(name)) for name in ("A.r0c3", "A.over")] == ["r0c3", "over"]
    assert model.tables.n_entries.tolist() == [4, 1]


def test_labels_that_the_process_lacks_and_limits() -> None:
    mdp = gridworld("S.apple".replace("apple", "a"))
    with pytest.raises(ModelError, match="the process does not have it"):
        product(mdp, Machine("m", [rule("p", "aa", "p")]))
    with pytest.raises(LimitError, match="more than 2 states"):
        product(mdp, Machine("m", [rule("p", "a", "p")]), limit=2)
    clash = Machine("m", [rule("p", "a", "p"), rule("p", "east", "p", push="A _")],
                    exclusive=[["a", "east"]])  # fmt: skip
    with pytest.raises(ModelError, match="fit the labels a, east"):
        product(mdp, clash)


def test_exact_numbers_survive() -> None:
    mdp = gridworld("S.", breakdown="1/3", step_reward="0.1")
    model = product(mdp, Machine("m", [rule("p", "east", "p", reward="1/7")]))
    rewards = {model.exact.reward(t) for t in range(model.tables.n_transitions)}
    assert recurl.model.numbers.exact("1/7") + recurl.model.numbers.exact("0.1") in rewards
    for a in range(model.tables.n_actions):
        row = range(model.tables.transition_start[a], model.tables.transition_start[a + 1])
        assert sum(model.exact.prob(t) for t in row) == 1
    assert recurl.loads(recurl.dumps(model)) == model


def test_a_large_product_is_built() -> None:
    mdp = gridworld("/".join(["." * 27] * 27), stays={"special": ""}, replaced={"special": "0.01"})
    moves = ["north", "east", "south", "west"]
    rules = [rule("out", m, "out", push=f"{m} _") for m in moves]
    rules += [rule("out", "special", "back"), rule("back", "True", "end", top="bottom")]
    rules += [rule("back", m, "back", top=m, push="") for m in moves]
    rules += [rule("back", "else", "wrong", top=m, push="") for m in moves]
    rules += [rule("wrong", "True", "wrong", top=m, push="") for m in moves]
    rules += [rule("wrong", "True", "end", top="bottom")]
    machine = Machine("large", rules, final="end", exclusive=[[*moves, "special"]])
    assert product(mdp, machine).tables.n_vertices > 50_000
