"""Callbacks: code of the user's own that runs while a learner learns.

A callback is a function of the learner, called after each test (or each chunk of steps where
nothing is tested), or an object with methods for the single events of a run. Lists of them work
too. A callback that returns False ends the run.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from recurl.arguments import with_known_names

if TYPE_CHECKING:
    from recurl.learn.curve import Score
    from recurl.learn.learner import Learner


class Callback:
    """Reacts to the events of a run: override the methods you need.

    Each method gets the learner; False from any of them ends the run.

    Attributes:
        every: Call `on_stop` after this number of steps; 0 for after each test, or each chunk of
            steps where nothing is tested.

    Example:
        >>> import recurl
        >>> class Print(Callback):
        ...     def on_test(self, learner, score):
        ...         print(learner.steps, round(score.cut, 2))
        >>> settings = {"episode_limit": 200, "evaluate_every": 5_000}
        >>> _ = recurl.RecursiveQLearning(recurl.zoo.cloud(), **settings).learn(10_000, Print())
        5000 0.0
        10000 0.0
    """

    every: int = 0

    def on_start(self, learner: Learner) -> bool | None:
        """``learn`` begins."""

    def on_test(self, learner: Learner, score: Score) -> bool | None:
        """The greedy policy was tested; the test is in the learner's curve."""

    def on_checkpoint(self, learner: Learner, path: Path) -> bool | None:
        """The run was saved to the checkpoint given to ``learn``."""

    def on_stop(self, learner: Learner) -> bool | None:
        """`every` steps have passed, or ``learn`` has taken its last step."""


class CallFunction(Callback):
    """Calls a function of the learner at each stop."""

    def __init__(self, function: Callable[[Learner], bool | None]) -> None:
        self._function = function

    def on_stop(self, learner: Learner) -> bool | None:
        """Call the function."""
        return self._function(learner)


class StopAtReward(Callback):
    """Ends the run at the first test whose mean return is at least ``reward``.

    Args:
        reward: Mean return to reach.
        tests: Tests in a row that have to reach it.

    Example:
        >>> import recurl
        >>> settings = {"episode_limit": 200, "evaluate_every": 1_000}
        >>> learner = recurl.RecursiveQLearning(recurl.zoo.cloud(), **settings)
        >>> learner.learn(1e6, StopAtReward(-5.8)).steps < 1e6
        True
    """

    @with_known_names
    def __init__(self, reward: float, *, tests: int = 1) -> None:
        self.reward, self.tests, self._in_a_row = reward, tests, 0

    def on_start(self, learner: Learner) -> bool | None:
        """Refuse a run that is never tested."""
        _demand_tests(self, learner)
        return None

    def on_test(self, learner: Learner, score: Score) -> bool | None:
        """End the run if the reward is reached."""
        self._in_a_row = self._in_a_row + 1 if score.mean >= self.reward else 0
        return self._in_a_row < self.tests


class KeepBest(Callback):
    """Saves the learner to a file whenever a test is better than all tests of the run before it.

    Tests before the run was saved and loaded count as well.

    Args:
        path: File to save to; it always holds the best run so far.
    """

    @with_known_names
    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.score: Score | None = None
        """The best test so far."""

    def on_start(self, learner: Learner) -> bool | None:
        """Refuse a run that is never tested."""
        _demand_tests(self, learner)
        return None

    def on_test(self, learner: Learner, score: Score) -> bool | None:
        """Save the learner if the test is the best so far."""
        if learner.best is not None:
            self.score = learner.best.score
            if self.score is score:
                learner.save(self.path)
        return None


def _demand_tests(callback: Callback, learner: Learner) -> None:
    if not learner.settings.evaluate_every:
        name = type(callback).__name__
        raise ValueError(f"{name} needs tests, and there are none: set evaluate_every")


class SaveEvery(Callback):
    """Saves the learner every so often, each time to a new file or always to the same.

    Args:
        steps: Steps between two saves.
        path: File to save to; ``{steps}`` in it stands for the number of steps learned.

    Example:
        >>> import recurl, tempfile
        >>> from pathlib import Path
        >>> folder = Path(tempfile.mkdtemp())
        >>> saving = SaveEvery(400, folder / "run-{steps}")
        >>> _ = recurl.QLearning(recurl.zoo.cloud()).learn(1000, saving)
        >>> sorted(path.name for path in folder.iterdir())
        ['run-1000', 'run-400', 'run-800']
    """

    @with_known_names
    def __init__(self, steps: float, path: str | os.PathLike[str]) -> None:
        if int(steps) < 1:
            raise ValueError(f"SaveEvery takes at least one step between saves, not {steps!r}")
        self.every, self.path = int(steps), os.fspath(path)

    def on_stop(self, learner: Learner) -> bool | None:
        """Save the learner."""
        learner.save(self.path.replace("{steps}", str(learner.steps)))
        return None


Callbacks = Callback | Callable[["Learner"], bool | None] | Sequence["Callbacks"]
"""A callback, a function of the learner, or a list of both."""


def as_list(given: Callbacks | None) -> list[Callback]:
    """Callbacks one by one, functions wrapped.

    Raises:
        TypeError: Something else was given.
    """
    if given is None:
        return []
    if isinstance(given, Callback):
        return [given]
    if isinstance(given, (list, tuple)):
        return [one for member in given for one in as_list(member)]
    if isinstance(given, type) or not callable(given):
        raise TypeError(
            "callback takes a function of the learner, a recurl.callbacks.Callback, or a list of "
            f"them, not {given!r}"
        )
    return [CallFunction(given)]
