"""The settings of an experiment: a model, methods, seeds and a budget, frozen."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP

SettingValues = dict[str, Any]
"""Settings of a learner by name."""


class ModelChoice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which model: one of the zoo with its parameters, or a file.

    Attributes:
        zoo: Name in the zoo.
        parameters: Its parameters, those left out as the zoo has them.
        file: Path of a document instead; it may be of any kind that recurl reads.
    """

    zoo: str = ""
    parameters: SettingValues = msgspec.field(default_factory=dict)
    file: str = ""

    def __post_init__(self) -> None:
        if bool(self.zoo) == bool(self.file):
            raise ValueError("a model is named by either zoo or file")

    def make(self) -> RMDP:
        """The model.

        Example:
            >>> ModelChoice(zoo="cloud", parameters={"exits": 1}).make()
            <RMDP cloud: 3 components, 20 vertices, 1-exit, recursive>
        """
        from recurl.automaton import load
        from recurl.zoo.registry import make

        return load(Path(self.file)) if self.file else make(self.zoo, **self.parameters)


class Method(msgspec.Struct, frozen=True):
    """One way to learn.

    Attributes:
        name: Short name, part of the records' file names.
        algorithm: ``"rql"``, ``"q"``, ``"model-based"``, ``"deep-rql"`` or ``"dqn"``.
        settings: What this method adds to the experiment's settings.
        label: Name in tables and figures.
        published: Its name in the published curves, if it has one.
        with_shared: Whether the experiment's settings hold for it too.
    """

    name: str
    algorithm: str
    settings: SettingValues = msgspec.field(default_factory=dict)
    label: str = ""
    published: str = ""
    with_shared: bool = True


class Rates(NamedTuple):
    """Discounts: of each step, and by boxes; 1 for none."""

    gamma: float = 1.0
    box_gamma: float = 1.0


class Experiment(msgspec.Struct, frozen=True):
    """A model, methods, seeds and a budget: all that its runs depend on.

    Attributes:
        name: Short name, also of its folder.
        model: Which model.
        methods: Ways to learn that are compared.
        steps: Steps of each run.
        seeds: Seeds of each method.
        settings: Settings of all methods.
        title: Name in tables and figures.
        reference: Its name in the published curves, if it has one.
    """

    name: str
    model: ModelChoice
    methods: tuple[Method, ...]
    steps: int
    seeds: tuple[int, ...]
    settings: SettingValues = msgspec.field(default_factory=dict)
    title: str = ""
    reference: str = ""

    def __post_init__(self) -> None:
        if self.steps < 1 or not self.seeds or not self.methods:
            raise ValueError(f"experiment {self.name}: steps, seeds and methods must be given")
        names = [method.name for method in self.methods]
        if len(set(names)) < len(names) or len(set(self.seeds)) < len(self.seeds):
            raise ValueError(f"experiment {self.name}: a method or a seed is given twice")

    def runs(self) -> Iterator[Run]:
        """Every method with every seed, seed by seed, so that early results show all methods.

        Example:
            >>> from recurl.experiment.paper import paper_experiments
            >>> [run.name for run in paper_experiments(seeds=1)["cloud"].runs()]
            ['rql-0', 'ql-0', 'rql-swift-0']
        """
        for seed in self.seeds:
            for method in self.methods:
                yield Run(self, method, seed)

    @property
    def discount(self) -> Rates | None:
        """The discounts of its runs; None if its methods have different ones."""
        found = {run.discount for run in self.runs()}
        return found.pop() if len(found) == 1 else None


class Run(msgspec.Struct, frozen=True):
    """One run of an experiment: a method with a seed."""

    experiment: Experiment
    method: Method
    seed: int

    @property
    def name(self) -> str:
        """Name of its files."""
        return f"{self.method.name}-{self.seed}"

    @property
    def settings(self) -> SettingValues:
        """Settings of the learner: the experiment's, and over them the method's."""
        shared = self.experiment.settings if self.method.with_shared else {}
        return {**shared, **self.method.settings}

    @property
    def discount(self) -> Rates:
        """The discounts of the learner."""
        given = self.settings
        return Rates(float(given.get("gamma", 1)), float(given.get("box_gamma", 1)))

    @property
    def config(self) -> SettingValues:
        """All that the result depends on: a record with the same config need not be made again.

        Of a preset, what it stands for is in it too: another version may mean something else by it.
        """
        from recurl.experiment.options import preset_settings

        preset = preset_settings(self.method.algorithm, self.settings.get("preset"))
        config: SettingValues = msgspec.to_builtins(
            {
                "model": self.experiment.model,
                "algorithm": self.method.algorithm,
                "settings": self.settings,
                **({"preset": preset} if preset else {}),
                "steps": self.experiment.steps,
                "seed": self.seed,
            }
        )
        return config
