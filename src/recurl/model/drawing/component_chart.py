"""The chart of one component: vertices, boxes and actions, of large components a part."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from recurl.model.drawing.chart import Arrow, Chart, Mark, Port
from recurl.model.numbers import short_number
from recurl.model.tables import CALL, EXIT, RETURN

if TYPE_CHECKING:
    from fractions import Fraction

    from recurl.model.rmdp import RMDP

PORTS, ACTIONS, TARGETS = 3, 6, 6
"""Of a component that is drawn in part: return ports of a box, actions of a vertex, targets."""

Taken = Mapping[int, str]
"""For each action that a policy takes: ``"always"`` or ``"sometimes"``."""


def component_chart(
    model: RMDP, component: int, taken: Taken, most: int, around: Sequence[int] = ()
) -> Chart:
    """The chart of a component.

    Args:
        model: The model.
        component: Number of the component.
        taken: The actions that a policy takes.
        most: A component with more actions is drawn in part: a third as many actions, those
            nearest to `around`.
        around: Vertices to begin with; the starts or the first entry if not given.
    """
    return _Drawn(model, component, taken, most).chart(around)


def fits(model: RMDP, component: int, most: int) -> bool:
    """Whether a component is drawn as a whole."""
    block = model.tables.vertices_of(component)
    first, end = model.tables.action_start[[block.start, block.stop]].tolist()
    return end - first <= most and len(block) <= 2 * most


class _Drawn:
    """A chart in the making."""

    def __init__(self, model: RMDP, component: int, taken: Taken, most: int) -> None:
        self.model, self.component, self.taken, self.most = model, component, taken, most
        t = model.tables
        self.t, self.whole = t, fits(model, component, most)
        self.vertices = t.vertices_of(component)
        self.starts = set(t.starts.tolist())
        self.marks: list[Mark] = []
        self.arrows: list[Arrow] = []
        self.places: dict[int, tuple[int, int]] = {}  # mark and port of each vertex drawn
        self.boxes: dict[int, int] = {}  # mark of each box drawn
        self.actions = 0

    def chart(self, around: Sequence[int]) -> Chart:
        """Draw the vertices one by one, as a search along the actions meets them."""
        todo = deque([*self._first(around), *(self.vertices if self.whole else ())])
        done: set[int] = set()
        while todo and (self.whole or self.actions < self.most // 3):
            vertex = todo.popleft()
            if vertex in done:
                continue
            done.add(vertex)
            found = self._draw(vertex)
            if self.whole:
                todo.extendleft(reversed(found))
            else:
                todo.extend(found)
        name = self.model.names.components[self.component]
        self._count_ports()
        named = self.model.vertex_name
        vertices = {vertex: (mark, named(vertex)) for vertex, (mark, _) in self.places.items()}
        return Chart(name, name, tuple(self.marks), tuple(self.arrows), self._note(), vertices)

    def _first(self, around: Sequence[int]) -> Sequence[int]:
        """Where drawing begins."""
        starts = [v for v in self.vertices if v in self.starts]
        return around or (starts if self.whole else starts[:1]) or self.vertices[:1]

    def _count_ports(self) -> None:
        """Say in every box how many of its return ports are left out."""
        for box, mark in self.boxes.items():
            shown = self.marks[mark]
            left = len(self.model.return_ports(box)) - len(shown.returns)
            if left:
                more = Port(f"+{left}", f"{left} more return ports of {shown.text}")
                self.marks[mark] = shown._replace(returns=(*shown.returns, more))

    def _note(self) -> str:
        if self.whole:
            return ""
        first, end = self.t.action_start[[self.vertices.start, self.vertices.stop]].tolist()
        vertices = f"{len(self.places)} of {len(self.vertices)} vertices"
        return f"{vertices}, {self.actions} of {end - first} actions"

    def _draw(self, vertex: int) -> list[int]:
        """Draw a vertex and its actions; returns where they lead."""
        source, port = self._place(vertex)
        row = self.t.actions_of(vertex)
        shown = row if self.whole else self._some(row)
        reached = []
        for action in shown:
            reached += self._action(action, source, port)
        if len(shown) < len(row):
            more = f"+{len(row) - len(shown)} actions"
            self._arrow(source, self._mark(Mark("more", more, more)), source_port=port)
        if self.t.vertex_kind[vertex] == CALL:
            reached += self._returns(int(self.t.vertex_box[vertex]))
        return reached

    def _some(self, row: range) -> Sequence[int]:
        """Some of the actions, with those that the policy takes."""
        if len(row) <= ACTIONS:
            return row
        best = sorted(row, key=lambda a: (not self.taken.get(a), a))[:ACTIONS]
        return sorted(best)

    def _action(self, action: int, source: int, port: int) -> list[int]:
        """Draw an action and where it leads; returns the vertices there."""
        exact, t = self.model.exact, self.t
        moves = t.transitions_of(action)
        same = len({exact.reward(i) for i in moves}) == 1
        taken, name = self.taken.get(action, ""), self.model.action_name(action)
        paid = _number(exact.reward(moves[0])) if same else ""
        pill = self._mark(Mark("action", name, name, paid, taken=taken))
        self.actions += 1
        self._arrow(source, pill, source_port=port, taken=taken)
        likely = sorted(moves, key=lambda i: -t.prob[i])
        shown = moves if self.whole or len(moves) <= TARGETS else sorted(likely[: TARGETS - 1])
        for i in shown:
            mark, target_port = self._place(int(t.target[i]))
            label = self._label(i, alone=len(moves) == 1, same=same)
            self._arrow(pill, mark, target_port=target_port, label=label, taken=taken)
        if len(shown) < len(moves):
            self._more_targets(pill, [i for i in moves if i not in shown], taken)
        return [int(t.target[i]) for i in shown]

    def _label(self, transition: int, *, alone: bool, same: bool) -> str:
        """Probability of a transition, and its reward unless all of the action pay the same."""
        exact = self.model.exact
        chance = "" if alone else _number(exact.prob(transition))
        reward = "" if same else f"({_number(exact.reward(transition), '+')})"
        return f"{chance} {reward}".strip()

    def _more_targets(self, pill: int, left: Sequence[int], taken: str) -> None:
        text = f"+{len(left)} targets"
        chance = f"{float(sum(self.t.prob[i] for i in left)):.3g}"
        self._arrow(pill, self._mark(Mark("more", text, text)), label=chance, taken=taken)

    def _mark(self, mark: Mark) -> int:
        self.marks.append(mark)
        return len(self.marks) - 1

    def _arrow(
        self,
        source: int,
        target: int,
        *,
        source_port: int = 0,
        target_port: int = 0,
        label: str = "",
        taken: str = "",
    ) -> None:
        self.arrows.append(Arrow(source, target, source_port, target_port, label, taken))

    def _place(self, vertex: int) -> tuple[int, int]:
        """The mark and the port of a vertex, drawn now if it is not there yet."""
        if vertex not in self.places:
            kind = int(self.t.vertex_kind[vertex])
            is_port = kind in (CALL, RETURN)
            self.places[vertex] = self._port(vertex, kind) if is_port else self._node(vertex, kind)
        return self.places[vertex]

    def _node(self, vertex: int, kind: int) -> tuple[int, int]:
        model, inside = self.model, vertex - self.vertices.start
        entry = inside < self.t.n_entries[self.component]
        what = "exit" if kind == EXIT else "entry" if entry else "node"
        title = model.vertex_name(vertex)
        title += f": {model.labels[vertex]}" if vertex in model.labels else ""
        mark = Mark(what, model.local_name(vertex), title, bold=vertex in self.starts)
        return self._mark(mark), 0

    def _port(self, vertex: int, kind: int) -> tuple[int, int]:
        """Draw the box of a port, all of its ports in order or those that were asked for."""
        box = int(self.t.vertex_box[vertex])
        if box not in self.boxes:
            callee = self.model.names.components[int(self.t.box_component[box])]
            name = self.model.names.boxes[box]
            self.boxes[box] = self._mark(Mark("box", name, f"{name} calls {callee}", callee))
            if self.whole:
                for port in (*self._calls(box), *self._returns(box)):
                    self._place(port)
        mark = self.boxes[box]
        if vertex in self.places:
            return self.places[vertex]
        shown, title = self.marks[mark], self.model.vertex_name(vertex)
        own = Port(self.model.local_name(vertex).partition(".")[2], title)
        if kind == CALL:
            self.marks[mark] = shown._replace(calls=(*shown.calls, own))
            return mark, len(shown.calls)
        self.marks[mark] = shown._replace(returns=(*shown.returns, own))
        return mark, len(shown.returns)

    def _calls(self, box: int) -> list[int]:
        first, callee = int(self.t.box_call[box]), self.t.box_component[box]
        return list(range(first, first + int(self.t.n_entries[callee])))

    def _returns(self, box: int) -> list[int]:
        """Return ports of a box, where a component is drawn in part only the first few."""
        return list(self.model.return_ports(box)[: None if self.whole else PORTS])


def _number(value: Fraction, sign: str = "") -> str:
    return short_number(value, sign, 7, digits=3)
