"""Names of the vertices, boxes and actions of a product."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from recurl.model.names import Names
from recurl.model.tables import Tables

if TYPE_CHECKING:
    from recurl.automaton.product_tables import Plan

Acting = list[tuple[int, int, int, int]]
"""Vertices that act: number, world state, machine state, string."""


def names_of(plan: Plan, tables: Tables, acting: Acting) -> Names:
    """Names of a product.

    Components and boxes are called by their stack symbols; an entry is ``in STATE``, an exit
    ``STATE``, another node ``at STATE``, with ``/ MACHINE STATE`` where the machine has several,
    and ``, STRING`` where that is not the component's own.
    """
    writer = _Writer(plan)
    nodes = [""] * tables.n_vertices
    for c in range(tables.n_components):
        own = writer.nodes(c)
        first = int(tables.component_start[c])
        nodes[first : first + len(own)] = own
    components = [writer.string(k) for k in plan.components]
    return Names(components, nodes, writer.boxes(), writer.actions(tables, acting), tables=tables)


class _Writer:
    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.strings = [" ".join(string) for string in plan.expansion.moves.strings]
        self.controls = plan.expansion.moves.machine.states
        self.many = len(self.controls) - len(plan.expansion.moves.machine.final) > 1

    def string(self, number: int) -> str:
        return self.strings[number]

    def pair(self, key: int) -> str:
        state, control = divmod(int(key), len(self.controls))
        name = self.plan.expansion.mdp.states[state]
        return f"{name} / {self.controls[control]}" if self.many else name

    def nodes(self, c: int) -> list[str]:
        """Entries, exits and other nodes of a component."""
        plan, own = self.plan, self.plan.components[c]
        lanes = [self._lane(lane) for lane in plan.lanes[c]]
        inner = [self._inner(int(key), own) for key in plan.inner[c]]
        entries = [f"in {self.pair(key)}" for key in plan.entries[c]]
        return [*entries, *(self.pair(key) for key in plan.exits[c]), *lanes, *inner]

    def _inner(self, key: int, own: int) -> str:
        pair, string = divmod(key, len(self.strings))
        rest = "" if string == own else f", {self.strings[string]}"
        return f"at {self.pair(pair)}{rest}"

    def _lane(self, lane: int) -> str:
        return self.controls[lane] if lane >= 0 else ("over" if lane == -1 else "never")

    def boxes(self) -> list[str]:
        """The symbols called; what is left afterwards is added where it tells boxes apart."""
        plan = self.plan
        count = Counter((box.owner, box.callee) for box in plan.boxes)
        return [
            self.strings[box.callee]
            + (f" on {self.strings[box.left]}" if count[box.owner, box.callee] > 1 else "")
            for box in plan.boxes
        ]

    def actions(self, tables: Tables, acting: Acting) -> list[str]:
        """Names of all actions; lanes have the action ``stop``."""
        expansion = self.plan.expansion
        known: dict[tuple[int, int, int], list[str]] = {}
        lists: dict[int, list[str]] = {}
        for vertex, *key in acting:
            state, control, string = key
            if (state, control, string) not in known:
                known[state, control, string] = expansion.action_names(state, control, string)
            lists[vertex] = known[state, control, string]
        counts = tables.action_start[1:] - tables.action_start[:-1]
        acts = (int(v) for v in counts.nonzero()[0])
        return [name for v in acts for name in lists.get(v, ["stop"])]
