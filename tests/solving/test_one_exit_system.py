from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

import recurl
from recurl.solving.one_exit_system import System
from recurl.solving.question import Question


def test_values_of_all_vertices_are_rounded_outwards() -> None:
    model = recurl.zoo.cloud(exits=1)
    system = System.of(model, Question("min", "steps"))
    x = np.random.default_rng(0).random(system.n_rows)
    low, high = system.by_vertex(x, -math.inf), system.by_vertex(x, math.inf)
    inexact = 0
    for box in ("b1", "b2", "b3"):
        call, back = model.find(f"T.{box}.u3"), model.find(f"T.{box}.u4")
        total = Fraction(float(low[model.find("S.u3")])) + Fraction(float(low[back]))
        assert Fraction(float(low[call])) <= total <= Fraction(float(high[call]))
        inexact += low[call] < high[call]
    assert inexact > 0
    assert low[model.find("T.u2")] == high[model.find("T.u2")] == 0
    assert (system.gain == -1).all()
