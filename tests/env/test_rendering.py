from __future__ import annotations

import numpy as np

import recurl
from recurl.env.rendering import render_walk


def countdown() -> recurl.RMDP:
    return (
        recurl.Builder("down")
        .component("A", entries="in", exits="out").box("again", "A")
        .at("in", label="how far?")
        .action("deeper", reward=-1.5).to("again")
        .action("stop").to("out")
        .at("again.out").action("up", reward=2).to("out")
        .build()
    )  # fmt: skip


def test_a_start_shows_where_the_run_stands() -> None:
    walk = recurl.Walk(countdown(), np.random.default_rng(0))
    assert render_walk(walk, None) == "A  at in (how far?): deeper | stop"


def test_calls_and_returns_are_told_and_the_stack_is_indented() -> None:
    walk = recurl.Walk(countdown(), np.random.default_rng(0))
    walk.step(0)
    assert render_walk(walk, walk.step(0)).splitlines() == [
        "A.in: deeper, reward -1.5, calls again",
        "A  in again",
        "  A  in again",
        "    A  at in (how far?): deeper | stop",
    ]
    assert render_walk(walk, walk.step(1)).splitlines() == [
        "A.in: stop, reward 0, returns from again",
        "A  in again",
        "  A  at again.out: up",
    ]


def test_the_end_is_told() -> None:
    walk = recurl.Walk(countdown(), np.random.default_rng(0))
    assert render_walk(walk, walk.step(1)) == "A.in: stop, reward 0\nthe run is over"


def test_of_a_deep_stack_the_innermost_calls_are_shown() -> None:
    walk = recurl.Walk(countdown(), np.random.default_rng(0))
    for _ in range(1000):
        step = walk.step(0)
    lines = render_walk(walk, step).splitlines()
    assert lines[1] == "... 988 calls further out"
    assert len(lines) == 2 + 12 + 1
