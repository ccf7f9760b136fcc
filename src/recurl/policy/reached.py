"""Where runs can get to: one search, through calls and returns.

The stack has no bound, so calls are summarised. A *frame* is an entry that was called (in a
policy: with its context); what happens inside a frame until it is left does not depend on the
frames below it. A *place* is a node (in a policy: a slot) in a frame. When a frame is first found
to be left by an exit, all its callers go on behind that exit; when a call is first found, it goes
on behind all exits known of its frame. A stack can occur in a run if and only if it is a path of
calls from a frame where runs start. `Reached` searches a policy; `CallSearch` works on plain
numbers, for programs too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
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


class CallSearch:
    """A search through calls and returns; its user follows the places that it hands out.

    Args:
        most: Places after which to give up.

    Attributes:
        entry: First node of each frame.
        exits: Exits by which each frame is left, in the order of discovery.
        frame: Frame of each place.
        node: Node of each place.
    """

    def __init__(self, most: float = math.inf) -> None:
        self.entry: list[int] = []
        self.exits: list[dict[int, None]] = []
        self.frame: list[int] = []
        self.node: list[int] = []
        self._most = most
        self._frame_of: dict[int, int] = {}
        self._place_of: dict[tuple[int, int], int] = {}
        self._callers: list[list[tuple[int, Callable[[int], int]]]] = []

    def places(self) -> Iterator[int]:
        """All places, breadth first, while they are found."""
        place = 0
        while place < len(self.node):
            yield place
            place += 1

    def place(self, frame: int, node: int) -> int:
        """Number of a place that was found."""
        return self._place_of[frame, node]

    def frame_at(self, entry: int) -> int:
        """Number of the frame with an entry that was found."""
        return self._frame_of[entry]

    def enter(self, entry: int) -> int:
        """Find a frame; returns its number."""
        if entry not in self._frame_of:
            self._frame_of[entry] = len(self.entry)
            self.entry.append(entry)
            self.exits.append({})
            self._callers.append([])
            self.visit(self._frame_of[entry], entry)
        return self._frame_of[entry]

    def visit(self, frame: int, node: int) -> int:
        """Find a place; returns its number."""
        key = frame, node
        if key not in self._place_of:
            if len(self.node) >= self._most:
                raise LimitError(f"runs of this policy get to more than {self._most:,} places")
            self._place_of[key] = len(self.node)
            self.frame.append(frame)
            self.node.append(node)
        return self._place_of[key]

    def call(self, place: int, entry: int, behind: Callable[[int], int]) -> int:
        """Find a call, which goes on at node `behind(exit)`; returns the frame that it enters."""
        frame = self.enter(entry)
        self._callers[frame].append((self.frame[place], behind))
        for leaving in list(self.exits[frame]):
            self.visit(self.frame[place], behind(leaving))
        return frame

    def leave(self, place: int, leaving: int) -> None:
        """Find that a frame is left by an exit."""
        frame = self.frame[place]
        if leaving not in self.exits[frame]:
            self.exits[frame][leaving] = None
            for caller, behind in list(self._callers[frame]):
                self.visit(caller, behind(leaving))


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


class Reached(CallSearch):
    """The frames and places that runs of a policy can get to.

    Args:
        policy: The policy.
        most: Places after which to give up.

    Raises:
        LimitError: There are more places.

    Attributes:
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
        super().__init__(most)
        self.policy, self.slot = policy, self.node
        self.starts: list[tuple[int, float]] = []
        self.steps: list[tuple[int, int, float]] = []
        self.leaves: list[tuple[int, int, float]] = []
        self.calls: list[Call] = []
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

    def _search(self) -> None:
        policy, t = self.policy, self.policy.model.tables
        first = int(t.component_start[t.start_component])
        for vertex in t.starts.tolist():
            frame = self.enter(policy.slot(int(policy.start[vertex - first]), vertex))
            self.starts.append(
                (self.place(frame, self.entry[frame]), float(t.start_prob[vertex - first]))
            )
        all_ = outcomes_of_policy(policy)
        possible = all_.prob > 0
        row = np.append(0, np.cumsum(possible))[all_.row_start].tolist()
        columns = (all_.move, all_.landing, all_.port, all_.push, all_.prob)
        ways = list(zip(*(column[possible].tolist() for column in columns), strict=True))
        for place in self.places():
            slot = self.slot[place]
            for way in ways[row[slot] : row[slot + 1]]:
                self._follow(place, *way)

    def _follow(
        self, place: int, move: int, landing: int, port: int, back: int, prob: float
    ) -> None:
        if move == STEP:
            self.steps.append((place, self.visit(self.frame[place], landing), prob))
        elif move == CALLS:
            frame = self.call(place, landing, back.__add__)
            self.calls.append(Call(place, frame, port, back, prob))
        else:
            self.leaves.append((place, landing, prob))
            self.leave(place, landing)
