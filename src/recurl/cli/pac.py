"""``recurl pac``: learn a model from samples, with a guarantee."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recurl.cli.choices import choice_table, choices
from recurl.cli.engines import On
from recurl.cli.models import ModelName, Parameters, read_model
from recurl.cli.numbers import Discount, Seed, count, real
from recurl.cli.output import AsJson, UsageError, print_json, show, this_command, writable
from recurl.interrupts import farewell

if TYPE_CHECKING:
    from recurl.learn.pac.drift import Drift
    from recurl.learn.pac.guarantee import Guarantee
    from recurl.progress import Progress

EXAMPLES = """\
  recurl pac cloud exits=1 --epsilon 0.05 --delta 0.01
  recurl pac cloud exits=1 --method plan
  recurl pac cloud --epsilon 0.05
  recurl pac gambler p=0.25 --access generative --steps 6 --reward-bound 1 --support 2 --epsilon 1 \
    --workers 4 --on processes
  recurl pac cloud --discount 0.9 --epsilon 0.05
  recurl pac cloud --drift 4,0.15,9 --epsilon 2
  recurl pac gambler --epsilon 0.1 --counts gambler.counts
  recurl pac gambler p=0.25 --access episodes --steps 6 --reward-bound 1 --support 2 --epsilon 1
"""


def pac(
    model: ModelName,
    parameters: Parameters = None,
    *,
    epsilon: Annotated[float, real("Precision of the value.", above=0)] = 0.1,
    delta: Annotated[float, real("Probability of being wrong.", above=0, below=1)] = 0.05,
    method: Annotated[str, typer.Option(help="'adaptive' or 'plan'.")] = "adaptive",
    intervals: Annotated[
        str | None,
        typer.Option(help="'martingale', 'clopper-pearson', 'bernstein' or 'weissman'."),
    ] = None,
    steps: Annotated[
        float | None, real("Bound on the expected steps to leave a component.", least=1)
    ] = None,
    reward_bound: Annotated[
        float | None, real("Bound on rewards, in absolute value.", least=0)
    ] = None,
    discount: Discount = 1.0,
    drift: Annotated[
        str | None, typer.Option(help="c_o,mu,b: assumptions without a discount.")
    ] = None,
    access: Annotated[
        str, typer.Option(help="'model', or as an environment: 'generative' or 'episodes'.")
    ] = "model",
    support: Annotated[int | None, count("Most outcomes of a pair of an environment.")] = None,
    starts: Annotated[int | None, count("Most starts of an environment.")] = None,
    counts: Annotated[
        Path | None, typer.Option(help="File for the counts; goes on from it if it exists.")
    ] = None,
    most: Annotated[int | None, count("Samples after which to stop.")] = None,
    workers: Annotated[
        int, count("Workers that share the samples; episodes are for one.", most=1024)
    ] = 1,
    on: On = "local",
    seed: Seed = 0,
    json: AsJson = False,
) -> None:
    """Learn the optimum from samples, with a guarantee.

    The interval is right with probability 1 - delta.

    The model is only drawn from. With --access it is an environment of which nothing is known
    but --steps, --reward-bound and --support. With --counts, sampling that was stopped goes on.
    """
    from recurl.env.model_env import ModelEnv
    from recurl.learn.pac.learner import PACLearner
    from recurl.progress import Progress

    writable(counts)
    found = read_model(model, parameters)
    try:
        learner = PACLearner(
            epsilon,
            delta,
            method,
            steps=steps,
            reward_bound=reward_bound,
            support=support,
            starts=starts,
            access=None if access == "model" else access,
            intervals=intervals,
            gamma=discount,
            drift=_drift(drift),
            seed=seed,
            workers=workers,
            on=on,
        )
        source = found if access == "model" else ModelEnv(found)
        progress = Progress(f"learning {found.name}")
        with farewell(lambda: _stopped(progress, counts)), progress, warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # they are in the statement
            callback = progress.interval
            learned = learner.learn(source, most=most, checkpoint=counts, callback=callback)
    except ValueError as error:
        raise UsageError(str(error)) from error
    if json:
        print_json(_data(learned))
    else:
        show(learned.statement, *choice_table(learned.policy))


def _stopped(progress: Progress, counts: Path | None) -> str:
    """The message when sampling is interrupted: the state, and how to continue."""
    where = "Nothing was saved: --counts FILE keeps the samples."
    if counts is not None and counts.is_file():
        where = f"Saved in {counts}. Continue: {this_command()}"
    return f"Stopped while {progress.line()}. {where}"


def _drift(text: str | None) -> Drift | None:
    from recurl.learn.pac.drift import Drift

    if text is None:
        return None
    parts = text.split(",")
    if len(parts) != 3:
        raise UsageError(f"--drift takes three numbers c_o,mu,b, not {text!r}")
    return Drift(*map(float, parts))


def _data(learned: Guarantee) -> dict[str, Any]:
    return {
        "model": learned.model.name,
        "lower": learned.lower,
        "upper": learned.upper,
        "value": learned.value,
        "loss": learned.loss,
        "epsilon": learned.epsilon,
        "delta": learned.delta,
        "reached": learned.reached,
        "samples": learned.samples,
        "planned": learned.planned,
        "method": learned.method,
        "numbers": dict(learned.numbers),
        "unseen": list(learned.unseen),
        "warnings": list(learned.warnings),
        "choices": choices(learned.policy),
    }
