"""The definition of a run, step by step in exact arithmetic, and small models to try it on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from itertools import pairwise

from hypothesis import strategies as st

from recurl.model.builder import Builder
from recurl.model.rmdp import RMDP
from recurl.model.tables import CALL, EXIT

State = tuple[tuple[int, ...], int] | None
"""Pending boxes, outermost first, and vertex; None when the run is over."""


def landing(model: RMDP, stack: tuple[int, ...], target: int) -> State:
    """Where a transition leads: through call ports and exits, which move on by themselves."""
    t = model.tables
    if t.vertex_kind[target] == CALL:
        return (*stack, int(t.vertex_box[target])), int(t.entry_of_call(target))
    if t.vertex_kind[target] != EXIT:
        return stack, target
    if not stack:
        return None
    return stack[:-1], int(t.box_return[stack[-1]] + t.vertex_port[target])


Way = tuple[Fraction, Fraction, int]
"""Probability, reward and target of a transition."""


def choices(model: RMDP) -> list[list[list[Way]]]:
    """For each vertex its actions, each a list of ways to go on."""
    t, exact = model.tables, model.exact
    ways = [(exact.prob(i), exact.reward(i), int(v)) for i, v in enumerate(t.target)]
    edges = t.transition_start.tolist()
    actions = [ways[i:j] for i, j in pairwise(edges)]
    return [actions[i:j] for i, j in pairwise(t.action_start.tolist())]


def value_after(
    model: RMDP,
    horizon: int,
    discount: Fraction = Fraction(1),
    depth: int = 10**9,
    deeper: Callable[[tuple[int, ...], int], Fraction] = lambda stack, entry: Fraction(0),
    *,
    moves: bool = False,
    start: State = None,
    worth: Sequence[int] = (),
) -> Fraction:
    """Greatest expected discounted reward of so many steps.

    A call beyond a depth ends the run and pays what `deeper` says of the stack and the entry. Moves
    into boxes and out of them may be discounted as well. Runs may start elsewhere, and the exits by
    which they end be worth something.
    """
    actions = choices(model)

    @cache
    def best(left: int, stack: tuple[int, ...], vertex: int) -> Fraction:
        return max(sum(one(left, stack, *way) for way in ways) for ways in actions[vertex])

    def one(left: int, stack: tuple[int, ...], p: Fraction, r: Fraction, target: int) -> Fraction:
        after = landing(model, stack, target)
        if after is None:
            end = worth[model.tables.vertex_port[target]] if worth else 0
            return p * (r + discount * end)
        if len(after[0]) > depth:
            return p * (r + discount * deeper(*after))
        factor = discount * (discount if moves and len(after[0]) != len(stack) else 1)
        return p * (r + factor * (best(left - 1, *after) if left > 1 else 0))

    if start is not None:
        return best(horizon, *start)
    return sum(p * best(horizon, (), v) for v, p in model.start_exact().items())


@st.composite
def models(draw: st.DrawFn, max_exits: int = 2) -> RMDP:
    """Small models of every shape, recursive or not, proper or not, with awkward numbers."""
    sizes = st.integers(1, 2), st.integers(1, max_exits), st.integers(0, 2)
    shapes = draw(st.lists(st.tuples(*sizes), min_size=1, max_size=3))
    callees = st.lists(st.integers(0, len(shapes) - 1), max_size=2)
    builder = Builder("small")
    for c, (entries, exits, nodes) in enumerate(shapes):
        boxes = draw(callees)
        builder.component(
            f"C{c}",
            entries=[f"in{i}" for i in range(entries)],
            exits=[f"out{i}" for i in range(exits)],
        )
        for b, callee in enumerate(boxes):
            builder.box(f"b{b}", f"C{callee}")
        inner = [f"n{i}" for i in range(nodes)]
        targets = [*inner, *(f"out{i}" for i in range(exits))]
        targets += [f"b{b}.in{j}" for b, k in enumerate(boxes) for j in range(shapes[k][0])]
        places = [*(f"in{i}" for i in range(entries)), *inner]
        places += [f"b{b}.out{j}" for b, k in enumerate(boxes) for j in range(shapes[k][1])]
        for place in places:
            builder.at(place)
            for a in range(draw(st.integers(1, 2))):
                _add_action(draw, builder.action(f"a{a}"), targets)
    weight = draw(st.integers(1, 3))
    start = {"C0.in0": 1} if shapes[0][0] == 1 else {"C0.in0": Fraction(weight, 4)}
    start |= {} if shapes[0][0] == 1 else {"C0.in1": Fraction(4 - weight, 4)}
    return builder.build(start)


def _add_action(draw: st.DrawFn, builder: Builder, targets: list[str]) -> None:
    chosen = draw(st.lists(st.sampled_from(targets), min_size=1, max_size=3, unique=True))
    weights = [draw(st.integers(1, 5)) for _ in chosen]
    for target, weight in zip(chosen, weights, strict=True):
        reward = Fraction(draw(st.integers(-30, 30)), 10)
        builder.to(target, Fraction(weight, sum(weights)), reward)


def binary(model: RMDP) -> RMDP:
    """The same model from its float arrays."""
    t = model.tables
    return RMDP.from_arrays(
        t.layout,
        action_start=t.action_start,
        transition_start=t.transition_start,
        target=t.target,
        prob=t.prob,
        reward=t.reward,
        start_component=t.start_component,
        start_prob=t.start_prob,
        features=model.features,
        feature_names=model.feature_names,
    )
