"""Certificates of the probability to end, for 1-exit models: bounds by vertex, and progress."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from recurl.model.certificate import Certificate, Values
from recurl.model.tables import CALL, EXIT

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP
    from recurl.model.tables import Floats, Ints
    from recurl.solving.question import Question


class EndingProof(NamedTuple):
    """Vectors that prove bounds, by vertex; those of call ports follow from the others.

    Attributes:
        actions: The policy, counted within vertices.
        lower: L, proved with room for the rounding of products.
        upper: U, proved with room for the rounding of products.
        progress: w > f'(L) w, for all actions that count; at exits less than what is missing.
    """

    actions: Ints
    lower: Floats
    upper: Floats
    progress: Floats


def ending_certificate(
    model: RMDP, question: Question, interval: tuple[float, float], proof: EndingProof
) -> Certificate:
    """The certificate of an interval: call ports are worth products, and exits 1."""
    t = model.tables
    calls = np.flatnonzero(t.vertex_kind == CALL)
    entry, back = t.entry_of_call(calls), t.box_return[t.vertex_box[calls]]
    low, high, left = (np.array(x, np.float64) for x in proof[1:])
    exits = t.vertex_kind == EXIT
    low[exits] = high[exits] = 1.0
    low[calls] = _product(low[entry], low[back], -np.inf)
    high[calls] = np.minimum(_product(high[entry], high[back], np.inf), 1.0)
    left[calls] = low[entry] * left[back] + low[back] * left[entry]
    left[calls] += 4 * np.spacing(left[calls])
    return Certificate(
        model=model.fingerprint,
        objective=question.objective,
        rewards=question.rewards,
        exit_values=list(question.exit_values),
        lower=interval[0],
        upper=interval[1],
        points=[],
        pieces=[],
        steps=[],
        start_points=[],
        start_pieces=[],
        values=Values([], low.tolist(), high.tolist(), proof.actions.tolist(), left.tolist()),
    )


def _product(a: Floats, b: Floats, side: float) -> Floats:
    """Products rounded outwards; a factor 0 or 1 leaves nothing to round."""
    product = a * b
    exact = (a == 0) | (b == 0) | (a == 1) | (b == 1)
    return np.where(exact, product, np.nextafter(product, side))
