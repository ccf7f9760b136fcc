"""The recursive protocol: how an environment reports calls and returns.

Any Gymnasium environment is recursive if its ``info`` says what each step did to the call stack.
An agent that ignores it sees an ordinary environment.

- ``info["event"]``: ``"call"``, ``"return"`` or None, on every step; None on reset.
- With a call, ``info["exits"]``: a sequence with the observation that the caller would have after
  each exit of what it called, in order. The step's own observation is the callee's first one.
- With a return, ``info["exit"]``: the index of the exit that was taken. The observation is the one
  that the call announced for it.
- ``info["action_mask"]`` (int8 or bool, 1 for each action that exists here): on reset and
  every step, or never. Every action exists where there is none.
- ``terminated`` ends the whole run, pending calls included; its event is None.
- ``info["counterfactuals"]``, optional: a tuple of `Counterfactual`, for steps that the same action
  would have made from other states. Learners learn from them, too. The attribute
  ``counterfactuals`` of the environment is the greatest length of such a tuple.

Wrappers may change observations: readers of announced exits change them in the same way (see
`recurl.env.observation`).

Generative access is optional: ``reset(options={"state": observation})`` begins a run at a state
that was observed, or announced by a call, with no call pending; ``metadata["generative"] = True``
says that an environment does so.

The outermost call of an environment is not like those inside: what the world pays when it ends is
not known, and may be a bonus for the whole task. So learners keep what they learn of it apart
(their setting ``own_root``), unless ``metadata["root_as_callee"] = True`` says that it is worth
what a call is whose exits are worth 0, as in a model.

`check_recursive_env` plays and checks all of it.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.wrappers import PassiveEnvChecker

from recurl.arguments import with_known_names
from recurl.env.depths import Depths, shown, step_kind, summary
from recurl.env.observation import View, exits_view, single_env
from recurl.errors import ProtocolError

EVENTS = (None, "call", "return")
"""Values of ``info["event"]``."""


class Counterfactual(NamedTuple):
    """A step that an action would have made from another state.

    Attributes:
        observation: What shows the other state.
        info: Its ``info``, as far as actions are masked.
        action: The action.
        reward: The reward there.
        terminated: Whether the run would have ended.
        next_observation: What shows the state after the step.
        next_info: Its ``info``: event, exits, exit and mask, as of any other step.
        nested: Whether a call is pending in the other state. If so, the pending calls are those of
            the run, or those of the latest call if none is pending.
    """

    observation: Any
    info: dict[str, Any]
    action: Any
    reward: float
    terminated: bool
    next_observation: Any
    next_info: dict[str, Any]
    nested: bool


def root_as_callee(env: Any) -> bool:
    """Whether the outermost call of an environment is worth what a call with exits worth 0 is.

    Example:
        >>> import recurl
        >>> root_as_callee(recurl.ModelEnv(recurl.zoo.cloud())), root_as_callee(gym.Env())
        (True, False)
    """
    return bool(getattr(single_env(env), "metadata", {}).get("root_as_callee", False))


def most_counterfactuals(env: Any) -> int:
    """How many counterfactual steps an environment reports with a step, at most.

    Example:
        >>> most_counterfactuals(gym.make("CartPole-v1"))
        0
    """
    try:
        inner = single_env(env)
    except ProtocolError:  # nothing is known of what is inside a vector environment
        return 0
    return int(inner.get_wrapper_attr("counterfactuals")) if _has_counterfactuals(inner) else 0


def _has_counterfactuals(env: Any) -> bool:
    return hasattr(env, "has_wrapper_attr") and env.has_wrapper_attr("counterfactuals")


_LONGEST = 10
"""How many times longer than asked a check goes on until a call has returned."""


ResetResult = tuple[Any, dict[str, Any]]
"""The result of ``env.reset``."""

StepResult = tuple[Any, Any, bool, bool, dict[str, Any]]
"""The result of ``env.step``."""


def reset_result(found: Any) -> ResetResult:
    """The result of ``env.reset``, if it has its two parts.

    Raises:
        ProtocolError: It has other parts.
    """
    _check_form(found, "reset", "observation, info")
    return found  # type: ignore[no-any-return]


def begun(env: Any, seed: int | None = None) -> ResetResult:
    """The result of ``env.reset``, also after an interrupt inside it.

    Gymnasium's checker notes that it has checked a reset before it does, and breaks down in the
    next step if it was interrupted in between: until it has checked a step, it begins again.

    Raises:
        ProtocolError: The result has other parts.
    """
    inner = env
    while isinstance(inner, gym.Wrapper):
        if isinstance(inner, PassiveEnvChecker) and not inner.checked_step:
            inner.checked_reset = False
        inner = inner.env
    return reset_result(env.reset(seed=seed))


def step_result(found: Any) -> StepResult:
    """The result of ``env.step``, if it has its five parts.

    Raises:
        ProtocolError: It has other parts.

    Example:
        >>> step_result((0, 1.0, True, {}))
        Traceback (most recent call last):
        ...
        recurl.errors.ProtocolError: step must return (observation, reward, terminated, truncated,
        info), not (0, 1.0, True, {})
    """
    _check_form(found, "step", "observation, reward, terminated, truncated, info")
    return found  # type: ignore[no-any-return]


def _check_form(found: Any, method: str, parts: str) -> None:
    if not isinstance(found, tuple | list) or len(found) != parts.count(",") + 1:
        raise ProtocolError(f"{method} must return ({parts}), not {found!r}")
    if not isinstance(found[-1], dict):
        raise ProtocolError(f"the info of {method} must be a dictionary, not {found[-1]!r}")


def finite_reward(reward: Any) -> float:
    """The reward of a step as a float.

    Raises:
        ProtocolError: It is not a finite number.

    Example:
        >>> finite_reward(np.float32(-0.5))
        -0.5
    """
    try:
        value = float(reward)
    except OverflowError:
        value = math.inf
    except (TypeError, ValueError):
        value = None
    if value is None or isinstance(reward, str | bytes):
        raise ProtocolError(f"the reward must be a number, not {reward!r}")
    if not math.isfinite(value):
        raise ProtocolError(f"the reward must be finite, not {value}")
    return value


def finite_observation(observation: Any) -> None:
    """Refuse an observation whose numbers are not all finite.

    Raises:
        ProtocolError: Some are not.
    """
    if not _is_finite(observation):
        raise ProtocolError(f"the observation must be finite, not {observation!r}")


def _is_finite(observation: Any) -> bool:
    """Whether all numbers are finite: of an array, or of a dictionary or tuple of arrays."""
    if isinstance(observation, dict):
        return all(map(_is_finite, observation.values()))
    if isinstance(observation, tuple | list):
        return all(map(_is_finite, observation))
    floats = isinstance(observation, np.ndarray) and observation.dtype.kind == "f"
    return not floats or bool(np.isfinite(observation).all())


NOT_OBSERVATIONS = (TypeError, ValueError, KeyError, IndexError, AttributeError)
"""Errors that reading something as an observation raises if it is not one."""


def not_in_space(observation: Any, space: spaces.Space[Any]) -> ProtocolError:
    """The error that an observation is not of the kind that its space describes."""
    return ProtocolError(
        f"the observation is not in the observation space: {observation!r} is not of {space}"
    )


def check_form(observation: Any, space: spaces.Space[Any]) -> None:
    """Refuse an observation that is not finite, or that has another form than its space describes.

    Raises:
        ProtocolError: It is one of them.
    """
    finite_observation(observation)
    try:
        good = fits(observation, space)
    except NOT_OBSERVATIONS:
        good = False
    if not good:
        raise not_in_space(observation, space)


def fits(observation: Any, space: spaces.Space[Any]) -> bool:
    """Whether an observation has the form that its space describes.

    The bounds of a Box and the letters of a Text are not asked for.

    Example:
        >>> fits(np.zeros(2), spaces.Box(1, 2, (2,))), fits(-1, spaces.Discrete(3))
        (True, False)
    """
    if isinstance(space, spaces.Dict):
        return all(fits(observation[name], part) for name, part in space.spaces.items())
    if isinstance(space, spaces.Tuple):
        parts = zip(observation, space.spaces, strict=True)
        return all(fits(value, part) for value, part in parts)
    if isinstance(space, spaces.Box):
        return bool(np.shape(observation) == space.shape)
    if isinstance(space, spaces.Text):
        return isinstance(observation, str)
    return bool(observation in space)


def allowed_actions(mask: Any, count: int) -> list[int]:
    """The actions that a mask leaves, counted from 0; all of them if it is None.

    Raises:
        ProtocolError: It does not mark actions, or it leaves none.

    Example:
        >>> allowed_actions(np.array([0, 1, 1], np.int8), 3)
        [1, 2]
    """
    if mask is None:
        return list(range(count))
    try:
        marks = np.asarray(mask)
    except (TypeError, ValueError):
        marks = np.zeros(0)
    if marks.shape != (count,) or not ((marks == 0) | (marks == 1)).all():
        raise ProtocolError(
            f"info['action_mask'] must have a 0 or a 1 for each of {count} actions, not {mask!r}"
        )
    found: list[int] = np.flatnonzero(marks).tolist()
    if not found:
        raise ProtocolError("info['action_mask'] leaves no action")
    return found


def changed_mask(observation: Any, now: list[int], before: list[int]) -> ProtocolError:
    """The error that the same observation comes with another mask."""
    return ProtocolError(
        f"info['action_mask'] of observation {observation!r} has changed: it leaves {now}, and "
        f"left {before} before"
    )


def known_event(info: dict[str, Any], terminated: bool = False) -> str | None:
    """The event of a step.

    Args:
        info: The ``info`` of the step.
        terminated: Whether the step ended the run; pending calls end with it.

    Raises:
        ProtocolError: The event is unknown, or the run ends with a call or a return.
    """
    event: str | None = info.get("event")
    if not (event is None or (isinstance(event, str) and event in EVENTS)):
        raise ProtocolError(f"info['event'] must be one of {EVENTS}, not {event!r}")
    if terminated and event is not None:
        raise ProtocolError(f"a run ends with the event None, but info['event'] is {event!r}")
    return event


def required_event(info: dict[str, Any], terminated: bool = False) -> str | None:
    """The event of a step in an environment whose ``reset`` reported one.

    Raises:
        ProtocolError: There is none, and the step did not end the run; or see `known_event`.
    """
    if not terminated and "event" not in info:
        raise ProtocolError("info has no 'event': give 'call', 'return' or None with every step")
    return known_event(info, terminated)


def announced_exits(info: dict[str, Any], view: View | None = None) -> Sequence[Any]:
    """The exits that a call announces.

    Args:
        info: The ``info`` of the call.
        view: How wrappers show them, see `exits_view`.

    Raises:
        ProtocolError: None are announced.
    """
    exits: Any = info.get("exits")
    if not isinstance(exits, tuple | list | np.ndarray) or len(exits) == 0:
        seen = f"not {exits!r}" if "exits" in info else "and it is missing"
        raise ProtocolError(
            "with a call, info['exits'] must be a list with the caller's observation after each "
            f"exit, {seen}"
        )
    found: Any = exits
    return found if view is None else view(found)


def exit_taken(info: dict[str, Any], count: int) -> int:
    """The index of the exit that a return was by, among those that the call announced.

    Raises:
        ProtocolError: The exit does not exist.

    Example:
        >>> exit_taken({"event": "return", "exit": 1}, 2)
        1
    """
    index = info.get("exit")
    if isinstance(index, np.generic):
        index = index.item()
    whole = isinstance(index, int) and not isinstance(index, bool)
    if not whole or not 0 <= index < count:  # type: ignore[operator]
        seen = f"not {index!r}" if "exit" in info else "and it is missing"
        most = f"from 0 to {count - 1}" if count > 1 else "0, the only one announced"
        raise ProtocolError(f"with a return, info['exit'] must be an index {most}, {seen}")
    return int(index)  # type: ignore[arg-type]


def not_announced(index: int, announced: Any, observation: Any) -> ProtocolError:
    """The error that what is observed after a return is not what the call announced."""
    return ProtocolError(
        f"exit {index} was announced as {announced!r}, but the observation is {observation!r}: "
        "return the announced one, and keep wrappers that change it free of state"
    )


NO_CALL = "info['event'] is 'return', but no call is pending"
"""The problem with a return at the outermost level."""

ENDS_INSIDE = (
    "the run ended in a call: a discount by boxes (box_gamma) needs calls that only return, by one "
    "exit. Discount each step instead (gamma)"
)
"""The problem with an end of the run at an inner level, where boxes are discounted."""


def require_single(box_gamma: float, exits: int) -> None:
    """Refuse a call with several exits, where boxes are discounted.

    Raises:
        ProtocolError: It has several.

    Example:
        >>> require_single(0.9, 1), require_single(1.0, 5)
        (None, None)
    """
    if box_gamma < 1 and exits > 1:
        raise ProtocolError(
            f"a call has {exits} exits: a discount by boxes (box_gamma) needs one. Discount each "
            "step instead (gamma)"
        )


ROOT_DIFFERS = (
    "the outermost call differs from calls inside that show the same; learners keep it apart "
    "(own_root=True, the default of all presets but 'paper'): "
)
"""The beginning of the warning that the end of a task is not like the end of a call."""

DEPTH_MATTERS = (
    "calls that show the same differ by how deep they are, which learners cannot tell: let the "
    "observation tell it, or announce other exits: "
)
"""The beginning of the warning that the observation leaves out what matters."""


def warn_of_depths(
    depths: Depths, own_root: bool, name: Callable[[Any], str] = str, stacklevel: int = 4
) -> None:
    """Warn of what a learner cannot tell apart: calls by their depth, and the outermost one.

    Args:
        depths: What was noted.
        own_root: Whether the outermost call is learned apart.
        name: Text for an observation, as it was noted.
        stacklevel: Where the warning points to.
    """
    if differences := depths.inside(name):
        warnings.warn(DEPTH_MATTERS + summary(differences), stacklevel=stacklevel)
    if not own_root and (differences := depths.at_root(name)):
        warnings.warn(NOT_APART + summary(differences), stacklevel=stacklevel)


NOT_APART = (
    "the outermost call differs from calls inside that show the same: set own_root=True, or let "
    "the observation tell them apart: "
)
"""The beginning of the warning of a learner that takes them for the same."""

SILENT = (
    "the environment reports no events: its info has no 'event', so there is nothing recursive to "
    "learn; QLearning and DQN learn the same faster"
)
"""The warning of a recursive learner about an environment without events."""


@with_known_names
def check_recursive_env(env: gym.Env[Any, Any], steps: int = 1000, seed: int = 0) -> None:
    """Play an environment at random and check that it keeps the recursive protocol.

    Rewards and observations are checked, too. A warning says where the same observation and action
    mean something else at another depth of the stack, by reward or by what follows. Play goes on
    beyond the steps asked for, up to 10 times as long, while there were calls and none of them
    has returned.

    Args:
        env: The environment; it is reset.
        steps: How many steps to play.
        seed: Seed of the environment and of the actions.

    Raises:
        ProtocolError: Something does not keep it; the message says at which step and what.
        TypeError: This is not an environment, or it is a vector environment.

    Example:
        >>> import recurl
        >>> check_recursive_env(recurl.ModelEnv(recurl.zoo.cloud()))
    """
    if isinstance(env, gym.vector.VectorEnv) or not isinstance(env, gym.Env):
        raise TypeError(f"check_recursive_env takes one Gymnasium environment, not {env!r}")
    check = _Check(env, seed)
    for number in range(_LONGEST * steps):
        if number >= steps and not check.waits:
            break
        check.step(number)
    if differences := check.depths.at_root():
        warnings.warn(ROOT_DIFFERS + summary(differences), stacklevel=3)
    warn_of_depths(check.depths, own_root=True)


class _Check:
    """A random run with the exits announced by the calls that are pending."""

    def __init__(self, env: gym.Env[Any, Any], seed: int) -> None:
        self.env = env
        self._view = exits_view(env)
        self._called = self._returned = False
        self.depths = Depths()
        # Actions of the observations seen, and whether some have changed.
        self._allowed: dict[str, list[int]] = {}
        self._changed = False
        env.action_space.seed(seed)
        self._reset(seed)

    @property
    def waits(self) -> bool:
        """Whether there were calls and none of them has returned."""
        return self._called and not self._returned

    def _demand(self, holds: bool, message: str) -> None:
        if not holds:
            raise ProtocolError(message)

    def _reset(self, seed: int | None = None) -> None:
        self.pending: list[tuple[Any, ...]] = []
        found = self.env.reset(seed=seed)
        try:
            observation, info = reset_result(found)
            self._observation = observation
            event = info.get("event")
            self._demand(event is None, f"info['event'] must be None, not {event!r}")
            self._check_observation(observation)
            self.masks = "action_mask" in info
            self._check_mask(observation, info)
        except ProtocolError as error:
            raise ProtocolError(f"reset: {error}") from None

    def step(self, number: int) -> None:
        """One step, and a reset when the episode is over."""
        action, depth = self._action(), len(self.pending)
        found = self.env.step(action)
        try:
            observation, reward, terminated, truncated, info = step_result(found)
            paid = finite_reward(reward)
            self._check_observation(observation)
            self._check_event(observation, info, terminated)
            kind = step_kind(info.get("event"), terminated)
            place = shown(self._observation), shown(action)
            self.depths.note(*place, depth, paid, kind)
            self._observation = observation
            if not (terminated or truncated):
                self._check_mask(observation, info)
        except ProtocolError as error:
            raise ProtocolError(f"step {number}: {error}") from None
        if terminated or truncated:
            self._reset()

    def _action(self) -> Any:
        space = self.env.action_space
        if isinstance(space, spaces.Discrete) and self.mask is not None:
            return space.sample(self.mask)
        return space.sample()

    def _check_observation(self, observation: Any) -> None:
        finite_observation(observation)
        if observation not in self.env.observation_space:
            raise not_in_space(observation, self.env.observation_space)

    def _check_event(self, observation: Any, info: dict[str, Any], terminated: bool) -> None:
        self._demand("event" in info, "info has no 'event': give 'call', 'return' or None")
        event = known_event(info, terminated)
        for key, wanted in (("exits", "call"), ("exit", "return")):
            alien = key in info and event != wanted
            self._demand(not alien, f"info[{key!r}] comes with a {wanted}, not with {event!r}")
        if event == "call":
            self._check_call(announced_exits(info, self._view))
        elif event == "return":
            self._check_return(observation, info)

    def _check_call(self, exits: Sequence[Any]) -> None:
        for k, observation in enumerate(exits):
            inside = observation in self.env.observation_space
            self._demand(inside, f"info['exits'][{k}] is not in the observation space")
        self._called = True
        self.pending.append(tuple(exits))

    def _check_return(self, observation: Any, info: dict[str, Any]) -> None:
        self._demand(bool(self.pending), NO_CALL)
        exits = self.pending.pop()
        index = exit_taken(info, len(exits))
        space = self.env.observation_space
        seen: Any = spaces.flatten(space, observation)
        if not np.array_equal(seen, spaces.flatten(space, exits[index])):  # type: ignore[arg-type]
            raise not_announced(index, exits[index], observation)
        self._returned = True

    def _check_mask(self, observation: Any, info: dict[str, Any]) -> None:
        self.mask = info.get("action_mask")
        given = self.mask is not None
        self._demand(given == self.masks, "info['action_mask'] comes always or never")
        if self.mask is None:
            return
        allowed = allowed_actions(self.mask, int(getattr(self.env.action_space, "n", -1)))
        self.mask = np.asarray(self.mask, np.int8)
        before = self._allowed.setdefault(shown(observation), allowed)
        if before != allowed and not self._changed:
            self._changed = True
            told = changed_mask(observation, allowed, before)
            warnings.warn(f"{told}; tables refuse this, networks take it", stacklevel=5)
