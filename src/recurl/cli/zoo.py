"""``recurl zoo``: the models that come with the library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from recurl.cli.output import AsJson, print_json, show, table

EXAMPLES = """\
  recurl zoo
  recurl zoo --json
"""


LONGEST = 24


def zoo(json: AsJson = False) -> None:
    """List the models of the library.

    Each is shown with its parameters and their defaults, as they are typed after its name.
    """
    from recurl import zoo as models

    if json:
        print_json([_data(name) for name in models.names()])
        return
    rows = [
        (name, models.summary(name), _parameters(models.parameters(name)))
        for name in models.names()
    ]
    show(table("model", "what it is", "parameters", rows=rows))


def _data(name: str) -> dict[str, Any]:
    from recurl import zoo as models

    known = models.parameters(name)
    return {"name": name, "summary": models.summary(name), "parameters": known}


def _parameters(defaults: Mapping[str, Any]) -> str:
    """Defaults as one would type them, the long ones left out."""
    texts = {key: _text(value) for key, value in defaults.items()}
    shown = {key: "..." if len(text) > LONGEST else text for key, text in texts.items()}
    return " ".join(f"{key}={text}" for key, text in shown.items())


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return ",".join(map(_text, value))
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)
