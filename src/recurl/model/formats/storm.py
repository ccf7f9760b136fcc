"""Reading through Storm: PRISM programs, JANI models and DRN files become arrays.

Storm (package stormpy, extra ``storm``) parses and builds in a separate process, `storm_build`: a
hostile file can crash it, fill its memory or keep it busy, and the reader still ends with one clear
error. The model comes over as a UMB file, so that no Python object is made per transition.
"""

from __future__ import annotations

import importlib.util
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from recurl.errors import MissingExtraError
from recurl.model.formats.flat import Flat, exits_of, model_of
from recurl.model.formats.format import Options, errors_of, refuse
from recurl.model.formats.properties import asked
from recurl.model.formats.storm_build import GOAL, STAY, Request
from recurl.model.formats.umb import DamagedError, flat_from
from recurl.model.limits import LONGEST_EXPLORATION, cut, read_bytes, read_text

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP

_COMMENT = re.compile(r"//[^\n]*")
_TYPE = re.compile(
    r"\b(dtmc|mdp|ctmc|ctmdp|ma|pta|pomdp|popta|smg|probabilistic|nondeterministic|stochastic)\b"
)
_UNNAMED = re.compile(r"\brewards(?!\s*\")\b")


def read_by_storm(kind: str, path: Path, options: Options) -> RMDP:
    """Read a file of a kind that Storm knows: ``"prism"``, ``"jani"`` or ``"drn"``."""
    text = read_text(path)
    if importlib.util.find_spec("stormpy") is None:
        raise MissingExtraError("Reading PRISM programs, JANI models and DRN files", "storm")
    title = re.sub(r"\s+", " ", path.stem) or "model"
    try:
        with errors_of(path), tempfile.TemporaryDirectory(prefix="recurl-") as folder:
            built = Path(folder) / "model.umb"
            request = _request(kind, path, options, built)
            if kind == "prism" and (spelled := _as_storm_spells(text)) != text:
                request["file"] = str(Path(folder) / "program.prism")
                Path(request["file"]).write_text(spelled, encoding="utf-8")
            _build(path, request)
            return _model(path, flat_from(read_bytes(built), title, options), options)
    except DamagedError as error:
        refuse(path, str(error))


def _as_storm_spells(text: str) -> str:
    """A PRISM program with the type and the names that Storm needs.

    Without a type it is an ``mdp``; of unnamed reward structures Storm would keep only the last.
    """
    plain = _COMMENT.sub("", text)
    if len(_UNNAMED.findall(plain)) > 1:
        count = itertools.count(1)
        text = _UNNAMED.sub(lambda found: f'{found[0]} "unnamed{next(count)}"', text)
    return text if _TYPE.search(plain) else f"mdp {text}"


def _request(kind: str, path: Path, options: Options, built: Path) -> Request:
    formula, first = None, False
    if options.property is not None:
        question = asked(options.property)
        formula = f"F ({question.goal})"
        if question.stay is not None:
            formula = f"({question.stay}) U ({question.goal})"
        # R without a name means the first structure of a PRISM program; others have no order.
        first = kind == "prism" and question.of == "reward" and question.rewards is None
    return {
        "kind": kind,
        "file": str(path.absolute()),
        "constants": ",".join(f"{name}={value}" for name, value in options.constants),
        "formula": formula,
        "first_rewards": first,
        "out": str(built),
        "asked_by": os.getpid(),
    }


def _build(path: Path, request: Request) -> None:
    """Let Storm build a model in a separate process."""
    command = [sys.executable, "-m", "recurl.model.formats.storm_build"]
    try:
        done = subprocess.run(
            command,
            input=json.dumps(request),
            capture_output=True,
            text=True,
            errors="replace",
            timeout=LONGEST_EXPLORATION,
            check=False,
        )
    except subprocess.TimeoutExpired:
        limit = f"{LONGEST_EXPLORATION:g} seconds"
        refuse(path, f"Storm has not built it after {limit}", "take a smaller model")
    if done.returncode < 0:
        name = signal.Signals(-done.returncode).name
        refuse(path, f"Storm crashed on it ({name})", "check the file with Storm itself")
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["it ended without a message"])[-1]
        try:
            said = json.loads(last)
        except ValueError:
            said = {"message": f"Storm cannot read it: {last}", "fix": ""}
        refuse(path, cut(said["message"]), said["fix"])


def _model(path: Path, flat: Flat, options: Options) -> RMDP:
    if options.property is None:
        return model_of(flat, exits_of(flat, options, str(path)))
    exits = {"goal": flat.labels[GOAL]}
    if STAY in flat.labels:
        exits["lost"] = ~flat.labels[GOAL] & ~flat.labels[STAY]
    return model_of(flat, exits)
