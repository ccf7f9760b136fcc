"""The model that counts make: discovered components and calls, observed frequencies."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from recurl.learn.model_based.counts import CALL, END, EXIT, LEAVE, STEP, OutcomeCounts
from recurl.learn.pac.observed import with_probabilities
from recurl.model.rmdp import RMDP
from recurl.model.tables import RETURN, Floats, Layout


class LearnedModel(NamedTuple):
    """A learned model, and how often each of its transitions was observed.

    Attributes:
        model: The model; probabilities are frequencies, rewards are means.
        counts: How often each transition was observed; 0 where something had to be made up.
        state: State that each vertex shows, or -1.
    """

    model: RMDP
    counts: Floats
    state: np.ndarray


def learned(counts: OutcomeCounts, name: str, shown: Callable[[int], str]) -> LearnedModel:
    """The model of all pairs that were tried.

    A state may be shown by several vertices: as an entry, as a node, and after exits. Where a state
    was never tried, and where a run ended with calls pending, all calls are left through an exit
    of their own, the last of each component, for nothing; it is there only if it is needed.

    Args:
        counts: The counts.
        name: Name of the model.
        shown: Label of a state.
    """
    writer = _Writer(counts)
    model = writer.model(name)
    state = writer.states()
    seen = {v: shown(s) for v, s in enumerate(state.tolist()) if s >= 0}
    model = with_probabilities(model, model.tables.prob, labels=seen)
    return LearnedModel(model, np.array(writer.count), state)


class _Writer:
    def __init__(self, counts: OutcomeCounts) -> None:
        self.counts = counts
        first = counts.component(next(iter(counts.starts)))
        roots = dict.fromkeys([first, *map(counts.component, range(len(counts.states)))])
        self.number = {root: c for c, root in enumerate(roots)}
        self.part = [self.number[counts.component(s)] for s in range(len(counts.states))]
        self.entries: list[dict[int, int]] = [{} for _ in roots]
        self.nodes: list[dict[int, int]] = [{} for _ in roots]
        self.exits = [1] * len(roots)
        self._read_targets()
        self.boxes = sorted(range(len(counts.after)), key=lambda b: self._owner(b))
        self.away = self._needs_away()
        self.layout = Layout.of(
            [len(own) for own in self.entries],
            [n + self.away for n in self.exits],
            [len(own) for own in self.nodes],
            box_owner=[self._owner(b) for b in self.boxes],
            box_component=[self._callee(b) for b in self.boxes],
        )
        self.place = {b: i for i, b in enumerate(self.boxes)}
        self.count: list[float] = []

    def _owner(self, box: int) -> int:
        return self.part[self.counts.after[box][0]]

    def _callee(self, box: int) -> int:
        return self.part[self.counts.entries[box]]

    def _read_targets(self) -> None:
        counts = self.counts
        for state in counts.starts:
            self._note(self.entries, state)
        for kind, target, box in zip(counts.kind, counts.target, counts.box, strict=True):
            if kind == STEP:
                self._note(self.nodes, target)
            elif kind == CALL:
                self._note(self.entries, target)
                callee = self.part[target]
                self.exits[callee] = max(self.exits[callee], len(counts.after[box]))

    def _note(self, places: list[dict[int, int]], state: int) -> None:
        own = places[self.part[state]]
        own.setdefault(state, len(own))

    def _needs_away(self) -> int:
        counts = self.counts
        untried = any(not any(counts.tried[p] for p in pairs) for pairs in counts.pairs_of)
        return int(untried or any(self._goes_away(o) for o in range(len(counts.kind))))

    def _goes_away(self, outcome: int) -> bool:
        counts = self.counts
        kind, part = counts.kind[outcome], self.part[counts.pair_state[counts.owner[outcome]]]
        several = self.exits[part] > 1
        return kind == END or (kind == LEAVE and several and not self._named(outcome))

    def _named(self, outcome: int) -> list[int]:
        """Outcomes of the same pair that name an exit."""
        counts = self.counts
        mine = counts.outcomes[counts.owner[outcome]]
        return [o for o in mine if counts.kind[o] in (EXIT, END)]

    def states(self) -> np.ndarray:
        """The state that each vertex shows, or -1."""
        layout, found = self.layout, np.full(self.layout.n_vertices, -1)
        for c in range(len(self.exits)):
            start = int(layout.component_start[c])
            behind = start + len(self.entries[c]) + self.exits[c] + self.away
            for first, places in ((start, self.entries[c]), (behind, self.nodes[c])):
                for state, j in places.items():
                    found[first + j] = state
        for b, i in self.place.items():
            first = int(layout.box_return[i])
            after = self.counts.after[b]
            found[first : first + len(after)] = after
        return found

    def model(self, name: str) -> RMDP:
        """The model; the counts of its transitions are kept."""
        action_start, transition_start = [0], [0]
        target: list[int] = []
        reward: list[float] = []
        prob: list[float] = []
        stands = (self.layout.vertex_kind == RETURN) | (self.states() >= 0)
        for vertex, state in enumerate(self.states().tolist()):
            rows = self._rows(vertex, state) if stands[vertex] else []
            for row in rows:
                total = sum(count for *_, count in row) or 1.0
                target += [t for t, _, _ in row]
                reward += [r / (count or 1.0) for _, r, count in row]
                prob += [count / total if count else 1.0 for *_, count in row]
                self.count += [count for *_, count in row]
                transition_start.append(len(target))
            action_start.append(action_start[-1] + len(rows))
        starts = [self.counts.starts.get(s, 0) for s in self.entries[0]]
        return RMDP.from_arrays(
            self.layout,
            action_start=action_start,
            transition_start=transition_start,
            target=target,
            prob=np.array(prob),
            reward=np.array(reward),
            start_prob=np.array(starts) / sum(starts),
            name=name,
        )

    def _rows(self, vertex: int, state: int) -> list[list[tuple[int, float, float]]]:
        """Target, sum of rewards and count of each outcome, for each pair that was tried."""
        c, counts = int(self.layout.vertex_component[vertex]), self.counts
        tried = [p for p in counts.pairs_of[state] if counts.tried[p]] if state >= 0 else []
        if not tried:
            return [[(self._exit(c, self.exits[c]), 0.0, 0.0)]]
        return [self._row(c, pair) for pair in tried]

    def _row(self, c: int, pair: int) -> list[tuple[int, float, float]]:
        """Outcomes with the same target are one transition."""
        counts, found = self.counts, dict[int, tuple[float, float]]()
        for o in counts.outcomes[pair]:
            for target, share in self._targets(c, o):
                reward, count = found.get(target, (0.0, 0.0))
                found[target] = reward + share * counts.reward[o], count + share * counts.count[o]
        return [(target, *sums) for target, sums in found.items()]

    def _targets(self, c: int, outcome: int) -> list[tuple[int, float]]:
        """Where an outcome leads; an exit without a name is shared among those that have one."""
        counts = self.counts
        kind, target = counts.kind[outcome], counts.target[outcome]
        if kind == STEP:
            return [(self._exit(c, self.exits[c] + self.away) + self.nodes[c][target], 1.0)]
        if kind == CALL:
            call = int(self.layout.box_call[self.place[counts.box[outcome]]])
            return [(call + self.entries[self.part[target]][target], 1.0)]
        if kind == EXIT:
            return [(self._exit(c, target), 1.0)]
        if kind == LEAVE and self.exits[c] == 1:
            return [(self._exit(c, 0), 1.0)]
        named = self._named(outcome) if kind == LEAVE else []
        if not named:
            return [(self._exit(c, self.exits[c]), 1.0)]
        total = sum(counts.count[o] for o in named)
        return [(t, counts.count[o] / total) for o in named for t, _ in self._targets(c, o)]

    def _exit(self, c: int, k: int) -> int:
        return int(self.layout.component_start[c]) + len(self.entries[c]) + k
