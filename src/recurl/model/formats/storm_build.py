"""The process in which Storm builds a model: reads a request, writes a UMB file.

    python -m recurl.model.formats.storm_build < request.json

A file that Storm cannot build ends it with exit code 1 and one line of JSON on stderr: the message
and what would help.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import Any, NoReturn, TypedDict

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
        out: UMB file to write.
        asked_by: Number of the process that asks.
    """

    kind: str
    file: str
    constants: str
    formula: str | None
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
    if request["kind"] == "drn":
        built = stormpy.build_model_from_drn(request["file"])
        formulas = _formulas(stormpy, request)
    else:
        program = _program(stormpy, request)
        formulas = _formulas(stormpy, request, program)
        options = stormpy.BuilderOptions(formulas)
        options.set_build_all_labels()
        options.set_build_all_reward_models()
        options.set_build_choice_labels()
        built = stormpy.build_model(program, options=options)
    kind = str(built.model_type).rpartition(".")[2].upper()
    if kind not in ("DTMC", "MDP"):
        _refuse(f"is a {kind}: DTMC and MDP are known here")
    for formula in formulas:
        _label(stormpy, built, formula.subformula)
    stormpy.io.export_to_umb(built, request["out"])


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


def _formulas(storm: Any, request: Request, *program: Any) -> list[Any]:
    """The formula of the request as Storm has it, if there is one."""
    if request["formula"] is None:
        return []
    text = f"P=? [ {request['formula']} ]"
    return [storm.parse_properties(text, *program)[0].get_raw_formula()]


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
