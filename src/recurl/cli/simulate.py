"""``recurl simulate``: episodes of a model under a policy."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recurl.cli.models import ModelName, Parameters, read_model
from recurl.cli.numbers import BoxDiscount, Discount, Seed, count
from recurl.cli.output import AsJson, UsageError, counted, facts, print_json, sampled, show

if TYPE_CHECKING:
    import numpy as np

    from recurl.model.rmdp import RMDP
    from recurl.policy import Policy
    from recurl.simulation.rollout import Simulation
    from recurl.simulation.trace import Trace

EXAMPLES = """\
  recurl simulate cloud
  recurl simulate cloud --episodes 100000 --seed 7
  recurl simulate gambler p=0.6 --step-limit 1000
  recurl simulate cloud --policy best.json --trace 1
  recurl simulate cloud --discount 0.9
"""

UNIFORM = "uniform"
TRACE_STEPS = 100
"""Steps of an episode that are shown to people; machines get them all."""

DEEPEST = 20
"""Stack height up to which traces are indented."""


def simulate(
    model: ModelName,
    parameters: Parameters = None,
    *,
    policy: Annotated[
        str, typer.Option(help="A policy file, or 'uniform': every action equally likely.")
    ] = UNIFORM,
    episodes: Annotated[int, count("How many episodes to run.", most=10**9)] = 10_000,
    seed: Seed = 0,
    step_limit: Annotated[int, count("Steps after which an episode is cut.")] = 1_000_000,
    discount: Discount = 1.0,
    box_discount: BoxDiscount = 1.0,
    trace: Annotated[int, count("Episodes to show step by step.", least=0, most=10**6)] = 0,
    json: AsJson = False,
) -> None:
    """Run episodes under a policy.

    Says what they earned, how long they were and how deep the stack grew. The same seed
    gives the same result to the bit.
    """
    from recurl.progress import Progress
    from recurl.simulation.rollout import simulate as run

    found = read_model(model, parameters)
    chosen = _policy(found, policy)
    with Progress(f"simulating {found.name}", episodes, "episodes") as progress:
        result = run(
            found,
            chosen,
            episodes,
            seed=seed,
            step_limit=step_limit,
            gamma=discount,
            box_gamma=box_discount,
            traces=trace,
            callback=progress.update,
        )
    settings: dict[str, Any] = {"episodes": episodes, "seed": seed, "step_limit": step_limit}
    if discount < 1:
        settings["discount"] = discount
    if box_discount < 1:
        settings["box_discount"] = box_discount
    if json:
        print_json({"model": found.name, "policy": policy, **settings, **_data(result)})
    else:
        _print(found, policy, result)


def _policy(model: RMDP, name: str) -> Policy:
    from recurl.policy import Policy

    if name == UNIFORM:
        return Policy.uniform(model)
    if not Path(name).is_file():
        raise UsageError(f"--policy {name}: file not found; or write --policy uniform")
    return Policy.load(name, model)


def _data(result: Simulation) -> dict[str, Any]:
    return {
        "return": {**_spread(result.returns), "standard_error": result.standard_error},
        "length": _spread(result.lengths),
        "depth": _spread(result.depths),
        "truncated": int(result.truncated.sum()),
        "traces": [_trace_data(trace) for trace in result.traces],
    }


def _spread(numbers: np.ndarray) -> dict[str, float]:
    return {
        "mean": float(numbers.mean()),
        "min": numbers.min().item(),
        "max": numbers.max().item(),
    }


def _trace_data(trace: Trace) -> list[dict[str, Any]]:
    model = trace.model
    return [
        {
            "vertex": model.vertex_name(step.vertex),
            "action": model.action_name(step.action),
            "reward": step.reward,
            "depth": 1 + len(step.stack),
        }
        for step in trace
    ]


def _print(model: RMDP, policy: str, result: Simulation) -> None:
    for number, trace in enumerate(result.traces):
        show(f"episode {number}: {counted(len(trace), 'step')}", *_trace_lines(trace), "")
    rows = [
        (model.name, f"{counted(len(result.returns), 'episode')}, policy {policy}"),
        ("return", f"{sampled(result.mean, result.margin)}, {_range(result.returns)}"),
        ("length", f"{result.lengths.mean():.6g}, {_range(result.lengths)}"),
        ("depth", f"{result.depths.mean():.6g}, {_range(result.depths)}"),
    ]
    if cut := int(result.truncated.sum()):
        note = f"{counted(cut, 'episode')} cut at the step limit, counted as far as they went"
        rows.append(("truncated", note))
    show(facts(rows))


def _range(numbers: np.ndarray) -> str:
    return f"from {numbers.min():g} to {numbers.max():g}"


def _trace_lines(trace: Trace) -> list[str]:
    """The first steps of an episode, indented by depth as far as that is readable."""
    lines = list[str]()
    for step in islice(trace, TRACE_STEPS):
        depth = len(step.stack)
        indent = "  " * depth if depth <= DEEPEST else f"{'  ' * DEEPEST}[{depth + 1}] "
        lines.append(f"{indent}{trace.line(step)}")
    if len(trace) > TRACE_STEPS:
        more = counted(len(trace) - TRACE_STEPS, "more step")
        lines.append(f"... and {more} (all with --json)")
    return lines
