"""JANI models, read through Storm."""

from __future__ import annotations

from functools import partial

from recurl.model.formats.format import Format
from recurl.model.formats.storm import read_by_storm

FORMAT = Format(
    "jani",
    "JANI models",
    (".jani",),
    partial(read_by_storm, "jani"),
    extra="storm",
    takes=("goal", "rewards", "constants", "property"),
)
