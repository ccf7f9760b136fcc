"""The exceptions of recurl, all of them.

```
RecurlError
├── ModelError           a model breaks the rules; `problems` lists every breach
│   └── DocumentError    ... and came from a file; file, line and path are named
├── UnknownNameError     unknown model, method, action, ...; close names are offered
├── UnknownSettingError  a setting that a learner does not have; the one that is meant is offered
├── PropertyError        a property that cannot be asked here; the operator is named
├── NotProperError       a value was asked for that is not finite, or not known to be
├── LimitError           a limit on memory, states or depth was met
├── BusyError            another process works in the folder, or another thread on the learner
├── CheckpointError      a saved file is damaged, foreign or of another version
├── CertificateError     a certificate does not prove what it claims
├── ProtocolError        an environment does not report calls and returns as it should
└── MissingExtraError    an optional dependency is not installed
```
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


class RecurlError(Exception):
    """Base of all errors that recurl raises on purpose."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong, or odd, with a model.

    Attributes:
        place: Where, in the words of the model: ``component S, vertex u3, action fast``.
        message: What is wrong.
        fix: What would make it right.
        path: Keys that lead there in a document.
        line: Line of the document, where there is one.
    """

    place: str
    message: str
    fix: str = ""
    path: tuple[str | int, ...] = ()
    line: int | None = None

    def __str__(self) -> str:
        where = f"line {self.line}: " if self.line is not None else ""
        place = f"{self.place}: " if self.place else ""
        fix = f" ({self.fix})" if self.fix else ""
        return f"{where}{_short(place, 400)}{_short(self.message, 800)}{_short(fix, 800)}"


class ModelError(RecurlError):
    """A model that breaks the rules, with all its problems at once.

    Example:
        >>> raise ModelError([Problem("component T, vertex u1", "has no action", "add one")])
        Traceback (most recent call last):
        recurl.errors.ModelError: 1 problem:
          component T, vertex u1: has no action (add one)
    """

    def __init__(self, problems: Sequence[Problem], headline: str = "") -> None:
        self.problems = tuple(problems)
        super().__init__(self._text(headline))

    def _text(self, headline: str, shown: int = 20) -> str:
        count = len(self.problems)
        head = f"{headline}{count} problem{'s' if count != 1 else ''}:"
        lines = [f"  {problem}" for problem in self.problems[:shown]]
        if count > shown:
            lines.append(f"  ... and {count - shown} more")
        return "\n".join([head, *lines])


class DocumentError(ModelError):
    """A document that is not a model; names the file, the line and the path."""

    def __init__(self, problems: Sequence[Problem], file: str = "<text>") -> None:
        self.file = file
        super().__init__(problems, headline=f"{file}: ")


def _short(text: object, longest: int = 100) -> str:
    """A text of a file as far as a message shows it."""
    words = str(text)
    return words if len(words) <= longest else f"{words[:longest]}..."


class UnknownNameError(RecurlError, LookupError):
    """A name that nothing carries; close ones are offered.

    Example:
        >>> raise UnknownNameError("model", "clowd", ["cloud", "gambler"])
        Traceback (most recent call last):
        recurl.errors.UnknownNameError: Unknown model 'clowd'. Did you mean 'cloud'?
        Known: cloud, gambler.
    """

    def __init__(self, what: str, name: str, known: Iterable[str]) -> None:
        names = sorted(known)
        name = _short(name)
        close = difflib.get_close_matches(name, names, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        listed = ", ".join(names[:40]) + (", ..." if len(names) > 40 else "")
        super().__init__(f"Unknown {what} {name!r}.{hint} Known: {listed}.")


class UnknownSettingError(RecurlError, TypeError):
    """A setting that a learner, or its method, does not have; the one that is meant is offered.

    Example:
        >>> raise UnknownSettingError("QLearning", "lr", ["learning_rate", "exploration"])
        Traceback (most recent call last):
        recurl.errors.UnknownSettingError: QLearning has no setting 'lr': did you mean
        learning_rate? Known: exploration, learning_rate.
    """

    def __init__(self, what: str, name: str, known: Iterable[str]) -> None:
        names = sorted(known)
        name = _short(name)
        meant = _SYNONYMS.get(name, "")
        close = [meant] if meant in names else difflib.get_close_matches(name, names, n=1)
        hint = f": did you mean {close[0]}?" if close else "."
        super().__init__(f"{what} has no setting {name!r}{hint} Known: {', '.join(names)}.")


_SYNONYMS = {
    "alpha": "learning_rate",
    "batch_size": "batch",
    "buffer_size": "buffer",
    "callbacks": "callback",
    "discount": "gamma",
    "discount_factor": "gamma",
    "epsilon": "exploration",
    "epsilon_greedy": "exploration",
    "eval_freq": "evaluate_every",
    "exploration_rate": "exploration",
    "learning_starts": "warm_up",
    "lr": "learning_rate",
    "max_episode_steps": "episode_limit",
    "n_eval_episodes": "evaluate_episodes",
    "net_arch": "hidden",
    "quantise": "quantum",
    "quantize": "quantum",
    "random_state": "seed",
    "step_size": "learning_rate",
    "steps": "total_timesteps",
    "target_update_interval": "target_every",
    "train_freq": "train_every",
}
"""Names that others give to settings, the paper included."""


class PropertyError(RecurlError):
    """A property that cannot be asked here; the operator is named."""


class QuestionError(RecurlError, ValueError):
    """A question that a model has no answer to: a start, or a worth of exits, that does not fit."""


class NotProperError(RecurlError):
    """A value was asked for that is infinite, undefined, or not known to be finite."""


class LimitError(RecurlError):
    """A limit on memory, states or depth was met; the message says which and what fits."""


class BusyError(RecurlError):
    """Another process works in the folder; the message names it."""


class CheckpointError(RecurlError):
    """A saved file is damaged, foreign, or of another version."""


class CertificateError(RecurlError):
    """A certificate does not prove what it claims."""


class ProtocolError(RecurlError):
    """An environment does not keep the recursive protocol; the message says where and how."""


class MissingExtraError(RecurlError, ImportError):
    """An optional dependency is missing; the message names the command that installs it.

    Example:
        >>> raise MissingExtraError("Deep learning", "deep")
        Traceback (most recent call last):
        recurl.errors.MissingExtraError: Deep learning needs: pip install 'recurl[deep]'
    """

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs: pip install 'recurl[{extra}]'")
