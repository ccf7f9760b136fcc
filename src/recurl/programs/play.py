"""Playing a program: the function itself runs, with drawn numbers and any chooser."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import FrameType
from typing import TYPE_CHECKING, Any

from recurl.programs.language import amount_of, attempt

if TYPE_CHECKING:
    from recurl.model.spec import Number
    from recurl.programs.decorator import Program

Chooser = Callable[[tuple[Any, ...]], Any]
"""Any function from the options of a choice to one of them."""


@dataclass(eq=False)
class Play:
    """One run of a program.

    Attributes:
        result: What the function returned.
        total: The rewards, added up.
        choices: What was chosen, in order.
    """

    result: Any = None
    total: float = 0.0
    choices: list[Any] = field(default_factory=list)


class Player:
    """Runs a program as the Python function that it is.

    Args:
        chooser: Makes the choices; options are drawn with equal probability if not given.
        seed: Seed of draws, and of choices if there is no chooser.
    """

    def __init__(self, chooser: Chooser | None, seed: int) -> None:
        self.random = random.Random(seed)
        self.chooser: Chooser = chooser or self.random.choice
        self.play = Play()

    def choose(self, options: tuple[Any, ...], frame: FrameType) -> Any:
        """Ask the chooser."""
        self.play.choices.append(self.chooser(options))
        return self.play.choices[-1]

    def draw(self, outcomes: Mapping[Any, Number]) -> Any:
        """Draw by the numbers."""
        (drawn,) = self.random.choices(list(outcomes), [float(p) for p in outcomes.values()])
        return drawn

    def reward(self, amount: Number) -> None:
        """Add it up."""
        self.play.total += float(amount_of(amount))

    def outcome(self, work: Callable[[], Any], exceptions: tuple[type[Exception], ...]) -> Any:
        """Do the work."""
        return attempt(work, exceptions)

    def call(
        self, program: Program, arguments: tuple[Any, ...], named: dict[str, Any], frame: FrameType
    ) -> Any:
        """Call the function."""
        return program.function(*arguments, **named)
