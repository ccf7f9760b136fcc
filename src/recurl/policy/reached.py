"""Where runs of a policy can get to: one search, through calls and returns.

The stack has no bound, so that calls are summarised. A *frame* is a context and the entry by which
it was called: what happens inside a frame until it is left does not depend on the frames below it.
A *place* is a slot in a frame. When a frame is first found to be left by an exit, all its callers
go on behind that exit; when a call is first found, it goes on behind all exits known of its frame.
A stack can occur in a run if and only if it is a path of calls from a frame where runs start.
"""

from __future__ import annotations

from collections import deque
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from recurl.errors import LimitError
from recurl.model.tables import CALLS, STEP
from recurl.policy.outcomes import outcomes_of_policy

if TYPE_CHECKING:
    from recurl.policy.policy import Policy

MOST_PLACES = 500_000
"""Places after which a search is given up."""


class Call(NamedTuple):
    """A call that runs can make.

    Attributes:
        place: Where it is made.
        frame: Frame that it enters.
        port: Slot of the call port.
        back: Slot of the box's first return port.
        prob: Probability to make it, once there.
    """

    place: int
    frame: int
    port: int
    back: int
    prob: float


class Reached:
    """The frames and places that runs of a policy can get to.

    Args:
        policy: The policy.
        most: Places after which to give up.

    Raises:
        LimitError: There are more places.

    Attributes:
        entry: Slot of the entry of each frame.
        exits: Indices of the exits by which runs leave each frame, in the order of discovery.
        frame: Frame of each place.
        slot: Slot of each place.
        starts: Place and probability of each start.
        steps: Place, next place and probability of each step within a frame.
        leaves: Place, exit and probability of each step that leaves its frame.
        calls: All calls.

    Example:
        >>> import recurl
        >>> policy = recurl.Policy.stackless(recurl.zoo.cloud(), {"T.u1": "mono"})
        >>> [policy.model.vertex_name(v) for v in policy.slot_vertex[Reached(policy).slots]]
        ['T.u1']
    """

    def __init__(self, policy: Policy, most: int = MOST_PLACES) -> None:
        self.policy = policy
        self.entry: list[int] = []
        self.exits: list[dict[int, None]] = []
        self.frame: list[int] = []
        self.slot: list[int] = []
        self.starts: list[tuple[int, float]] = []
        self.steps: list[tuple[int, int, float]] = []
        self.leaves: list[tuple[int, int, float]] = []
        self.calls: list[Call] = []
        self._most = most
        self._frame_of: dict[int, int] = {}
        self._place_of: dict[tuple[int, int], int] = {}
        self._callers: list[list[Call]] = []
        self._todo: deque[int] = deque()
        self._search()

    @cached_property
    def slots(self) -> list[int]:
        """Slots at which runs take actions, in ascending order."""
        return sorted(set(self.slot))

    @cached_property
    def ports(self) -> list[int]:
        """Slots of the call ports that runs pass, in ascending order."""
        return sorted({call.port for call in self.calls})

    @cached_property
    def contexts(self) -> list[int]:
        """Context of each frame."""
        return [int(x) for x in self.policy.slot_context[self.entry]]

    def place(self, frame: int, slot: int) -> int:
        """Number of the place with a slot in a frame, which runs get to."""
        return self._place_of[frame, slot]

    def _search(self) -> None:
        policy, t = self.policy, self.policy.model.tables
        first = int(t.component_start[t.start_component])
        for vertex in t.starts.tolist():
            frame = self._enter(policy.slot(int(policy.start[vertex - first]), vertex))
            self.starts.append(
                (self.place(frame, self.entry[frame]), float(t.start_prob[vertex - first]))
            )
        all_ = outcomes_of_policy(policy)
        possible = all_.prob > 0
        row = np.append(0, np.cumsum(possible))[all_.row_start].tolist()
        columns = (all_.move, all_.landing, all_.port, all_.push, all_.prob)
        ways = list(zip(*(column[possible].tolist() for column in columns), strict=True))
        while self._todo:
            place = self._todo.popleft()
            frame, slot = self.frame[place], self.slot[place]
            for way in ways[row[slot] : row[slot + 1]]:
                self._follow(place, frame, *way)

    def _enter(self, entry: int) -> int:
        if entry not in self._frame_of:
            self._frame_of[entry] = len(self.entry)
            self.entry.append(entry)
            self.exits.append({})
            self._callers.append([])
            self._visit(self._frame_of[entry], entry)
        return self._frame_of[entry]

    def _visit(self, frame: int, slot: int) -> int:
        key = frame, slot
        if key not in self._place_of:
            if len(self.slot) == self._most:
                raise LimitError(f"runs of this policy get to more than {self._most:,} places")
            self._place_of[key] = len(self.slot)
            self._todo.append(len(self.slot))
            self.frame.append(frame)
            self.slot.append(slot)
        return self._place_of[key]

    def _follow(
        self, place: int, frame: int, move: int, landing: int, port: int, back: int, prob: float
    ) -> None:
        if move == STEP:
            self.steps.append((place, self._visit(frame, landing), prob))
        elif move == CALLS:
            call = Call(place, self._enter(landing), port, back, prob)
            self.calls.append(call)
            self._callers[call.frame].append(call)
            for leaving in self.exits[call.frame]:
                self._visit(frame, back + leaving)
        else:
            self.leaves.append((place, landing, prob))
            self._leave(frame, landing)

    def _leave(self, frame: int, leaving: int) -> None:
        if leaving not in self.exits[frame]:
            self.exits[frame][leaving] = None
            for call in self._callers[frame]:
                self._visit(self.frame[call.place], call.back + leaving)
