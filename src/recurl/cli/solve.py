"""``recurl solve``: the optimum, how sure it is, and a policy that attains it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recurl.cli.choices import choice_table, choices, explanation, explanation_data
from recurl.cli.models import ModelName, Parameters, read_model
from recurl.cli.numbers import BoxDiscount, numbers, real
from recurl.cli.output import AsJson, UsageError, facts, print_json, show, writable
from recurl.cli.programs import Called, is_program, read_program
from recurl.errors import RecurlError

if TYPE_CHECKING:
    from recurl.policy import Policy
    from recurl.solving.solution import Solution

OPEN_END = 3
"""Exit code for an interval with an open end."""
EXAMPLES = """\
  recurl solve cloud
  recurl solve cloud --of steps --objective min
  recurl solve gambler p=0.6 --of exit:out --objective min
  recurl solve cloud --at-least -6
  recurl solve gambler p=0.6 --discount 0.99
  recurl solve cloud exits=1 --box-discount 0.9
  recurl solve cloud --start H.u5 --exit-values 0,1
  recurl solve cloud --start H.u5 --stack T.b1 --stack S.b4
  recurl solve cloud --explain H.u5
  recurl solve lock.bp
  recurl solve leader.prism --constants N=3 --property 'Pmax=? [ F "elected" ]'
  recurl solve prog.py:climb --arg 3 --source best.py
  recurl solve cloud --certificate cloud.cert --policy best.json
"""


def solve(
    model: ModelName,
    parameters: Parameters = None,
    *,
    method: Annotated[str, typer.Option(help="How to solve; 'auto' picks.")] = "auto",
    epsilon: Annotated[float, real("Width of the interval to reach.", above=0)] = 1e-6,
    objective: Annotated[str, typer.Option(help="'max' or 'min'.")] = "max",
    of: Annotated[
        str,
        typer.Option(
            help="Expected 'reward' or 'steps', the probability of 'exit:NAME', or 'reward given "
            "end' for the runs that end."
        ),
    ] = "reward",
    endless: Annotated[
        str | None,
        typer.Option(
            help="What a run that does not end is worth: 'inf', '-inf', or 'none' for what it "
            "collects. Rewards of a property: inf; plans of HDDL: -inf; else none."
        ),
    ] = None,
    start: Annotated[
        str | None,
        typer.Option(metavar="VERTEX", help="Where runs start; also for `recurl verify`."),
    ] = None,
    stack: Annotated[
        list[str] | None,
        typer.Option(
            metavar="BOX", help="Box pending at the start, outermost first; also for `verify`."
        ),
    ] = None,
    exit_values: Annotated[
        str | None,
        typer.Option(
            metavar="X,...", help="What each exit is worth, where runs start; 0 if not given."
        ),
    ] = None,
    at_least: Annotated[
        float | None, real("Stop when it is clear whether the optimum reaches this.")
    ] = None,
    discount: Annotated[
        float | None, real("Discount of each step; also for `recurl verify`.", above=0, most=1)
    ] = None,
    seconds: Annotated[
        float | None, real("Time to stop after, with the best interval by then.", above=0)
    ] = None,
    memory: Annotated[
        float | None, real("Most bytes for the arrays of one step, such as 2e9.", above=0)
    ] = None,
    count: Annotated[
        str,
        typer.Option(
            help="What --discount counts: 'actions', or 'moves' for those through ports as well."
        ),
    ] = "actions",
    box_discount: BoxDiscount = 1.0,
    certificate: Annotated[
        Path | None, typer.Option(help="File for the evidence that `recurl verify` checks.")
    ] = None,
    policy: Annotated[Path | None, typer.Option(help="File for the policy found.")] = None,
    explain: Annotated[
        bool,
        typer.Option(
            "--explain",
            help="State what the policy does and how often a run gets there, everywhere or, in all "
            "its contexts, at the vertices named: --explain [VERTEX...].",
        ),
    ] = False,
    arg: Annotated[
        list[str] | None,
        typer.Option(metavar="VALUE", help="Argument of a program, a Python literal; repeatable."),
    ] = None,
    source: Annotated[
        Path | None, typer.Option(help="File for the completed program, as Python source.")
    ] = None,
    constants: Annotated[
        str | None,
        typer.Option(metavar="N=3,...", help="Undefined constants of a PRISM or JANI file."),
    ] = None,
    property: Annotated[
        str | None,
        typer.Option(help="A property of a flat model, which says goal, total and objective."),
    ] = None,
    json: AsJson = False,
) -> None:
    """Find the optimum, as an interval that contains it.

    The policy shown attains the lower end of the interval (of costs, with --objective min, the
    upper end). The exit code is 3 if an end stays open, with everything else done. Counts of
    points, rounds, trials, policies, ... say what it took: docs/reference/solving.md explains them.
    """
    from recurl.progress import Progress
    from recurl.solving.api import solve as run

    writable(certificate, policy, source)
    if source is not None and start is not None:
        raise UsageError("--source completes a program that is called: leave out --start")
    given, vertices = _split(parameters or [], explain)
    given += [f"constants={constants}"] * (constants is not None)
    if property is not None:
        given.append(f"property={property}")
        objective, of, meant = _question(property, objective)
        endless = endless or meant
    elif Path(model).suffix == ".hddl" and of in ("reward", "steps") and discount is None:
        endless = endless or "-inf"
    called = _called(model, given, arg or [], source)
    found = called.unfolded.model if called is not None else read_model(model, given)
    for vertex in vertices:
        found.find(vertex)
    with Progress(f"solving {found.name}") as progress:
        solution = run(
            found,
            method,
            epsilon,
            objective=objective,
            of=of,
            endless=None if endless == "none" else endless,
            start=start,
            stack=stack or (),
            exit_values=None if exit_values is None else numbers(exit_values),
            at_least=at_least,
            gamma=discount,
            seconds=seconds,
            memory=memory,
            count=count,
            box_gamma=box_discount,
            callback=progress.interval,
        )
    if certificate is not None:
        with Progress("making the certificate"):
            solution.certificate.save(certificate)
    if policy is not None:
        _policy_of(solution).save(policy)
    if source is not None and called is not None:
        boxes = None if box_discount == 1 else box_discount
        steps = {"discount": discount, "count": count, "box_discount": boxes}
        _complete(called, solution, source, **steps)
    if json:
        rules = {"rules": explanation_data(_policy_of(solution), vertices)} if explain else {}
        print_json({**_data(solution, at_least), **rules})
    else:
        _print(solution, at_least)
        best = solution.policy
        show(*(explanation(_policy_of(solution), vertices) if explain else choice_table(best)))
        if model.endswith(".bp") and of == "reward":
            _print_violation(solution)
    if solution.is_open and (at_least is None or solution.at_least(at_least) is None):
        raise typer.Exit(OPEN_END)


def _question(property: str, objective: str) -> tuple[str, str, str | None]:
    """Objective, total and worth of endless runs of a property; a chain needs no max or min."""
    from recurl.model.formats.properties import asked

    question = asked(property)
    return question.objective or objective, question.of, question.endless


def _split(arguments: list[str], explain: bool) -> tuple[list[str], list[str]]:
    """Parameters of the model, and vertices to explain.

    Example:
        >>> _split(["p=0.4", "W.in"], explain=True)
        (['p=0.4'], ['W.in'])
    """
    if not explain:
        return arguments, []
    is_parameter = [re.match(r"\w+=", argument) is not None for argument in arguments]
    pairs = list(zip(arguments, is_parameter, strict=True))
    return [a for a, own in pairs if own], [a for a, own in pairs if not own]


def _called(
    model: str, parameters: list[str], arguments: list[str], source: Path | None
) -> Called | None:
    """The program that is solved, if it is one."""
    from recurl.progress import Progress

    if is_program(model):
        with Progress(f"making {model}"):
            return read_program(model, parameters, arguments)
    if arguments or source is not None:
        raise UsageError(f"--arg and --source are for programs, FILE.py:FUNCTION, not for {model}")
    return None


def _complete(called: Called, solution: Solution, path: Path, **steps: Any) -> None:
    from recurl.model.files import write_atomic
    from recurl.programs.completion import complete

    found = complete(called.unfolded, solution, called.arguments, **steps)
    write_atomic(path, found.source())


def _policy_of(solution: Solution) -> Policy:
    if solution.policy is None:
        raise RecurlError(f"this answer has no policy: {solution.reason}")
    return solution.policy


def _data(solution: Solution, threshold: float | None) -> dict[str, Any]:
    question, policy = solution.question, solution.policy
    decided = None if threshold is None else solution.at_least(threshold)
    return {
        "model": solution.model.name,
        "objective": question.objective,
        "rewards": question.rewards,
        "exit_values": list(question.exit_values),
        "endless": question.endless,
        "lower": solution.lower,
        "upper": solution.upper,
        "epsilon": solution.epsilon,
        "method": solution.method,
        "reason": solution.reason,
        "work": dict(solution.work),
        "seconds": solution.seconds,
        "policy": None if policy is None else {"kind": policy.kind, "contexts": policy.n_contexts},
        "choices": choices(policy),
        "at_least": threshold,
        "decided": decided,
    }


def _print(solution: Solution, threshold: float | None) -> None:
    show(str(solution))
    if threshold is not None:
        words = {True: "yes", False: "no", None: "the interval does not decide it"}
        show(facts([(f"at least {threshold:g}?", words[solution.at_least(threshold)])]))


def _print_violation(solution: Solution) -> None:
    """The reward of a boolean program, minus 1 for a violated assertion, as a probability.

    Nothing is shown where the program pays rewards of its own.
    """
    model, t = solution.model, solution.model.tables
    if any(model.local_name(v) != "return 'violated'" for v in t.target[t.reward != 0].tolist()):
        return
    which = "least" if solution.question.objective == "max" else "greatest"
    low, high = max(0.0, -solution.upper), -solution.lower
    words = f"{high:.6g}" if high - low < 1e-5 else f"between {low:.6g} and {high:.6g}"
    show(facts([(f"{which} probability that an assertion is violated", words)]))
