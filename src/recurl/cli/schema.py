"""``recurl schema``: the JSON Schema of model documents."""

from __future__ import annotations

from recurl.cli.output import AsJson, print_json

EXAMPLES = """\
  recurl schema
  recurl schema > recurl.schema.json
"""


def schema(json: AsJson = False) -> None:
    """Print the JSON Schema of model documents.

    It is meant for editors and validators, and is JSON with or without --json.
    """
    from recurl.model.document.schema import schema as made

    print_json(made())
