"""``recurl analyse``: does every run end, under every policy?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from recurl.cli.choices import choice_table, choices
from recurl.cli.models import ModelName, Parameters, read_model
from recurl.cli.output import AsJson, print_json, show

if TYPE_CHECKING:
    from recurl.solving.properness import Analysis

EXAMPLES = """\
  recurl analyse cloud
  recurl analyse gambler p=0.6 --json
"""


def analyse(model: ModelName, parameters: Parameters = None, json: AsJson = False) -> None:
    """Say whether every run ends, under every policy.

    A model is proper if every policy ends after finitely many steps on average. Where one does
    not, it is shown.
    """
    from recurl.progress import Progress
    from recurl.solving.properness import analyse as run

    found = read_model(model, parameters)
    with Progress(f"analysing {found.name}"):
        analysis = run(found)
    if json:
        print_json(_data(analysis))
        return
    show(str(analysis))
    if analysis.witness is not None:
        show(f"A policy that need not end is {analysis.witness.kind}.")
        show(*choice_table(analysis.witness))


def _data(analysis: Analysis) -> dict[str, Any]:
    return {
        "model": analysis.model.name,
        "verdict": analysis.verdict,
        "reason": analysis.reason,
        "steps": analysis.bound,
        "exact": analysis.exact,
        "radius": analysis.radius,
        "witness": choices(analysis.witness),
    }
