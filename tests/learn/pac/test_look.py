"""What is known of an environment at a time."""

from __future__ import annotations

import numpy as np
import pytest
from tests.learn.pac.foreign import Gamble

from recurl.learn.pac.atlas import Atlas
from recurl.learn.pac.episodes import Episodes
from recurl.learn.pac.look import Look
from recurl.learn.pac.one_exit import Task


def played(samples: int = 3000) -> Atlas:
    env = Gamble()
    atlas = Atlas(env)
    Episodes(env, atlas, seed=1)._play(samples)
    return atlas


def test_the_learned_model_is_what_was_counted() -> None:
    look = Look(played(), Task(1.0, 0.1, 6.0, 1.0, support=2, starts=1))
    t, first = look.learned().tables, look.atlas.pairs[0]
    assert sorted(t.prob[:2]) == pytest.approx(sorted(np.array(first.looked) / sum(first.looked)))


def test_an_unknown_start_is_counted_in_and_told() -> None:
    atlas = played()
    sure = Look(atlas, Task(1.0, 0.1, 6.0, 1.0, support=2, starts=1))
    unsure = Look(atlas, Task(1.0, 0.1, 6.0, 1.0, support=2, starts=3))
    for look in (sure, unsure):
        look.tighten()
    assert unsure.bounds.upper > sure.bounds.upper
    assert unsure.bounds.lower < sure.bounds.lower
    assert any("starts that may exist" in text for text in unsure.unseen())
    assert not any("starts" in text for text in sure.unseen())
    assert sure.scores()[1] == pytest.approx(0, abs=1e-9)
    assert unsure.scores()[1] > 0


def test_what_contradicts_the_numbers_given_is_told() -> None:
    look = Look(played(), Task(1.0, 0.1, 6.0, 0.5, support=1, starts=1))
    assert look.warnings() == (
        "a pair has shown 2 outcomes, more than the support of 1",
        "a step paid 1 in absolute value, beyond the bound 0.5",
    )
    assert Look(played(), Task(1.0, 0.1, 6.0, 1.0, support=2)).warnings() == ()
