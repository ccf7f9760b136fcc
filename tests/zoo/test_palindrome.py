from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import Literal

import numpy as np
import pytest
from tests.definition import landing
from tests.zoo.reference import Configuration, value_to_depth

import recurl
from recurl import zoo
from recurl.model.rmdp import RMDP
from recurl.model.tables import RETURN

MOVES = {"north": (-1, 0), "east": (0, 1), "south": (1, 0), "west": (0, -1)}
ACTIONS = [*MOVES, "special"]


@dataclass(frozen=True)
class State:
    """The rules once more, step by step, with the stack as a tuple of letters."""

    size: int
    row: int
    column: int
    after_middle: bool = False
    stack: tuple[str, ...] = ()
    wrong: bool = False
    once: bool = False

    def step(self, action: str) -> tuple[float, State | None]:
        moved = self.move(action)
        if not self.after_middle:
            if action == "special":
                return -1, replace(self, after_middle=True)
            return -1, replace(moved, stack=(*self.stack, action))
        if self.stack:
            *rest, letter = self.stack
            right = letter == action
            after = replace(moved, stack=tuple(rest), wrong=self.wrong or not right)
            return self.paid(right), after
        if action != "special":
            return self.paid(False), None
        on_goal = self.row == self.column == self.size // 2
        return (50 if on_goal and not self.wrong else -1), None

    def paid(self, right: bool) -> float:
        return -1 if right or (self.once and self.wrong) else -5

    def move(self, action: str) -> State:
        down, right = MOVES.get(action, (0, 0))
        row, column = self.row + down, self.column + right
        inside = 0 <= row < self.size and 0 <= column < self.size
        return replace(self, row=row, column=column) if inside else self


def state_of(
    model: RMDP, size: int, configuration: Configuration | None, once: bool = False
) -> State | None:
    """What a configuration of the model stands for, by its features and boxes."""
    if configuration is None:
        return None
    boxes, vertex = configuration
    assert model.features is not None
    row, column, phase, top, wrong, *goal = model.features[vertex]
    stack = tuple(model.names.boxes[box] for box in boxes)
    assert goal == [size // 2, size // 2]
    assert top == (1 + list(MOVES).index(stack[-1]) if stack else 0)
    return State(size, int(row), int(column), bool(phase), stack, bool(wrong), once)


@pytest.mark.parametrize("size", [1, 2, 3, 4])
@pytest.mark.parametrize("corruption", ["0.01", "1/3"])
@pytest.mark.parametrize("penalty", ["each", "once"])
def test_model_follows_the_rules_exactly(
    size: int, corruption: str, penalty: Literal["each", "once"]
) -> None:
    model, once = zoo.palindrome(size, corruption, penalty=penalty), penalty == "once"
    q, t = Fraction(corruption), model.tables
    rng = np.random.default_rng(0)
    for entry, p in model.start_exact().items():
        assert p == Fraction(1, size**2)
        here: Configuration | None = ((), entry)
        for _ in range(200):
            state = state_of(model, size, here, once)
            if here is None or state is None:
                break
            assert list(model.action_names(here[1])) == ACTIONS
            action = int(rng.integers(5))
            row = t.action_start[here[1]] + action
            edges = range(t.transition_start[row], t.transition_start[row + 1])
            found: Counter[tuple[Fraction, State | None]] = Counter()
            for e in edges:
                after = state_of(model, size, landing(model, here[0], int(t.target[e])), once)
                found[model.exact.reward(e), after] += model.exact.prob(e)  # type: ignore[assignment]
            wanted: Counter[tuple[float, State | None]] = Counter()
            wanted[state.step(ACTIONS[action])] += 1 - q  # type: ignore[assignment]
            wanted[state.step("special")] += q  # type: ignore[assignment]
            assert found == wanted
            e = int(rng.choice(edges))
            here = landing(model, here[0], int(t.target[e]))


@pytest.mark.parametrize(("size", "depth"), [(2, 3), (3, 2), (3, 4)])
def test_value_among_short_palindromes(size: int, depth: int) -> None:
    q = 0.01

    @cache
    def best(state: State) -> float:
        deep = not state.after_middle and len(state.stack) == depth
        return max(
            (1 - q) * follow(*state.step(action)) + q * follow(*state.step("special"))
            for action in (["special"] if deep else ACTIONS)
        )

    def follow(reward: float, state: State | None) -> float:
        return reward + (best(state) if state else 0)

    starts = [State(size, row, column) for row in range(size) for column in range(size)]
    mean = sum(map(best, starts)) / len(starts)
    assert value_to_depth(zoo.palindrome(size), depth) == pytest.approx(mean, abs=1e-10)


def test_value() -> None:
    lower, upper = value_to_depth(zoo.palindrome(), 4), value_to_depth(zoo.palindrome(), 4, max)
    assert lower == pytest.approx(41.0325964913, abs=1e-9)
    assert upper == pytest.approx(lower, abs=1e-9)


@pytest.mark.parametrize(("penalty", "value"), [("each", 41.0326), ("once", 41.0338)])
def test_both_readings_of_the_penalty_have_their_values(penalty: str, value: float) -> None:
    solution = recurl.solve(zoo.make("palindrome", penalty=penalty))
    assert solution.lower == pytest.approx(value, abs=5e-5)
    assert solution.upper == pytest.approx(value, abs=5e-5)


def test_structure() -> None:
    model = zoo.palindrome()
    assert list(model.names.components) == ["bottom", *MOVES]
    assert model.tables.n_exits.tolist() == [3, 18, 18, 18, 18]
    assert model.tables.n_entries.tolist() == [9, 6, 6, 6, 6]
    assert model.tables.max_actions == 5
    assert model.feature_names == (
        "row", "column", "phase", "top", "wrong", "goal_row", "goal_column",
    )  # fmt: skip


def test_exits_are_numbered_by_cell_and_wrongness() -> None:
    model = zoo.palindrome()
    first = int(model.tables.component_start[1] + model.tables.n_entries[1])
    names = [model.local_name(first + k) for k in (0, 1, 2, 17)]
    assert names == ["r0c0-ok", "r0c0-wrong", "r0c1-ok", "r2c2-wrong"]


def test_only_ports_for_right_letters_at_their_far_border_are_unreachable() -> None:
    model = zoo.palindrome()
    unreachable = (model.tables.vertex_kind == RETURN) & ~model.reach.reachable
    places = [model.vertex_name(int(v)) for v in np.flatnonzero(unreachable)]
    assert len(places) == 5 * 4 * 3
    assert all(place.endswith("-ok") for place in places)
    assert model.warnings == ()


def test_without_corruption_it_is_deterministic() -> None:
    assert zoo.palindrome(corruption=0).kind.deterministic


@pytest.mark.parametrize(
    "wrong", [{"size": 0}, {"size": 2.5}, {"corruption": 1}, {"penalty": "no"}]
)
def test_wrong_parameters_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        zoo.make("palindrome", **wrong)
