"""``recurl convert``: a model in another format."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from recurl.cli.models import ModelName, Parameters, read_model
from recurl.cli.numbers import count
from recurl.cli.output import AsJson, UsageError, print_json, show, writable

EXAMPLES = """\
  recurl convert cloud cloud.yaml
  recurl convert cloud exits=1 cloud.json
  recurl convert cloud --depth 3 cloud.umb
  recurl convert leader.prism constants=N=3 goal=elected leader.umb
"""


def convert(
    model: ModelName,
    parameters: Parameters = None,
    *,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="File to write; see recurl formats.")],
    depth: Annotated[
        int | None, count("Calls that may be pending, for formats without calls.", least=0)
    ] = None,
    json: AsJson = False,
) -> None:
    """Write a model in another format.

    The suffix of the file says which. Documents (.yaml, .json) keep everything: they read back as
    an equal model. Formats without calls get the states of hierarchical models one by one; of
    recursive ones with --depth, deeper calls leading to the exit `deeper`.
    """
    from recurl.model.formats import dump, formats

    known = [suffix for format in formats() if format.write for suffix in format.suffixes]
    if out.suffix.lower() not in known:
        raise UsageError(f"{out}: the name must end in {', '.join(known)}, and come last")
    writable(out)
    found = read_model(model, parameters)
    dump(found, out, depth=depth)
    if json:
        print_json({"model": found.name, "file": str(out), "fingerprint": found.fingerprint})
    else:
        show(f"{found.name} written to {out}")
