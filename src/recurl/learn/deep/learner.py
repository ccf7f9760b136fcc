"""Deep learners: deep Recursive Q-learning and DQN."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from recurl.learn.curve import Curve
from recurl.learn.deep.engine import DeepModelEngine
from recurl.learn.deep.foreign import DeepForeignEngine
from recurl.learn.deep.settings import DeepSettings, Scale, make_deep_settings
from recurl.learn.learner import Learner
from recurl.learn.schedules import Schedule
from recurl.model.rmdp import RMDP

if TYPE_CHECKING:
    import gymnasium as gym

    from recurl.policy import Policy


class DeepLearner(Learner):
    """What both deep learners do; see `DeepRecursiveQLearning`."""

    settings_type = DeepSettings
    chunk = 1_000

    def __init__(
        self,
        model_or_env: RMDP | gym.Env[Any, Any] | gym.vector.VectorEnv[Any, Any, Any],
        *,
        preset: str = "paper",
        learning_rate: Schedule | float | None = None,
        exploration: Schedule | float | None = None,
        hidden: Sequence[int] | None = None,
        batch: int | None = None,
        buffer: int | None = None,
        warm_up: int | None = None,
        train_every: int | None = None,
        target_every: int | None = None,
        averaging: float | None = None,
        observation: str | None = None,
        value_scale: Scale | None = None,
        reward_scale: Scale | None = None,
        max_exits: int | None = None,
        episode_limit: int | None = None,
        stack_limit: int | None = None,
        seed: int = 0,
        evaluate_every: int | None = None,
        evaluate_episodes: int | None = None,
        evaluate_limit: int | None = None,
        evaluation_env: gym.Env[Any, Any] | None = None,
    ) -> None:
        given = {
            name: value
            for name, value in locals().items()
            if name in DeepSettings.__struct_fields__
        }
        self._set_up(model_or_env, make_deep_settings(preset, given), evaluation_env)

    def _set_up(
        self, model_or_env: Any, settings: DeepSettings, evaluation_env: Any = None
    ) -> None:
        self.settings, self.curve = settings, Curve()
        self.engine: DeepModelEngine | DeepForeignEngine
        if isinstance(model_or_env, RMDP):
            self.engine = DeepModelEngine(model_or_env, settings, self.flat)
        else:
            self.engine = DeepForeignEngine(
                model_or_env, settings, self.flat, evaluation_env=evaluation_env
            )

    def policy(self, max_contexts: int = 10_000) -> Policy:
        """The greedy policy as a table: the contexts that it meets, and what it does in each.

        Args:
            max_contexts: Calls beyond so many contexts are treated as if all exits were worth the
                same; the labels of a policy say whether there are any.
        """
        from recurl.learn.deep.extract import greedy_policy

        if not isinstance(self.engine, DeepModelEngine):
            raise ValueError("a policy needs a learner on a model; on an environment use predict")
        return greedy_policy(self.engine, max_contexts)

    def __repr__(self) -> str:
        engine = self.engine
        cut = f", {engine.cut} of them cut" if engine.cut else ""
        full = f" ({engine.overflowed} by a full stack)" if engine.overflowed else ""
        return (
            f"<{type(self).__name__}: {self.steps} steps, {engine.episodes} episodes{cut}{full}, "
            f"loss {engine.loss:.3g}>"
        )


class DeepRecursiveQLearning(DeepLearner):
    """Deep Recursive Q-learning: a network over the features of a state and its exit values."""

    flat = False
    kind = "DeepRecursiveQLearning"


class DQN(DeepLearner):
    """Flat deep Q-learning, the baseline: calls and returns are ordinary steps."""

    flat = True
    kind = "DQN"
