"""Deep learners: deep Recursive Q-learning and DQN."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from recurl.learn.curve import Curve
from recurl.learn.deep.engine import DeepModelEngine
from recurl.learn.deep.foreign import DeepForeignEngine
from recurl.learn.deep.settings import DeepSettings, Scale, make_deep_settings
from recurl.learn.learner import Learner, require_env
from recurl.learn.schedules import Schedule
from recurl.learn.settings import DEFAULT_PRESET, with_defaults
from recurl.model.rmdp import RMDP

if TYPE_CHECKING:
    import gymnasium as gym

    from recurl.policy import Policy


class DeepLearner(Learner):
    """What both deep learners do; see `DeepRecursiveQLearning`."""

    settings_type = DeepSettings
    make_settings = staticmethod(make_deep_settings)
    chunk = 1_000

    @with_defaults(make_deep_settings(DEFAULT_PRESET, {}))
    def __init__(
        self,
        model_or_env: RMDP | gym.Env[Any, Any] | gym.vector.VectorEnv[Any, Any, Any],
        *,
        preset: str = DEFAULT_PRESET,
        learning_rate: Schedule | float | None = None,
        exploration: Schedule | float | None = None,
        hidden: Sequence[int] | None = None,
        batch: int | None = None,
        buffer: int | None = None,
        warm_up: int | None = None,
        train_every: int | None = None,
        target_every: int | None = None,
        refresh: int | None = None,
        averaging: float | None = None,
        observation: str | None = None,
        gated: bool | None = None,
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
            require_env(model_or_env, type(self).__name__)
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
    """Deep Recursive Q-learning: a network over the features of a state and its exit values.

    What matters of a call stack is what each exit of the running component is worth, relative to
    the worst of them: the vector v, as in `RecursiveQLearning`. Here Q(s, v, .) is a network, v is
    as wide as the widest component (exits that do not exist are 0 and no minimum is taken over
    them), and steps go to a replay buffer with their kind and an auxiliary number. After each step
    of the environment a batch of them is moved towards its targets, with Q- a copy of the network
    made every so many updates:

    - the step entered a box: with v'[i] = max Q(return port i, v, .) by the network of that moment
      and m = min v', ``r + m + max Q-(s', v' - m, .)``;
    - it left through exit k: ``r + v[k]``;
    - otherwise: ``r + max Q-(s', v, .)``.

    On a model, whole stretches of it run as one compiled program; the stack is an array there, and
    an episode that overflows it is cut and counted (``engine.overflowed``, and in ``repr``). On an
    environment, or a vector environment, a compiled program follows each step. If the loss is no
    longer finite, learning stops with an error, and what was learned before it is kept.

    Args:
        model_or_env: A model, or a Gymnasium environment (or vector environment) that keeps the
            recursive protocol. Box observations are taken as they are, Discrete and MultiDiscrete
            become one-hot, Dict and Tuple are laid end to end.
        preset: Named settings that the others override: ``"swift"``, or ``"paper"`` for those of
            the published experiments. The defaults in the signature are those of ``"swift"``.
        learning_rate: Step size of Adam: a number, or a schedule of steps (`recurl.schedules`).
        exploration: Probability to take any action instead of the best: a number or a schedule.
        hidden: Sizes of the hidden layers (tanh).
        batch: Stored steps that an update learns from.
        buffer: Steps that are stored.
        warm_up: Steps before the first update.
        train_every: Steps between updates.
        target_every: Updates between copies to the target network.
        refresh: Stored calls that are entered anew with each update, so that steps long past lead
            on to what their return ports are worth now.
        averaging: Decay per update of the average of weights that the greedy policy uses; 0 uses
            the weights themselves.
        observation: How vertices of a model are shown: ``"features"``, ``"categories"`` (of these)
            or ``"onehot"``.
        gated: Whether the state turns exit values up and down where they enter the network: the
            first layer is tanh(A s + b + (1 + tanh(G s)) * B v).
        value_scale: Factor of exit values at the input, or ``"running"``: one over their root mean
            square so far.
        reward_scale: Factor of rewards and all values, or ``"running"``.
        max_exits: Most exits of anything called in an environment. Environments made from models,
            and models, know it.
        episode_limit: Steps after which an episode is cut.
        stack_limit: Pending calls beyond which an episode in a model is cut.
        seed: Seed of all randomness; the same seed gives the same run to the bit.
        evaluate_every: Test the greedy policy after so many steps, into ``curve``; 0 for never.
        evaluate_episodes: Episodes of a test.
        evaluate_limit: Steps after which a test episode is cut.
        evaluation_env: Environment for tests, where it cannot be made from ``env.spec``.

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
    of a run has the target ``r + max Q-(s', .)``; discount 1. Takes what `DeepRecursiveQLearning`
    takes.

    Example:
        >>> import recurl
        >>> DQN(recurl.zoo.cloud(), hidden=(16,), batch=32, warm_up=100).learn(500)
        <DQN: 500 steps, ... episodes, loss ...>
    """

    flat = True
    kind = "DQN"
