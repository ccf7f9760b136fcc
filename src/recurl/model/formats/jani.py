"""JANI models, read through Storm."""

from __future__ import annotations

from recurl.model.formats.format import Format
from recurl.model.formats.storm import read_jani

FORMAT = Format(
    "jani",
    "JANI models",
    (".jani",),
    read_jani,
    extra="storm",
    takes=("goal", "rewards", "constants", "property"),
)
