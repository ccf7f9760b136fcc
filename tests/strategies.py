"""Random models for hypothesis: of all kinds, with names and numbers of all kinds.

`models()` draws any valid model, `proper_models()` one that ends under every strategy: each action
leaves its component with probability 3/5 or more, so that a component makes less than 2/3 of a call
in the mean. `array_models()` draws models from float arrays, `specs()` what documents describe.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from hypothesis import strategies as st

from recurl.model.assemble import assemble
from recurl.model.rmdp import RMDP
from recurl.model.spec import ActionSpec, ComponentSpec, EdgeSpec, ModelSpec, Number

ODD_NAMES = [
    "yes",
    "no",
    "null",
    "1",
    "-",
    "ä b",
    'say "hi"',
    "a: b",
    "# c",
    "<<",
    "\\",
    "{x}",
    "🎲",
    "'",
]
LEAVING = Fraction(3, 5)

REWARDS: list[Number] = [
    0,
    1,
    -2,
    0.1,
    -0.5,
    "1/3",
    "-1e-2",
    Fraction(2, 7),
    Decimal("2.50"),
    "+.5",
    -0.0,
]


@st.composite
def specs(draw: st.DrawFn, proper: bool = False, odd_names: bool = True) -> ModelSpec:
    """Valid specifications of one to three components."""
    names = draw(_names(odd_names))
    shapes = draw(st.lists(_shapes(names), min_size=1, max_size=3))
    titles = names[: len(shapes)]
    components = dict(zip(titles, shapes, strict=True))
    for component in shapes:
        boxes = draw(st.lists(st.sampled_from(titles), max_size=2))
        component.boxes = {f"b {i}": callee for i, callee in enumerate(boxes)}
    spec = ModelSpec(draw(st.sampled_from(["model", *ODD_NAMES])), components=components)
    for component in shapes:
        draw(_actions(component, spec, proper))
    spec.feature_names = draw(st.sampled_from([[], ["row"], ["row", "column no. 2"]]))
    for component in shapes:
        draw(_remarks(component, spec))
    start = draw(st.sampled_from(titles))
    spec.start = draw(_start(start, components[start].entries))
    return spec


@st.composite
def models(draw: st.DrawFn, proper: bool = False) -> RMDP:
    """Valid models, from specifications or from arrays."""
    model = assemble(draw(specs(proper)))
    return as_arrays(model) if draw(st.booleans()) else model


def proper_models() -> st.SearchStrategy[RMDP]:
    """Models in which every strategy ends, after few steps in the mean."""
    return models(proper=True)


def array_models() -> st.SearchStrategy[RMDP]:
    """Models whose numbers are binary floats."""
    return specs().map(assemble).map(as_arrays)


def as_arrays(model: RMDP) -> RMDP:
    """The same model as `RMDP.from_arrays` makes it: numbered names, binary numbers."""
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
        name=model.name,
        features=model.features,
        feature_names=model.feature_names,
    )


# Few draws make quick examples, hence choices from lists of whole rows and of whole sets of names.

_ACTION_NAMES = [["go"], ["stay", "go"], *([name] for name in ODD_NAMES), ODD_NAMES[:3]]


def _spellings(value: Fraction) -> list[Number]:
    """Ways to write a number without changing it."""
    ways: list[Number] = [value, str(value)]
    if Fraction(repr(float(value))) == value:
        ways += [float(value), str(float(value)), Decimal(repr(float(value)))]
    return ways


def _rows(least: Fraction) -> list[list[Number]]:
    """Distributions of one to three probabilities, the first at least so great."""
    weights = [(1,), (1, 1), (1, 2), (3, 7), (99, 1), (1, 1, 1), (1, 6, 3), (7, 1, 5)]
    rows = []
    for row in weights:
        rest = 1 - least if len(row) > 1 else Fraction(1)
        probs = [rest * Fraction(w, sum(row)) for w in row]
        probs[0] += 1 - rest
        ways = [_spellings(p) for p in probs]
        rows += [[way[i % len(way)] for i, way in enumerate(ways, start)] for start in range(5)]
    return rows


_ROWS = {proper: _rows(LEAVING if proper else Fraction(0)) for proper in (False, True)}


def _names(odd: bool) -> st.SearchStrategy[list[str]]:
    plain = [f"u{i}" for i in range(8)]
    names = [*plain, *ODD_NAMES] if odd else plain
    return st.integers(0, len(names) - 1).map(lambda i: names[i:] + names[:i])


def _shapes(names: list[str]) -> st.SearchStrategy[ComponentSpec]:
    """Components with entries, exits and other nodes, as yet without actions."""

    def shape(counts: tuple[int, int, int]) -> ComponentSpec:
        entries, exits, inner = counts
        nodes = names[entries + exits : entries + exits + inner]
        vertices: dict[str, dict[str, ActionSpec]] = {node: {} for node in nodes}
        return ComponentSpec(names[:entries], names[entries : entries + exits], vertices=vertices)

    every = [(i, j, k) for k in (0, 1, 2) for j in (1, 2, 3) for i in (1, 2)]
    return st.sampled_from(every).map(shape)


@st.composite
def _actions(draw: st.DrawFn, component: ComponentSpec, spec: ModelSpec, proper: bool) -> None:
    called = {box: spec.components[callee] for box, callee in component.boxes.items()}
    returns = [f"{box}.{name}" for box, callee in called.items() for name in callee.exits]
    inner = list(component.vertices)
    targets = [*component.exits, *inner]
    targets += [f"{box}.{entry}" for box, callee in called.items() for entry in callee.entries]
    for vertex in [*component.entries, *inner, *returns]:
        component.vertices[vertex] = {
            name: draw(_action(targets, component.exits if proper else targets, proper))
            for name in draw(st.sampled_from(_ACTION_NAMES))
        }


@st.composite
def _action(draw: st.DrawFn, targets: list[str], first: list[str], proper: bool) -> ActionSpec:
    """An action, its first transition to one of some targets."""
    row = draw(st.sampled_from(_ROWS[proper]))
    number = draw(st.integers(0, len(first) * len(targets) ** 2 - 1))
    ends = [
        first[number % len(first)],
        targets[number // len(first) % len(targets)],
        targets[number // len(first) // len(targets)],
    ]
    reward = draw(st.integers(0, len(REWARDS) - 1))
    own = [None, *REWARDS[reward:], None]
    edges = [
        EdgeSpec(end, p, own[-i]) for i, (end, p) in enumerate(zip(ends, row, strict=False), 1)
    ]
    return ActionSpec(REWARDS[reward], edges)


@st.composite
def _start(draw: st.DrawFn, component: str, entries: list[str]) -> dict[str, Number]:
    row = draw(st.sampled_from([row for row in _ROWS[False] if len(row) <= len(entries)]))
    chosen = entries[-len(row) :]
    return {f"{component}.{entry}": p for entry, p in zip(chosen, row, strict=True)}


@st.composite
def _remarks(draw: st.DrawFn, component: ComponentSpec, spec: ModelSpec) -> None:
    """Features and labels of some vertices."""
    vertices = st.sampled_from([*component.exits, *component.vertices])
    if spec.feature_names:
        width = len(spec.feature_names)
        floats = st.floats(allow_nan=False, allow_infinity=False)
        rows = st.lists(floats, min_size=width, max_size=width)
        component.features = draw(st.dictionaries(vertices, rows, max_size=2))
    texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
    component.labels = draw(st.dictionaries(vertices, texts, max_size=1))
