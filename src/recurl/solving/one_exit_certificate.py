"""Certificates of 1-exit solutions: one point and one piece per component."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recurl.model.certificate import Certificate, Piece, Point
from recurl.model.tables import CALL

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP
    from recurl.model.tables import Floats, Ints
    from recurl.solving.question import Question


def one_exit_certificate(
    model: RMDP,
    question: Question,
    interval: tuple[float, float],
    *,
    lower: Floats,
    upper: Floats,
    actions: Ints,
    steps: Floats,
) -> Certificate:
    """Write down bounds of a 1-exit model that hold with rounding counted.

    Args:
        model: The model.
        question: What was asked of it.
        interval: What is claimed of the start, lower and upper end.
        lower: L(q) by vertex with L <= F(L) for the given actions, negated as the question says.
        upper: U(q) by vertex with U >= F(U), negated as the question says.
        actions: Action of each vertex, counted within the vertex.
        steps: d(q) by vertex, with d(q) >= 1 + sum p d(q') for all actions.
    """
    t = model.tables
    points, pieces = [], []
    for c in range(t.n_components):
        block = slice(int(t.component_start[c]), int(t.component_start[c + 1]))
        ports = np.flatnonzero(t.vertex_kind[block] == CALL) + block.start
        callees = t.box_component[t.vertex_box[ports]].tolist()
        points.append(Point(c, upper[block].tolist(), [[(b, 1.0)] for b in callees]))
        pieces.append(Piece(c, actions[block].tolist(), callees, lower[block].tolist()))
    return Certificate(
        model=model.fingerprint,
        objective=question.objective,
        rewards=question.rewards,
        exit_values=list(question.exit_values),
        lower=interval[0],
        upper=interval[1],
        points=points,
        pieces=pieces,
        steps=steps.tolist(),
        start_points=[[(t.start_component, 1.0)]] * len(t.start_prob),
        start_pieces=[t.start_component] * len(t.start_prob),
    )
