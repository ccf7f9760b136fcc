"""``recurl convert``: a model as a document, YAML for people or JSON for machines."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from recurl.cli.models import SUFFIXES, ModelName, Parameters, read_model
from recurl.cli.output import AsJson, UsageError, print_json, show, writable

EXAMPLES = """\
  recurl convert cloud cloud.yaml
  recurl convert cloud exits=1 cloud.json
  recurl convert model.yaml model.json
"""


def convert(
    model: ModelName,
    parameters: Parameters = None,
    *,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="File to write: .yaml or .json.")],
    json: AsJson = False,
) -> None:
    """Write a model as a YAML or JSON document.

    The name of the file says which. Nothing is lost: the document reads back as an equal model.
    """
    from recurl.model.document import dump

    if out.suffix not in SUFFIXES:
        raise UsageError(f"{out}: the name must end in {', '.join(SUFFIXES)}, and come last")
    writable(out)
    found = read_model(model, parameters)
    dump(found, out)
    if json:
        print_json({"model": found.name, "file": str(out), "fingerprint": found.fingerprint})
    else:
        show(f"{found.name} written to {out}")
