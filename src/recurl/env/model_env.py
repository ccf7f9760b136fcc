"""A model as a Gymnasium environment that reports its calls and returns."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.error import InvalidAction, ResetNeeded

from recurl.arguments import with_known_names
from recurl.env.rendering import render_walk
from recurl.errors import ModelError, Problem, UnknownNameError
from recurl.model.rmdp import require_model
from recurl.model.transforms.discounting import require_discounts
from recurl.simulation.walk import Step, Walk

if TYPE_CHECKING:
    from recurl.env.frame import Frames
    from recurl.model.rmdp import RMDP


Encoder = Callable[[int], Any]
"""From a vertex to its observation, a new object each time."""


def encoding(model: RMDP, name: str) -> tuple[spaces.Space[Any], Encoder]:
    """The observation space of an encoding, and the function that encodes a vertex.

    Args:
        model: The model.
        name: ``"index"`` (the vertex number), ``"onehot"`` or ``"features"``.

    Example:
        >>> import recurl
        >>> space, encode = encoding(recurl.zoo.gambler(), "onehot")
        >>> encode(2).argmax(), encode(2) in space
        (np.int64(2), True)
    """
    if name not in _ENCODINGS:
        raise UnknownNameError("observation", name, _ENCODINGS)
    return _ENCODINGS[name](model)


def _index(model: RMDP) -> tuple[spaces.Space[Any], Encoder]:
    return spaces.Discrete(model.tables.n_vertices), int


def _onehot(model: RMDP) -> tuple[spaces.Space[Any], Encoder]:
    size = model.tables.n_vertices

    def encode(vertex: int) -> np.ndarray:
        row = np.zeros(size, np.float32)
        row[vertex] = 1
        return row

    return spaces.Box(0, 1, (size,), np.float32), encode


def _features(model: RMDP) -> tuple[spaces.Space[Any], Encoder]:
    if model.features is None:
        fix = "observe 'index' or 'onehot', or give the vertices features"
        raise ModelError([Problem(model.name, "its vertices have no features", fix)])
    rows = model.features.astype(np.float32)
    low, high = rows.min(axis=0), rows.max(axis=0)
    # Gymnasium warns of a box without width.
    high = np.where(high > low, high, low + 1)
    return spaces.Box(low, high, dtype=np.float32), lambda vertex: rows[vertex].copy()


_ENCODINGS = {"features": _features, "index": _index, "onehot": _onehot}


_MASKED = ("error", "wrap")


class ModelEnv(gym.Env[Any, Any]):
    """A run of a model, step by step, by the recursive protocol (see `recurl.env.protocol`).

    The observation shows the vertex, at the end of a run the exit that was left through. Action i
    is the i-th action of the vertex. Vertices may have different numbers of actions:
    ``info["action_mask"]`` says which exist.

    Args:
        model: The model.
        observation: ``"index"`` (the number of the vertex), ``"onehot"``, or ``"features"`` (the
            model's own).
        render_mode: ``"ansi"`` (`render` gives text), ``"human"`` (each step is printed) or
            ``"rgb_array"`` (`render` gives pixels: the grid, or the component drawn); all show the
            call stack.
        masked: What an action does that the vertex does not have: ``"wrap"`` counts on from its
            first action again, so that agents without masks can train; ``"error"`` refuses.
        gamma: Discount of `episode_return`, in (0, 1]; rewards are given as they are.
        box_gamma: The same by boxes, of models with one exit: within a call, what follows a step
            counts this much.

    Attributes:
        episode_return: Discounted sum of the rewards of this run so far.
        episode_length: Steps of this run so far.

    Example:
        >>> import recurl
        >>> env = ModelEnv(recurl.zoo.cloud(), render_mode="ansi")
        >>> observation, info = env.reset(seed=1)
        >>> observation, reward, terminated, truncated, info = env.step(1)
        >>> reward, info["event"], info["exits"], info["action_mask"].tolist()
        (-0.5, 'call', (5,), [1, 1])
        >>> print(env.render())
        T.u1: divide, reward -0.5, calls b1
        T  in b1
          S  at u3: reliable | fast
    """

    # Gymnasium declares it as an attribute of instances.
    metadata: dict[str, Any] = {  # noqa: RUF012
        "render_modes": ["ansi", "human", "rgb_array"],
        "render_fps": 4,
        "generative": True,
        "root_as_callee": True,
    }
    action_space: spaces.Discrete

    @with_known_names
    def __init__(
        self,
        model: RMDP,
        observation: str = "index",
        render_mode: str | None = None,
        *,
        masked: str = "wrap",
        gamma: float = 1.0,
        box_gamma: float = 1.0,
    ) -> None:
        require_model(model, "ModelEnv")
        require_discounts(model, gamma, box_gamma)
        if masked not in _MASKED:
            raise UnknownNameError("way to treat masked actions", masked, _MASKED)
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise UnknownNameError("render mode", str(render_mode), self.metadata["render_modes"])
        self.model, self.render_mode, self.masked = model, render_mode, masked
        self.gamma, self.box_gamma = gamma, box_gamma
        self._begin_return()
        self._observation = observation
        self.observation_space, self._encode = encoding(model, observation)
        self.action_space = spaces.Discrete(model.tables.max_actions)
        self._walk = Walk(model, self.np_random)
        self._last: Step | None = None
        self._maps: str | dict[str, str] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_encode"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        _, self._encode = encoding(self.model, self._observation)

    @property
    def stack(self) -> tuple[int, ...]:
        """Boxes that are pending, outermost first."""
        return tuple(self._walk.stack)

    @property
    def last_step(self) -> Step | None:
        """The step that was taken last; None at the beginning of a run."""
        return self._last

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin a run at a random start of the model.

        Args:
            seed: Seed of all randomness from now on.
            options: With ``{"state": observation}`` the run begins at the vertex observed so
                instead, with no call pending (see `recurl.env.protocol`, generative access).
        """
        super().reset(seed=seed)
        vertex = self._walk.restart(self.np_random)
        if options is not None and "state" in options:
            vertex = self._walk.vertex = self._vertex(options["state"])
        self._last = None
        self._begin_return()
        self._show()
        return self._encode(vertex), {"event": None, "action_mask": self._mask()}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take an action: observation, reward, terminated, truncated, info."""
        if self._walk.ended:
            raise ResetNeeded("the run is over: call reset()")
        step = self._last = self._walk.step(self._number(action))
        self._count(step)
        self._show()
        observation = self._encode(self._exit(step) if step.ended else self._walk.vertex)
        return observation, step.reward, step.ended, False, self._info(step)

    def _begin_return(self, pending: int = 0) -> None:
        """Count from here, with a number of calls pending."""
        self.episode_return, self.episode_length = 0.0, 0
        # What a reward counts in the call that runs, and, once it has returned, in its callers.
        self._levels = [1.0] * (pending + 1)

    def _count(self, step: Step) -> None:
        """Add a step to the return and length of the run."""
        weight = self.gamma**self.episode_length * self._levels[-1]
        self.episode_return += weight * step.reward
        self.episode_length += 1
        self._levels[-1] *= self.box_gamma
        if step.event == "call":
            self._levels.append(self._levels[-1])
        elif step.event == "return":
            self._levels.pop()

    def observe(self, vertex: int) -> Any:
        """The observation at a vertex.

        Example:
            >>> import recurl
            >>> ModelEnv(recurl.zoo.gambler(), observation="onehot").observe(2).tolist()
            [0.0, 0.0, 1.0, 0.0, 0.0, 0.0]
        """
        return self._encode(vertex)

    def _vertex(self, observation: Any) -> int:
        """The vertex of an observation."""
        found = self._vertices.get(self._key(observation), [])
        if len(found) != 1:
            several = "several vertices look" if found else "no vertex with actions looks"
            raise ValueError(f"{several} like {observation!r}: observe 'index' or 'onehot'")
        return found[0]

    def _key(self, observation: Any) -> bytes:
        return np.asarray(observation, self.observation_space.dtype).tobytes()

    @cached_property
    def _vertices(self) -> dict[bytes, list[int]]:
        """Vertices with actions by what is observed there."""
        found: dict[bytes, list[int]] = {}
        for vertex in np.flatnonzero(self.model.tables.states).tolist():
            found.setdefault(self._key(self._encode(vertex)), []).append(vertex)
        return found

    def _number(self, action: Any) -> int:
        count = self._walk.n_actions
        # Asking the space takes longer than the step itself.
        plain = type(action) is int and 0 <= action < self.action_space.n
        if not plain and action not in self.action_space:
            raise InvalidAction(f"action {action!r} is not in {self.action_space}")
        if action >= count and self.masked == "error":
            name, actions = self.model.vertex_name, self.model.action_names
            vertex = self._walk.vertex
            known = ", ".join(f"{i} ({a})" for i, a in enumerate(actions(vertex)))
            raise InvalidAction(
                f"{name(vertex)} has no action {action}, only {known}: see info['action_mask']"
            )
        return int(action) % count

    def _exit(self, step: Step) -> int:
        t = self.model.tables
        assert step.exit is not None
        return t.exits_of(int(t.vertex_component[step.vertex]))[step.exit]

    def _info(self, step: Step) -> dict[str, Any]:
        info: dict[str, Any] = {"event": step.event, "action_mask": self._mask()}
        if step.box is not None and step.event == "call":
            # A tuple, because vector environments lay arrays of different lengths over each other.
            info["exits"] = tuple(self._encode(v) for v in self.model.return_ports(step.box))
        elif step.event == "return":
            info["exit"] = step.exit
        return info

    def _mask(self) -> np.ndarray:
        count = 0 if self._walk.ended else self._walk.n_actions
        mask: np.ndarray = self._masks[count].copy()
        return mask

    def action_masks(self) -> np.ndarray:
        """The mask of now as booleans: the method that agents like MaskablePPO call."""
        mask: np.ndarray = self._mask().astype(bool)
        return mask

    @cached_property
    def _masks(self) -> np.ndarray:
        """Masks of states with 0, 1, 2, ... actions."""
        n = int(self.action_space.n)
        return np.tri(n + 1, n, -1, np.int8)

    def render(self) -> Any:
        """The call stack and the last step, in modes ``"ansi"`` and ``"rgb_array"``.

        The former gives text, the latter an array of bytes of shape (544, 960, 3).
        """
        if self.render_mode == "rgb_array":
            return self._frames.frame(self._walk, self._last)
        return render_walk(self._walk, self._last) if self.render_mode == "ansi" else None

    @cached_property
    def _frames(self) -> Frames:
        from recurl.env.frame import Frames

        return Frames(self.model, self._maps)

    def _show(self) -> None:
        if self.render_mode == "human":
            print(render_walk(self._walk, self._last), end="\n\n", flush=True)
