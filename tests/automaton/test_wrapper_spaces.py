from __future__ import annotations

import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.error import InvalidAction

from recurl.automaton import Machine, rule
from recurl.automaton.moves import Moves
from recurl.automaton.wrapper_spaces import Actions, encoder

MOVES = Moves(
    Machine("m", [rule("p", "a", "q", push="A _"), rule("q", None, "p", choice="x"),
                  rule("p", "b", "q", top="A", choice="c")], exclusive=["ab"])
)  # fmt: skip


def test_numbers_and_vectors_show_all_three() -> None:
    space, encode, over = encoder(spaces.Discrete(3, start=5), MOVES)
    assert space == spaces.Discrete(3 * 2 * 2 + 1)
    assert over == 12
    a = MOVES.strings.index(("A",))
    codes = [encode(raw, q, w) for raw in (5, 6, 7) for q in (0, 1) for w in (0, a)]
    assert codes == list(range(12))
    box, vector, over = encoder(spaces.Box(-1, 1, (2,), np.float32), MOVES)
    seen = vector(np.array([0.5, -0.5], np.float32), 1, a)
    assert seen.tolist() == [0.5, -0.5, 0, 1, 0, 1, 0]
    assert over.tolist() == [0, 0, 0, 0, 0, 0, 1]
    assert seen in box
    mixed, flat, _ = encoder(
        spaces.Dict({"x": spaces.Discrete(2), "y": spaces.Box(0, 1, (1,))}), MOVES
    )
    assert flat({"x": 1, "y": np.array([0.25], np.float32)}, 0, 0) in mixed


def test_actions_are_numbered_choice_by_choice() -> None:
    actions = Actions(spaces.Discrete(2), MOVES)
    a = MOVES.strings.index(("A",))
    assert actions.space == spaces.Discrete(2 * 2 + 1)  # choices "" and c, epsilon move x
    assert actions.decode(1, 0, 0) == (1, "")
    assert actions.decode(3, 0, a) == (1, "c")
    assert actions.decode(4, 1, 0) == (None, "x")
    assert actions.decode(0, 1, 0) == (None, "x")  # does not exist: counts on from the first
    mask = actions.mask(np.array([1, 0], np.int8), 0, a)
    assert mask is not None
    assert mask.tolist() == [0, 0, 1, 0, 0]
    lost = actions.mask(None, -1, 0)
    assert lost is not None
    assert lost.tolist() == [1, 0, 0, 0, 0]
    with pytest.raises(InvalidAction):
        actions.decode(9, 0, 0)


def test_without_choices_actions_stay_as_they_are() -> None:
    plain = Moves(Machine("m", [rule("p", "a", "p")]))
    box = spaces.Box(-1, 1, (1,), np.float32)
    actions = Actions(box, plain)
    assert actions.space is box
    assert actions.mask(None, 0, 0) is None
