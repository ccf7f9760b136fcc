"""Random models of any size, proper by construction."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np

from recurl.model.limits import MOST_STATES
from recurl.model.rmdp import RMDP
from recurl.model.spec import Number
from recurl.model.tables import NODE, RETURN, Layout
from recurl.zoo.random_edges import Sketch, Ways, deterministic_edges, stochastic_edges
from recurl.zoo.values import at_least, between

Kind = Literal["general", "one_exit", "deterministic", "hierarchical"]
Locality = Literal["uniform", "near"]


LARGEST = 20_000_000
"""Most vertices of a model that is made by name: it needs no object per vertex."""


def vertices(components: int, nodes: int, **others: Any) -> float:
    """About how many vertices the model has."""
    return 2 * components * nodes


def random_model(
    seed: int = 0,
    components: int = 10,
    nodes: int = 50,
    *,
    kind: Kind = "general",
    exits: int | None = None,
    entries: int = 1,
    boxes: int | None = None,
    actions: int = 2,
    successors: int = 2,
    exit_probability: Number = 0.4,
    call_fraction: Number = 0.25,
    load: float = 0.9,
    locality: Locality = "uniform",
    reward_low: float = -1.0,
    reward_high: float = 1.0,
) -> RMDP:
    """A random model of a wanted kind and size, proper by construction.

    Every action leaves by a random exit with `exit_probability`; the rest is split at random among
    successors, each of them a call with probability `call_fraction`, else a node. Where an action's
    calls together would be likelier than `load` times its exit, they are made less likely in favour
    of its nodes. With load < 1 every step is therefore likelier to leave than to call, and whatever
    the policy the expected length of a run is at most **1 / (exit_probability (1 - load))**. From
    1 on nothing is promised: near-critical models with rich recursion come from ``load=inf``
    and keeping those that an analysis finds proper.

    Kinds: ``one_exit`` has one exit per component; ``hierarchical`` calls later components only.
    ``deterministic`` has one transition per action. As a deterministic model that can call itself
    or go round in circles has endless runs, this one is hierarchical and walks forward only;
    `exit_probability` is then the fraction of actions that exit.

    Without calls (``components=1, call_fraction=0``) it is a Markov decision process.

    Args:
        seed: The same seed and parameters give the same model.
        components: Number of components.
        nodes: Nodes of each component, beside its entries and exits.
        kind: ``general``, ``one_exit``, ``deterministic`` or ``hierarchical``.
        exits: Exits of each component; 2 unless the kind is ``one_exit``.
        entries: Entries of each component; a run starts at any of those of the first one.
        boxes: Boxes of each component; one for five nodes if not given.
        actions: Actions of each node and return port.
        successors: Successors of each action beside the exit; those that coincide are merged.
        exit_probability: Probability to exit per step, in (0, 1).
        call_fraction: Fraction of successors that are calls, in [0, 1].
        load: Bound on calls per exit of each action; see above.
        locality: Nodes follow ``uniform`` from all of the component, or ``near`` by number.
        reward_low: Least reward of a transition; rewards are uniformly random.
        reward_high: Greatest reward of a transition.

    Example:
        >>> random_model(seed=1, components=3, nodes=20, kind="one_exit")
        <RMDP random_model: 3 components, 90 vertices, 1-exit, recursive>
        >>> random_model(components=1, nodes=100, call_fraction=0, kind="one_exit")
        <RMDP random_model: 1 component, 102 vertices, 1-exit, hierarchical>
    """
    ways = Ways(
        actions=at_least("actions", actions, 1),
        successors=at_least("successors", successors, 1),
        exit=float(between("exit_probability", exit_probability, 0, 1)),
        calls=float(between("call_fraction", call_fraction, 0, 1, closed="both")),
        load=load,
        near=_one_of("locality", locality, Locality) == "near",
    )
    if not load >= 0 or not reward_low <= reward_high:
        raise ValueError("load must not be negative, nor reward_low above reward_high")
    _one_of("kind", kind, Kind)
    counts = (
        at_least("components", components, 1),
        at_least("nodes", nodes, 1),
        at_least("entries", entries, 1),
        _exits(kind, exits),
        _boxes(nodes, boxes) if ways.calls else 0,
    )
    size = _size(*counts)
    if size > MOST_STATES:
        raise ValueError(f"the model would have {size:,} vertices, more than {MOST_STATES:,}")
    rng = np.random.default_rng(at_least("seed", seed, 0))
    sketch = _sketch(rng, *counts, forward=kind in ("hierarchical", "deterministic"))
    draw = deterministic_edges if kind == "deterministic" else stochastic_edges
    edges = draw(rng, sketch, ways)
    kinds = sketch.layout.vertex_kind
    return RMDP.from_arrays(
        sketch.layout,
        action_start=np.append(0, np.cumsum(((kinds == NODE) | (kinds == RETURN)) * actions)),
        transition_start=np.append(0, np.cumsum(edges.sizes)),
        target=edges.target,
        prob=edges.prob,
        reward=rng.uniform(reward_low, reward_high, len(edges.target)),
        name="random_model",
    )


def _size(components: int, nodes: int, entries: int, exits: int, boxes: int) -> int:
    """Vertices of a model with these numbers of parts in each component."""
    return components * (nodes + (1 + boxes) * (entries + exits))


def _one_of(name: str, value: str, kinds: object) -> str:
    known = get_args(kinds)
    if value not in known:
        raise ValueError(f"{name} must be one of {', '.join(known)}, not {value!r}")
    return value


def _exits(kind: str, exits: int | None) -> int:
    usual = 1 if kind == "one_exit" else 2
    if kind == "one_exit" and exits not in (None, 1):
        raise ValueError(f"exits must be 1 for the kind one_exit, not {exits}")
    return usual if exits is None else at_least("exits", exits, 1)


def _boxes(nodes: int, boxes: int | None) -> int:
    return max(nodes // 5, 1) if boxes is None else at_least("boxes", boxes, 0)


def _sketch(
    rng: np.random.Generator,
    components: int,
    nodes: int,
    entries: int,
    exits: int,
    boxes: int,
    *,
    forward: bool,
) -> Sketch:
    """Vertices and boxes; `forward` lets a component call later ones only."""
    callers = components - 1 if forward else components
    owner = np.repeat(np.arange(callers), boxes)
    callee = rng.integers(owner + 1 if forward else 0, components, len(owner))
    after = np.sort(rng.integers(0, nodes, (callers, boxes)), axis=1).ravel()
    layout = Layout.of(
        np.full(components, entries),
        np.full(components, exits),
        np.full(components, nodes),
        box_owner=owner,
        box_component=callee,
    )
    return Sketch(layout, entries, exits, nodes, after)
