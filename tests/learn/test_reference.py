"""Algorithm 1 in plain Python, by hand, and against the compiled loop to the bit."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent
from typing import Any, cast

import numba
import numpy as np
import pytest

import recurl
from recurl.learn import reference
from recurl.learn.engine import ModelEngine
from recurl.learn.reference import recursive_q_learning
from recurl.learn.settings import make_settings
from recurl.simulation.random import new_stream, next_below, next_float


@numba.njit
def draw_float(random: np.ndarray) -> float:
    return next_float(random)


@numba.njit
def draw_below(random: np.ndarray, count: int) -> int:
    return next_below(random, count)


class Stream:
    """The random numbers of the compiled loop, drawn as a numpy generator draws."""

    def __init__(self, seed: int) -> None:
        self.state = new_stream(seed)

    def random(self) -> float:
        return float(draw_float(self.state))

    def integers(self, count: int) -> int:
        return int(draw_below(self.state, count))

    def choice(self, count: int, p: Any) -> int:
        return 0 if count == 1 else int(np.searchsorted(np.cumsum(p), self.random(), "right"))


@pytest.mark.parametrize("name", ["cloud", "stack_matters", "letter_world", "leaky_pfa"])
def test_the_compiled_loop_learns_the_same_to_the_bit(name: str) -> None:
    model, steps = getattr(recurl.zoo, name)(), 5000
    engine = ModelEngine(model, make_settings("paper", {"seed": 5}), flat=False)
    engine.advance(steps)
    Q = recursive_q_learning(model, steps, cast(np.random.Generator, Stream(5)))
    contexts = {
        (int(engine.store.kind[i]), tuple(engine.store.exit_values(i))): i
        for i in range(engine.n_contexts)
    }
    assert sum(value != 0 for value in Q.values()) > 10
    for (vertex, context, action), value in Q.items():
        number = contexts[int(model.tables.vertex_component[vertex]), context]
        assert engine.q_values(vertex, number)[action] == value
    assert np.count_nonzero(engine.store.q) == sum(value != 0 for value in Q.values())


def test_values_of_a_deterministic_model_by_hand() -> None:
    """A calls B, which leaves through one of two exits, worth 3 and 10 to A."""
    builder = recurl.Builder("tree").component("A", entries="in", exits="out").box("b", "B")
    builder.at("in").action("go", reward=-1).to("b")
    builder.at("b.low").action("on", reward=3).to("out")
    builder.at("b.high").action("on", reward=10).to("out")
    builder.component("B", entries="in", exits=("low", "high"))
    builder.at("in").action("cheap", reward=0).to("low").action("dear", reward=-2).to("high")
    model = builder.build("A")
    Q = recursive_q_learning(model, 1000, np.random.default_rng(0), alpha=1.0, epsilon=0.5)
    inside = model.find("B.in")
    assert Q[inside, (0.0, 7.0), 0] == 0.0
    assert Q[inside, (0.0, 7.0), 1] == 5.0
    assert Q[model.find("A.in"), (0.0,), 0] == -1 + 3 + 5


def test_the_docs_show_the_loop_as_it_is() -> None:
    docs = Path(__file__).parents[2] / "docs"
    page = (docs / "reference" / "learning.md").read_text(encoding="utf-8")
    shown = page.split("```python\n")[1].split("```")[0]
    source = Path(reference.__file__).read_text(encoding="utf-8")
    assert shown.startswith("for _ in range(steps):")
    assert indent(shown, "    ") in source
