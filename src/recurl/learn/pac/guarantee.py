"""The result of learning, and the numbers that it rests on."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP
    from recurl.policy import Policy


@dataclass(frozen=True, eq=False)
class Guarantee:
    """An interval that holds the optimum with probability 1 - delta, and a policy.

    Attributes:
        model: The learned model: what was observed, as probabilities.
        lower: The optimum of the true model is at least this, with probability 1 - delta.
        upper: ... and at most this.
        value: What the learned model is worth, or the middle of the interval.
        policy: A policy; in the true model it falls short of the optimum by at most `loss`.
        loss: See there.
        epsilon: The precision that was asked for.
        delta: Probability with which the statement may be wrong.
        reached: Whether the interval is as narrow as asked.
        samples: Samples that were drawn.
        planned: Samples that the plan made beforehand would take; None if it has no answer.
        method: ``"plan"`` or ``"adaptive"``.
        numbers: All other numbers that the statement rests on, by name.
        unseen: What was never observed, in words.
        warnings: Where data contradict what was assumed, in words.
    """

    model: RMDP
    lower: float
    upper: float
    value: float
    policy: Policy | None
    loss: float
    epsilon: float
    delta: float
    reached: bool
    samples: int
    planned: int | None
    method: str
    numbers: Mapping[str, float | str] = field(default_factory=dict)
    unseen: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def statement(self) -> str:
        """The guarantee in words, with all its numbers."""
        sure = f"{1 - self.delta:.10g}"
        lines = [
            f"With probability {sure}, the optimum of {self.model.name} lies in "
            f"[{self.lower:.8g}, {self.upper:.8g}], width {self.upper - self.lower:.3g}",
            f"Asked for: {self.epsilon:g}" + ("" if self.reached else ", which was not reached"),
            f"Learned value: {'none' if math.isnan(self.value) else f'{self.value:.8g}'}",
            f"Samples: {self.samples:,} ({self.method}){self._beside()}",
        ]
        if self.policy is not None and self.loss < math.inf:
            lines.insert(3, f"The policy falls short of the optimum by at most {self.loss:.6g}")
        lines += [f"{name}: {_text(value)}" for name, value in self.numbers.items()]
        lines += [f"Never seen: {what}" for what in self.unseen]
        lines += [f"Warning: {what}" for what in self.warnings]
        return "\n".join(lines)

    def _beside(self) -> str:
        if self.planned is None:
            return "; no plan beforehand is possible"
        part = f", {self.samples / self.planned:.2g} of it" if self.method == "adaptive" else ""
        return f"; planned beforehand: {self.planned:,}{part}"

    def __str__(self) -> str:
        return self.statement


def _text(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.6g}"
