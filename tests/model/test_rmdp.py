from __future__ import annotations

import copy
import pickle  # noqa: TID251  # what other processes are sent
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from tests.model.examples import server, two_exits
from tests.strategies import as_arrays, models

from recurl.errors import ModelError
from recurl.model.assemble import assemble, disassemble
from recurl.model.builder import Builder
from recurl.model.rmdp import RMDP
from recurl.model.spec import ActionSpec, ComponentSpec, EdgeSpec, ModelSpec
from recurl.model.tables import Layout


def test_models_are_immutable() -> None:
    model = two_exits().build()
    with pytest.raises(AttributeError, match="immutable: cannot set name"):
        model.name = "other"
    with pytest.raises(AttributeError, match="immutable"):
        model.fresh = 1
    for array in (model.tables.prob, model.features):
        assert array is not None
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    model.labels.clear()
    assert model.labels == {0: "the first"}


def test_the_arrays_given_stay_the_callers_own() -> None:
    reward = np.zeros(4)
    model = coin(reward=reward)
    reward[0] = 7
    assert model.tables.reward[0] == 0


@given(models())
def test_equal_content_is_equal(model: RMDP) -> None:
    twin = assemble(disassemble(model))
    assert twin == model
    assert hash(twin) == hash(model)
    assert twin.fingerprint == model.fingerprint
    assert len({twin, model}) == 1
    assert model != as_arrays(model) or model.exact.binary
    assert model != "model"


def changed(change: Callable[[ModelSpec], object]) -> RMDP:
    spec = disassemble(two_exits().build(start={"A.in": 0.5, "A.other": 0.5}))
    change(spec)
    return assemble(spec)


def action(spec: ModelSpec, component: str, vertex: str, name: str) -> ActionSpec:
    return spec.components[component].vertices[vertex][name]


def rename(mapping: dict[str, object], old: str, new: str) -> None:
    items = [(new if key == old else key, value) for key, value in mapping.items()]
    mapping.clear()
    mapping.update(items)


def rename_exit(spec: ModelSpec) -> None:
    spec.components["B"].exits[0] = "yeah"
    rename(spec.components["A"].vertices, "ask.yes", "ask.yeah")
    action(spec, "B", "mid", "answer").edges[0].target = "yeah"


def rename_box(spec: ModelSpec) -> None:
    rename(spec.components["A"].boxes, "ask", "inquire")
    for end in ("yes", "no"):
        rename(spec.components["A"].vertices, f"ask.{end}", f"inquire.{end}")
    for vertex in ("in", "other"):
        action(spec, "A", vertex, "go").edges[0].target = "inquire"


def rename_component(spec: ModelSpec) -> None:
    rename(spec.components, "B", "C")
    spec.components["A"].boxes["ask"] = "C"


def swap_actions(spec: ModelSpec) -> None:
    actions = spec.components["A"].vertices["ask.no"]
    items = list(actions.items())
    actions.clear()
    actions.update(reversed(items))


CHANGES: dict[str, Callable[[ModelSpec], object]] = {
    "name": lambda s: setattr(s, "name", "other"),
    "start": lambda s: setattr(s, "start", {"A.in": 0.25, "A.other": 0.75}),
    "start component": lambda s: setattr(s, "start", {"B.in": 1}),
    "target": lambda s: setattr(action(s, "A", "again.bad", "end").edges[0], "target", "good"),
    "probability": lambda s: setattr(
        action(s, "B", "mid", "answer"), "edges", [EdgeSpec("yes", 0.5), EdgeSpec("no", 0.5)]
    ),
    "a probability's last digit": lambda s: setattr(
        action(s, "A", "other", "go"),
        "edges",
        [EdgeSpec("ask", "0." + 20 * "3", 0), EdgeSpec("again.in", "0." + 19 * "6" + "7", 5)],
    ),
    "reward": lambda s: setattr(action(s, "A", "in", "go"), "reward", 2),
    "a reward's last digit": lambda s: setattr(
        action(s, "A", "ask.no", "retry"), "reward", "-0.14285714285714285"
    ),
    "one more action": lambda s: s.components["A"].vertices["in"].update(
        stay=ActionSpec(0, [EdgeSpec("bad")])
    ),
    "one more transition": lambda s: setattr(
        action(s, "A", "in", "go"), "edges", [EdgeSpec("ask", 0.5), EdgeSpec("ask", 0.5)]
    ),
    "one more node": lambda s: s.components["B"].vertices.update(
        attic={"go": ActionSpec(0, [EdgeSpec("no")])}
    ),
    "one more box": lambda s: (
        s.components["B"].boxes.update(self="B"),
        s.components["B"].vertices.update(
            {f"self.{end}": {"go": ActionSpec(0, [EdgeSpec("no")])} for end in ("yes", "no")}
        ),
    ),
    "one more component": lambda s: s.components.update(
        C=ComponentSpec(["in"], ["out"], vertices={"in": {"go": ActionSpec(0, [EdgeSpec("out")])}})
    ),
    "name of an action": lambda s: rename(s.components["A"].vertices["in"], "go", "walk"),
    "name of an exit": rename_exit,
    "name of a box": rename_box,
    "name of a component": rename_component,
    "order of actions": swap_actions,
    "feature": lambda s: s.components["A"].features.update({"in": [1, 3]}),
    "name of a feature": lambda s: setattr(s, "feature_names", ["x", "z"]),
    "no features": lambda s: (
        setattr(s, "feature_names", []),
        s.components["A"].features.clear(),
    ),
    "label": lambda s: s.components["A"].labels.update({"in": "first"}),
    "vertex of a label": lambda s: rename(s.components["A"].labels, "in", "other"),
    "binary numbers": lambda s: setattr(s, "binary", True),
}  # fmt: skip


def test_every_change_changes_the_fingerprint() -> None:
    prints = {name: changed(change).fingerprint for name, change in CHANGES.items()}
    prints["nothing"] = changed(lambda spec: None).fingerprint
    assert len(set(prints.values())) == len(prints)
    assert all(len(digits) == 64 for digits in prints.values())


def test_ways_of_writing_the_same_numbers_are_equal() -> None:
    def model(half: object, reward: object) -> RMDP:
        builder = Builder().component("A", entries="in", exits="out")
        return builder.at("in").action("go", reward=reward).to("out", half).to("out", half).build()

    twins = {model("1/2", 1), model(0.5, "1.0"), model("0.50", 1.0), model("5e-1", "2/2")}
    assert len(twins) == 1


def coin(**changes: object) -> RMDP:
    arrays: dict[str, object] = {
        "action_start": [0, 1, 1, 2],
        "transition_start": [0, 2, 4],
        "target": [1, 2, 1, 2],
        "prob": [0.5, 0.5, 0.5, 0.5],
        "reward": [0, 0, 0, 0],
        **changes,
    }
    layout = arrays.pop("layout", Layout.of([1], [1], [1]))
    return RMDP.from_arrays(layout, **arrays)


@given(models())
def test_from_arrays_makes_the_same_tables(model: RMDP) -> None:
    made = as_arrays(model)
    for ours, theirs in zip(made.tables, model.tables, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert made.exact.binary


def test_from_arrays_equals_the_builder_where_names_and_numbers_do() -> None:
    model = server()
    t = model.tables
    given_names = RMDP.from_arrays(
        t.layout,
        action_start=t.action_start,
        transition_start=t.transition_start,
        target=t.target,
        prob=t.prob,
        reward=t.reward,
        name="server",
        names=model.names,
    )
    spec = disassemble(model)
    spec.binary = True
    assert given_names == assemble(spec)


def test_the_start_is_uniform_if_not_given() -> None:
    layout = Layout.of([2], [1], [0])
    model = coin(layout=layout, action_start=[0, 1, 2, 2], target=[2, 2, 2, 2])
    assert model.tables.start_prob.tolist() == [0.5, 0.5]
    assert model.start_value([3, 5, 100]) == 4


def test_features_from_arrays_are_numbered_if_not_named() -> None:
    model = coin(features=[[1, 2], [3, 4], [5, -0.0]])
    assert model.feature_names == ("f0", "f1")
    assert model.features is not None
    assert model.features.tolist() == [[1, 2], [3, 4], [5, 0]]


def test_a_negative_zero_is_zero() -> None:
    assert coin(reward=[-0.0] * 4) == coin()


def test_models_are_copied_as_themselves() -> None:
    model = server()
    assert copy.copy(model) is model
    assert copy.deepcopy([model])[0] is model
    assert copy.deepcopy(model.tables) is model.tables


@given(models())
def test_a_pickled_model_is_the_same_to_the_last_digit(model: RMDP) -> None:
    model.find(model.vertex_name(0))  # fills a cache, which is not part of a pickle
    size = len(pickle.dumps(model))
    assert len(model.warnings) >= 0
    assert len(pickle.dumps(model)) == size
    other = pickle.loads(pickle.dumps(model))  # noqa: S301
    assert other is not model
    assert (other, other.fingerprint, hash(other)) == (model, model.fingerprint, hash(model))
    count = model.tables.n_transitions
    assert list(map(other.exact.prob, range(count))) == list(map(model.exact.prob, range(count)))
    assert other.warnings == model.warnings
    assert (other.labels, other.feature_names) == (model.labels, model.feature_names)


def test_a_pickled_model_is_immutable_too() -> None:
    for model in (two_exits().build(), coin(features=[[1, 2], [3, 4], [5, 6]])):
        other = pickle.loads(pickle.dumps(model))  # noqa: S301
        for array in (*other.tables, other.features):
            assert not isinstance(array, np.ndarray) or not array.flags.writeable
        with pytest.raises(AttributeError, match="immutable"):
            other.name = "other"


def test_what_a_model_says_of_itself() -> None:
    assert repr(server()) == "<RMDP server: 1 component, 4 vertices, 1-exit, recursive>"
    assert repr(coin()) == "<RMDP model: 1 component, 3 vertices, 1-exit, hierarchical>"
    assert coin().vertex_name(2) == "c0.n2"
    assert coin().action_name(1) == "a0"


@pytest.mark.parametrize("component", [-1, 1, 1.5, "A", None])
def test_a_start_component_that_is_none(component: object) -> None:
    with pytest.raises(ModelError, match="start_component: "):
        coin(start_component=component)
