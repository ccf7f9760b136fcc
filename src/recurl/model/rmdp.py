"""The recursive Markov decision process: what everything else is about."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NoReturn

import numpy as np
import numpy.typing as npt

from recurl.errors import ModelError, Problem
from recurl.model.array_checks import (
    Arrays,
    array_problems,
    feature_problems,
    name_problems,
    start_component_of,
)
from recurl.model.html import model_html
from recurl.model.names import Names, is_text, stored_state
from recurl.model.numbers import ExactNumbers
from recurl.model.outcomes import Outcomes, outcomes_of_model
from recurl.model.report import shown
from recurl.model.structure import CallGraph, Kind, Reach, structure_warnings
from recurl.model.tables import Floats, Layout, Tables, frozen_floats

if TYPE_CHECKING:
    from fractions import Fraction

    from recurl.model.drawing.drawing import Drawing, PolicyLike


class RMDP:
    """A recursive Markov decision process: components that call each other through boxes.

    A component has *entries*, *exits*, other nodes, and *boxes*, each of which calls a component.
    At a node other than an exit, and at the return ports of boxes, an action gives a distribution
    over nodes and call ports, and every transition pays a reward. A call port pushes its box and
    continues at the entry called; an exit pops the box and continues at its return port, or ends
    the run when nothing is left to pop. The aim is the greatest expected total reward.

    Models are immutable, and equal when their content is. Make one with `Builder`, from a document
    with `load`, or from arrays with `RMDP.from_arrays`.

    Example:
        >>> import recurl
        >>> model = (
        ...     recurl.Builder("countdown")
        ...     .component("A", entries="in", exits="out").box("again", "A")
        ...     .at("in").action("go", reward=1).to("again", "1/3").to("out", "2/3")
        ...     .at("again.out").action("up").to("out")
        ...     .build()
        ... )
        >>> model
        <RMDP countdown: 1 component, 4 vertices, 1-exit, recursive>
        >>> model.tables.prob.round(3).tolist(), model.exact.prob(0)
        ([0.333, 0.667, 1.0], Fraction(1, 3))
    """

    name: str
    tables: Tables
    names: Names
    exact: ExactNumbers
    features: Floats | None
    feature_names: tuple[str, ...]

    def __init__(
        self,
        name: str,
        tables: Tables,
        names: Names,
        *,
        exact: ExactNumbers,
        features: npt.ArrayLike | None = None,
        feature_names: Sequence[str] = (),
        labels: Mapping[int, str] | None = None,
        notes: Sequence[Problem] = (),
    ) -> None:
        own = self.__dict__
        own["name"], own["tables"], own["names"], own["exact"] = name, tables, names, exact
        own["features"] = None if features is None else frozen_floats(features)
        own["feature_names"] = tuple(feature_names)
        own["_labels"] = dict(labels or {})
        own["_notes"] = tuple(notes)

    @classmethod
    def from_arrays(
        cls,
        layout: Layout,
        *,
        action_start: npt.ArrayLike,
        transition_start: npt.ArrayLike,
        target: npt.ArrayLike,
        prob: npt.ArrayLike,
        reward: npt.ArrayLike,
        start_component: int = 0,
        start_prob: npt.ArrayLike | None = None,
        name: str = "model",
        features: npt.ArrayLike | None = None,
        feature_names: Sequence[str] = (),
        names: Names | None = None,
    ) -> RMDP:
        """A model from flat arrays, for generated models of any size.

        No Python object is made per vertex or transition; names are numbers (``c0.n3``) unless
        given. Exact numbers are the floats themselves, the residue of each distribution given to
        its last transition.

        Args:
            layout: Components, boxes and ports: see `Layout.of` for the numbering of vertices.
            action_start: First action of each vertex, CSR style. ``[V + 1]``
            transition_start: First transition of each action, CSR style. ``[A + 1]``
            target: Vertex that a transition leads to: non-entry node, exit or call port. ``[T]``
            prob: Probability of each transition. ``[T]``
            reward: Reward of each transition. ``[T]``
            start_component: Component in which runs start.
            start_prob: Probabilities of its entries; uniform if not given.
            name: Name of the model.
            features: Features of each vertex. ``[V, F]``
            feature_names: Names of the features; f0, f1, ... if not given.
            names: Names of components, nodes, boxes and actions.

        Raises:
            ModelError: With the problems of all arrays at once.

        Example:
            A coin that is tossed until it shows heads, one reward per toss:

            >>> layout = Layout.of([1], [1], [1])  # vertices: entry 0, exit 1, node 2
            >>> model = RMDP.from_arrays(
            ...     layout,
            ...     action_start=[0, 1, 1, 2],
            ...     transition_start=[0, 2, 4],
            ...     target=[1, 2, 1, 2],
            ...     prob=[0.5, 0.5, 0.5, 0.5],
            ...     reward=[1, 1, 1, 1],
            ... )
            >>> str(model.kind)
            '1-exit, hierarchical'
        """
        component, problems = start_component_of(start_component, layout)
        if not is_text(name):
            problems.append(Problem("name", f"{shown(name)} is not a name", "use printable text"))
        given = {
            "action_start": action_start,
            "transition_start": transition_start,
            "target": target,
            "prob": prob,
            "reward": reward,
            "start_prob": _uniform(layout, component) if start_prob is None else start_prob,
        }
        arrays, unread = Arrays.read(given)
        table, labels = _feature_table(features, feature_names)
        problems += [*unread, *feature_problems(table, labels, layout.n_vertices)]
        if arrays is not None:
            problems += array_problems(layout, component, arrays)
        if names is not None and arrays is not None:
            problems += name_problems(names, layout, int(arrays.action_start[-1]))
        if problems or arrays is None:
            raise ModelError(problems, headline=f"model {name}: ")
        tables = Tables.of(layout, **arrays._asdict(), start_component=component)
        floats = (tables.start_prob, tables.prob, tables.reward, tables.transition_start)
        return cls(
            name,
            tables,
            Names.numbered(tables) if names is None else names.of_tables(tables),
            exact=ExactNumbers(None, None, None, floats=floats),
            features=table,
            feature_names=labels,
        )

    def with_rewards_times(self, factor: Fraction) -> RMDP:
        """The same model with all rewards times a factor, in exact numbers."""
        exact = [float(factor * self.exact.reward(i)) for i in range(self.tables.n_transitions)]
        reward = frozen_floats(exact)
        return RMDP(
            self.name,
            self.tables._replace(reward=reward),
            self.names,
            exact=self.exact.times(factor, reward),
        )

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"RMDP is immutable: cannot set {name}; build another model")

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the whole content, names and exact numbers included, as hexadecimal digits."""
        digest = hashlib.sha256()
        n, t = self.names, self.tables
        # Names at ports come from boxes and nodes, so that only what a document says is hashed.
        nodes = (n.nodes[v] if box < 0 else "" for v, box in enumerate(t.vertex_box.tolist()))
        for texts in ([self.name], n.components, nodes, n.boxes, n.actions, self.feature_names):
            digest.update("\0".join(texts).encode() + b"\1")
        for array in map(np.asarray, t):
            digest.update(f"{array.size} numbers\1".encode() + array.tobytes())
        digest.update(b"" if self.features is None else self.features.tobytes())
        digest.update(repr(sorted(self._labels.items())).encode())
        for text in self.exact.deviations():
            digest.update(text.encode() + b"\1")
        return digest.hexdigest()

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RMDP):
            return NotImplemented
        return self is other or self.fingerprint == other.fingerprint

    def __copy__(self) -> RMDP:
        return self  # immutable

    def __deepcopy__(self, memo: object) -> RMDP:
        return self

    def __getstate__(self) -> dict[str, object]:
        """The content, without what follows from it: pickles go between processes, not to files."""
        return stored_state(self)

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        if self.features is not None:
            self.features.setflags(write=False)

    def __repr__(self) -> str:
        t = self.tables
        plural = "s" if t.n_components != 1 else ""
        size = f"{t.n_components} component{plural}, {t.n_vertices} vertices"
        return f"<RMDP {self.name}: {size}, {self.kind}>"

    def _repr_html_(self) -> str:
        return model_html(self)

    @cached_property
    def kind(self) -> Kind:
        """Whether the model is 1-exit, deterministic, hierarchical."""
        return Kind.of(self.tables)

    @cached_property
    def call_graph(self) -> CallGraph:
        """Which component calls which."""
        return CallGraph.of(self.tables)

    @cached_property
    def outcomes(self) -> Outcomes:
        """The outcomes of every action, in the form that loops draw from."""
        return outcomes_of_model(self.tables)

    @cached_property
    def reach(self) -> Reach:
        """Which vertices a run can visit, and how far each is from the exits."""
        return Reach.of(self.tables)

    @property
    def longest_way_out(self) -> float:
        """Most steps that a reachable vertex is away from the nearest exit of its component."""
        return self.reach.longest_way_out

    @property
    def reward_diameter(self) -> float:
        """The greatest absolute reward of a transition: the diameter of the paper."""
        return float(max(map(abs, self.exact.reward_range)))

    @cached_property
    def warnings(self) -> tuple[Problem, ...]:
        """Unusual but allowed parts: unreachable and dead vertices, sums that are not quite 1."""
        return (*self._notes, *structure_warnings(self.tables, self.names, self.reach))

    @property
    def _labels(self) -> dict[int, str]:
        labels: dict[int, str] = self.__dict__["_labels"]
        return labels

    @property
    def _notes(self) -> tuple[Problem, ...]:
        notes: tuple[Problem, ...] = self.__dict__["_notes"]
        return notes

    def vertex_name(self, vertex: int) -> str:
        """Full name of a vertex: ``S.u3``, or ``T.b1.u4`` for a port."""
        return self.names.vertex(vertex)

    def local_name(self, vertex: int) -> str:
        """Name of a vertex within its component: ``u3``, or ``b1.u4`` for a port."""
        return self.names.local(vertex)

    def find(self, name: str) -> int:
        """Vertex of a full name such as ``S.u3``."""
        return self.names.find(name)

    def label(self, vertex: int) -> str:
        """The label of a vertex (a source line, say), or else its name."""
        return self._labels.get(vertex) or self.vertex_name(vertex)

    @property
    def labels(self) -> dict[int, str]:
        """Labels of the vertices that have one."""
        return dict(self._labels)

    def action_name(self, action: int) -> str:
        """Name of an action, given its number among all (vertex, action) pairs."""
        return self.names.actions[action]

    def action_names(self, vertex: int) -> Sequence[str]:
        """Names of the actions at a vertex, in order."""
        return self.names.actions_of(vertex)

    def return_ports(self, box: int) -> range:
        """Return ports of a box, one per exit of the component that it calls, in order."""
        t = self.tables
        first = int(t.box_return[box])
        return range(first, first + int(t.n_exits[t.box_component[box]]))

    def draw(
        self,
        policy: PolicyLike | None = None,
        *,
        component: str | None = None,
        around: str | None = None,
        most: int = 60,
    ) -> Drawing:
        """The model as a picture: SVG in notebooks, or as text for Mermaid and Graphviz.

        First which component calls which, then the components: vertices, boxes with their call
        ports on the left and their return ports on the right, actions with their rewards, and
        probabilities. Of a model with more than 150 actions or 16 components, or with a component
        of more than `most` actions, the calls and the start component are drawn; of a component
        with more than `most` actions a third as many, the nearest to the start. What is left out
        is counted.

        Args:
            policy: What it does is highlighted.
            component: Draw this component only.
            around: Draw the component of this vertex, beginning there.
            most: How many actions a component has at most that is drawn as a whole.

        Example:
            >>> import recurl
            >>> model = recurl.zoo.cloud()
            >>> drawing = model.draw(recurl.solve(model).policy)
            >>> drawing
            <Drawing of cloud: Calls, T, S, H>
            >>> print(drawing.mermaid[:12])
            flowchart LR
        """
        from recurl.model.drawing import draw_model

        return draw_model(self, policy, component=component, around=around, most=most)

    def start_value(self, values: npt.ArrayLike) -> float:
        """Expectation of per-vertex values under the start distribution."""
        t = self.tables
        return float(t.start_prob[t.start_prob > 0] @ np.asarray(values)[t.starts])

    def start_exact(self) -> dict[int, Fraction]:
        """Exact start probability of each entry at which a run may start."""
        first = int(self.tables.component_start[self.tables.start_component])
        return {int(v): self.exact.start(int(v) - first) for v in self.tables.starts}


def require_model(value: object, caller: str) -> None:
    """Refuse what is not a model, and say where to get one.

    Example:
        >>> require_model("cloud", "solve")
        Traceback (most recent call last):
        TypeError: solve takes a model, not the text 'cloud': recurl.zoo.make('cloud') makes one of
        the zoo, recurl.load('cloud') reads a file
    """
    if isinstance(value, RMDP):
        return
    if isinstance(value, str):
        ways = (
            f"recurl.zoo.make({value!r}) makes one of the zoo, recurl.load({value!r}) reads a file"
        )
        raise TypeError(f"{caller} takes a model, not the text {value!r}: {ways}")
    found = type(value).__name__
    fix = ": take its .model" if isinstance(getattr(value, "model", None), RMDP) else ""
    raise TypeError(f"{caller} takes a model (recurl.RMDP), not a {found}{fix}")


def _uniform(layout: Layout, component: int) -> Floats:
    entries = int(layout.n_entries[component]) if layout.n_components else 0
    return np.full(entries, 1 / max(entries, 1))


def _feature_table(
    features: npt.ArrayLike | None, names: Sequence[str]
) -> tuple[Floats | None, tuple[str, ...]]:
    """Features as an array, with names: f0, f1, ... if none are given."""
    if features is None:
        return None, tuple(names)
    try:
        table = np.asarray(features, np.float64)
    except (ValueError, TypeError) as error:
        problem = Problem("features", str(error), "give rows of numbers, one row per vertex")
        raise ModelError([problem]) from None
    numbered = (f"f{i}" for i in range(table.shape[1] if table.ndim == 2 else 0))
    return table, tuple(names or numbered)
