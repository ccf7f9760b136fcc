"""The rules that arrays must keep to become a model."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from recurl.errors import Problem
from recurl.model.names import is_name, is_text
from recurl.model.report import shown
from recurl.model.structure import TOLERANCE
from recurl.model.tables import CALL, EXIT, NODE, RETURN, Longs

if TYPE_CHECKING:
    from recurl.model.names import Names
    from recurl.model.tables import Floats, Layout

_SHOWN = 50
"""Problems of each kind that are listed."""

_WHOLE = ("action_start", "transition_start", "target")


class Arrays(NamedTuple):
    """Actions and transitions as given to `RMDP.from_arrays`, in wide types."""

    action_start: Longs
    transition_start: Longs
    target: Longs
    prob: Floats
    reward: Floats
    start_prob: Floats

    @classmethod
    def read(cls, given: Mapping[str, npt.ArrayLike]) -> tuple[Arrays | None, list[Problem]]:
        """The arrays, or the problems of those that are not lists of numbers."""
        columns, problems = [], []
        for name in cls._fields:
            whole = name in _WHOLE
            try:
                columns.append(_column(given[name], whole))
            except (ValueError, TypeError, OverflowError) as error:
                kind = "whole numbers" if whole else "numbers"
                problems.append(Problem(name, str(error), f"give a list of {kind}"))
        return (None if problems else cls(*columns)), problems


def _column(given: npt.ArrayLike, whole: bool) -> np.ndarray:
    array = np.asarray(given)
    if array.ndim != 1:
        raise ValueError(f"has {array.ndim} dimensions")
    if array.size and array.dtype.kind not in ("iu" if whole else "iuf"):
        raise ValueError(f"has elements of type {array.dtype}")
    return array.astype(np.int64 if whole else np.float64)


def array_problems(layout: Layout, start_component: int, arrays: Arrays) -> list[Problem]:
    """Every breach of the rules by arrays meant for `RMDP.from_arrays`."""
    shapes = list(_shape_problems(layout, arrays))
    if shapes:
        return shapes
    return [
        *_component_problems(layout, start_component, arrays.start_prob),
        *_action_problems(layout, arrays),
        *_target_problems(layout, arrays),
        *_number_problems(arrays),
    ]


def _shape_problems(layout: Layout, arrays: Arrays) -> Iterator[Problem]:
    if not layout.n_components:
        yield Problem("layout", "has no component", "give it one")
        return
    # Each array tells how long the next ones must be, if it is right itself.
    starts = list(_csr_problems("action_start", arrays.action_start, layout.n_vertices))
    if not starts:
        actions = int(arrays.action_start[-1])
        starts += _csr_problems("transition_start", arrays.transition_start, actions)
    yield from starts
    for name in () if starts else ("target", "prob", "reward"):
        size, count = len(getattr(arrays, name)), arrays.transition_start[-1]
        if size != count:
            yield Problem(name, f"has {size} elements", f"transition_start asks for {count}")


def _csr_problems(name: str, start: Longs, rows: int) -> Iterator[Problem]:
    if len(start) != rows + 1:
        yield Problem(name, f"has {len(start)} elements", f"give {rows + 1}")
    elif start[0] != 0 or (np.diff(start) < 0).any():
        yield Problem(name, "does not ascend from 0", "give running totals that start at 0")
    elif start[-1] > np.iinfo(np.int32).max:
        yield Problem(name, f"goes up to {start[-1]}", "32-bit numbers must be enough")


def start_component_of(given: object, layout: Layout) -> tuple[int, list[Problem]]:
    """The number of the start component, or why there is none."""
    try:
        component = operator.index(given)  # type: ignore[arg-type]
    except TypeError:
        problem = Problem(
            "start_component", f"{shown(given)} is not a whole number", "give a number"
        )
        return 0, [problem]
    if not 0 <= component < layout.n_components:
        fix = f"name one of 0 to {layout.n_components - 1}" if layout.n_components else ""
        return 0, [Problem("start_component", f"unknown component {component}", fix)]
    return component, []


def _component_problems(
    layout: Layout, start_component: int, start_prob: Floats
) -> Iterator[Problem]:
    for count, what in ((layout.n_entries, "entry"), (layout.n_exits, "exit")):
        for c in np.flatnonzero(count == 0)[:_SHOWN]:
            yield Problem(f"component {c}", f"has no {what}", "give it one")
    entries = int(layout.n_entries[start_component])
    if len(start_prob) != entries:
        fix = f"component {start_component} has {entries} entries: give one for each"
        yield Problem("start_prob", f"has {len(start_prob)} elements", fix)
    elif not (start_prob >= 0).all() or not abs(start_prob.sum() - 1) <= TOLERANCE:
        message = f"is not a distribution: it sums to {start_prob.sum():.12g}"
        yield Problem("start_prob", message, "make it sum to 1, without negative numbers")


def _action_problems(layout: Layout, arrays: Arrays) -> Iterator[Problem]:
    count, kind = np.diff(arrays.action_start), layout.vertex_kind
    for v in np.flatnonzero(((kind == EXIT) | (kind == CALL)) & (count > 0))[:_SHOWN]:
        what = "an exit" if kind[v] == EXIT else "a call port"
        yield Problem(f"vertex {v}", f"is {what} and has actions", "remove them")
    for v in np.flatnonzero(((kind == NODE) | (kind == RETURN)) & (count == 0))[:_SHOWN]:
        yield Problem(f"vertex {v}", "has no action", "add one")
    for a in np.flatnonzero(np.diff(arrays.transition_start) == 0)[:_SHOWN]:
        yield Problem(_action_place(arrays, a), "leads nowhere", "add a transition")


def _target_problems(layout: Layout, arrays: Arrays) -> Iterator[Problem]:
    target, action = arrays.target, _action_of_transitions(arrays)
    vertex = np.repeat(np.arange(layout.n_vertices), np.diff(arrays.action_start))[action]
    outside = (target < 0) | (target >= layout.n_vertices)
    safe = np.where(outside, vertex, target)
    component = layout.vertex_component[safe]
    foreign = component != layout.vertex_component[vertex]
    is_entry = safe - layout.component_start[component] < layout.n_entries[component]
    is_return = layout.vertex_kind[safe] == RETURN
    inside = ~outside & ~foreign
    for mask, message, fix in (
        (outside, "does not exist", "name a vertex of the same component"),
        (~outside & foreign, "lies in another component", "call that component through a box"),
        (inside & is_entry, "is an entry", "lead to another node"),
        (inside & is_return, "is a return port", "lead to a node or a call port"),
    ):
        for i in np.flatnonzero(mask)[:_SHOWN]:
            yield Problem(_action_place(arrays, action[i]), f"target {target[i]} {message}", fix)


def _number_problems(arrays: Arrays) -> Iterator[Problem]:
    action, prob = _action_of_transitions(arrays), arrays.prob
    for i in np.flatnonzero(~np.isfinite(arrays.reward))[:_SHOWN]:
        message = f"reward {arrays.reward[i]} is not finite"
        yield Problem(_action_place(arrays, action[i]), message, "give a finite reward")
    bad = ~((prob > 0) & (prob <= 1))
    for i in np.flatnonzero(bad)[:_SHOWN]:
        fix = "leave the transition out" if prob[i] == 0 else "give a number in (0, 1]"
        message = f"probability {prob[i]} is not in (0, 1]"
        yield Problem(_action_place(arrays, action[i]), message, fix)
    if bad.any():
        return
    total = np.bincount(action, prob, len(arrays.transition_start) - 1)
    wrong = (np.abs(total - 1) > TOLERANCE) & (np.diff(arrays.transition_start) > 0)
    for a in np.flatnonzero(wrong)[:_SHOWN]:
        message = f"probabilities sum to {total[a]:.12g}"
        yield Problem(_action_place(arrays, a), message, "make them sum to 1")
    yield from _residue_problems(arrays, ~wrong & (np.diff(arrays.transition_start) > 1))


def _residue_problems(arrays: Arrays, rows: np.ndarray) -> Iterator[Problem]:
    """Distributions whose last probability is too small to take up the rounding of the others."""
    begin, end = arrays.transition_start[:-1], arrays.transition_start[1:]
    small = np.zeros(len(rows), np.bool_)
    small[rows] = arrays.prob[end[rows] - 1] < 2 * TOLERANCE
    found = 0
    for a in np.flatnonzero(small):
        others = arrays.prob[begin[a] : end[a] - 1].tolist()
        if sum(map(Fraction, others)) >= 1 and found < _SHOWN:
            found += 1
            fix = "put a greater one last: it takes up the rounding of the others"
            yield Problem(_action_place(arrays, a), "all but the last sum to 1 already", fix)


def _action_of_transitions(arrays: Arrays) -> Longs:
    sizes = np.diff(arrays.transition_start)
    return np.repeat(np.arange(len(sizes)), sizes)


def _action_place(arrays: Arrays, action: int | np.integer) -> str:
    vertex = int(np.searchsorted(arrays.action_start, action, side="right")) - 1
    return f"vertex {vertex}, action {int(action) - int(arrays.action_start[vertex])}"


def feature_problems(
    features: np.ndarray | None, names: tuple[str, ...], n_vertices: int
) -> Iterator[Problem]:
    """Breaches by the features of a model from arrays."""
    if features is None:
        if names:
            yield Problem("feature_names", "names features that are not there", "give features")
    elif features.shape != (n_vertices, len(names)):
        fix = f"give {n_vertices} rows of {len(names)}, as feature_names says"
        yield Problem("features", f"has shape {features.shape}", fix)
    elif not np.isfinite(features).all():
        vertex = int(np.argwhere(~np.isfinite(features))[0, 0])
        yield Problem(f"features, vertex {vertex}", "is not finite", "give finite numbers")
    for name in names:
        if not is_text(name):
            yield Problem("feature_names", f"{shown(name)} is not a name", "use printable text")


def name_problems(names: Names, layout: Layout, n_actions: int) -> Iterator[Problem]:
    """Breaches by names given with arrays: too few, invalid, or used twice."""
    sizes = (layout.n_components, layout.n_vertices, layout.n_boxes, n_actions)
    kinds = ("components", "nodes", "boxes", "actions")
    given = (names.components, names.nodes, names.boxes, names.actions)
    wrong = [(k, len(g), n) for k, g, n in zip(kinds, given, sizes, strict=True) if len(g) != n]
    for kind, has, wanted in wrong:
        yield Problem(f"names, {kind}", f"has {has} elements", f"give {wanted}")
    if wrong:
        return
    nodes = np.flatnonzero(layout.vertex_box < 0).tolist()
    owned = [(int(layout.vertex_component[v]), names.nodes[v]) for v in nodes]
    owned += [(int(c), names.boxes[b]) for b, c in enumerate(layout.box_owner)]
    yield from _bad_names([(-1, name) for name in names.components], "component")
    yield from _bad_names(owned, "node or box")
    for name in dict.fromkeys(names.actions):
        if not is_text(name):
            yield Problem("names, actions", f"{shown(name)} is not a name", "use printable text")


def _bad_names(owned: list[tuple[int, str]], what: str) -> Iterator[Problem]:
    seen: set[tuple[int, str]] = set()
    for owner, name in owned:
        place = f"names, component {owner}" if owner >= 0 else "names"
        if not is_name(name):
            yield Problem(
                place, f"{shown(name)} is not a name for a {what}", "use text without dots"
            )
        elif (owner, name) in seen:
            yield Problem(place, f"the name {shown(name)} is used twice", "choose another")
        seen.add((owner, name))
