"""The policy of a program: its choices by function, in as few contexts as possible."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from recurl.model.tables import CALL
from recurl.policy import Policy
from recurl.programs.explore import CHOICE

if TYPE_CHECKING:
    from recurl.programs.decorator import Program
    from recurl.programs.unfold import Unfolded


@dataclass(eq=False)
class ContextPolicy:
    """The choices and calls in a context of a function.

    Attributes:
        function: Number of the function.
        choices: Number of the option taken in each state with a choice.
        calls: Context entered by each state that calls.
    """

    function: int
    choices: dict[int, int] = field(default_factory=dict)
    calls: dict[int, int] = field(default_factory=dict)


class ProgramPolicy:
    """A policy of a program's model, in the program's terms.

    Where vertices stand for the same state, the policy is made to do the same at all of them.
    Contexts of a function that do not contradict each other become one.

    Args:
        unfolded: The program.
        policy: A policy for its model.

    Attributes:
        policy: The policy, with what it does where it does not matter evened out.
        groups: The contexts that remain, by function, the first one entered first.
        group_of: Function and number of the group of each context of the policy that is reached.
    """

    def __init__(self, unfolded: Unfolded, policy: Policy) -> None:
        self.unfolded = unfolded
        self.policy = SharedStates(unfolded, policy).evened(policy)
        self._contexts = self._read(_reached(self.policy))
        self.groups: dict[int, list[ContextPolicy]] = {}
        self.group_of: dict[int, tuple[int, int]] = {}
        self._fold()

    @cached_property
    def stackless(self) -> bool:
        """Whether no choice depends on the context."""
        return all(len(groups) == 1 for groups in self.groups.values())

    def _read(self, slots: list[int]) -> dict[int, ContextPolicy]:
        """The choices of the policy, by context, at slots that are reached."""
        u, policy, t = self.unfolded, self.policy, self.unfolded.model.tables
        context_of = np.searchsorted(policy.context_start, slots, side="right") - 1
        found: dict[int, ContextPolicy] = {}
        for slot, context in sorted(zip(slots, context_of.tolist(), strict=True)):
            vertex = int(policy.slot_vertex[slot])
            part = u.parts[policy.context_component[context]]
            here = found.setdefault(context, ContextPolicy(part.function))
            if t.vertex_kind[vertex] == CALL:
                here.calls[u.box_state[t.vertex_box[vertex]]] = int(policy.callees[slot])
                continue
            state = u.vertex_state.get(vertex, -1)
            if state >= 0 and u.exploration.states[state].kind == CHOICE:
                here.choices[state] = int(policy.actions[slot])
        return found

    def _fold(self) -> None:
        folding = _Folding(self._contexts)
        start = int(self.policy.start[np.argmax(self.unfolded.model.tables.start_prob)])
        leaders: dict[int, list[int]] = {}
        for context in [start, *(c for c in self._contexts if c != start)]:
            known = leaders.setdefault(self._contexts[context].function, [])
            if not any(folding.merge(leader, context) for leader in known):
                known.append(context)
        numbers = {}
        for function, contexts in leaders.items():
            roots = list(dict.fromkeys(map(folding.root, contexts)))
            numbers.update({root: (function, i) for i, root in enumerate(roots)})
            self.groups[function] = [folding.contexts[root] for root in roots]
        self.group_of = {c: numbers[folding.root(c)] for c in self._contexts}

    def groups_of(self, program: Program) -> list[ContextPolicy]:
        """The contexts of a function; none if it is not called."""
        functions = self.unfolded.exploration.functions
        return self.groups.get(functions.index(program), []) if program in functions else []

    def callers(self, function: int, number: int) -> list[tuple[int, int, int]]:
        """Who enters a context: (function, its context, position of the call), each once.

        Calls from which no choice can be reached do not count: they may enter any context.
        """
        found: dict[tuple[int, int, int], None] = {}
        x = self.unfolded.exploration
        for caller, groups in self.groups.items():
            for i, group in enumerate(groups):
                for state, callee in group.calls.items():
                    entered = self.group_of[callee] == (function, number)
                    if entered and x.states[state].entry in x.deciding:
                        found[caller, i, x.states[state].position] = None
        return list(found)


class _Folding:
    """Merges contexts that do not contradict each other, and with them the contexts they enter."""

    def __init__(self, contexts: dict[int, ContextPolicy]) -> None:
        self.contexts = dict(contexts)
        self._parent = {context: context for context in contexts}

    def root(self, context: int) -> int:
        while self._parent[context] != context:
            context = self._parent[context]
        return context

    def merge(self, one: int, other: int) -> bool:
        """Merge two contexts of a function; nothing is changed if they contradict each other."""
        before = self._parent, self.contexts
        self._parent, self.contexts = dict(self._parent), dict(self.contexts)
        todo = [(one, other)]
        while todo:
            a, b = map(self.root, todo.pop())
            if a == b:
                continue
            keep, drop = self.contexts[a], self.contexts[b]
            if any(keep.choices.get(s, i) != i for s, i in drop.choices.items()):
                self._parent, self.contexts = before
                return False
            todo += [(c, keep.calls[s]) for s, c in drop.calls.items() if s in keep.calls]
            self._parent[b] = a
            self.contexts[a] = ContextPolicy(
                keep.function, {**drop.choices, **keep.choices}, {**drop.calls, **keep.calls}
            )
        return True


class SharedStates:
    """Vertices of a program's model that stand for the same state: a program does the same there.

    Args:
        unfolded: The program.
        policy: A policy for its model, or any other with the same contexts.
    """

    def __init__(self, unfolded: Unfolded, policy: Policy) -> None:
        states, together = unfolded.exploration.states, dict[tuple[int, int], list[int]]()
        for context in range(policy.n_contexts):
            begin, end = policy.context_start[context : context + 2].tolist()
            for slot in range(begin, end):
                state = unfolded.vertex_state.get(int(policy.slot_vertex[slot]), -1)
                if state >= 0 and states[state].kind == CHOICE:
                    together.setdefault((context, state), []).append(slot)
        self._together = list(together.values())

    def evened(self, policy: Policy) -> Policy:
        """The policy with one action per context and state: that of the first slot reached."""
        fixed: set[int] = set()
        while True:
            actions, reached = policy.actions.copy(), set(_reached(policy))
            for group, places in enumerate(self._together):
                first = next((slot for slot in places if slot in reached), None)
                if first is not None and group not in fixed:
                    fixed.add(group)
                    actions[places] = max(0, int(actions[first]))
            if np.array_equal(actions, policy.actions):
                return policy
            policy = policy.changed(actions=actions)


def _reached(policy: Policy) -> list[int]:
    return sorted({*policy.reached.slots, *policy.reached.ports})
