from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import models

from recurl.model.rmdp import RMDP
from recurl.model.tables import CALL, CALLS, EXIT, EXITS, NODE, RETURN, STEP, Layout, Tables


@st.composite
def shapes(draw: st.DrawFn) -> tuple[list[tuple[int, int, int]], list[list[int]]]:
    """Entries, exits and other nodes of each component, and what its boxes call."""
    counts = st.tuples(st.integers(1, 3), st.integers(1, 3), st.integers(0, 3))
    components = draw(st.lists(counts, min_size=1, max_size=4))
    callees = st.lists(st.integers(0, len(components) - 1), max_size=3)
    return components, [draw(callees) for _ in components]


Vertex = tuple[int, int, int, int]
"""Component, kind, box and port."""


def numbering(counts: Sequence[tuple[int, int, int]], boxes: list[list[int]]) -> list[Vertex]:
    """All vertices in order, one by one."""
    made: list[Vertex] = []
    first = 0
    for c, ((entries, exits, nodes), callees) in enumerate(zip(counts, boxes, strict=True)):
        made += [(c, NODE, -1, -1) for _ in range(entries)]
        made += [(c, EXIT, -1, k) for k in range(exits)]
        made += [(c, NODE, -1, -1) for _ in range(nodes)]
        numbered = list(enumerate(callees, start=first))
        made += [(c, CALL, b, j) for b, callee in numbered for j in range(counts[callee][0])]
        made += [(c, RETURN, b, k) for b, callee in numbered for k in range(counts[callee][1])]
        first += len(callees)
    return made


@given(shapes())
def test_vertices_are_numbered_as_promised(
    shape: tuple[list[tuple[int, int, int]], list[list[int]]],
) -> None:
    counts, boxes = shape
    entries, exits, nodes = zip(*counts, strict=True)
    owner = [c for c, callees in enumerate(boxes) for _ in callees]
    callee = [called for callees in boxes for called in callees]
    layout = Layout.of(entries, exits, nodes, box_owner=owner, box_component=callee)
    made = numbering(counts, boxes)
    columns = (layout.vertex_component, layout.vertex_kind, layout.vertex_box, layout.vertex_port)
    assert list(zip(*(column.tolist() for column in columns), strict=True)) == made
    of_component = [
        [v for v, made_v in enumerate(made) if made_v[0] == c] for c in range(len(counts))
    ]
    assert layout.component_start.tolist() == [block[0] for block in of_component] + [len(made)]
    assert layout.box_call.tolist() == [made.index((c, CALL, b, 0)) for b, c in enumerate(owner)]
    assert layout.box_return.tolist() == [
        made.index((c, RETURN, b, 0)) for b, c in enumerate(owner)
    ]
    assert (layout.n_components, layout.n_vertices, layout.n_boxes) == (
        len(counts),
        len(made),
        len(owner),
    )


@pytest.mark.parametrize(
    ("counts", "boxes", "message"),
    [
        (([1], [1, 1], [0]), {}, "one number per component"),
        (([1], [1], [-1]), {}, "must not be negative"),
        (([1], [1], [0]), {"box_owner": [0]}, "one number per box"),
        (([1], [1], [0]), {"box_owner": [0], "box_component": [1]}, "must be below 1"),
        (
            ([1] * 2, [1] * 2, [0] * 2),
            {"box_owner": [1, 0], "box_component": [0, 0]},
            "must ascend",
        ),
        (([1], [1], [2**31]), {}, "more than 32-bit"),
        (([1.5], [1], [0]), {}, "whole numbers"),
        (([[1]], [[1]], [[0]]), {}, "list"),
        (([1], [1], ["x"]), {}, "whole numbers"),
    ],
)
def test_layouts_that_cannot_be(
    counts: tuple[object, ...], boxes: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        Layout.of(*counts, **boxes)


@given(models())
def test_moves_are_one_hop(model: RMDP) -> None:
    t = model.tables
    for i, target in enumerate(t.target.tolist()):
        kind = t.vertex_kind[target]
        if kind == CALL:
            box = int(t.vertex_box[target])
            callee = int(t.box_component[box])
            entry = int(t.component_start[callee]) + target - int(t.box_call[box])
            assert (t.move[i], t.landing[i], t.move_box[i]) == (CALLS, entry, box)
            assert t.entry_of_call(target) == entry
        elif kind == EXIT:
            c = int(t.vertex_component[target])
            index = target - int(t.component_start[c] + t.n_entries[c])
            assert (t.move[i], t.landing[i], t.move_box[i]) == (EXITS, index, -1)
        else:
            assert (t.move[i], t.landing[i], t.move_box[i]) == (STEP, target, -1)


@given(models())
def test_sizes_states_and_starts(model: RMDP) -> None:
    t = model.tables
    actions = np.diff(t.action_start)
    assert t.n_actions == len(t.action_vertex) == actions.sum()
    assert t.n_transitions == len(t.target) == len(t.prob) == len(t.reward)
    np.testing.assert_array_equal(t.states, actions > 0)
    np.testing.assert_array_equal(np.bincount(t.action_vertex, minlength=t.n_vertices), actions)
    assert (t.max_exits, t.max_actions) == (max(t.n_exits), max(actions))
    first = t.component_start[t.start_component]
    assert [t.start_prob[v - first] > 0 for v in t.starts] == [True] * np.count_nonzero(
        t.start_prob
    )
    assert t.layout == Layout(*t[:11])


@given(models())
def test_arrays_are_read_only(model: RMDP) -> None:
    arrays = [array for array in model.tables if isinstance(array, np.ndarray)]
    assert len(arrays) == len(Tables._fields) - 1
    assert not any(array.flags.writeable for array in arrays)
