"""What was never observed."""

from __future__ import annotations

import numpy as np

import recurl
from recurl.learn.pac.model_access import ModelAccess
from recurl.learn.pac.observed import unobserved


def test_nothing_is_missing_after_many_draws() -> None:
    access = ModelAccess(recurl.zoo.cloud(), 1)
    access.draw(np.full(len(access.level), 1000))
    assert unobserved(access.observed()) == ()


def test_exits_that_were_never_taken_are_named() -> None:
    model = (
        recurl.Builder("rare")
        .component("A", entries="in", exits=["out", "odd"])
        .at("in").action("go").to("out", "999999/1000000").to("odd", "1/1000000")
        .build()
    )  # fmt: skip
    access = ModelAccess(model, 1)
    access.draw(np.array([10]))
    assert unobserved(access.observed()) == ("1 outcome: A.in go to A.odd", "1 exit: A.odd")


def test_long_lists_are_cut() -> None:
    model = recurl.zoo.random_model(seed=1, components=2, nodes=5, kind="one_exit")
    (line,) = unobserved(ModelAccess(model).observed())
    assert line.startswith("28 pairs without a sample: ")
    assert line.endswith("... and 25 more")
