"""The context store of a learner: it grows as contexts are met, within the memory allowed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from recurl.errors import LimitError
from recurl.interrupts import whole
from recurl.learn import store_kernel as k
from recurl.learn.checkpoint import expect
from recurl.learn.rule_kernel import context_of
from recurl.model.tables import Floats, Ints
from recurl.simulation.random import new_stream

if TYPE_CHECKING:
    from recurl.learn.settings import Settings

SHARE = 0.5
"""Share of the free memory that a store may take if nothing else is given."""

KEPT_STEPS = 1 << 17
"""How many steps are kept for replay."""

LEVELS = 64
"""Pending calls that a new run has room for."""


def free_memory() -> int:
    """Bytes of memory that are free, as far as the system says; else 4 GiB."""
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return 4 << 30


class ContextStore:
    """Contexts, their rows of Q-values, and the run that fills them; see `store_kernel.FIELDS`.

    Args:
        settings: The settings of the learner.
        flat: Take calls and returns for ordinary steps.
        subject: The arrays that say what is learned in.
        root: Kind of the context in which runs start.
        own_root: In an environment, whether no call enters the context in which runs start.
        random: State of the random generator; a fresh stream of the seed if None.
    """

    def __init__(
        self,
        settings: Settings,
        flat: bool,
        subject: Mapping[str, Any],
        *,
        root: int = 0,
        own_root: bool = False,
        random: np.ndarray | None = None,
    ) -> None:
        self.memory = int(SHARE * free_memory()) if settings.memory is None else settings.memory
        self.root, self.hashed = root, "first_pair" not in subject
        # In an environment the context of the start is the first one of every kind, or of none.
        self._first = -1 if own_root or not self.hashed else 0
        self.arrays = {name: np.zeros(0, kind) for name, kind in k.FIELDS.items()}
        given = {name: np.ascontiguousarray(a, k.FIELDS[name]) for name, a in subject.items()}
        kinds = len(given["n_exits"])
        self.arrays |= given | {
            "zero": np.full(kinds, -1, np.int32),
            "newest": np.full(kinds, -1, np.int32),
            "random": new_stream(settings.seed) if random is None else random,
            "place": np.zeros(k.PLACES, np.int64),
            "sums": np.zeros(k.SUMS_HELD),
            "frames": np.zeros(LEVELS, k.FRAME),
            "log": np.zeros(KEPT_STEPS if settings.replay else 1, k.LOGGED_STEP),
            "drawn": np.zeros(settings.replay, k.LOGGED_STEP),
            "vector": np.zeros(max(1, int(given["n_exits"].max()))),
            "numbers": _numbers(settings, flat),
            "used": np.zeros(k.USES, np.int64),
        }
        used = self.arrays["used"]
        used[k.MORE_VALUES] = len(self.arrays["vector"])
        used[k.MORE_ROWS] = 2 if self.hashed else 0
        used[k.MORE_PAIRS] = 2 if self.hashed else np.diff(given["first_pair"]).max()
        self.clear()

    def clear(self) -> None:
        """Forget everything but the context in which runs start."""
        a = self.arrays
        a["used"][: k.MORE_PAIRS] = 0
        if self.hashed:
            self._reserve(64, 256, 64)
        else:
            pairs, largest = int(a["first_pair"][-1]), int(a["used"][k.MORE_PAIRS])
            self._reserve(len(a["n_exits"]) + 8, pairs + 8 * min(largest, 512), 0)
        # In an environment the exits of the first call are not known: any number, all worth 0.
        exits = len(a["vector"]) if self.hashed else int(a["n_exits"][self.root])
        pairs = 0 if self.hashed else int(np.diff(a["first_pair"])[self.root])
        self._set_contexts(np.array([self.root]), np.zeros(exits))
        a["q"][:pairs], a["visits"][:pairs] = a["numbers"][k.INITIAL], 0
        a["used"][k.PAIRS] = pairs

    # Sizes

    @property
    def n_contexts(self) -> int:
        """Contexts met so far."""
        return int(self.arrays["used"][k.CONTEXTS])

    @property
    def n_pairs(self) -> int:
        """Q-values in use."""
        return int(self.arrays["used"][k.PAIRS])

    @property
    def n_rows(self) -> int:
        """Hashed rows in use."""
        return int(self.arrays["used"][k.ROWS])

    @property
    def steps(self) -> int:
        """Steps taken so far."""
        return int(self.arrays["place"][k.STEPS])

    @property
    def tally(self) -> tuple[int, float]:
        """Episodes ended since `begin_tally` was called, and the sum of their returns."""
        place = self.arrays["place"]
        ended = int(place[k.EPISODES] - place[k.REPORTED])
        return ended, float(self.arrays["sums"][k.RETURNS])

    def begin_tally(self) -> None:
        """Count episodes and returns from here."""
        self.arrays["sums"][k.RETURNS] = 0.0
        self.arrays["place"][k.REPORTED] = self.arrays["place"][k.EPISODES]

    @property
    def nbytes(self) -> int:
        """Bytes that the store takes."""
        return sum(array.nbytes for array in self.arrays.values())

    # Contents

    @property
    def q(self) -> Floats:
        """Q-values in use."""
        return self.arrays["q"][: self.n_pairs]

    @property
    def visits(self) -> np.ndarray:
        """How often each was updated."""
        return self.arrays["visits"][: self.n_pairs]

    @property
    def kind(self) -> Ints:
        """Kind of each context: the component, or the number of exits."""
        return self.arrays["kind"][: self.n_contexts]

    @property
    def values(self) -> Floats:
        """Exit values, context by context."""
        return self.arrays["values"][: self.arrays["used"][k.EXIT_VALUES]]

    def exit_values(self, context: int) -> Floats:
        """Exit values of a context."""
        begin = self.arrays["value_start"][context]
        return self.arrays["values"][begin : begin + self.arrays["n_exits"][self.kind[context]]]

    def count_exits(self, context: int) -> int:
        """Exits that a context has; the first one of an environment has any number."""
        if self.hashed and context == 0:
            return len(self.arrays["vector"])
        return int(self.arrays["n_exits"][self.kind[context]])

    def find(self, kind: int, exit_values: Floats) -> int:
        """Context of exit values, which are normalised; -1 if it was never met."""
        return self._context(kind, exit_values, make=False)

    def intern(self, kind: int, exit_values: Floats) -> int:
        """Context of exit values, which are normalised, made if it is new."""
        self.make_room()
        return self._context(kind, exit_values, make=True)

    def _context(self, kind: int, exit_values: Floats, *, make: bool) -> int:
        self.arrays["vector"][:] = 0.0
        self.arrays["vector"][: len(exit_values)] = exit_values
        return int(context_of(self.header, kind, make))

    @whole()
    def set_rates(self, settings: Settings) -> None:
        """Take over the step size and the exploration rate."""
        rates = _rates(settings)
        self.arrays["numbers"][: len(rates)] = rates

    # Growth

    def make_room(self) -> None:
        """Grow if a step might not fit."""
        used, a = self.arrays["used"], self.arrays
        if (
            used[k.CONTEXTS] >= len(a["kind"])
            or used[k.PAIRS] + used[k.MORE_PAIRS] > len(a["q"])
            or used[k.EXIT_VALUES] + used[k.MORE_VALUES] > len(a["values"])
            or used[k.ROWS] + used[k.MORE_ROWS] > len(a["row_vertex"])
        ):
            self.grow()

    @whole()
    def grow(self) -> None:
        """Lengthen the stack if it is full; else double the store, or add what memory allows.

        Raises:
            LimitError: Nothing can be added; the store is as it was.
        """
        if int(self.arrays["place"][k.HEIGHT]) + 2 > len(self.arrays["frames"]):
            return self._lengthen_stack()
        for share in (1.0, 0.5, 0.25, 0.1):
            try:
                sizes = (self.n_contexts, self.n_pairs, self.n_rows)
                return self._reserve(*(int(share * size) for size in sizes))
            except LimitError:
                continue
        raise LimitError(self._complaint())

    def _lengthen_stack(self) -> None:
        levels = 2 * len(self.arrays["frames"])
        if levels * k.FRAME.itemsize > self.memory:
            raise LimitError(
                f"the stack is {levels // 2} calls deep, and more would pass the limit of memory: "
                "set episode_limit"
            )
        self.lengthen("frames", levels)

    @whole()
    def lengthen(self, name: str, length: int) -> None:
        """Give an array a length, with zeros at its end."""
        self.arrays[name] = _longer(self.arrays[name], length)
        self._refresh()

    def _reserve(self, contexts: int, pairs: int, rows: int) -> None:
        """Make room for numbers of contexts, Q-values and hashed rows on top of what is used."""
        used = self.arrays["used"]
        capacity = int(used[k.CONTEXTS]) + contexts + 1
        entries = int(used[k.PAIRS]) + pairs + int(used[k.MORE_PAIRS])
        values = int(used[k.EXIT_VALUES]) + (contexts + 1) * int(used[k.MORE_VALUES])
        listed = int(used[k.ROWS]) + rows + int(used[k.MORE_ROWS]) if self.hashed else 0
        self._check_memory(capacity, entries, values, listed)
        sizes = {"q": entries, "visits": entries, "values": values}
        sizes |= dict.fromkeys(("kind", "value_start", "older"), capacity)
        sizes["last_row" if self.hashed else "block"] = capacity
        names = ("row_vertex", "row_context", "row_begin", "row_next")
        sizes |= dict.fromkeys(names, listed) if self.hashed else {}
        self.arrays |= {name: _longer(self.arrays[name], size) for name, size in sizes.items()}
        self.arrays["slots"] = np.empty(_power_of_two(2 * capacity + 2), np.int32)
        if self.hashed:
            self.arrays["row_slots"] = np.empty(_power_of_two(2 * listed + 2), np.int32)
        self._refresh()
        self._rehash()

    @whole()
    def widen(self, exits: int) -> None:
        """Make room for boxes with more exits, in an environment."""
        a, old = self.arrays, len(self.arrays["vector"])
        if exits <= old:
            return
        more, n = exits - old, self.n_contexts
        a["vector"], a["n_exits"] = np.zeros(exits), np.arange(exits + 1)
        a["zero"], a["newest"] = (_longer(a[name], exits + 1) for name in ("zero", "newest"))
        for name in ("zero", "newest"):
            a[name][old + 1 :] = self._first
        # The context in which runs start has a 0 for every exit that there might be.
        a["values"] = np.concatenate([np.zeros(more), a["values"], np.zeros(more)])
        a["value_start"][1:n] += more
        a["used"][k.EXIT_VALUES] += more
        a["used"][k.MORE_VALUES] = exits
        self._refresh()

    def _refresh(self) -> None:
        pairs = [(self.arrays[name].ctypes.data, self.arrays[name].size) for name in k.FIELDS]
        header = np.array(pairs, np.int64)
        self.header = header if self.hashed else header.ravel()

    # Hash tables

    def _rehash(self) -> None:
        """Enter contexts and rows into empty hash tables, as the kernels do, and link them."""
        a, n = self.arrays, self.n_contexts
        for name in ("slots", "row_slots"):
            a[name].fill(-1)
        if not n:
            return
        _enter(a["slots"], self._context_hashes())
        self._link_contexts()
        if self.hashed:
            context, vertex = (a[name][: self.n_rows] for name in ("row_context", "row_vertex"))
            word = context.astype(np.uint64) * k.ROW_MULTIPLIER ^ vertex.astype(np.uint64)
            _enter(a["row_slots"], word * k.MULTIPLIER >> np.uint64(32))
            a["last_row"].fill(-1)
            _link(context, a["row_next"], a["last_row"], -1)

    def _context_hashes(self) -> np.ndarray:
        """Hash of the kind and exit values of each context."""
        kind, start = self.kind, self.arrays["value_start"][: self.n_contexts]
        exits = self.arrays["n_exits"][kind]
        word = (kind + 1).astype(np.uint64) * k.MULTIPLIER
        for i in range(int(exits.max())):
            own = np.flatnonzero(exits > i)
            bits = self.arrays["values"][start[own] + i].view(np.uint64)
            mixed = (word[own] ^ bits) * k.MULTIPLIER
            word[own] = mixed ^ (mixed >> np.uint64(29))
        return word >> np.uint64(32)

    def _link_contexts(self) -> None:
        """Chain the contexts of each kind, and note those whose exits are all worth 0."""
        a, kind, first = self.arrays, self.kind, self._first
        for name in ("zero", "newest"):
            a[name].fill(first)
        _link(kind, a["older"], a["newest"], first)
        if self.hashed:
            a["newest"][0], a["older"][0] = 0, -1
        if first == 0:
            return
        exits = self._exits(kind)
        owner = np.repeat(np.arange(len(kind)), exits)
        zero = np.flatnonzero(np.bincount(owner, self.values != 0, len(kind)) == 0)
        zero = zero[int(self.hashed) :]
        a["zero"][kind[zero]] = zero

    # Checkpoints

    def saved(self) -> dict[str, np.ndarray]:
        """All that a checkpoint must keep."""
        a, height = self.arrays, int(self.arrays["place"][k.HEIGHT])
        log = a["log"][: int(a["place"][k.LOGGED])]
        return {
            "kind": self.kind,
            "values": self.values,
            "q": self.q,
            "visits": self.visits,
            "row_vertex": a["row_vertex"][: self.n_rows],
            "row_context": a["row_context"][: self.n_rows],
            "random": a["random"],
            "place": a["place"],
            "sums": a["sums"],
            "stack": np.stack([a["frames"][name][:height] for name in ("context", "push")]),
            "log": np.stack([log[name] for name in ("pair", "context", "landing", "box")]),
            "log_rewards": log["reward"],
        }

    def restore(self, kept: Mapping[str, np.ndarray]) -> None:
        """Go back to where a checkpoint was made; what is learned in must be the same.

        Raises:
            ValueError: The numbers do not fit together.
        """
        a, huge = self.arrays, np.iinfo(np.int64).max
        kind = expect(kept, "kind", np.int32, 0, len(a["n_exits"]) - 1)
        values = expect(kept, "values", np.float64, -np.inf, np.inf)
        q = expect(kept, "q", np.float64, -np.inf, np.inf)
        visits = expect(kept, "visits", np.int64, 0, huge)
        vertex = expect(kept, "row_vertex", np.int32, 0, len(a["vertices"]) - 1)
        context = expect(kept, "row_context", np.int32, 0, len(kind) - 1)
        place = expect(kept, "place", np.int64, 0, huge)
        stack = expect(kept, "stack", np.int32, -1, huge)
        random = expect(kept, "random", np.uint64, 0, np.iinfo(np.uint64).max)
        shapes = (place.shape, stack.shape, random.shape, kept["sums"].shape)
        if not len(place) or shapes != (
            (k.PLACES,), (2, place[k.HEIGHT]), (4,), (k.SUMS_HELD,)
        ):  # fmt: skip
            raise ValueError("the state of the run has the wrong shape")
        self.fill(kind, values, q, visits, vertex, context)
        self._restore_log(kept, int(place[k.LOGGED]))
        self.lengthen("frames", max(LEVELS, 2 * stack.shape[1]))
        a["frames"]["context"][: stack.shape[1]], a["frames"]["push"][: stack.shape[1]] = stack
        a["random"][:], a["place"][:], a["sums"][:] = random, place, kept["sums"]

    def _restore_log(self, kept: Mapping[str, np.ndarray], logged: int) -> None:
        a, log = self.arrays, expect(kept, "log", np.int32, -2, np.iinfo(np.int32).max)
        rewards = expect(kept, "log_rewards", np.float64, -np.inf, np.inf)
        count = min(logged, len(a["log"]))
        if log.shape != (4, count) or rewards.shape != (count,):
            raise ValueError("the log has the wrong length")
        limits = (self.n_pairs, self.n_contexts, len(a["vertices"]), len(a["boxes"]))
        if (log[:3] < 0).any() or (log >= np.array(limits)[:, None]).any():
            raise ValueError("the log names what does not exist")
        for name, column in zip(("pair", "context", "landing", "box"), log, strict=True):
            a["log"][name][:count] = column
        a["log"]["reward"][:count] = rewards

    @whole()
    def fill(
        self,
        kind: Ints,
        values: Floats,
        q: Floats,
        visits: np.ndarray,
        row_vertex: Ints | None = None,
        row_context: Ints | None = None,
    ) -> None:
        """Take over the contexts and rows of another store, in their order.

        Raises:
            ValueError: The numbers do not make a store of what is learned in here.
        """
        none = np.empty(0, np.int32)
        vertex, context = (none if a is None else a for a in (row_vertex, row_context))
        if not len(kind) or kind[0] != self.root:
            raise ValueError("the first context must be the one in which runs start")
        exits = self._exits(kind)
        if self.hashed:
            widths = self.arrays["vertices"]["count"][vertex].astype(np.int64)
            fits = bool(widths.all()) and len(vertex) == len(context)
        else:
            widths = np.diff(self.arrays["first_pair"])[kind]
            fits = not len(vertex) and not len(context)
        lengths = (len(values), len(q), len(visits))
        if not fits or lengths != (exits.sum(), widths.sum(), widths.sum()):
            raise ValueError(f"{lengths} numbers are not those of {len(kind)} contexts")
        if (values[: exits[0]] != 0).any() or not np.isfinite(values).all():
            raise ValueError("exit values must be finite, and 0 where runs start")
        self.clear()
        self._reserve(len(kind), len(q), len(vertex))
        a = self.arrays
        a["q"][: len(q)], a["visits"][: len(q)] = q, visits
        a["row_vertex"][: len(vertex)], a["row_context"][: len(vertex)] = vertex, context
        if self.hashed:
            a["row_begin"][: len(vertex)] = np.cumsum(widths) - widths
        else:
            a["block"][: len(kind)] = np.cumsum(widths) - widths - a["first_pair"][kind]
        a["used"][k.PAIRS], a["used"][k.ROWS] = len(q), len(vertex)
        self._set_contexts(kind, values)
        if self._has_doubles():
            raise ValueError("a context or a row is there twice")

    def _exits(self, kind: np.ndarray) -> np.ndarray:
        """Exit values that contexts hold."""
        exits: np.ndarray = self.arrays["n_exits"][kind]
        if self.hashed:
            exits[0] = len(self.arrays["vector"])
        return exits

    def _set_contexts(self, kind: np.ndarray, values: Floats) -> None:
        a, exits = self.arrays, self._exits(kind)
        a["kind"][: len(kind)], a["values"][: len(values)] = kind, values
        a["value_start"][: len(kind)] = np.cumsum(exits) - exits
        a["used"][k.CONTEXTS], a["used"][k.EXIT_VALUES] = len(kind), len(values)
        if not self.hashed:
            a["block"][0] = -a["first_pair"][self.root]
        self._rehash()

    def _has_doubles(self) -> bool:
        """Whether two contexts or two rows are the same."""
        a, kind, start = self.arrays, self.kind, self.arrays["value_start"]
        exits = a["n_exits"][kind]
        for count in np.unique(exits):
            own = np.flatnonzero(exits == count)
            values = self.values[start[own, None] + np.arange(count)]
            if len(np.unique(np.column_stack([kind[own], values]), axis=0)) < len(own):
                return True
        rows = np.column_stack([a[name][: self.n_rows] for name in ("row_context", "row_vertex")])
        return len(np.unique(rows, axis=0)) < len(rows)

    # Limits

    def _check_memory(self, capacity: int, entries: int, values: int, rows: int) -> None:
        per_context, per_row = 8 + 4 + 8 + 4 + 4 * 4, 3 * 4 + 8 + 4 * 4
        needed = capacity * per_context + rows * per_row + 16 * entries + 8 * values
        # While it is copied, the largest array is there twice.
        if needed + 8 * self.n_pairs > self.memory:
            raise LimitError(self._complaint())

    def _complaint(self) -> str:
        quantum = self._fitting_quantum()
        hint = (
            f"A quantum of {quantum:.1g} would make at most half as many of the same values"
            if quantum
            else "Quantising would not help: what is learned in is too large by itself"
        )
        return (
            f"the table of {self.n_contexts} contexts and {self.n_pairs} Q-values takes "
            f"{self.nbytes / 1e6:.3g} MB, and growing it would pass the limit of "
            f"{self.memory / 1e6:.3g} MB. {hint}; or raise memory="
        )

    def _fitting_quantum(self) -> float | None:
        """A quantum with which the contexts met so far would be at most half as many."""
        sizes = np.abs(self.values[self.values != 0])
        if not len(sizes) or self.n_contexts < 2:
            return None
        quantum = float(sizes.min())
        while quantum < 4 * sizes.max():
            quantum *= 2
            if self._count_with(quantum) <= self.n_contexts // 2:
                return quantum
        return None

    def _count_with(self, quantum: float) -> int:
        """How many contexts a quantum leaves; told apart by random projections."""
        exits = self._exits(self.kind)
        weights = np.random.default_rng(0).normal(size=int(exits.max()))
        owner = np.repeat(np.arange(len(exits)), exits)
        place = np.arange(len(self.values)) - np.repeat(np.cumsum(exits) - exits, exits)
        keys = np.bincount(owner, np.rint(self.values / quantum) * weights[place], len(exits))
        return len(np.unique(keys + np.e * self.kind))


def _rates(settings: Settings) -> list[float]:
    """The five numbers that say what the step size is, and those of the exploration rate."""
    rates = settings.learning_rate.without_budget, settings.exploration.without_budget
    return [*rates[0][:5], *rates[1][:5]]


def _numbers(settings: Settings, flat: bool) -> Floats:
    s = settings
    numbers = [*_rates(s), s.quantum, s.grain, s.initial_value, s.replay]
    limit = s.episode_limit or -1
    held: Floats = np.array([*numbers, s.inherit, flat, s.gamma, limit, s.box_gamma], np.float64)
    return held


def _enter(slots: np.ndarray, hashes: np.ndarray) -> None:
    """Enter numbers 0, 1, ... with these hashes into an empty table, in their order."""
    waiting, mask = np.arange(len(hashes)), len(slots) - 1
    place = hashes.astype(np.int64) & mask
    while len(waiting):
        at = place[waiting]
        free = np.flatnonzero(slots[at] < 0)[::-1]  # the first of several is written last
        slots[at[free]] = waiting[free]
        waiting = waiting[slots[at] != waiting]
        place[waiting] = (place[waiting] + 1) & mask


def _link(owner: np.ndarray, before: np.ndarray, latest: np.ndarray, none: int) -> None:
    """Chain the numbers 0, 1, ... that have the same owner: the one before each, and the latest."""
    if not len(owner):
        return
    order = np.argsort(owner, kind="stable")
    same = owner[order[1:]] == owner[order[:-1]]
    before[order[0]] = none
    before[order[1:]] = np.where(same, order[:-1], none)
    latest[owner[order]] = order


def _longer(array: np.ndarray, length: int) -> np.ndarray:
    longer = np.zeros(length, array.dtype)
    kept = min(length, len(array))
    longer[:kept] = array[:kept]
    return longer


def _power_of_two(least: int) -> int:
    return 1 << (least - 1).bit_length()


class StoreEngine:
    """The part of a tabular engine that its store answers."""

    settings: Settings
    store: ContextStore

    def set_rates(self, settings: Settings) -> None:
        """Go on with other rates of learning and exploration."""
        self.settings = settings
        self.store.set_rates(settings)

    @property
    def steps(self) -> int:
        """Steps taken so far."""
        return self.store.steps

    @property
    def episodes(self) -> int:
        """Episodes ended so far, those cut included."""
        return int(self.store.arrays["place"][k.EPISODES])

    @property
    def cut(self) -> int:
        """Episodes that were cut."""
        return int(self.store.arrays["place"][k.CUTS])

    @property
    def start(self) -> int:
        """Context in which an episode begins."""
        return 0

    def knows(self, context: object) -> bool:
        """Whether this is a context of a prediction; -1 stands for one that was never met."""
        return isinstance(context, int) and -1 <= context < self.store.n_contexts

    @property
    def tally(self) -> tuple[int, float]:
        """Episodes ended since `begin_tally` was called, and the sum of their returns."""
        return self.store.tally

    def begin_tally(self) -> None:
        """Count episodes and returns from here."""
        self.store.begin_tally()

    @property
    def n_contexts(self) -> int:
        """Contexts met so far."""
        return self.store.n_contexts

    def arrays(self) -> dict[str, np.ndarray]:
        """All that a checkpoint must keep."""
        return self.store.saved()
