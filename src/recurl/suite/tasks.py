"""The tasks of the suite as data: models of the zoo, each at three sizes."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from recurl.errors import UnknownNameError
from recurl.suite.views import Observation, image_rows, task_env, task_model

if TYPE_CHECKING:
    import gymnasium as gym

    from recurl.model.rmdp import RMDP

SIZES = ("small", "medium", "large")
STEPS = {"small": 20_000, "medium": 100_000, "large": 500_000}
"""Training steps of each size."""

FAMILIES = {
    "one exit": "components with one exit, where a stackless policy can be optimal",
    "several exits": "components with several exits, where the best choice depends on the stack",
    "sparse reward": "several exits, and a reward that random behaviour hardly ever finds",
    "observations": "vectors and images in place of the number of a vertex",
}

Parameters = dict[str, Any]


class Known(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Facts about a setting that were computed once and are kept in a file.

    Attributes:
        fingerprint: Of the model they hold for.
        vertices: Vertices of the model.
        optimum: Certified interval of the optimum.
        certificate: SHA-256 digest of the certificate of that interval.
        stackless: Interval of the best stackless value.
        stackless_is: ``"exact"`` if no stackless policy is worth more than its upper end;
            ``"attained"`` if it is the value of the best one that a search found.
        uniform: Certified interval of the value of the uniform policy.
        steps: Expected steps of an optimal run.
        uniform_steps: Expected steps of a run of the uniform policy.
    """

    fingerprint: str
    vertices: int
    optimum: tuple[float, float]
    certificate: str
    stackless: tuple[float, float]
    stackless_is: Literal["exact", "attained"]
    uniform: tuple[float, float]
    steps: float
    uniform_steps: float

    def score(self, value: float) -> float:
        """(value - uniform) / (optimum - uniform), within 0 and 1.

        It is 0 for policies that are worth less than the uniform one. None is worth more than the
        optimum, but the mean of some episodes may be.

        Example:
            >>> round(find_setting("words-small").known.score(0.24), 2)
            0.31
        """
        low, high = sum(self.uniform) / 2, sum(self.optimum) / 2
        return min(max((value - low) / (high - low), 0.0), 1.0)

    @property
    def stackless_score(self) -> float:
        """The score of the best stackless policy that is known."""
        return self.score(self.stackless[0])


class Task(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A task: a model of the zoo at three sizes, and how it is seen.

    Attributes:
        name: Short name.
        family: One of `FAMILIES`.
        zoo: Name of its model in the zoo.
        exits: Exits of its components: ``"one"`` or ``"several"``.
        reward: ``"dense"``, or ``"sparse"`` if random behaviour hardly ever finds it.
        horizon: ``"short"``, or ``"long"`` if optimal runs of the large size take 20 steps or more.
        observation: ``"index"``, ``"vector"`` or ``"image"``.
        sizes: Parameters of the model at each of `SIZES`.
    """

    name: str
    family: str
    zoo: str
    exits: Literal["one", "several"]
    reward: Literal["dense", "sparse"]
    horizon: Literal["short", "long"]
    observation: Observation
    sizes: tuple[Parameters, Parameters, Parameters]


class Setting(msgspec.Struct, frozen=True):
    """A task at one of its sizes."""

    task: Task
    size: str

    @property
    def name(self) -> str:
        """Its name, ``task-size``."""
        return f"{self.task.name}-{self.size}"

    @property
    def parameters(self) -> Parameters:
        """Parameters of the model."""
        found = self.task.sizes[SIZES.index(self.size)]
        return {key: tuple(x) if isinstance(x, list) else x for key, x in found.items()}

    @property
    def steps(self) -> int:
        """Steps that an agent trains for."""
        return STEPS[self.size]

    @property
    def known(self) -> Known:
        """The facts on file: optimum, best stackless value, value of the uniform policy."""
        return _known()[self.name]

    def model(self) -> RMDP:
        """The model.

        Example:
            >>> find_setting("epidemic-small").model()
            <RMDP epidemic: 2 components, 20 vertices, 1-exit, recursive>
        """
        return task_model(self.task.zoo, self.parameters, self.task.observation)

    def env(self, model: RMDP | None = None) -> gym.Env[Any, Any]:
        """The environment as agents see it, by the recursive protocol.

        Args:
            model: The model, if it is there already.
        """
        shape = None
        if self.task.observation == "image":
            shape = image_rows(task_model(self.task.zoo, self.parameters, "index"))[1]
        return task_env(model or self.model(), self.task.observation, shape)


def _data(name: str) -> bytes:
    return (files("recurl.suite") / "data" / name).read_bytes()


TASKS = msgspec.json.decode(_data("tasks.json"), type=tuple[Task, ...])
"""All tasks, family by family. Scores are compared across years: entries are never changed."""


def settings(tasks: Iterable[str] = (), sizes: Iterable[str] = ()) -> list[Setting]:
    """The settings of some tasks or families at some sizes; all if none are named.

    Raises:
        UnknownNameError: A task, family or size is unknown.

    Example:
        >>> [one.name for one in settings(["words", "sparse reward"], ["small"])][:3]
        ['words-small', 'battery-small', 'brackets-small']
    """
    known, wanted, chosen = [*(task.name for task in TASKS), *FAMILIES], list(tasks), list(sizes)
    for name in wanted:
        if name not in known:
            raise UnknownNameError("task or family", name, known)
    for size in chosen:
        if size not in SIZES:
            raise UnknownNameError("size", size, SIZES)
    return [
        Setting(task, size)
        for task in TASKS
        if not wanted or task.name in wanted or task.family in wanted
        for size in SIZES
        if not chosen or size in chosen
    ]


def find_setting(name: str) -> Setting:
    """A setting by its name.

    Raises:
        UnknownNameError: There is none.
    """
    found = {one.name: one for one in settings()}
    if name not in found:
        raise UnknownNameError("setting of the suite", name, found)
    return found[name]


class KnownFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file of what is known, with how it was made.

    Attributes:
        command: The command that made it.
        versions: Versions of what computed it.
        settings: What is known, by name of the setting.
    """

    command: str
    versions: dict[str, str]
    settings: dict[str, Known]


@cache
def _known() -> dict[str, Known]:
    return msgspec.json.decode(_data("known.json"), type=KnownFile).settings
