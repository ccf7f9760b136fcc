"""Turns of learners that share an environment."""

from __future__ import annotations

import gymnasium as gym

from recurl.learn.turns import begins_turn


class Equal:
    """Has no hash, as it says when it is equal to something."""

    @property
    def unwrapped(self) -> Equal:
        return self

    def __eq__(self, other: object) -> bool:
        return True


def test_wrappers_do_not_hide_what_is_shared() -> None:
    env, one, other = gym.make("CartPole-v1"), object(), object()
    wrapped = gym.wrappers.TimeLimit(env, 5)
    turns = [begins_turn(env, one), begins_turn(wrapped, other), begins_turn(wrapped, other)]
    assert turns == [False, True, False]
    assert begins_turn(env, one)


def test_what_has_no_hash_is_not_watched() -> None:
    env = Equal()
    assert not begins_turn(env, 1)
    assert not begins_turn(env, 2)
