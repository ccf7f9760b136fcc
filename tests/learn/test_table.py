"""The table: growth, its limit, and what it says then."""

from __future__ import annotations

import re

import numpy as np
import pytest

import recurl
from recurl.errors import LimitError
from recurl.learn.contexts_kernel import find
from recurl.learn.table import Table


def test_it_grows_without_losing_anything() -> None:
    table = Table(recurl.zoo.cloud().tables)
    numbers = []
    for i in range(1000):
        table.make_room()
        numbers.append(table.intern(2, np.array([0.0, i * 0.5])))
        table.contexts.q[table.contexts.block[numbers[-1]] + 10] = i
    assert len(set(numbers)) == 1000
    for i, number in enumerate(numbers):
        assert table.intern(2, np.array([0.0, i * 0.5])) == number
        assert table.contexts.q[table.contexts.block[number] + 10] == i
        assert table.exit_values(number).tolist() == [0.0, i * 0.5]


def test_one_exit_models_have_one_context_per_component() -> None:
    learner = recurl.RecursiveQLearning(recurl.zoo.spelunking()).learn(20_000)
    assert learner.engine.n_contexts == 2


def test_the_limit_ends_the_run_with_the_table_intact() -> None:
    model = recurl.zoo.stack_matters()
    learner = recurl.RecursiveQLearning(model, quantum=0.0, memory=200_000)
    with pytest.raises(LimitError, match="contexts") as caught:
        learner.learn(1_000_000)
    steps, contexts = learner.steps, learner.engine.n_contexts
    assert f"{contexts} contexts" in str(caught.value)
    assert learner.engine.table.nbytes <= 200_000  # type: ignore[union-attr]
    assert recurl.evaluate(learner.policy()).value <= 43 / 55
    with pytest.raises(LimitError):
        learner.learn(10)
    assert learner.steps == steps
    quantum = float(re.findall(r"quantum of (\S+)", str(caught.value))[0])
    again = recurl.RecursiveQLearning(model, quantum=quantum, memory=200_000).learn(steps)
    assert again.engine.n_contexts < 0.75 * contexts


def test_values_that_explode_are_reported() -> None:
    builder = recurl.Builder("doubling").component("A", entries="in", exits="out")
    builder.box("b", "A").box("c", "A")
    builder.at("in").action("go", reward=1).to("b", "3/4").to("out", "1/4")
    builder.at("b.out").action("on").to("c").at("c.out").action("up").to("out")
    learner = recurl.RecursiveQLearning(builder.build(), learning_rate=0.2, episode_limit=1000)
    with pytest.raises(LimitError, match="finite"):
        learner.learn(10_000_000)


def test_a_deep_stack_is_no_recursion_error() -> None:
    builder = recurl.Builder("deep").component("A", entries="in", exits="out").box("b", "A")
    builder.at("in").action("go", reward=-1).to("b", "99999/100000").to("out", "1/100000")
    builder.at("b.out").action("up").to("out")
    learner = recurl.RecursiveQLearning(builder.build(), learning_rate=0.001).learn(1_000_000)
    assert len(learner.engine.run.boxes) >= 2**14  # type: ignore[union-attr]
    small = recurl.RecursiveQLearning(builder.build(), memory=20_000)
    with pytest.raises(LimitError, match="calls deep"):
        small.learn(1_000_000)


def test_fill_refuses_what_is_no_table() -> None:
    table = Table(recurl.zoo.cloud().tables)
    twice = np.array([0, 1, 1], np.int32)
    pairs = int(np.diff(table.first_action)[twice].sum())
    with pytest.raises(ValueError, match="twice"):
        table.fill(twice, np.zeros(3), np.zeros(pairs), np.zeros(pairs, np.int64))
    with pytest.raises(ValueError, match="first context"):
        table.fill(twice[1:2], np.zeros(1), np.zeros(3), np.zeros(3, np.int64))


def test_kernels_find_every_context_after_growing() -> None:
    table = Table(recurl.zoo.cloud().tables)
    known: dict[tuple[int, float, float], int] = {(0, 0.0, 0.0): 0}
    for component, *values in np.random.default_rng(0).integers(0, (3, 30, 30), (2000, 3)):
        vector = np.array(values, float) if component == 2 else np.zeros(2)
        table.make_room()
        number = table.intern(int(component), vector)
        assert known.setdefault((int(component), *vector.tolist()), number) == number
    assert table.n_contexts == len(known) > 400
    table.grow()
    x = table.contexts
    for (component, *values), number in known.items():
        assert find(x, component, np.array(values)) == number
    newest = [max(n for (c, *_), n in known.items() if c == component) for component in range(3)]
    assert x.newest.tolist() == newest
    chain = [newest[2]]
    while x.older[chain[-1]] >= 0:
        chain.append(int(x.older[chain[-1]]))
    assert chain == sorted((n for (c, *_), n in known.items() if c == 2), reverse=True)
    assert x.zero.tolist() == [known.get((c, 0.0, 0.0), -1) for c in range(3)]
