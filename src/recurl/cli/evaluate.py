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
  recurl evaluate runs/single --box-discount 0.9
  recurl evaluate runs/cloud --json
"""


def evaluate(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder made by `recurl learn`.")],
    discount: Annotated[float | None, real("Discount of each step.", above=0, most=1)] = None,
    box_discount: Annotated[
        float | None, real("Discount by boxes, of one exit per component.", above=0, most=1)
    ] = None,
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
            rows.append(_row(learner, discount, box_discount))
            progress.update(len(rows))
    if json:
        print_json({"runs": rows})
    else:
        heads = ("seed", "steps learned", "contexts", "exact value", "exact steps")
        texts = [[f"{value:.8g}" for value in row.values()] for row in rows]
        show(table(*heads, rows=texts, numbers=heads))


def _row(
    learner: TabularLearner, discount: float | None, box_discount: float | None
) -> dict[str, Any]:
    from recurl.solving.evaluate import evaluate as exactly

    policy, own = learner.policy(), learner.settings
    if discount is None and box_discount is None:
        # Networks have no discount by boxes.
        discount, box_discount = own.gamma, getattr(own, "box_gamma", 1)
    found = exactly(policy)
    plain = discount in (None, 1) and box_discount in (None, 1)
    value = (found if plain else exactly(policy, gamma=discount, box_gamma=box_discount)).value
    return {
        "seed": learner.settings.seed,
        "learned": learner.steps,
        "contexts": policy.n_contexts,
        "value": value,
        "steps": found.steps,
    }
