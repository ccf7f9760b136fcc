"""The process in which Storm builds a model: reads a request, writes a UMB file.

    python -m recurl.model.formats.storm_build < request.json

Storm builds with rational numbers, but cannot write them into UMB files. It writes them into a DRN
file too, and they are put into the UMB file from there. A model whose numbers Storm has as doubles
only, since it takes logarithms or roots, is built with doubles.

A file that Storm cannot build ends it with exit code 1 and one line of JSON on stderr: the message
and what would help.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import signal
import sys
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn, TypedDict

from recurl.model.formats.tar import pack, unpack
from recurl.model.formats.umb import MOST_NAMES, encoded, rational_size
from recurl.model.structure import TOLERANCE

GOAL, STAY = "recurl goal", "recurl stay"
"""Labels of the states that a property names."""

_PR_SET_PDEATHSIG = 1


class Request(TypedDict):
    """A model to build, and where to write it.

    Attributes:
        kind: ``prism``, ``jani`` or ``drn``.
        file: The file.
        constants: Values of constants, as Storm takes them.
        formula: Path formula whose states get the labels `GOAL` and `STAY`.
        first_rewards: Whether only the first reward structure of a program is built.
        out: UMB file to write.
        asked_by: Number of the process that asks.
    """

    kind: str
    file: str
    constants: str
    formula: str | None
    first_rewards: bool
    out: str
    asked_by: int


def main() -> None:
    """Build the model that the request on stdin names."""
    _end_with_parent()
    request: Request = json.load(sys.stdin)
    # It may have ended before this process could ask to be ended with it.
    if sys.platform == "linux" and os.getppid() != request["asked_by"]:
        sys.exit(1)
    _limit_memory()
    try:
        _build(request)
    except (RuntimeError, ValueError, TypeError, AttributeError, IndexError, MemoryError) as error:
        _refuse(f"Storm cannot read it: {' '.join(str(error).split()) or type(error).__name__}")


def _build(request: Request) -> None:
    import stormpy
    import stormpy.developer
    import stormpy.io

    stormpy.developer.set_log_level(stormpy.developer.LogLevel.OFF)
    program = None if request["kind"] == "drn" else _program(stormpy, request)
    formulas = _formulas(stormpy, request, program)
    try:
        built = _built(stormpy, request, program, formulas, stormpy.Rational)
        exact = True
    except RuntimeError:
        built = _built(stormpy, request, program, formulas, float)
        exact = False
    kind = str(built.model_type).rpartition(".")[2].upper()
    if kind not in ("DTMC", "MDP"):
        _refuse(f"is a {kind}: DTMC and MDP are known here")
    for formula in formulas:
        _label(stormpy, built, formula.subformula)
    options = stormpy.io.UmbExportOptions()
    options.value_type = stormpy.io.UmbExportValueType.DOUBLE
    stormpy.io.export_to_umb(built, request["out"], options=options)
    if exact:
        out = Path(request["out"])
        out.write_bytes(_with_rationals(out.read_bytes(), built, _texts(stormpy, built, out)))


def _built(storm: Any, request: Request, program: Any, formulas: list[Any], number: type) -> Any:
    """The model, with numbers of a type."""
    if program is None:
        return storm.build_model_from_drn[number](request["file"])
    if request["first_rewards"] and program.reward_models:
        name = program.reward_models[0].name
        text = "R" + (f'{{"{name}"}}' if name else "") + "=? [ F true ]"
        rewards = [storm.parse_properties(text, program)[0].get_raw_formula()]
    else:
        rewards = []
    options = storm.BuilderOptions([*formulas, *rewards])
    options.set_build_all_labels()
    if not rewards:
        options.set_build_all_reward_models()
    options.set_build_choice_labels()
    if request["kind"] == "prism":  # of JANI models Storm cannot write them, with rational rewards
        options.set_build_state_valuations()
    return storm.build_model[number](program, options=options)


def _program(storm: Any, request: Request) -> Any:
    """The parsed program, with values for its constants."""
    if request["kind"] == "prism":
        parsed = storm.parse_prism_program(request["file"])
    else:
        parsed = storm.parse_jani_model(request["file"])[0]
    program, _ = storm.instantiate_constants(parsed, request["constants"])
    if program.has_undefined_constants:
        names = ", ".join(str(c.name) for c in program.get_undefined_constants())
        _refuse(f"has undefined constants: {names}", "give them: constants=NAME=VALUE,...")
    return program


def _formulas(storm: Any, request: Request, program: Any) -> list[Any]:
    """The formula of the request as Storm has it, if there is one."""
    if request["formula"] is None:
        return []
    text = f"P=? [ {request['formula']} ]"
    return [storm.parse_properties(text, *filter(None, [program]))[0].get_raw_formula()]


def _label(storm: Any, built: Any, path: Any) -> None:
    """Label the states that a path formula names."""
    if path.is_until_formula:
        sets = {GOAL: path.right_subformula, STAY: path.left_subformula}
    else:
        sets = {GOAL: path.subformula}
    for name, states in sets.items():
        truth = storm.model_checking(built, states).get_truth_values_vector()
        built.labeling.add_label(name)
        built.labeling.set_states(name, truth)


def _texts(storm: Any, built: Any, out: Path) -> dict[str, list[str]]:
    """The numbers of a model as texts, line by line: of branches, of choices, of states."""
    drn, options = out.with_suffix(".drn"), storm.io.DirectEncodingExporterOptions()
    options.allow_placeholders = False
    storm.io.export_to_drn(built, str(drn), options=options)
    _, _, lines = drn.read_text(errors="replace").partition("\n@model\n")
    drn.unlink()
    return {
        "branches": re.findall(r"^\t\t\d+ : (\S+)$", lines, re.MULTILINE),
        "choices": re.findall(r"^\taction [^\n]* \[([^][\n]*)\]$", lines, re.MULTILINE),
        "states": re.findall(r"^state \d+ \[([^][\n]*)\]", lines, re.MULTILINE),
    }


def _with_rationals(umb: bytes, built: Any, texts: dict[str, list[str]]) -> bytes:
    """A UMB file with the numbers of a DRN file in the place of its doubles."""
    files: dict[str, bytes] = {name: bytes(file) for name, file in unpack(umb).items()}
    index = json.loads(files["index.json"])
    system = index["transition-system"]
    starts: Sequence[int] = range(system["#choices"] + 1)
    if "choice-to-branches.bin" in files:
        starts = memoryview(files["choice-to-branches.bin"]).cast("Q").tolist()
    columns = {"branch-to-probability.bin": _summing_to_one(texts["branches"], starts)}
    kinds = {"branch-to-probability.bin": (system, "branch-probability-type")}
    order = list(built.reward_models)
    index.setdefault("file-data", {})["parameters"] = {"states": _state_names(built)}
    for key, note in index["annotations"].get("rewards", {}).items():
        place = order.index(note.get("alias", ""))
        for entity in note["applies-to"]:
            name = f"annotations/rewards/{key}/{entity}/values.bin"
            columns[name] = [row.split(", ")[place] for row in texts[entity]]
            kinds[name] = (note, "type")
    known = {text: Fraction(text) for text in set(itertools.chain(*columns.values()))}
    size = rational_size(known.values())
    code = {text: encoded([value], size) for text, value in known.items()}
    for name, column in columns.items():
        if len(column) * 8 != len(files[name]):
            _refuse("Storm writes its numbers in an unknown way")
        files[name] = b"".join(map(code.__getitem__, column))
        note, key = kinds[name]
        note[key] = {"type": "rational", "size": size}
        for bound in ("lower", "upper"):
            note.pop(bound, None)
    files["index.json"] = json.dumps(index).encode()
    return pack(files)


def _state_names(built: Any) -> list[str]:
    """Names of states by the values of variables, as in ``x=0, b``; none for a large model."""
    if not built.has_state_valuations() or built.nr_states > MOST_NAMES:
        return []
    known = built.state_valuations
    found = (json.loads(str(known.to_json(state))) for state in range(built.nr_states))
    return [", ".join(itertools.starmap(_value_text, values.items())) for values in found]


def _value_text(name: str, value: object) -> str:
    if isinstance(value, bool):
        return name if value else f"!{name}"
    return f"{name}={value}"


def _summing_to_one(prob: list[str], starts: Sequence[int]) -> list[str]:
    """Probabilities of choices; the greatest of a choice takes up the rounding of tools, if any."""
    known: dict[tuple[str, ...], list[str]] = {}
    result: list[str] = []
    for first, last in itertools.pairwise(starts):
        row = tuple(prob[first:last])
        if row not in known:
            values = [Fraction(text) for text in row]
            rest = 1 - sum(values, Fraction(0))
            if 0 < abs(rest) <= Fraction(TOLERANCE):
                most = values.index(max(values))
                values[most] += rest
            known[row] = list(map(str, values))
        result += known[row]
    return result


def _end_with_parent() -> None:
    """Let Ctrl-C, and the end of the process that asked, end this one, also within Storm."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _limit_memory() -> None:
    """Allow this process what the machine has, without swapping; a lower limit stays."""
    if os.name == "posix":
        import resource

        whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        given = [limit for limit in resource.getrlimit(resource.RLIMIT_AS) if limit >= 0]
        least = min([whole, *given])
        resource.setrlimit(resource.RLIMIT_AS, (least, least))


def _refuse(message: str, fix: str = "") -> NoReturn:
    print(json.dumps({"message": message, "fix": fix}), file=sys.stderr)
    sys.exit(1)


if __name__ == "__main__":
    main()
