"""Deep learners: deep Recursive Q-learning and DQN."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from recurl.arguments import with_known_names
from recurl.learn.curve import Curve
from recurl.learn.deep.engine import is_stored
from recurl.learn.deep.env_engine import DeepEnvEngine
from recurl.learn.deep.model_engine import DeepModelEngine
from recurl.learn.deep.settings import (
    FLAT_PRESETS,
    PRESETS,
    DeepSettings,
    Scale,
    make_deep_settings,
    make_flat_settings,
)
from recurl.learn.learner import Learner, env_for_tests, subject_of
from recurl.learn.schedules import Schedule
from recurl.learn.settings import DEFAULT_PRESET, with_defaults
from recurl.model.rmdp import RMDP

if TYPE_CHECKING:
    import gymnasium as gym

    from recurl.policy import Policy


class DeepLearner(Learner):
    """The common part of both deep learners; see `DeepRecursiveQLearning`."""

    settings_type = DeepSettings
    presets = PRESETS
    make_settings = staticmethod(make_deep_settings)
    chunk = 1_000

    @with_defaults(make_deep_settings(DEFAULT_PRESET, {}))
    def __init__(
        self,
        model_or_env: RMDP | gym.Env[Any, Any] | gym.vector.VectorEnv[Any, Any, Any] | str,
        *,
        preset: str = DEFAULT_PRESET,
        learning_rate: Schedule | float | None = None,
        exploration: Schedule | float | None = None,
        exploration_repeat: int | None = None,
        own_root: bool | None = None,
        gamma: float | None = None,
        network: str | None = None,
        hidden: Sequence[int] | None = None,
        activation: str | None = None,
        gated: bool | None = None,
        normalised: bool | None = None,
        copies: int | None = None,
        rollout: int | None = None,
        epochs: int | None = None,
        trace: float | None = None,
        relabel: int | None = None,
        exit_loss: float | None = None,
        aim_loss: float | None = None,
        batch: int | None = None,
        buffer: int | None = None,
        warm_up: int | None = None,
        train_every: int | None = None,
        target_every: int | None = None,
        double: bool | None = None,
        clip_targets: bool | None = None,
        n_step: int | None = None,
        refresh: int | None = None,
        averaging: float | None = None,
        observation: str | None = None,
        reward_scale: Scale | None = None,
        value_scale: float | None = None,
        max_exits: int | None = None,
        episode_limit: int | None = None,
        stack_limit: int | None = None,
        seed: int = 0,
        evaluate_every: int | None = None,
        evaluate_episodes: int | None = None,
        evaluate_limit: int | None = None,
        evaluation_env: gym.Env[Any, Any] | str | None = None,
    ) -> None:
        given = {
            name: value
            for name, value in locals().items()
            if name in DeepSettings.__struct_fields__
        }
        self._set_up(model_or_env, type(self).make_settings(preset, given), evaluation_env)

    def _set_up(
        self, model_or_env: Any, settings: DeepSettings, evaluation_env: Any = None
    ) -> None:
        self.settings, self.curve = settings, Curve()
        self.engine: DeepModelEngine | DeepEnvEngine
        name = type(self).__name__
        subject, tests = subject_of(model_or_env, name), env_for_tests(evaluation_env, name)
        if isinstance(subject, RMDP):
            self.engine = DeepModelEngine(subject, settings, self.flat)
        else:
            self.engine = DeepEnvEngine(subject, settings, self.flat, evaluation_env=tests)

    def _take(self, steps: int, most: int) -> float:
        if self.engine.without_buffer:
            raise ValueError(
                "this learner keeps the policy of a test without the steps that it was learned "
                "from: go on with the run itself, or with a checkpoint of it"
            )
        if isinstance(self.engine, DeepEnvEngine):
            self.engine.advance(steps, most)
            return self.engine.copying
        self.engine.advance(steps)
        return 0.0

    def _policy_content(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        header, arrays = self._content()
        kept = {name: array for name, array in arrays.items() if not is_stored(name)}
        return {**header, "without_buffer": True}, kept

    @with_known_names
    def policy(self, max_contexts: int = 10_000) -> Policy:
        """The greedy policy as a table: the contexts that it meets, and what it does in each.

        Args:
            max_contexts: Calls beyond this number of contexts are treated as if all exits were
                worth the same; the labels of a policy say whether there are any.
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
    """Deep Recursive Q-learning: a network over the features of a state and its exit values.

    What matters of a call stack is what each exit of the running component is worth, relative to
    the worst of them: the vector v, as in `RecursiveQLearning`. Here Q(s, v, .) is a network, v is
    as wide as the widest component (exits that do not exist are 0 and no minimum is taken over
    them), and steps go to a replay buffer with their kind and an auxiliary number. After each step
    of the environment a batch of them is moved towards its targets, with Q- a copy of the network
    made from time to time, and g the discount:

    - the step entered a box: with v'[i] = max Q(return port i, v, .) by the network of that moment
      and m = min v', ``r + m + max Q-(s', v' - m, .)``; with g < 1, exit values are not relative
      to the worst but kept as they are, ``r + g max Q-(s', v', .)``;
    - it left through exit k: ``r + g v[k]``;
    - otherwise: ``r + g max Q-(s', v, .)``.

    On a model, simulation and learning run as one compiled program; the stack is an array there,
    and an episode that overflows it is cut and counted (``engine.overflowed``, and in ``repr``). On
    an environment, or a vector environment, a compiled program follows each step. If the loss is no
    longer finite, learning stops with an error, and what was learned before it is kept. Where
    presets differ from the paper is listed in docs/explanation/the_paper.md.

    Args:
        model_or_env: A model, or a Gymnasium environment (or vector environment, or the id of one)
            that keeps the recursive protocol. A Box of uint8 is stored as bytes; other Box
            observations are taken as they are, Discrete and MultiDiscrete become one-hot, Dict and
            Tuple are laid end to end.
        preset: Named settings that the others override: ``"swift"``, ``"paper"`` for those of the
            published experiments, ``"parallel"``, which steps many copies of a model at once and
            has no replay buffer: many times as many steps per second, each worth less, or
            ``"gather"``, the same for components with many exits.
        evaluation_env: Environment for tests, or its id, where one can neither be made from
            ``env.spec`` nor copied.

    All other arguments are settings, described by `DeepSettings`; the defaults in the signature are
    those of ``"swift"``.

    Example:
        >>> import recurl
        >>> model = recurl.zoo.cloud()
        >>> learner = DeepRecursiveQLearning(model, hidden=(16,), batch=32, warm_up=100)
        >>> learner.learn(1000)
        <DeepRecursiveQLearning: 1000 steps, ... episodes, loss ...>
        >>> learner.policy()
        <Policy for cloud: ...>
    """

    flat = False
    kind = "DeepRecursiveQLearning"


class DQN(DeepLearner):
    """Flat deep Q-learning, the baseline: calls and returns are ordinary steps.

    The same code without exit values: the network sees the state alone, and every step but the last
    of a run has the target ``r + gamma max Q-(s', .)``. It takes the arguments of
    `DeepRecursiveQLearning`. Its preset ``"swift"`` differs: five steps are summed before a target
    looks ahead, targets are double, and an update of a larger batch follows every fourth step.

    Example:
        >>> import recurl
        >>> DQN(recurl.zoo.cloud(), hidden=(16,), batch=32, warm_up=100).learn(500)
        <DQN: 500 steps, ... episodes, loss ...>
    """

    flat = True
    kind = "DQN"
    presets = FLAT_PRESETS
    make_settings = staticmethod(make_flat_settings)
    __init__ = with_defaults(make_flat_settings(DEFAULT_PRESET, {}))(DeepLearner.__init__)
