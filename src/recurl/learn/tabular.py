"""Tabular learners: Recursive Q-learning and flat Q-learning."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from recurl.arguments import with_known_names
from recurl.learn.curve import Curve
from recurl.learn.engine import ModelEngine
from recurl.learn.env_engine import EnvEngine
from recurl.learn.learner import Learner, env_for_tests, require_box_discount, subject_of
from recurl.learn.schedules import Schedule
from recurl.learn.settings import (
    DEFAULT_PRESET,
    PRESETS,
    PUBLISHED_RATES,
    Settings,
    make_settings,
    with_defaults,
)
from recurl.model.rmdp import RMDP

if TYPE_CHECKING:
    import gymnasium as gym

    from recurl.model.tables import Floats
    from recurl.policy import Policy
    from recurl.solving.solution import Solution


class TabularLearner(Learner):
    """The common part of both tabular learners; see `RecursiveQLearning`."""

    settings_type = Settings
    presets = PRESETS
    make_settings = staticmethod(make_settings)

    @with_defaults(make_settings(DEFAULT_PRESET, {}))
    def __init__(
        self,
        model_or_env: RMDP | gym.Env[Any, Any] | str,
        *,
        preset: str = DEFAULT_PRESET,
        learning_rate: Schedule | float | None = None,
        exploration: Schedule | float | None = None,
        quantum: float | None = None,
        grain: int | None = None,
        observation: str | None = None,
        initial_value: float | None = None,
        own_root: bool | None = None,
        gamma: float | None = None,
        box_gamma: float | None = None,
        episode_limit: int | None = None,
        seed: int = 0,
        replay: int | None = None,
        inherit: int | None = None,
        evaluate_every: int | None = None,
        evaluate_episodes: int | None = None,
        evaluate_limit: int | None = None,
        evaluation_env: gym.Env[Any, Any] | str | None = None,
        memory: int | None = None,
    ) -> None:
        given = {
            name: value for name, value in locals().items() if name in Settings.__struct_fields__
        }
        subject = subject_of(model_or_env, type(self).__name__)
        if preset == "paper" and learning_rate is None:
            model = getattr(getattr(subject, "unwrapped", None), "model", subject)
            given["learning_rate"] = PUBLISHED_RATES.get(getattr(model, "name", ""))
        self._set_up(subject, make_settings(preset, given), evaluation_env)

    def _set_up(
        self,
        model_or_env: RMDP | gym.Env[Any, Any] | str,
        settings: Settings,
        evaluation_env: gym.Env[Any, Any] | str | None = None,
    ) -> None:
        self.settings, self.curve = settings, Curve()
        self.engine: ModelEngine | EnvEngine
        name = type(self).__name__
        subject, tests = subject_of(model_or_env, name), env_for_tests(evaluation_env, name)
        if self.flat and settings.box_gamma < 1:
            raise ValueError(f"{name} sees no calls: box_gamma is for RecursiveQLearning")
        if isinstance(subject, RMDP):
            require_box_discount(subject, settings)
            self.engine = ModelEngine(subject, settings, self.flat)
        else:
            self.engine = EnvEngine(subject, settings, self.flat, evaluation_env=tests)

    @with_known_names
    def warm_start(self, source: TabularLearner | Solution, visits: int = 20) -> Self:
        """Begin with what another run learned, or with what a solution knows.

        Args:
            source: A learner of the same kind on the same model, or a solution of the model.
            visits: How often the values count as visited, for step sizes that fall with visits;
                values of another run count as often as they were visited, up to this number.
        """
        from recurl.learn.warm_start import start_from_solution, start_from_table

        engine = self._model_engine("a warm start")
        if self.steps:
            raise ValueError(f"a warm start comes before the first step, not after {self.steps}")
        if isinstance(source, TabularLearner):
            start_from_table(engine, source._model_engine("a warm start"), visits)
        else:
            start_from_solution(engine, source, visits)
        return self

    def policy(self) -> Policy:
        """The greedy policy: the contexts that it meets, and what it does in each."""
        from recurl.learn.extract import greedy_policy

        return greedy_policy(self._model_engine("a policy"))

    @with_known_names
    def q_values(self, vertex: str, exit_values: Floats | None = None) -> Floats | None:
        """Q-values of a vertex given by name, for given exit values (0 if not given).

        Returns:
            A value for each action; None if this context was never met.
        """
        engine = self._model_engine("Q-values by name")
        number = engine.model.find(vertex)
        component = 0 if self.flat else int(engine.model.tables.vertex_component[number])
        values = np.zeros(0) if exit_values is None else np.asarray(exit_values)
        context = engine.store.find(component, values)
        return engine.q_values(number, context).copy() if context >= 0 else None

    def _model_engine(self, what: str) -> ModelEngine:
        if not isinstance(self.engine, ModelEngine):
            raise ValueError(f"{what} needs a learner on a model; on an environment use predict")
        return self.engine

    def __repr__(self) -> str:
        name = type(self).__name__
        cut = f", {self.engine.cut} of them cut at the limit" if self.engine.cut else ""
        return (
            f"<{name}: {self.steps} steps, {self.engine.episodes} episodes{cut}, "
            f"{self.engine.n_contexts} context{'s' * (self.engine.n_contexts != 1)}>"
        )


class RecursiveQLearning(TabularLearner):
    """Recursive Q-learning: Q-values by vertex and by what the pending calls hope for.

    What matters of a call stack is what each exit of the running component is worth, relative to
    the worst of them: the *context* v. On a step (s, a, r, s') with step size alpha, Q(s, v, a)
    moves towards a target:

    - the step entered a box: with v'[i] = max Q(return port i, v, .), m = min v', and v' - m
      rounded to the quantum, ``r + max Q(s', v' - m, .) + m``; the callee runs in that context;
    - it left through exit k: ``r + v[k]``; the caller's context is resumed;
    - otherwise: ``r + max Q(s', v, .)``.

    On a proper 1-exit model there is one context per component, and with Robbins-Monro steps the
    values converge to the optimum. On a deterministic one they do with step size 1, if exit values
    are not rounded and every action is tried again and again wherever it is met: with
    ``preset="deterministic"``. Rounding (``quantum``, ``grain``) may merge contexts whose best
    actions differ. In general there is no guarantee. Where presets differ from the paper is
    listed in docs/explanation/the_paper.md.

    An episode that is cut at its limit does not terminate: its last step bootstraps like any other.
    How many were cut is in ``repr`` and in ``engine.cut``.

    Args:
        model_or_env: A model, or a Gymnasium environment that keeps the recursive protocol.
        preset: Named settings that the others override: ``"swift"``; ``"paper"``, the plain
            algorithm with constant steps, which are those of the published experiments on the
            paper's models (learning rate 0.02 on `cloud`, 0.2 on `spelunking`) and 0.1 on others;
            or ``"deterministic"``, exact where nothing is random. The defaults in the signature
            are those of ``"swift"``.
        learning_rate: Step size alpha: a number or a schedule (see `recurl.schedules`).
        exploration: Probability to take any action instead of the best: a number or a schedule.
        quantum: Step to which normalised exit values are rounded; 0 for not at all.
        grain: Most steps of rounding from the worst exit to the best: where it takes more, the
            step is doubled; 0 for any number.
        observation: How vertices of a model are distinguished: by ``"index"`` or ``"features"``:
            vertices with the same features and actions share their values.
        initial_value: Q-value of pairs never tried; above the true values it is optimistic.
        own_root: In an environment that is not made from a model, whether the outermost call has a
            context of its own.
        gamma: Discount: what follows a step counts this much. Below 1, the targets hold
            ``gamma max Q`` and ``gamma v[k]``, and exit values are not shifted: m is 0.
        box_gamma: Discount by boxes, where calls have one exit: below 1, the targets hold
            ``box_gamma max Q`` and ``box_gamma m``, while an exit has the target r. Unlike gamma it
            does not make every model proper.
        episode_limit: Steps after which an episode is cut.
        seed: Seed of all randomness; the same seed gives the same run to the bit.
        replay: How many earlier steps, drawn at random, are learned from again after each step.
        inherit: New contexts start with the Q-values of the nearest one, and with its visits up to
            this number; 0 for not at all.
        evaluate_every: Steps between tests of the greedy policy, into ``curve``; 0 for never.
        evaluate_episodes: Episodes of a test.
        evaluate_limit: Steps after which a test episode is cut; `episode_limit` if not given.
        evaluation_env: Environment for tests, or its id, where one can neither be made from
            ``env.spec`` nor copied.
        memory: Most bytes of the table; half of the free memory if not given.

    Example:
        >>> import recurl
        >>> learner = RecursiveQLearning(recurl.zoo.cloud(), episode_limit=200)
        >>> policy = learner.learn(20_000).policy()
        >>> policy.action_name("T.u1", policy.start[0])
        'divide'
    """

    flat = False
    kind = "RecursiveQLearning"


class QLearning(TabularLearner):
    """Flat Q-learning, the baseline: calls and returns are ordinary steps, contexts are ignored.

    One row of Q-values per vertex. As what follows a return depends on the stack, which
    it does not see, it fails where the stack matters. Takes what `RecursiveQLearning` takes;
    ``quantum`` and ``inherit`` mean nothing here.

    Example:
        >>> import recurl
        >>> QLearning(recurl.zoo.cloud(), learning_rate=0.02, episode_limit=200).learn(1000)
        <QLearning: 1000 steps, ... episodes, 1 context>
    """

    flat = True
    kind = "QLearning"
