"""A completion: a program with every choice filled in, and what that is worth.

Policies that come from bounds count their way down: behind twenty calls of the same kind comes a
cruder piece of the bound. Often the pieces before it would do as well, so a completion is first
simplified: calls enter earlier contexts where that is worth as much.
"""

from __future__ import annotations

import math
import random
import textwrap
from collections.abc import Callable, Iterator
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from recurl.errors import NotProperError
from recurl.model import html
from recurl.model.limits import cut
from recurl.policy import Policy
from recurl.programs.code import value_text
from recurl.programs.play import Play
from recurl.programs.printing import Printed, print_completion
from recurl.programs.program_policy import ProgramPolicy, SharedStates
from recurl.solving.evaluate import Evaluation, evaluate

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP
    from recurl.model.tables import Floats
    from recurl.policy import Policy
    from recurl.programs.code import Values
    from recurl.programs.unfold import Unfolded
    from recurl.solving.solution import Solution


class Completion:
    """A program with every choice filled in.

    Args:
        unfolded: The program and its model.
        policy: What to choose where.
        arguments: What the program is called with.
        solution: How the policy was found, if it was solved for.
        discount: Discount of each step of the model in what the completion is worth.
        count: What a step is, as in `recurl.solve`.
        box_discount: Discount by boxes, as in `recurl.solve`.

    Example:
        >>> import recurl
        >>> @recurl.program
        ... def server():
        ...     fast = recurl.choose(True, False)
        ...     recurl.reward(-1 if fast else -2)
        ...     if fast and recurl.flip(0.4):
        ...         server()
        >>> completion = server.solve()
        >>> print(completion.source())
        # server(): the greatest expected total reward is in [-1.666666667, -1.666666667], width ...
        import random
        ...
        def server():
            reward(-1)
            if flip(0.4):
                server()
        >>> round(completion.value, 6)
        -1.666667
        >>> bool(abs(completion.run(2000).mean() + 5 / 3) < 0.1)
        True
    """

    def __init__(
        self,
        unfolded: Unfolded,
        policy: Policy,
        arguments: Values = (),
        *,
        solution: Solution | None = None,
        discount: float | str | None = None,
        count: str = "actions",
        box_discount: float | str | None = None,
    ) -> None:
        self.unfolded, self.arguments, self.solution = unfolded, arguments, solution
        self.discount, self.count, self.box_discount = discount, count, box_discount
        self._chosen = ProgramPolicy(unfolded, policy)

    @property
    def model(self) -> RMDP:
        """The model that was solved: that of the program, discounted if that was asked for."""
        return self.unfolded.model if self.solution is None else self.solution.model

    @property
    def policy(self) -> Policy:
        """The policy, for the model of the program without a discount."""
        return self._chosen.policy

    @property
    def stackless(self) -> bool:
        """Whether no choice depends on who called."""
        return self._chosen.stackless

    @cached_property
    def evaluation(self) -> Evaluation:
        """All about the policy without a discount: value, steps, how runs end."""
        return evaluate(self.policy)

    @cached_property
    def value(self) -> float:
        """Expected total of the completed program: its reward, or what `solve` was asked for."""
        found = self.evaluation
        question = None if self.solution is None else self.solution.question
        if question is not None and question.rewards == "steps":
            return found.steps
        if question is not None and question.rewards == "none":
            chances = found.exit_probabilities.values()
            return sum(w * p for w, p in zip(question.exit_values, chances, strict=True))
        if question is not None and question.rewards == "given end":
            low, high = found.given_end
            return low + (high - low) / 2
        return _worth(self.policy, self.discount, self.count, self.box_discount)

    @cached_property
    def _printed(self) -> Printed:
        printed = print_completion(self._chosen)
        return printed._replace(text=f"{self._header()}\n{printed.text}")

    def _header(self) -> str:
        """A comment that says for which call and question the source holds, and what it earns."""
        name = self.unfolded.exploration.functions[0].name
        said = f"with choices that were learned, worth {self.value:.6g} on average"
        if self.solution is not None:
            said = self.solution.statement
        if self.discount is not None:
            said += f", discounted by {self.discount} per step"
        if self.box_discount is not None:
            said += f", discounted by {self.box_discount} per step of a call"
        call = f"{name}({', '.join(map(value_text, self.arguments))})"
        lines = textwrap.wrap(f"{cut(call)}: {said}.", 98, break_long_words=False)
        return "\n".join(f"# {line}" for line in lines)

    def source(self) -> str:
        """The completed program as Python source that does not need this library.

        A comment at its head says for which call it holds, and what it earns. Choices to which no
        run from that call comes are left open, as calls of ``unreached``.

        Where the best choice depends on the context, functions have a parameter ``context``, and a
        comment says what each context means: who calls, and what the exits are worth to it.
        """
        return self._printed.text

    def play(self, seed: int = 0) -> Play:
        """Run the completed source once."""
        return self._run(self._namespace(), random.Random(seed))

    def run(self, episodes: int = 1, seed: int = 0) -> Floats:
        """Run the completed source some times; returns the total reward of each run."""
        namespace, generator = self._namespace(), random.Random(seed)
        return np.array([self._run(namespace, generator).total for _ in range(episodes)])

    def _namespace(self) -> dict[str, Any]:
        namespace: dict[str, Any] = {"__name__": "completion"}
        code = compile(self._printed.text, "<completion>", "exec", dont_inherit=True)
        # The text is the caller's own function, which was run before: no input is executed.
        exec(code, namespace)  # noqa: S102
        return namespace

    def _run(self, namespace: dict[str, Any], generator: random.Random) -> Play:
        printed = self._printed
        namespace["random"], namespace[printed.total] = generator, 0.0
        context = (0,) if printed.takes_context else ()
        result = namespace[printed.entry](*context, *self.arguments)
        return Play(result, namespace[printed.total])

    def __str__(self) -> str:
        kind = "stackless" if self.stackless else "by context"
        return f"{self.model.name} completed ({kind}), worth {self.value:.6g}:\n\n{self.source()}"

    def _repr_html_(self) -> str:
        words = f"{self.model.name}, worth {self.value:.6g}"
        return f"{html.paragraph(words)}<pre>{escape(self.source())}</pre>"

    def __repr__(self) -> str:
        return f"<Completion of {self.model.name}: worth {self.value:.6g}>"


def complete(
    unfolded: Unfolded,
    solution: Solution,
    arguments: Values = (),
    *,
    discount: float | str | None = None,
    count: str = "actions",
    box_discount: float | str | None = None,
) -> Completion:
    """The completion that a solution of a program's model stands for.

    Args:
        unfolded: The program and its model.
        solution: A solution of the model.
        arguments: What the program is called with.
        discount: The discount with which the model was solved.
        count: What a step is, as in `recurl.solve`.
        box_discount: The discount by boxes with which it was solved.

    Raises:
        NotProperError: The optimum is not finite, or not known to be.
    """
    from recurl.solving.question import Question

    policy = solution.policy
    if policy is None or not math.isfinite(solution.value):
        name = unfolded.exploration.functions[0].name
        raise NotProperError(f"{name} has no best completion: {solution.reason}")
    if solution.question == Question() and policy.kind != "stackless":
        places = SharedStates(unfolded, policy)
        rates = (discount, count, box_discount)
        policy = simplified(policy, solution.lower, lambda p: _worth(places.evened(p), *rates))
    return Completion(
        unfolded,
        policy,
        arguments,
        solution=solution,
        discount=discount,
        count=count,
        box_discount=box_discount,
    )


MOST_TRIALS = 400
"""Policies that are evaluated at most."""


def _worth(
    policy: Policy,
    discount: float | str | None = None,
    count: str = "actions",
    box_discount: float | str | None = None,
) -> float:
    """Expected total reward of a policy, discounted."""
    return evaluate(policy, gamma=discount, count=count, box_gamma=box_discount).value


def simplified(policy: Policy, floor: float, worth: Callable[[Policy], float] = _worth) -> Policy:
    """A policy in which calls enter earlier contexts where that is worth at least the floor.

    Contexts are met in the order of calls from the start. Each is given up for one that was met
    before, of the same component, if the value allows it.

    Args:
        policy: The policy.
        floor: What the result must be worth.
        worth: What a policy is worth.

    Example:
        >>> import recurl
        >>> solution = recurl.solve(recurl.zoo.cloud())
        >>> policy = simplified(solution.policy, solution.lower)
        >>> recurl.evaluate(policy).value >= solution.lower
        True
    """
    trials, kept = 0, list[int]()
    todo = list(dict.fromkeys(policy.start.tolist()))
    while todo and trials < MOST_TRIALS:
        context = todo.pop(0)
        for earlier in _alike(policy, context, kept):
            trials += 1
            trial = _redirected(policy, context, earlier)
            if worth(trial) >= floor:
                policy = trial
                break
        else:
            kept.append(context)
            todo += [c for c in _callees(policy, context) if c not in kept and c not in todo]
    return policy


def _alike(policy: Policy, context: int, kept: list[int]) -> Iterator[int]:
    component = policy.context_component
    return (c for c in reversed(kept) if component[c] == component[context])


def _callees(policy: Policy, context: int) -> list[int]:
    """Contexts that a context calls, as far as its component has call ports."""
    begin, end = policy.context_start[context : context + 2]
    is_call = np.diff(policy.model.tables.action_start)[policy.slot_vertex[begin:end]] == 0
    ports = policy.model.tables.vertex_box[policy.slot_vertex[begin:end]] >= 0
    return list(dict.fromkeys(policy.callees[begin:end][is_call & ports].tolist()))


def _redirected(policy: Policy, context: int, other: int) -> Policy:
    """The policy in which calls enter another context instead of one."""
    callees = policy.callees.copy()
    callees[callees == context] = other
    return policy.changed(callees=callees)
