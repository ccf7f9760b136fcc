"""Pushdown systems against their own semantics, closed forms, and round trips of models."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.definition import models, value_after

import recurl
from recurl.errors import ModelError

Rule = tuple[str, str, str, Fraction, str, tuple[str, ...], Fraction]


def value_of_stacks(rules: list[Rule], start: tuple[str, str], horizon: int) -> Fraction:
    """Greatest expected reward of so many steps: configurations as they are defined, no model."""
    actions = defaultdict[tuple[str, str], dict[str, list[Rule]]](dict)
    for rule in rules:
        actions[rule[0], rule[1]].setdefault(rule[2], []).append(rule)

    @cache
    def best(left: int, state: str, stack: tuple[str, ...]) -> Fraction:
        if not stack or not left:
            return Fraction(0)
        return max(
            sum(p * (r + best(left - 1, to, (*word, *stack[1:]))) for *_, p, to, word, r in ways)
            for ways in actions[state, stack[0]].values()
        )

    return best(horizon, start[0], (start[1],))


@st.composite
def systems(draw: st.DrawFn) -> list[Rule]:
    """A rule for each state and symbol, in up to two actions of up to three outcomes."""
    states, symbols = draw(st.sampled_from(["p", "pq", "pqr"])), draw(st.sampled_from(["A", "AB"]))
    words = st.lists(st.sampled_from(symbols), max_size=2)
    rules: list[Rule] = []
    for state in states:
        for symbol in symbols:
            for action in range(draw(st.integers(1, 2))):
                weights = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
                for weight in weights:
                    prob, pay = Fraction(weight, sum(weights)), draw(st.integers(-5, 5))
                    to, word = draw(st.sampled_from(states)), tuple(draw(words))
                    rules.append((state, symbol, f"a{action}", prob, to, word, Fraction(pay)))
    return rules


@given(systems())
def test_a_model_runs_step_by_step_as_its_rules_do(rules: list[Rule]) -> None:
    """What remains at the end is paid by a symbol at the bottom, by the state it comes up in."""
    first, ends = rules[0][0], sorted({rule[0] for rule in rules})
    rules = [
        *rules,
        (first, "Start", "go", Fraction(1), first, (rules[0][1], "End"), Fraction(0)),
        *((q, "End", "end", Fraction(1), q, (), Fraction(10**k)) for k, q in enumerate(ends)),
    ]
    model = recurl.pushdown(rules, (first, "Start"))
    for horizon in range(1, 6):
        assert value_after(model, horizon) == value_of_stacks(rules, (first, "Start"), horizon)


@given(models())
def test_a_model_written_as_rules_runs_as_before(model: recurl.RMDP) -> None:
    rules, start = recurl.pushdown_rules(model)
    again = recurl.pushdown(rules, start)
    assert [value_after(again, h) for h in (1, 4)] == [value_after(model, h) for h in (1, 4)]


@pytest.mark.parametrize("name", ["cloud", "and_or", "succinct", "gambler", "leaky_pfa"])
@pytest.mark.parametrize("of", ["reward", "steps"])
def test_models_of_the_zoo_keep_their_values(tmp_path: Path, name: str, of: str) -> None:
    model = recurl.zoo.make(name)
    recurl.dump(model, tmp_path / "a.pds")
    before, after = recurl.solve(model, of=of), recurl.solve(recurl.load(tmp_path / "a.pds"), of=of)
    assert before.lower <= after.upper
    assert after.lower <= before.upper
    if abs(before.value) < 1e9:
        assert after.value == pytest.approx(before.value, abs=1e-6)


def test_rules_of_rules_are_stable() -> None:
    model = recurl.zoo.cloud()
    assert recurl.pushdown(*recurl.pushdown_rules(model), name="cloud") == model


def test_states_left_on_an_empty_stack_are_the_exits() -> None:
    """Up with p, down with 1 - p, on one symbol: the stack is left in `won` on the first fall."""
    model = recurl.pushdown(
        [
            ("play", "A", "go", "2/3", "play", "A A", 0),
            ("play", "A", "go", "1/4", "won", "", 1),
            ("play", "A", "go", "1/12", "lost", "", 0),
            ("won", "A", "go", 1, "won", "", 0),
            ("lost", "A", "go", 1, "lost", "", 0),
        ]
    )
    # A run that falls keeps falling. Up: x = 1/4 + 2/3 x, as what is below passes the state on.
    assert recurl.solve(model, of="exit:won").value == pytest.approx(3 / 4, abs=1e-6)
    assert recurl.solve(model, of="exit:lost").value == pytest.approx(1 / 4, abs=1e-6)


def test_long_words_take_one_step_more_for_each_symbol() -> None:
    """x = 1 + 4 p x at p = 1/5, so x = 5; steps: s = 1 + p (4 s + 2), so s = 7."""
    model = recurl.pushdown(
        [("p", "X", "go", "1/5", "p", "X X X X", 1), ("p", "X", "go", "4/5", "p", "", 1)]
    )
    assert recurl.solve(model).value == pytest.approx(5, abs=1e-5)
    assert recurl.solve(model, of="steps").value == pytest.approx(7, abs=1e-5)


def test_a_symbol_that_is_never_popped_never_leaves() -> None:
    model = recurl.pushdown([("p", "A", "go", 1, "p", "B C", 0), ("p", "B", "go", 1, "p", "B", 0)])
    assert recurl.solve(model, of="exit:never").value == 0


def test_a_return_that_no_run_makes_needs_no_rule() -> None:
    """B comes up in two states and is popped in each; its callers see one return each."""
    model = recurl.pushdown(
        [
            ("p", "A", "left", 1, "p", "B C", 0),
            ("p", "A", "right", 1, "q", "B D", 0),
            ("p", "B", "go", 1, "p", "", 0),
            ("q", "B", "go", 1, "q", "", 0),
            ("p", "C", "go", 1, "p", "", 1),
            ("q", "D", "go", 1, "p", "", 2),
        ]
    )
    assert recurl.solve(model).value == 2


def test_several_starts_have_probabilities() -> None:
    rules = [("p", "A", "go", 1, "p", "", 1), ("q", "A", "go", 1, "q", "", 5)]
    model = recurl.pushdown(rules, {("p", "A"): "1/4", ("q", "A"): "3/4"})
    assert recurl.solve(model).value == pytest.approx(4)
    rules, start = recurl.pushdown_rules(model)
    assert recurl.solve(recurl.pushdown(rules, start)).value == pytest.approx(4)


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ([], "there is no rule"),
        ([("p", "A", "go")], "is not a rule"),
        ([("p", "A", "go", 1, "p", "B", 0)], "runs get to 'p' with 'B' on top, without a rule"),
        ([("p", "A", "go", "1/2", "p", "", 0)], "sum to 0.5"),
        ([("p", "A", "go", 2, "p", "", 0)], "2 is not a probability"),
        ([("p", "A", "go", 1, "p", "", "x")], "'x' is not a finite decimal"),
        ([("p", "A", "go", 1, "p", "A " * 101, 0)], "pushes 101 symbols"),
        ([("p.q", "A", "go", 1, "p", "", 0)], "'p.q' is not a name for a state"),
        ([("p", 3, "go", 1, "p", "", 0)], "'3' is not a name for a symbol"),
        ([("p", "A", "", 1, "p", "", 0)], "'' is not a name for an action"),
    ],
)
def test_wrong_rules_are_named(rules: list[Rule], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        recurl.pushdown(rules)


def test_wrong_starts_are_named() -> None:
    rules = [("p", "A", "go", 1, "p", "", 1), ("p", "B", "go", 1, "p", "", 1)]
    with pytest.raises(ModelError, match="does not begin with one symbol"):
        recurl.pushdown(rules, {("p", "A"): "1/2", ("p", "B"): "1/2"})
    with pytest.raises(ModelError, match=r"start: .*'q' with 'A' on top"):
        recurl.pushdown(rules, ("q", "A"))
    with pytest.raises(ModelError, match="give a state and a symbol"):
        recurl.pushdown(rules, ("p", "A", "B"))
