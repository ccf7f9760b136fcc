"""Agents of the suite: the two methods of any agent, and the ready ones."""

from __future__ import annotations

import copy
import importlib
import io
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from recurl.env.observation import exits_view
from recurl.errors import UnknownNameError
from recurl.experiment.options import algorithms, learner_class, make_learner
from recurl.experiment.record import Exact
from recurl.experiment.run import exact_value
from recurl.experiment.settings import Method, SettingValues
from recurl.policy import Policy
from recurl.registration import register_environments
from recurl.suite.gains import PlayedEpisode, Reference
from recurl.suite.views import EPISODE_LIMIT

if TYPE_CHECKING:
    from recurl.env.model_env import ModelEnv
    from recurl.experiment.settings import Run
    from recurl.model.rmdp import RMDP
    from recurl.model.tables import Floats
    from recurl.suite.tasks import Setting

TEST_EPISODES = 100
"""Episodes that tell what an agent is worth whose policy cannot be evaluated exactly."""

Stopping = Callable[[], bool]
Look = Callable[[int], None]
"""Called with the number of steps at each point where the value is recorded."""


class Agent(Protocol):
    """The two methods that an agent has to have.

    It is made by calling its class with the observation space, the action space and a seed. If its
    greedy action depends only on the observation and the mask, it says so by ``memoryless =
    True``: then its policy is evaluated exactly. One that knows its policy as a whole may have a
    third method, ``policy(model)``, which gives it. Others are tested on episodes: tests play a
    copy (`copy.deepcopy`) and call only `act`.
    """

    def act(self, observation: Any, info: dict[str, Any], explore: bool = True) -> int:
        """The action at an observation.

        Args:
            observation: What the environment shows.
            info: The recursive protocol (see `recurl.env.protocol`): ``event``, ``exits``,
                ``exit``, ``action_mask``; and ``step``, which is 0 where an episode begins.
            explore: False in tests: take the best action.
        """

    def observe(
        self,
        observation: Any,
        reward: float,
        terminated: bool,
        truncated: bool,
        info: dict[str, Any],
    ) -> None:
        """Learn from what the last action led to: what the environment's ``step`` returned."""


class UniformAgent:
    """An agent that takes any action: the least that one can do.

    Args:
        observation_space: Ignored.
        action_space: The actions.
        seed: Seed of its choices.
    """

    def __init__(self, observation_space: Any, action_space: Any, seed: int) -> None:
        self._random = np.random.default_rng(seed)

    def act(self, observation: Any, info: dict[str, Any], explore: bool = True) -> int:
        """Any action that exists here."""
        return int(self._random.choice(np.flatnonzero(info["action_mask"])))

    def observe(self, *given: Any) -> None:
        """Learn nothing."""

    def policy(self, model: RMDP) -> Policy:
        """The uniform policy."""
        return Policy.uniform(model)


def ready_agents() -> dict[str, Method]:
    """The agents that can be named, with what each stands for.

    Example:
        >>> [name for name in ready_agents() if not name.startswith("sb3")]
        ['uniform', 'q', 'q-paper', 'rql', 'rql-paper', 'model-based', 'dqn',
        'deep-rql']
    """
    found = [Method("uniform", "recurl.suite.agents:UniformAgent", label="uniform")]
    labels = {"q": "Q-learning", "rql": "recursive Q-learning"}
    for name, label in labels.items():
        found.append(Method(name, name, label=label))
        # One rate for all tasks: two of them are models with published rates of their own.
        plain: SettingValues = {"preset": "paper", "learning_rate": 0.1}
        found.append(Method(f"{name}-paper", name, plain, label=f"{label}, paper"))
    others = {
        "model-based": "model-based learning",
        "dqn": "DQN",
        "deep-rql": "deep recursive Q-learning",
    }
    found += [Method(name, name, label=others[name]) for name in others]
    peers = {"dqn": "DQN", "ppo": "PPO", "recurrent-ppo": "recurrent PPO"}
    found += [Method(f"sb3-{k}", f"sb3-{k}", label=f"{v} (SB3)") for k, v in peers.items()]
    return {method.name: method for method in found}


def find_agent(name: str) -> Method:
    """A ready agent by its name, or a user's class as ``module:Class``.

    Raises:
        UnknownNameError: The agent, module or class is unknown.
        MissingExtraError: It needs packages that are not installed.

    Example:
        >>> find_agent("recurl.suite.agents:UniformAgent").name
        'recurl.suite.agents.UniformAgent'
    """
    ready = ready_agents()
    if ":" in name:
        _agent_class(name)
        return Method(name.replace(":", "."), name, label=name.partition(":")[2])
    if name not in ready:
        raise UnknownNameError("agent", name, [*ready, "module:Class"])
    if name.startswith("sb3-"):
        from recurl.suite.peers import peer_class

        peer_class(name)
    return ready[name]


def _agent_class(name: str) -> Any:
    module, _, kind = name.partition(":")
    register_environments()
    try:
        return getattr(importlib.import_module(module), kind)
    except (ImportError, AttributeError, ValueError) as error:
        raise UnknownNameError("agent", name, [f"module:Class ({error})"]) from None


def suite_settings(algorithm: str, observation: str) -> SettingValues:
    """Settings that all of our learners have in the suite.

    Example:
        >>> suite_settings("rql", "index")
        {'episode_limit': 1000, 'evaluate_every': 0, 'observation': 'index'}
    """
    if algorithm not in algorithms():
        return {}
    given: SettingValues = {"episode_limit": EPISODE_LIMIT, "evaluate_every": 0}
    deep = "onehot" if "dqn" in algorithm or "deep" in algorithm else "index"
    if "observation" in learner_class(algorithm).settings_type.__struct_fields__:
        given["observation"] = deep if observation == "index" else "features"
    return given


class Trainee(ABC):
    """An agent in training on a setting.

    Attributes:
        steps: Steps that it has taken.
        episodes: Episodes that have ended.
    """

    steps: int = 0
    episodes: int = 0

    @abstractmethod
    def train(self, points: Sequence[int], look: Look, stopping: Stopping) -> None:
        """Train up to each of the points and look there; return early when asked to stop."""

    @abstractmethod
    def worth(self) -> Exact:
        """The value of the policy as it stands."""

    def policy(self) -> Policy | None:
        """The policy as it stands, or None if it is not known as a whole."""
        return None

    def episode(self) -> list[int]:
        """The transitions of a test episode, where the policy is not known as a whole."""
        return []

    def saved(self) -> bytes | None:
        """A checkpoint to go on from; None if it cannot be saved."""
        return None


class LearnerTrainee(Trainee):
    """A learner of this package, on the model itself.

    It sees the vertex or its features, calls and returns, as through the environment: the compiled
    loop is faster, and no more is known in it.
    """

    def __init__(self, run: Run, model: RMDP, saved: bytes | None = None) -> None:
        kind = learner_class(run.method.algorithm)
        self.learner: Any = (
            make_learner(run, model) if saved is None else kind.load(io.BytesIO(saved), model)
        )
        self.learner.set_budget(run.experiment.steps)

    @property
    def steps(self) -> int:  # type: ignore[override]
        """Steps that it has taken."""
        return int(self.learner.steps)

    @property
    def episodes(self) -> int:  # type: ignore[override]
        """Episodes that have ended."""
        return int(self.learner.engine.episodes)

    def train(self, points: Sequence[int], look: Look, stopping: Stopping) -> None:
        """Learn up to each point."""
        for point in points:
            self.learner.learn(point - self.steps, stopping=stopping)
            if self.steps < point:
                return
            look(point)

    def worth(self) -> Exact:
        """The exact value of the greedy policy."""
        return exact_value(self.policy())

    def policy(self) -> Policy:
        """The greedy policy."""
        found: Policy = self.learner.policy()
        return found

    def saved(self) -> bytes:
        """The learner as a checkpoint."""
        content: bytes = self.learner.to_bytes()
        return content


class SampledTrainee(Trainee):
    """An agent whose policy need not be known as a whole: then test episodes say what it is worth.

    Args:
        setting: What it trains on.
        model: Model of the setting.
        seed: Its seed.
    """

    def __init__(self, setting: Setting, model: RMDP, seed: int) -> None:
        self.setting, self.model, self.seed = setting, model, seed
        self.env = setting.env(model)

    @cached_property
    def reference(self) -> Reference:
        """The policy that test episodes are compared with."""
        return Reference.usual(self.model)

    def worth(self) -> Exact:
        """The exact value of a policy that is known as a whole; the mean of tests of any other."""
        found = self.policy()
        if found is not None:
            return exact_value(found)
        seeds = np.random.default_rng([self.seed, self.steps]).integers(2**31, size=TEST_EPISODES)
        return mean_worth(self.reference.worths(self.test_episodes(seeds.tolist())))

    @abstractmethod
    def test_episodes(self, seeds: Sequence[int]) -> list[PlayedEpisode]:
        """Test episodes with these seeds."""


class AgentTrainee(SampledTrainee):
    """An agent of two methods, through the environment."""

    def __init__(self, agent: Agent, setting: Setting, model: RMDP, seed: int) -> None:
        super().__init__(setting, model, seed)
        self.agent = agent
        self._now = self._reset(self.env, seed)

    @staticmethod
    def _reset(env: Any, seed: int | None = None) -> tuple[Any, dict[str, Any]]:
        observation, info = env.reset(seed=seed)
        return observation, {**info, "step": 0}

    def train(self, points: Sequence[int], look: Look, stopping: Stopping) -> None:
        """Play and learn up to each point."""
        for point in points:
            while self.steps < point:
                if self.steps % 64 == 0 and stopping():
                    return
                self._step()
            look(point)

    def _step(self) -> None:
        observation, info = self._now
        action = self.agent.act(observation, info)
        observation, reward, terminated, truncated, after = self.env.step(action)
        after = {**after, "step": info["step"] + 1}
        self.agent.observe(observation, float(reward), terminated, truncated, after)
        self.steps += 1
        self._now = observation, after
        if terminated or truncated:
            self.episodes += 1
            self._now = self._reset(self.env)

    def policy(self) -> Policy | None:
        """The policy that an agent gives, or the stackless one of an agent without memory."""
        if hasattr(self.agent, "policy"):
            given: Policy = self.agent.policy(self.model)
            return given
        if not getattr(self.agent, "memoryless", False):
            return None
        agent = copy.deepcopy(self.agent)

        def choose(observations: list[Any], masks: list[np.ndarray]) -> list[int]:
            infos = [{"event": None, "step": 1, "action_mask": mask} for mask in masks]
            pairs = zip(observations, infos, strict=True)
            return [int(agent.act(seen, info, explore=False)) for seen, info in pairs]

        return stackless_policy(self.env, self.model, choose)

    def test_episodes(self, seeds: Sequence[int]) -> list[PlayedEpisode]:
        """Episodes that a copy of the agent plays."""
        env, act = self.setting.env(self.model), copy.deepcopy(self.agent).act
        return [played_episode(env, act, seed) for seed in seeds]

    def episode(self) -> list[int]:
        """The transitions of a test episode, if it has no policy."""
        if self.policy() is not None:
            return []
        agent = copy.deepcopy(self.agent)
        return played_episode(self.setting.env(self.model), agent.act, self.seed).transitions


Act = Callable[..., int]


def mean_worth(worths: Floats) -> Exact:
    """The mean of the worths of test episodes, with its 95 % interval."""
    from recurl.experiment.statistics import margin

    mean, half = float(worths.mean()), margin(worths) or 0.0
    return Exact(mean, mean - half, mean + half, note=f"sampled: {len(worths)} episodes")


def played_episode(env: Any, act: Act, seed: int) -> PlayedEpisode:
    """A test episode."""
    observation, info = env.reset(seed=seed)
    transitions: list[int] = []
    terminated = truncated = False
    while not (terminated or truncated):
        action = act(observation, {**info, "step": len(transitions)}, explore=False)
        observation, _, terminated, truncated, info = env.step(action)
        transitions.append(env.unwrapped.last_step.transition)
    return PlayedEpisode(transitions, terminated)


def stackless_policy(
    env: Any, model: RMDP, choose: Callable[[list[Any], list[np.ndarray]], Sequence[int]]
) -> Policy:
    """The policy of a function from observations and masks to actions.

    Actions that a vertex does not have count on from its first one, as in the environment.
    """
    inner: ModelEnv = env.unwrapped
    t, view = model.tables, exits_view(env)
    states = np.flatnonzero(t.states)
    looks: Any = [inner.observe(int(vertex)) for vertex in states]
    counts = np.diff(t.action_start)[states]
    masks = [(np.arange(t.max_actions) < count).astype(np.int8) for count in counts]
    actions = np.asarray(choose(list(view(looks) if view else looks), masks))
    chosen = np.zeros(t.n_vertices, np.int32)
    chosen[states] = actions % counts
    return Policy.stackless(model, chosen)


def make_trainee(run: Run, setting: Setting, model: RMDP, saved: bytes | None = None) -> Trainee:
    """The agent of a run, before its first step or where it was saved."""
    name = run.method.algorithm
    if name in algorithms():
        return LearnerTrainee(run, model, saved)
    if name.startswith("sb3-"):
        from recurl.suite.peers import PeerTrainee

        return PeerTrainee(name, setting, model, run.seed)
    env = setting.env(model)
    agent = _agent_class(name)(env.observation_space, env.action_space, run.seed)
    return AgentTrainee(agent, setting, model, run.seed)
