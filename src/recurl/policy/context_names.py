"""Names of contexts: the shortest stack that leads to each, read from the inside."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from recurl.policy.policy import Policy
    from recurl.policy.reached import Reached

LONGEST = 4
"""Parts of a call string that are spelled out; calls further out are left out."""

FARTHEST = 1000
"""Changes of component on a stack up to which its calls are counted."""


class Link(NamedTuple):
    """The innermost call of a stack, linked to those around it.

    Attributes:
        component: Component that runs.
        entry: Entry at which it was entered.
        box: Box that called it; -1 where runs start.
        depth: How many calls of this component, the innermost ones, follow each other.
        outer: The call around them.
        times: How many calls by this box, the innermost ones, follow each other.
        before: The call that they were made in.
    """

    component: int
    entry: int
    box: int = -1
    depth: int = 1
    outer: Link | None = None
    times: int = 1
    before: Link | None = None

    def call(self, component: int, entry: int, box: int) -> Link:
        """The stack after one more call."""
        again, same = component == self.component, box == self.box
        return Link(
            component,
            entry,
            box,
            self.depth + 1 if again else 1,
            self.outer if again else self,
            self.times + 1 if same else 1,
            self.before if same else self,
        )


def context_names(policy: Policy, reached: Reached) -> tuple[str, ...]:
    """A name for each context that no other context has.

    A context is called by its component and the calls around it, as far out as it takes to tell it
    from others: ``H``, ``H within 3 calls of H``, ``S within T``. Where that is not enough, the
    boxes of the shortest stack are listed: ``T.b1 > S.b4 > H``, and then the entry is named.

    Example:
        >>> import recurl
        >>> policy = recurl.solve(recurl.zoo.cloud()).policy
        >>> names = context_names(policy, policy.reached)
        >>> names[policy.start[0]], sorted(names, key=len)[3]
        ('T', 'H within 1 call of H')
    """
    stacks = shortest_stacks(policy, reached)
    writer = _Writer(policy)
    options = {x: writer.options(stack) for x, stack in stacks.items()}
    names = {x: texts.pop(0) for x, texts in options.items()}
    while True:
        count = Counter(names.values())
        longer = [x for x, name in names.items() if count[name] > 1 and options[x]]
        if not longer:
            break
        names |= {x: options[x].pop(0) for x in longer}
    components = policy.model.names.components
    for x, c in enumerate(policy.context_component.tolist()):
        names.setdefault(x, f"{components[c]}, where no run gets to")
    return tuple(_numbered([names[x] for x in range(policy.n_contexts)]))


def shortest_stacks(policy: Policy, reached: Reached) -> dict[int, Link]:
    """The shortest stack that leads to each context that runs get to, the first boxes first."""
    t = policy.model.tables
    calls: dict[int, set[tuple[int, int]]] = {}
    for call in reached.calls:
        vertex = int(policy.slot_vertex[call.port])
        calls.setdefault(reached.frame[call.place], set()).add((vertex, call.frame))
    entry = policy.slot_vertex[reached.entry].tolist()
    starts = (reached.frame[place] for place, _ in reached.starts)
    links = {frame: Link(int(t.start_component), entry[frame]) for frame in starts}
    todo = list(links)
    for frame in todo:  # grows while it is walked through: breadth first
        for vertex, callee in sorted(calls.get(frame, ())):
            if callee not in links:
                box = int(t.vertex_box[vertex])
                links[callee] = links[frame].call(int(t.box_component[box]), entry[callee], box)
                todo.append(callee)
    found: dict[int, Link] = {}
    for frame, link in links.items():
        found.setdefault(reached.contexts[frame], link)
    return found


class _Writer:
    def __init__(self, policy: Policy) -> None:
        self.names, self.owner = policy.model.names, policy.model.tables.box_owner

    def options(self, stack: Link) -> list[str]:
        """Names for a context, from the shortest to the most exact one."""
        runs, link = [(stack.component, stack.depth)], stack
        while link.outer is not None and len(runs) < FARTHEST:
            link = link.outer
            runs.append((link.component, link.depth))
        calls = sum(depth for component, depth in runs if component == stack.component)
        texts = [self._within(runs[:count]) for count in range(2, min(len(runs), LONGEST) + 1)]
        exact = self._call_string(stack)
        entered = f"{exact}, entered at {self.names.local(stack.entry)}"
        return [self._within([(stack.component, calls)]), *texts, exact, entered]

    def _within(self, runs: list[tuple[int, int]]) -> str:
        (own, depth), *around = runs
        component = self.names.components
        parts = [component[own]]
        if depth > 1:
            parts.append(f"{_calls(depth - 1)} of {component[own]}")
        parts += [f"{_calls(n)} of {component[c]}" if n > 1 else component[c] for c, n in around]
        return " within ".join(parts)

    def _call_string(self, stack: Link) -> str:
        texts, link = [self.names.components[stack.component]], stack
        while link.before is not None:
            if len(texts) > LONGEST:
                texts.append("...")
                break
            owner = self.names.components[self.owner[link.box]]
            times = f" x{link.times}" if link.times > 1 else ""
            texts.append(f"{owner}.{self.names.boxes[link.box]}{times}")
            link = link.before
        return " > ".join(reversed(texts))


def _calls(count: int) -> str:
    return f"{count} call{'s' if count > 1 else ''}"


def _numbered(names: list[str]) -> list[str]:
    """The same names, those that come again with numbers."""
    count, taken = Counter(names), set(names)
    result = []
    for name in names:
        if count[name] > 1:
            number = next(i for i in range(1, len(names) + 1) if f"{name} ({i})" not in taken)
            name = f"{name} ({number})"
            taken.add(name)
        result.append(name)
    return result
