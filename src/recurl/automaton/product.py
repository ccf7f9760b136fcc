"""The product of a labelled process and a machine: a recursive model."""

from __future__ import annotations

from recurl.automaton.expansion import Expansion
from recurl.automaton.machine import Machine
from recurl.automaton.mdp import LabelledMDP
from recurl.automaton.moves import Moves
from recurl.automaton.product_tables import write_product
from recurl.automaton.saturation import saturate
from recurl.model.report import Report
from recurl.model.rmdp import RMDP


def product(
    mdp: LabelledMDP, machine: Machine, name: str | None = None, *, limit: int = 5_000_000
) -> RMDP:
    """The model in which a machine watches a process, its stack being the call stack.

    There is a component per stack symbol: a push is a call, and a pop leaves through the exit for
    (state of the process, state of the machine) afterwards. Saturation finds the exits that can be
    reached; there are no others. A transition pays the process's reward and the machine's. Where
    the run ends with calls pending (final state of the machine, end of the process), *lanes* lead
    straight down, by steps that pay nothing: one for each final state and one called ``over``.

    Args:
        mdp: The process.
        machine: The machine; its labels must be labels of the process.
        name: Name of the model; that of the machine if not given.
        limit: Greatest number of states (machine, process and string) to look at.

    Raises:
        ModelError: The machine reads labels that the process does not have, or two of its rules
            fit the same step.
        LimitError: There are more states than the limit.

    Example:
        Toss a coin; heads are pushed, tails popped, until the stack is empty:

        >>> from recurl.automaton import Machine, Move, rule
        >>> coin = LabelledMDP.explore(
        ...     "coin", {"hand": 1}, lambda state: ["toss"], lambda state, action: [
        ...         Move("hand", "1/3", labels=["heads"]), Move("hand", "2/3", labels=["tails"])
        ...     ],
        ... )
        >>> machine = Machine("walk", [
        ...     rule("walk", "heads", "walk", push="H _", reward=1),
        ...     rule("walk", "tails", "walk", top="H", push=""),
        ...     rule("walk", "tails", "done", top="bottom"),
        ... ], final="done", exclusive=[["heads", "tails"]])
        >>> model = product(coin, machine)
        >>> model
        <RMDP walk: 2 components, 8 vertices, 1-exit, recursive>
    """
    _check_labels(mdp, machine)
    expansion = Expansion(mdp, Moves(machine))
    reached = saturate(expansion, limit)
    return write_product(name or machine.name, expansion, reached)


def _check_labels(mdp: LabelledMDP, machine: Machine) -> None:
    report = Report(f"product of {mdp.name} and {machine.name}: ")
    for label in machine.labels:
        if label not in mdp.labels:
            fix = report.hint(label, mdp.labels, f"known labels: {', '.join(mdp.labels[:20])}")
            report.add(("label", label), "the process does not have it", fix)
    report.raise_any()
