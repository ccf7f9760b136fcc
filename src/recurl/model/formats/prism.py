"""Programs in the language of PRISM, read through Storm.

A program that begins with ``bdp`` is a branching decision process of Mungojerrie, which needs no
extra: see `bdp`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from recurl.model.formats.bdp import is_branching
from recurl.model.formats.bdp import read as read_branching
from recurl.model.formats.format import Format, Options
from recurl.model.formats.storm import read_by_storm
from recurl.model.limits import read_text

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP


def read(path: Path, options: Options) -> RMDP:
    """Read a program as a model."""
    if is_branching(read_text(path)):
        return read_branching(path, options)
    return read_by_storm("prism", path, options)


FORMAT = Format(
    "prism",
    "programs in the language of PRISM",
    (".prism", ".pm", ".nm"),
    read,
    extra="storm",
    takes=("goal", "rewards", "constants", "property"),
)
