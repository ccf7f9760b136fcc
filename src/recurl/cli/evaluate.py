"""``recurl evaluate``: what the greedy policies of learned runs are worth, exactly."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recurl.cli import runs
from recurl.cli.numbers import real
from recurl.cli.output import AsJson, print_json, show, table

if TYPE_CHECKING:
    from recurl.learn.tabular import TabularLearner

EXAMPLES = """\
  recurl evaluate runs/cloud
  recurl evaluate runs/cloud --discount 0.99
  recurl evaluate runs/cloud --json
"""


def evaluate(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder made by `recurl learn`.")],
    discount: Annotated[float | None, real("Discount of each step.", above=0, most=1)] = None,
    json: AsJson = False,
) -> None:
    """Evaluate the greedy policies of learned runs.

    Expected reward and steps are exact; a discount changes the reward, not the steps. Without one
    given, that of the runs applies.
    """
    from recurl.progress import Progress

    with Progress(f"reading {folder}"):
        learners = runs.learners(folder)
    rows = []
    with Progress(f"evaluating {folder}", len(learners), "runs") as progress:
        for learner in learners:
            rows.append(_row(learner, discount))
            progress.update(len(rows))
    if json:
        print_json({"runs": rows})
    else:
        heads = ("seed", "steps learned", "contexts", "exact value", "exact steps")
        texts = [[f"{value:.8g}" for value in row.values()] for row in rows]
        show(table(*heads, rows=texts, numbers=heads))


def _row(learner: TabularLearner, discount: float | None) -> dict[str, Any]:
    from recurl.solving.evaluate import evaluate as exactly

    policy, gamma = learner.policy(), discount or learner.settings.gamma
    found = exactly(policy)
    value = found.value if gamma == 1 else exactly(policy, gamma=gamma).value
    return {
        "seed": learner.settings.seed,
        "learned": learner.steps,
        "contexts": policy.n_contexts,
        "value": value,
        "steps": found.steps,
    }
