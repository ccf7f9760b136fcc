from __future__ import annotations

import numpy as np
import pytest
from tests.model.examples import server
from tests.model.test_rmdp import coin

from recurl.errors import ModelError
from recurl.model.names import Names
from recurl.model.tables import Layout

# Vertices: entry 0, exit 1, node 2, call port 3, return port 4.
CALLING = {
    "layout": Layout.of([1], [1], [1], box_owner=[0], box_component=[0]),
    "action_start": [0, 1, 1, 2, 2, 3],
    "transition_start": [0, 2, 4, 5],
    "target": [1, 3, 1, 2, 1],
    "prob": [0.5, 0.5, 0.5, 0.5, 1],
    "reward": [0.0] * 5,
}


def problems(**changes: object) -> list[str]:
    with pytest.raises(ModelError) as caught:
        coin(**{**CALLING, **changes})
    return [str(problem) for problem in caught.value.problems]


def test_the_example_is_a_model() -> None:
    assert coin(**CALLING).tables.n_transitions == 5


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"action_start": [0, 1, 1, 2]}, "action_start: has 4 elements (give 6)"),
        (
            {"action_start": [0, 2, 1, 2, 2, 3]},
            "action_start: does not ascend from 0 (give running totals that start at 0)",
        ),
        (
            {"transition_start": [1, 2, 4, 5]},
            "transition_start: does not ascend from 0 (give running totals that start at 0)",
        ),
        ({"prob": [0.5, 0.5]}, "prob: has 2 elements (transition_start asks for 5)"),
        ({"target": [[1, 3, 1, 2, 1]]}, "target: has 2 dimensions (give a list of whole numbers)"),
        ({"prob": 0.5}, "prob: has 0 dimensions (give a list of numbers)"),
        (
            {"target": [1.0, 3.0, 1.0, 2.0, 1.5]},
            "target: has elements of type float64 (give a list of whole numbers)",
        ),
        (
            {"reward": ["a"] * 5},
            "reward: has elements of type <U1 (give a list of numbers)",
        ),
        (
            {"reward": [None] * 5},
            "reward: has elements of type object (give a list of numbers)",
        ),
        (
            {"start_prob": [0.5, 0.5]},
            "start_prob: has 2 elements (component 0 has 1 entries: give one for each)",
        ),
        (
            {"start_prob": [0.5]},
            "start_prob: is not a distribution: it sums to 0.5 "
            "(make it sum to 1, without negative numbers)",
        ),
        (
            {"start_component": 3},
            "start_component: unknown component 3 (name one of 0 to 0)",
        ),
        (
            {"target": [1, 9, 1, 2, 1]},
            "vertex 0, action 0: target 9 does not exist (name a vertex of the same component)",
        ),
        (
            {"target": [1, -1, 1, 2, 1]},
            "vertex 0, action 0: target -1 does not exist (name a vertex of the same component)",
        ),
        (
            {"target": [1, 3, 1, 0, 1]},
            "vertex 2, action 0: target 0 is an entry (lead to another node)",
        ),
        (
            {"target": [1, 3, 1, 2, 4]},
            "vertex 4, action 0: target 4 is a return port (lead to a node or a call port)",
        ),
        (
            {"reward": [0, 0, 0, np.nan, 0]},
            "vertex 2, action 0: reward nan is not finite (give a finite reward)",
        ),
        (
            {"prob": [0.5, 0.5, 0.5, 0.4, 1]},
            "vertex 2, action 0: probabilities sum to 0.9 (make them sum to 1)",
        ),
        (
            {"prob": [1, 0, 0.5, 0.5, 1]},
            "vertex 0, action 0: probability 0.0 is not in (0, 1] (leave the transition out)",
        ),
        (
            {"prob": [0.5, np.nan, 0.5, 0.5, 1]},
            "vertex 0, action 0: probability nan is not in (0, 1] (give a number in (0, 1])",
        ),
        (
            {"prob": [1.0, 1e-17, 0.5, 0.5, 1]},
            "vertex 0, action 0: all but the last sum to 1 already "
            "(put a greater one last: it takes up the rounding of the others)",
        ),
        (
            {"features": [[1.0]]},
            "features: has shape (1, 1) (give 5 rows of 1, as feature_names says)",
        ),
        (
            {"features": np.full((5, 1), np.inf)},
            "features, vertex 0: is not finite (give finite numbers)",
        ),
        (
            {"feature_names": ["x"]},
            "feature_names: names features that are not there (give features)",
        ),
        (
            {"features": np.zeros((5, 1)), "feature_names": [""]},
            "feature_names: '' is not a name (use printable text)",
        ),
        ({"name": ""}, "name: '' is not a name (use printable text)"),
    ],
)
def test_one_wrong_array_is_one_problem(changes: dict[str, object], problem: str) -> None:
    assert problems(**changes) == [problem]


def test_an_empty_layout() -> None:
    empty = Layout.of([], [], [])
    arrays = {"action_start": [0], "transition_start": [0], "target": [], "prob": [], "reward": []}
    assert problems(layout=empty, **arrays)[-1] == "layout: has no component (give it one)"


def test_actions_at_exits_and_call_ports_and_none_elsewhere() -> None:
    texts = problems(
        action_start=[0, 0, 1, 1, 2, 2], transition_start=[0, 4, 5], prob=[0.25] * 4 + [1]
    )
    assert texts == [
        "vertex 1: is an exit and has actions (remove them)",
        "vertex 3: is a call port and has actions (remove them)",
        "vertex 0: has no action (add one)",
        "vertex 2: has no action (add one)",
        "vertex 4: has no action (add one)",
    ]


def test_an_action_without_transitions() -> None:
    changes = {"transition_start": [0, 0, 4, 5], "prob": [0.25] * 4 + [1]}
    assert problems(**changes) == ["vertex 0, action 0: leads nowhere (add a transition)"]


def test_components_must_have_entries_and_exits_and_targets_stay_inside() -> None:
    layout = Layout.of([1, 0], [1, 0], [0, 1])
    texts = problems(
        layout=layout,
        action_start=[0, 1, 1, 2],
        transition_start=[0, 1, 2],
        target=[2, 2],
        prob=[1, 1],
        reward=[0, 0],
    )
    assert texts == [
        "component 1: has no entry (give it one)",
        "component 1: has no exit (give it one)",
        "vertex 0, action 0: target 2 lies in another component "
        "(call that component through a box)",
    ]


def test_all_arrays_are_reported_at_once() -> None:
    texts = problems(target=[[1]], prob=["x"] * 5, start_component=7, features=[[1.0]])
    assert [text.partition(":")[0] for text in texts] == [
        "start_component", "target", "prob", "features",
    ]  # fmt: skip


def test_ragged_features_are_refused() -> None:
    with pytest.raises(ModelError, match=r"features: .*rows of numbers"):
        coin(features=[[1], [1, 2], [3]])


def test_names_given_with_arrays_are_checked() -> None:
    t = server().tables

    def names(**changes: list[str]) -> Names:
        lists = {
            "components": ["S"],
            "nodes": ["start", "done", "", ""],
            "boxes": ["retry"],
            "actions": ["a", "b", "c"],
            **changes,
        }
        return Names(*lists.values(), tables=t)

    def given(**changes: list[str]) -> list[str]:
        arrays = {
            field: getattr(t, field)
            for field in ("action_start", "transition_start", "target", "prob", "reward")
        }
        return problems(layout=t.layout, **arrays, names=names(**changes))

    assert given(boxes=[]) == ["names, boxes: has 0 elements (give 1)"]
    assert given(nodes=["start", "start", "", ""]) == [
        "names, component 0: the name 'start' is used twice (choose another)"
    ]
    assert given(boxes=["done"]) == [
        "names, component 0: the name 'done' is used twice (choose another)"
    ]
    assert given(components=["a.b"]) == [
        "names: 'a.b' is not a name for a component (use text without dots)"
    ]
    assert given(actions=["a", "", "c"]) == [
        "names, actions: '' is not a name (use printable text)"
    ]
