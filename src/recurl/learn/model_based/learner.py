"""Model-based recursive learning: the learner."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from recurl.learn.curve import Curve
from recurl.learn.learner import Learner, env_for_tests, require_box_discount, subject_of
from recurl.learn.model_based.engine import ModelBasedEngine
from recurl.learn.model_based.settings import (
    PRESETS,
    ModelBasedSettings,
    make_model_based_settings,
)
from recurl.learn.settings import DEFAULT_PRESET, with_defaults
from recurl.model.rmdp import RMDP

if TYPE_CHECKING:
    import gymnasium as gym

    from recurl.learn.model_based.learned import LearnedModel
    from recurl.policy import Policy


class ModelBasedRecursiveLearning(Learner):
    """Learns the model: counts outcomes, plans in what they show, and hopes for the unknown.

    Outcomes of each state and action are counted, calls and returns included; components, boxes
    and exits are discovered through the recursive protocol, on models as on environments. The run
    follows an optimistic plan: a pair that was tried n times is worth
    ``(n Q + prior U) / (n + prior)``, with Q as counted and U the worth of the unknown. Hope
    respects the stack: in a call whose best exit is worth m, ``U = m + E`` if m < 0, else
    ``U = max(m, E)``, where E is the most that a run has earned so far plus the greatest reward of
    a step (while nothing was earned, 1, or what a step costs). So hope is not added at every call,
    and charging forever does not look best.

    Q itself is uncertain where outcomes vary. Each plan draws the frequencies of the outcomes of
    every pair from what the counts leave possible (posterior sampling), so that a pair that was
    unlucky at first is tried again. Pairs are estimated from each other, by the probabilities that
    they share (`recurl.learn.model_based.shapes`).

    A plan is value iteration in the contexts (exit values) that runs come to. Between plans, which
    become rarer as steps go on, every state is corrected as it is visited. The policy that is kept
    (`policy`, `predict`, `test`) comes from a plan without hope, made when it is asked for.

    There is no guarantee; see `PACLearner` for that.

    Args:
        model_or_env: A model, or a Gymnasium environment that keeps the recursive protocol.
        preset: Named settings that the others override; there is one, ``"swift"``.
        prior: Weight of the unknown among the outcomes of a pair, in samples.
        own_root: Whether the outermost call of an environment has states of its own.
        gamma: Discount: what follows a step counts this much.
        box_gamma: Discount by boxes, where calls have one exit: within a component, what follows a
            step counts this much, and a call is one step to its caller.
        plan_every: Least steps between plans.
        plan_share: The same, as a share of the steps so far.
        sweeps: Steps of value iteration in a plan.
        contexts: Most contexts of a component in a plan.
        episode_limit: Steps after which an episode is cut.
        seed: Seed of the environment; the same seed gives the same run to the bit.
        evaluate_every: Steps between tests of the kept policy, into ``curve``; 0 for never.
        evaluate_episodes: Episodes of a test.
        evaluate_limit: Steps after which a test episode is cut; `episode_limit` if not given.
        evaluation_env: Environment for tests, or its id, where one can neither be made from
            ``env.spec`` nor copied.

    Example:
        >>> import recurl
        >>> learner = ModelBasedRecursiveLearning(recurl.zoo.cloud(), episode_limit=200)
        >>> round(recurl.evaluate(learner.learn(1000).policy()).value, 4)
        -5.3425
        >>> round(recurl.solve(learner.learned_model().model).value)
        -5
    """

    flat = False
    kind = "ModelBasedRecursiveLearning"
    presets = PRESETS
    settings_type = ModelBasedSettings
    make_settings = staticmethod(make_model_based_settings)
    chunk = 10_000
    engine: ModelBasedEngine

    @with_defaults(make_model_based_settings(DEFAULT_PRESET, {}))
    def __init__(
        self,
        model_or_env: RMDP | gym.Env[Any, Any] | str,
        *,
        preset: str = DEFAULT_PRESET,
        prior: float | None = None,
        own_root: bool | None = None,
        gamma: float | None = None,
        box_gamma: float | None = None,
        plan_every: int | None = None,
        plan_share: float | None = None,
        sweeps: int | None = None,
        contexts: int | None = None,
        episode_limit: int | None = None,
        seed: int = 0,
        evaluate_every: int | None = None,
        evaluate_episodes: int | None = None,
        evaluate_limit: int | None = None,
        evaluation_env: gym.Env[Any, Any] | str | None = None,
    ) -> None:
        fields = ModelBasedSettings.__struct_fields__
        given = {name: value for name, value in locals().items() if name in fields}
        self._set_up(model_or_env, make_model_based_settings(preset, given), evaluation_env)

    def _set_up(
        self, model_or_env: Any, settings: ModelBasedSettings, evaluation_env: Any = None
    ) -> None:
        self.settings, self.curve = settings, Curve()
        name = type(self).__name__
        subject, tests = subject_of(model_or_env, name), env_for_tests(evaluation_env, name)
        if isinstance(subject, RMDP):
            require_box_discount(subject, settings)
        self.engine = ModelBasedEngine(subject, settings, tests)

    def set_budget(self, steps: float) -> None:
        """Nothing depends on a budget."""

    def policy(self) -> Policy:
        """The kept policy: the best in what was observed, without hope."""
        from recurl.learn.model_based.extract import kept_policy

        if self.model is None:
            raise ValueError("a policy needs a learner on a model; on an environment use predict")
        return kept_policy(self.engine, self.model)

    def learned_model(self) -> LearnedModel:
        """The model that was learned, and how often each of its transitions was observed.

        It is an ordinary model, which can be described, saved, solved and simulated. Its vertices
        are labelled with the observations, or with the vertices of the model, that they show.

        Raises:
            ValueError: No run has begun.
        """
        from recurl.learn.model_based.learned import learned

        counts = self.engine.counts
        if not counts.starts:
            raise ValueError("nothing was observed: learn first")
        keys = list(counts.states)

        def shown(state: int) -> str:
            key: Any = keys[state]
            if self.model is not None:
                return self.model.vertex_name(key)
            return f"{key[0]!r} at the root" if state in counts.root_states else repr(key)

        return learned(counts, f"learned {self.subject}", shown)

    def __repr__(self) -> str:
        engine, counts = self.engine, self.engine.counts
        cut = f", {engine.cut} of them cut" if engine.cut else ""
        untried = sum(tried == 0 for tried in counts.tried)
        return (
            f"<{type(self).__name__}: {self.steps} steps, {engine.episodes} episodes{cut}, "
            f"{len(counts.states)} states, {untried} of {len(counts.tried)} pairs untried>"
        )
