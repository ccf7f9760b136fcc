"""What every learner does: learn in stretches, test, predict, save and load."""

from __future__ import annotations

import io
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol, Self

import msgspec
import numpy as np

from recurl.errors import CheckpointError, LimitError
from recurl.interrupts import deferred, requested
from recurl.learn.checkpoint import (
    checkpoint_bytes,
    read_checkpoint,
    restoring,
    write_checkpoint,
)
from recurl.learn.curve import Curve, Score
from recurl.learn.prediction import Predictor
from recurl.model.rmdp import RMDP
from recurl.progress import Progress

if TYPE_CHECKING:
    import gymnasium as gym

    from recurl.model.tables import Floats

Callback = Callable[[Any], bool | None]
"""Called with the learner after each test, or each chunk of steps; False ends the run."""

SLICE_SECONDS = 0.1
"""Time between two looks at whether a run should stop, about."""


class Engine(Protocol):
    """A learner's work on a model or an environment."""

    @property
    def steps(self) -> int:
        """Steps taken so far."""

    @property
    def episodes(self) -> int:
        """Episodes ended so far, those cut included."""

    @property
    def n_contexts(self) -> int:
        """Contexts met so far."""

    @property
    def start(self) -> Any:
        """Context in which an episode begins."""

    def advance(self, steps: int) -> None:
        """Take steps, learning."""

    @property
    def tally(self) -> tuple[int, float]:
        """Episodes ended since `training_mean` was last asked, and the sum of their returns."""

    def training_mean(self) -> float:
        """Mean return of the episodes that ended since this was last asked; nan if none did."""

    def test(self, episodes: int, limit: int, stream: int) -> tuple[Floats, np.ndarray, np.ndarray]:
        """Returns, lengths and cuts of greedy episodes."""

    def enter(self, context: Any, exits: Sequence[Any], observation: Any) -> Any:
        """Context that a greedy run enters by a call."""

    def greedy(self, context: Any, observation: Any, mask: np.ndarray | None) -> int:
        """Action of greatest value."""

    def legal(self, observation: Any, mask: np.ndarray | None) -> list[int]:
        """Actions that there are."""

    def header_fields(self) -> dict[str, Any]:
        """What a checkpoint says in words."""

    def arrays(self) -> dict[str, np.ndarray]:
        """All that a checkpoint must keep."""

    def restore(self, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """Go back to where a checkpoint was made."""


def require_env(value: Any, caller: str) -> None:
    """Refuse what is not an environment, where a model or an environment is wanted."""
    if hasattr(value, "step") and hasattr(value, "reset"):
        return
    ways = f": recurl.zoo.make({value!r}), or gymnasium.make({value!r})"
    fix = ways if isinstance(value, str) else ""
    found = repr(value) if isinstance(value, str) else f"a {type(value).__name__}"
    raise TypeError(f"{caller} takes a model or a Gymnasium environment, not {found}{fix}")


class Learner(ABC):
    """A learner: settings, an engine that does the work, and the curve of its tests."""

    flat: bool
    kind: str
    settings_type: type[Any]
    make_settings: Callable[[str, dict[str, Any]], Any]
    """From a preset and what is given to settings."""
    chunk = 250_000
    """Steps between looks at the clock, the keyboard and the callback, where nothing is tested."""

    settings: Any
    engine: Any
    curve: Curve
    _slice = 64
    _tally = (0, 0.0)
    _latest = ""

    @abstractmethod
    def _set_up(self, model_or_env: Any, settings: Any, evaluation_env: Any = None) -> None:
        """Take the settings and make the engine."""

    @property
    def model(self) -> RMDP | None:
        """The model that is learned in, or None for an environment."""
        model: RMDP | None = getattr(self.engine, "model", None)
        return model

    @property
    def subject(self) -> str:
        """Name of the model, or of the kind of environment, that is learned in."""
        return self.model.name if self.model is not None else "an environment"

    @property
    def steps(self) -> int:
        """Steps learned so far."""
        return int(self.engine.steps)

    def latest(self) -> str:
        """The latest return in words: of the last test, or of the last episodes of training."""
        if len(self.curve):
            last, episodes = self.curve.last, self.settings.evaluate_episodes
            return f"greedy return {last.mean:.4g} ± {last.margin(episodes):.2g} (sampled)"
        ended, returns = self.engine.tally
        before, total = self._tally
        self._tally = ended, returns
        if ended <= before:
            return self._latest
        self._latest = f"return while learning {(returns - total) / (ended - before):.4g}"
        return self._latest

    def learn(
        self,
        total_timesteps: float,
        callback: Callback | None = None,
        progress_bar: bool = False,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
        stopping: Callable[[], bool] = lambda: False,
    ) -> Self:
        """Learn for so many steps more.

        Steps may be divided among calls in any way: the result is the same to the bit. Ctrl-C ends
        the run between two steps, and the learner can go on from there.

        Args:
            total_timesteps: How many steps.
            callback: Called with the learner after each test, or every so many steps where there
                is none (``chunk``); False ends the run.
            progress_bar: Show a bar with steps per second and the latest test.
            checkpoint: File to save the run to, as often as the callback is called and at the end.
            stopping: Asked several times a second; True ends the run.

        Raises:
            KeyboardInterrupt: After Ctrl-C; everything learned is kept, and saved if there is a
                checkpoint.
            LimitError: Memory is full, or values are not finite; likewise.
        """
        end, save = self.steps + int(total_timesteps), _Saving(self, checkpoint)
        progress = Progress(f"learning {self.subject}", end, "steps", shown=progress_bar)
        with deferred(), progress:
            try:
                while self.steps < end and not stopping() and not requested():
                    stop = self._next_stop(end)
                    self._advance(stop - self.steps)
                    progress.update(self.steps, self.latest())
                    if self.steps < stop:
                        continue
                    if self._is_test_due():
                        self.curve.add(self.test())
                    save()
                    if callback is not None and callback(self) is False:
                        break
            except LimitError:
                save()
                raise
            save()
        return self

    def _advance(self, steps: int) -> None:
        """Take at most so many steps, and only as many as take a moment."""
        few, began = min(steps, self._slice), time.perf_counter()
        self.engine.advance(few)
        took = time.perf_counter() - began
        if took < SLICE_SECONDS / 2 and few == self._slice:
            self._slice *= 2
        elif took > SLICE_SECONDS:
            self._slice = max(1, self._slice // 2)

    def _next_stop(self, end: int) -> int:
        every = self.settings.evaluate_every or self.chunk
        return int(min(end, (self.steps // every + 1) * every))

    def _is_test_due(self) -> bool:
        every = self.settings.evaluate_every
        return bool(every) and self.steps % every == 0

    def test(self, episodes: int | None = None) -> Score:
        """Run episodes of the greedy policy; nothing is learned, no training randomness is used."""
        s, engine = self.settings, self.engine
        count = episodes or s.evaluate_episodes
        returns, lengths, cut = engine.test(count, s.test_limit, 1 + self.steps)
        return Score(
            steps=self.steps,
            mean=float(returns.mean()),
            deviation=float(returns.std()),
            length=float(lengths.mean()),
            cut=float(cut.mean()),
            episodes=engine.episodes,
            training_mean=engine.training_mean(),
            contexts=engine.n_contexts,
        )

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        *,
        deterministic: bool = True,
        info: Any = None,
    ) -> tuple[Any, Any]:
        """The greedy action at an observation, and the call stack to hand in next time.

        Calls and returns are told by ``info``, as the environment's last step or reset gave it:

            action, state = learner.predict(observation, state, info=info)

        On a model, or an environment made from one, they are read off the observations where there
        is no ``info``. A batch of observations, one per environment, gives as many actions and
        states, so that stable-baselines3's ``evaluate_policy(learner, env)`` works.

        Args:
            observation: What the environment shows; for a learner on a model, the vertex.
            state: What the last call of this method returned; None at the start of an episode.
            episode_start: Whether an episode begins here, whatever the state.
            deterministic: False takes any action with the exploration rate of the settings.
            info: The environment's ``info`` for this observation; a list of them for a batch.

        Raises:
            ProtocolError: Calls and returns are neither told nor seen.
        """
        if self._predictor.is_batch(observation):
            return self._predictor.many(observation, state, episode_start, deterministic, info)
        return self._predictor.one(observation, state, episode_start, deterministic, info)

    @cached_property
    def _predictor(self) -> Predictor:
        return Predictor(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to a file: what is learned, where the run stands, random state, curve.

        On an environment, which cannot be saved, a loaded run continues with a new episode.
        """
        write_checkpoint(path, *self._content())

    def _content(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Header and arrays of a checkpoint."""
        header = {
            "kind": self.kind,
            "settings": msgspec.to_builtins(self.settings),
            **self.engine.header_fields(),
        }
        return header, {**self.engine.arrays(), "curve": self.curve.array}

    def __reduce__(self) -> tuple[Any, ...]:
        """A pickle holds a checkpoint, and the model or environment."""
        subject = self.engine.env if self.model is None else self.model
        return _unpickled, (type(self), checkpoint_bytes(*self._content()), subject)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        model_or_env: RMDP | gym.Env[Any, Any],
        *,
        evaluation_env: gym.Env[Any, Any] | None = None,
    ) -> Self:
        """Read a learner that was saved, for the same model or environment.

        Raises:
            CheckpointError: The file is damaged, foreign, or for another model.
        """
        return cls._restored(path, model_or_env, evaluation_env)

    @classmethod
    def _restored(
        cls, path: str | os.PathLike[str] | BinaryIO, model_or_env: Any, evaluation_env: Any
    ) -> Self:
        header, arrays = read_checkpoint(path, cls.kind)
        with restoring(path):
            learner = cls.__new__(cls)
            settings = msgspec.convert(header["settings"], cls.settings_type)
            learner._set_up(model_or_env, settings, evaluation_env)
            if header["subject"] != learner.engine.header_fields()["subject"]:
                raise CheckpointError(f"{path}: the run was on {header['subject']}, not on this")
            learner.engine.restore(header, arrays)
            learner.curve = Curve(arrays["curve"])
        return learner


def _unpickled(kind: type[Learner], data: bytes, subject: Any) -> Learner:
    return kind._restored(io.BytesIO(data), subject, None)


class _Saving:
    """Saves a run to a file, if there is one, unless it stands where it was saved last."""

    def __init__(self, learner: Learner, path: str | os.PathLike[str] | None) -> None:
        self._learner, self._path, self._saved = learner, path, -1

    def __call__(self) -> None:
        if self._path is not None and self._saved != self._learner.steps:
            self._learner.save(self._path)
            self._saved = self._learner.steps
