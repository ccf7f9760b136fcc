"""The common part of all learners: learn, test, predict, save and load."""

from __future__ import annotations

import io
import math
import os
import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, BinaryIO, Self

import msgspec
import numpy as np

from recurl.arguments import with_known_names
from recurl.errors import CheckpointError
from recurl.execution.lock import locked_file
from recurl.interrupts import deferred, requested, whole
from recurl.learn.callbacks import Callbacks, as_list
from recurl.learn.checkpoint import checkpoint_bytes, expect, read_checkpoint, restoring
from recurl.learn.curve import Curve, Score
from recurl.learn.prediction import Predictor
from recurl.learn.turns import by_one_thread
from recurl.model.files import write_atomic
from recurl.model.rmdp import RMDP
from recurl.progress import Progress
from recurl.registration import register_environments

if TYPE_CHECKING:
    import gymnasium as gym


SLICE_SECONDS = 0.1
"""Time between two looks at whether a run should stop, about."""

_PER_ASIDE = 10.0
"""Where steps begin with work that is not learning, how many times as long they go on at least."""

ENDLESS_STEPS = 50_000
"""Steps without the end of an episode after which a learner says so."""


CUT_TESTS = 10
"""Tests in a row that are all cut after which a run says so before its end."""


def subject_of(value: Any, caller: str) -> Any:
    """The model or environment that a learner was given; an environment may be given by its id.

    Raises:
        TypeError: It is neither.

    Example:
        >>> subject_of("CartPole-v1", "DQN")
        <TimeLimit<OrderEnforcing<PassiveEnvChecker<CartPoleEnv<CartPole-v1>>>>>
    """
    if isinstance(value, str):
        return _env_with_id(value, caller)
    made = not isinstance(value, type)
    if made and (isinstance(value, RMDP) or (hasattr(value, "step") and hasattr(value, "reset"))):
        return value
    found = f"a {type(value).__name__}" if made else f"the class {value.__name__}"
    raise TypeError(f"{caller} takes a model, a Gymnasium environment or its id, not {found}")


def require_box_discount(model: RMDP, settings: Any) -> None:
    """Refuse a discount by boxes where calls have several exits; warn where it is too large.

    Raises:
        ModelError: A component has several exits.
    """
    if settings.box_gamma < 1:
        from recurl.solving.discounted import too_large

        if (why := too_large(model, settings.box_gamma)) is not None:
            warnings.warn(f"values need not settle: {why}", stacklevel=5)


def env_for_tests(value: Any, caller: str) -> Any:
    """The environment for tests that a learner was given, itself or by its id, or None.

    Example:
        >>> env_for_tests("CartPole-v1", "DQN").spec.id
        'CartPole-v1'
    """
    return None if value is None else subject_of(value, caller)


def _env_with_id(name: str, caller: str) -> gym.Env[Any, Any]:
    import gymnasium as gym

    register_environments()
    try:
        return gym.make(name)
    except gym.error.Error as error:
        zoo = f" A model of the zoo is made by recurl.zoo.make({name!r})."
        raise TypeError(
            f"{caller} takes a model, a Gymnasium environment or its id, not {name!r}: {error}"
            + (zoo if name.isidentifier() else "")
        ) from None


class Best:
    """The best test of a run so far, and the run as it was then.

    Args:
        learner: The learner.
        score: The test.
        episodes: Episodes of the test.
        limit: Steps after which an episode of it was cut.
        content: The run as a checkpoint; that of a deep learner without its replay buffer.
    """

    def __init__(
        self, learner: Learner, score: Score, episodes: int, limit: int, content: bytes
    ) -> None:
        self.score, self.episodes, self.limit, self.content = score, episodes, limit, content
        self._owner = learner

    @cached_property
    def learner(self) -> Any:
        """A learner that stands where the run stood, with its policy, predictions and tests.

        A deep one cannot learn on: the steps that it was learned from are not kept.
        """
        owner = self._owner
        subject = owner.engine.env if owner.model is None else owner.model
        evaluation_env = getattr(owner.engine, "evaluation_env", None)
        return type(owner)._restored(io.BytesIO(self.content), subject, evaluation_env)

    def __repr__(self) -> str:
        mean, steps = f"{self.score.mean:.4g}", f"{self.score.steps:,.0f}"
        return f"<Best: mean return {mean} over {self.episodes} episodes, after {steps} steps>"


class Learner(ABC):
    """A learner: settings, an engine that does the work, and the curve of its tests."""

    flat: bool
    kind: str
    settings_type: type[Any]
    presets: dict[str, dict[str, Any]]
    """Settings by the names of presets."""
    make_settings: Callable[[str, dict[str, Any]], Any]
    """From a preset and what is given to settings."""
    chunk = 250_000
    """Steps between looks at the clock, the keyboard and the callback, where nothing is tested."""

    settings: Any
    engine: Any
    curve: Curve
    one_thread: RLock
    """Held by the thread that uses the learner."""
    _slice = 64
    _tally = (0, 0.0)
    _latest = ""
    # Episodes, and steps, when an episode last ended; None once the user knows that none does.
    _last_end: tuple[int, int] | None = (0, 0)
    # The steps of the first call, if they made schedules shorter than they are without a budget.
    _shortened = math.inf
    best: Best | None = None
    """The best test so far, with the run as it was then; None before the first test."""

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

    @with_known_names
    @by_one_thread
    def learn(
        self,
        total_timesteps: float,
        callback: Callbacks | None = None,
        progress_bar: bool = False,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
        budget: float | None = None,
        stopping: Callable[[], bool] = lambda: False,
    ) -> Self:
        """Learn for a number of steps more.

        Schedules that are fractions of a budget are settled by the first call, for good: by its
        ``budget``, or else by its steps. A run that was interrupted, or loaded from a checkpoint,
        keeps them. So steps may be divided among calls in any way, and the result is the same to
        the bit, if the first call names the budget of the whole run:
        ``learn(a, budget=a + b).learn(b)`` is ``learn(a + b)``. Ctrl-C ends the run between two
        steps, and the learner can go on from there.

        Args:
            total_timesteps: How many steps.
            callback: A function called with the learner after each test, or each ``chunk`` of
                steps where nothing is tested; an object of `recurl.callbacks` or
                `recurl.loggers`; or a list of them. One that returns False ends the run.
            progress_bar: Show a bar with steps per second and the latest test.
            checkpoint: File to save the run to, as often as the callback is called and at the end.
            budget: Steps of the whole run, where this is the first of several calls.
            stopping: Asked several times a second, less often where a large replay buffer has to be
                copied before; True ends the run.

        Raises:
            KeyboardInterrupt: After Ctrl-C; everything learned is kept, and saved if there is a
                checkpoint.
            LimitError: Memory is full, or values are not finite; likewise.
            BusyError: Another thread uses the learner, or another process saves to the checkpoint.
        """
        if isinstance(total_timesteps, str) or not 0 <= total_timesteps < math.inf:
            what = "total_timesteps must be a number of steps, at least 0"
            raise ValueError(f"{what}, not {total_timesteps!r}")
        end, run = self.steps + int(total_timesteps), _Run(self, callback, checkpoint)
        if budget is not None:
            self.set_budget(budget)
        elif end > self.steps:
            self._take_for_budget(end)
        progress = Progress(f"learning {self.subject}", end, "steps", shown=progress_bar)
        with locked_file(checkpoint), deferred(), progress:
            try:
                run.start()
                while self.steps < end and not run.ended and not stopping() and not requested():
                    stop = run.next_stop(end)
                    self._advance(stop - self.steps)
                    progress.update(self.steps, self.latest())
                    if self.steps == stop:
                        run.stop(is_last=stop == end)
            except Exception:
                run.save()
                raise
            run.save()
        return self

    @whole()
    def set_budget(self, steps: float) -> None:
        """Settle schedules that are fractions of a budget; those that are settled stay.

        The first call of ``learn`` does this.
        """
        s = self.settings
        if not (s.exploration.takes_budget or s.learning_rate.takes_budget):
            return
        rates = s.exploration.within(steps), s.learning_rate.within(steps)
        self.settings = msgspec.structs.replace(s, exploration=rates[0], learning_rate=rates[1])
        self.engine.set_rates(self.settings)

    def _take_for_budget(self, end: int) -> None:
        """Settle schedules by the steps of a call; say so once if runs go on for much longer."""
        before = self.settings
        self.set_budget(end)
        s = self.settings
        if s is not before and (
            s.learning_rate.scale < before.learning_rate.without_budget.scale
            or s.exploration.scale < before.exploration.without_budget.scale
        ):
            self._shortened = end
        if end > 2 * self._shortened:
            warnings.warn(
                f"exploration and learning rate fell in the {self._shortened:,.0f} steps that the "
                "first call of learn asked for, and stay low now. Name the steps of the whole run "
                f"there, as in learn({self._shortened:.0f}, budget={end})",
                stacklevel=3,
            )
            self._shortened = math.inf

    def __new__(cls, *given: Any, **named: Any) -> Self:
        """A learner without settings yet, which no thread uses."""
        made = super().__new__(cls)
        made.one_thread = RLock()
        return made

    def keep_best(self, score: Score) -> None:
        """Keep the run as it stands as the best, if a test is better than all before it."""
        if self.best is None or score.mean > self.best.score.mean:
            s, content = self.settings, checkpoint_bytes(*self._policy_content())
            self.best = Best(self, score, s.evaluate_episodes, s.test_limit, content)

    def _advance(self, steps: int) -> None:
        """Take some steps: as many as take a moment, or longer than what has to be done before."""
        few, began = min(steps, self._slice), time.perf_counter()
        aside = self._take(few, steps)
        self._watch_ends()
        took = time.perf_counter() - began - aside
        longest = max(SLICE_SECONDS, _PER_ASIDE * aside)
        if took < longest / 2 and few == self._slice:
            self._slice *= 2
        elif took > longest:
            self._slice = max(1, self._slice // 2)

    def _watch_ends(self) -> None:
        """Say so once if no episode has ended for a long time."""
        if self._last_end is None:
            return
        ended = int(self.engine.episodes)
        if ended != self._last_end[0]:
            self._last_end = ended, self.steps
        elif self.steps - self._last_end[1] >= ENDLESS_STEPS:
            self._last_end = None
            warnings.warn(
                f"no episode has ended in the last {ENDLESS_STEPS:,} steps: where a run can go on "
                "forever, values without a discount need not settle. Set gamma below 1, cut "
                "episodes by episode_limit (or max_episode_steps of gymnasium.make), or give "
                "every step a cost",
                stacklevel=4,
            )

    def _take(self, steps: int, most: int) -> float:
        """Take steps, and not more than a number of them; seconds that fewer would take too."""
        self.engine.advance(steps)
        return 0.0

    @with_known_names
    @by_one_thread
    def test(self, episodes: int | None = None) -> Score:
        """Run episodes of the greedy policy; nothing is learned, no training randomness is used."""
        s, engine = self.settings, self.engine
        count = episodes or s.evaluate_episodes
        returns, lengths, cut = engine.test(count, s.test_limit, 1 + self.steps)
        ended, total = engine.tally
        return Score(
            steps=self.steps,
            mean=float(returns.mean()),
            deviation=float(returns.std()),
            length=float(lengths.mean()),
            cut=float(cut.mean()),
            episodes=engine.episodes,
            training_mean=total / ended if ended else math.nan,
            contexts=engine.n_contexts,
        )

    @with_known_names
    @by_one_thread
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

        Calls and returns are read from ``info``, as the environment's last step or reset gave it:

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
            ProtocolError: Calls and returns are neither told nor seen; or ``info`` reports one, but
                there is no state and no episode begins.
        """
        if self._predictor.is_batch(observation):
            return self._predictor.many(observation, state, episode_start, deterministic, info)
        return self._predictor.one(observation, state, episode_start, deterministic, info)

    @cached_property
    def _predictor(self) -> Predictor:
        return Predictor(self)

    @with_known_names
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to a file: the run, its random state, its curve, and the best so far.

        On an environment, which cannot be saved, a loaded run continues with a new episode.
        """
        write_atomic(path, self.to_bytes())

    @by_one_thread
    def to_bytes(self) -> bytes:
        """The content of the file that `save` writes."""
        return checkpoint_bytes(*self._whole_content())

    def _content(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Header and arrays of a checkpoint."""
        header = {
            "kind": self.kind,
            "settings": msgspec.to_builtins(self.settings),
            **self.engine.header_fields(),
        }
        return header, {**self.engine.arrays(), "curve": self.curve.array}

    def _policy_content(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """As much of it as the greedy policy needs."""
        return self._content()

    def _whole_content(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """The same, with the best run so far."""
        header, arrays = self._content()
        if self.best is None:
            return header, arrays
        best = self.best
        header["best"] = {"score": list(best.score), "test": [best.episodes, best.limit]}
        return header, {**arrays, "best": np.frombuffer(best.content, np.uint8)}

    def __reduce__(self) -> tuple[Any, ...]:
        """A pickle holds a checkpoint, and the model or environment."""
        subject = self.engine.env if self.model is None else self.model
        return _unpickled, (type(self), self.to_bytes(), subject)

    @classmethod
    @with_known_names
    def load(
        cls,
        path: str | os.PathLike[str] | BinaryIO,
        model_or_env: RMDP | gym.Env[Any, Any] | str,
        *,
        evaluation_env: gym.Env[Any, Any] | None = None,
    ) -> Self:
        """Read a learner from a file that was saved, for the same model or environment.

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
            settings = _settings(path, header, cls.settings_type)
            learner._set_up(model_or_env, settings, evaluation_env)
            if header["subject"] != learner.engine.header_fields()["subject"]:
                raise CheckpointError(f"{path}: the run was on {header['subject']}, not on this")
            learner.engine.restore(header, arrays)
            learner.curve = Curve(arrays["curve"])
            if kept := header.get("best"):
                score, content = Score(*kept["score"]), expect(arrays, "best", np.uint8, 0, 255)
                episodes, limit = map(int, kept["test"])
                learner.best = Best(learner, score, episodes, limit, content.tobytes())
        return learner


def _settings(path: Any, header: dict[str, Any], kind: type[Any]) -> Any:
    """The settings of a checkpoint, which may be those of another version."""
    try:
        return msgspec.convert(header["settings"], kind)
    except msgspec.ValidationError as error:
        raise CheckpointError(
            f"{path} was written by recurl {header.get('version')}, whose settings this version "
            f"does not read ({error}): learn again, or load it with that version"
        ) from None


def _unpickled(kind: type[Learner], data: bytes, subject: Any) -> Learner:
    return kind._restored(io.BytesIO(data), subject, None)


class _Run:
    """One call of ``learn``: its stops, tests, checkpoints and callbacks."""

    def __init__(
        self,
        learner: Learner,
        callback: Callbacks | None,
        checkpoint: str | os.PathLike[str] | None,
    ) -> None:
        self._learner, self._callbacks = learner, as_list(callback)
        self._path, self._saved = None if checkpoint is None else Path(checkpoint), -1
        self._every = learner.settings.evaluate_every or learner.chunk
        self.ended = self._told = False
        """Whether a callback has ended the run, and whether tests that are cut were spoken of."""

    def start(self) -> None:
        """Tell the callbacks that the run begins."""
        self._tell(callback.on_start(self._learner) for callback in self._callbacks)
        if self._lacks_test():
            self._test()

    def next_stop(self, end: int) -> int:
        """Step before which nothing has to be done."""
        steps = self._learner.steps
        periods = {self._every, *(one.every for one in self._callbacks if one.every)}
        return min(end, *((steps // every + 1) * every for every in periods))

    def stop(self, *, is_last: bool) -> None:
        """Test, save and call back, as far as it is time for each."""
        learner = self._learner
        regular = is_last or learner.steps % self._every == 0
        if self._lacks_test():
            self._test()
            self._watch_cuts(is_last)
        if regular:
            self.save()
        due = [
            one
            for one in self._callbacks
            if is_last or (learner.steps % one.every == 0 if one.every else regular)
        ]
        self._tell(callback.on_stop(learner) for callback in due)

    def _lacks_test(self) -> bool:
        """Whether a test is due at this step; one that was interrupted still is."""
        curve, steps = self._learner.curve, self._learner.steps
        due = self._learner.settings.evaluate_every and steps and steps % self._every == 0
        return bool(due) and (not len(curve) or curve.last.steps < steps)

    def _test(self) -> None:
        learner = self._learner
        score = learner.test()
        with whole():
            learner.curve.add(score)
            learner.engine.begin_tally()
            learner.keep_best(score)
        self._tell(callback.on_test(learner, score) for callback in self._callbacks)

    def _watch_cuts(self, is_last: bool) -> None:
        """Say so once if the latest tests were all cut, and lost by it."""
        learner = self._learner
        latest = list(learner.curve)[-CUT_TESTS:]
        if self._told or not (is_last or len(latest) == CUT_TESTS):
            return
        if all(score.cut == 1 and score.mean < max(0.0, score.training_mean) for score in latest):
            self._told = True
            warnings.warn(
                f"every episode of the latest tests ({len(latest)}) was cut after "
                f"{learner.settings.test_limit:,} steps, with a mean return of "
                f"{latest[-1].mean:.4g}: the greedy policy may go on forever. Without a discount, "
                "values that are too high hardly fall where a step costs little: set gamma a "
                "little below 1, as 0.999. If runs take that long, raise evaluate_limit",
                stacklevel=4,
            )

    def save(self) -> None:
        """Save the run, if there is a checkpoint, unless it stands where it was saved last."""
        learner, path = self._learner, self._path
        if path is not None and self._saved != learner.steps:
            learner.save(path)
            self._saved = learner.steps
            self._tell(callback.on_checkpoint(learner, path) for callback in self._callbacks)

    def _tell(self, answers: Iterable[bool | None]) -> None:
        for answer in answers:
            self.ended |= isinstance(answer, bool | np.bool_) and not answer
