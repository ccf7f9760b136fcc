"""Reading through Storm: PRISM programs, JANI models and DRN files become arrays.

Storm (package stormpy, extra ``storm``) parses and builds; the model comes over as a UMB file, so
that no Python object is made per transition. Needed by `prism`, `jani` and `drn`.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recurl.errors import DocumentError, MissingExtraError, ModelError, RecurlError
from recurl.model.formats.flat import Flat, exits_of, model_of
from recurl.model.formats.format import Options, refuse
from recurl.model.formats.properties import asked
from recurl.model.formats.umb import flat_from
from recurl.model.limits import read_bytes, read_text

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP

_GOAL, _STAY = "recurl goal", "recurl stay"
_LONGEST_MESSAGE = 400


def read_prism(path: Path, options: Options) -> RMDP:
    """Read a program in the language of PRISM."""
    read_text(path)
    return _read(path, options, lambda storm: storm.parse_prism_program(str(path)))


def read_jani(path: Path, options: Options) -> RMDP:
    """Read a JANI model."""
    read_text(path)
    return _read(path, options, lambda storm: storm.parse_jani_model(str(path))[0])


def read_drn(path: Path, options: Options) -> RMDP:
    """Read a DRN file."""
    read_text(path)
    storm = _storm("DRN files")

    def make() -> RMDP:
        built = storm.build_model_from_drn(str(path))
        return _model(path, built, _formula(storm, options), options)

    return _guarded(path, make)


def _formula(storm: Any, options: Options, *program: Any) -> list[Any]:
    """The formula of Storm for the states of a property, if there is one."""
    if options.property is None:
        return []
    question = asked(options.property)
    path = f"F ({question.goal})"
    if question.stay is not None:
        path = f"({question.stay}) U ({question.goal})"
    return [storm.parse_properties(f"P=? [ {path} ]", *program)[0].get_raw_formula()]


def _read(path: Path, options: Options, parse: Callable[[Any], Any]) -> RMDP:
    storm = _storm("PRISM programs and JANI models")

    def make() -> RMDP:
        given = ",".join(f"{name}={value}" for name, value in options.constants)
        program, _ = storm.instantiate_constants(parse(storm), given)
        if program.has_undefined_constants:
            names = ", ".join(str(c.name) for c in program.get_undefined_constants())
            refuse(path, f"has undefined constants: {names}", "give them: constants=NAME=VALUE,...")
        formulas = _formula(storm, options, program)
        build = storm.BuilderOptions(formulas)
        build.set_build_all_labels()
        build.set_build_all_reward_models()
        build.set_build_choice_labels()
        return _model(path, storm.build_model(program, options=build), formulas, options)

    return _guarded(path, make)


def _storm(what: str) -> Any:
    try:
        import stormpy
        import stormpy.developer
        import stormpy.io
    except ImportError:
        raise MissingExtraError(f"Reading {what}", "storm") from None
    stormpy.developer.set_log_level(stormpy.developer.LogLevel.OFF)
    return stormpy


def _guarded(path: Path, make: Callable[[], RMDP]) -> RMDP:
    """The result of a function, its failures turned into one clear error."""
    try:
        return make()
    except DocumentError:
        raise
    except ModelError as error:
        raise DocumentError(error.problems, str(path)) from None
    except RecurlError:
        raise
    except (RuntimeError, ValueError, TypeError, AttributeError, IndexError) as error:
        message = " ".join(str(error).split())[:_LONGEST_MESSAGE]
        refuse(path, f"Storm cannot read it: {message}")


def _model(path: Path, built: Any, formulas: Sequence[Any], options: Options) -> RMDP:
    import stormpy

    _check_kind(path, built)
    for formula in formulas:
        for name, states in _sets(formula.subformula).items():
            truth = stormpy.model_checking(built, states).get_truth_values_vector()
            built.labeling.add_label(name)
            built.labeling.set_states(name, truth)
    flat = _arrays(path, built, options)
    if options.property is None:
        return model_of(flat, exits_of(flat, options, str(path)))
    exits = {"goal": flat.labels[_GOAL]}
    if _STAY in flat.labels:
        exits["lost"] = ~flat.labels[_GOAL] & ~flat.labels[_STAY]
    return model_of(flat, exits)


def _sets(path: Any) -> dict[str, Any]:
    """The state formulas of a path formula, by label."""
    if path.is_until_formula:
        return {_GOAL: path.right_subformula, _STAY: path.left_subformula}
    return {_GOAL: path.subformula}


def _check_kind(path: Path, built: Any) -> None:
    kind = str(built.model_type).rpartition(".")[2].upper()
    if kind not in ("DTMC", "MDP"):
        refuse(path, f"is a {kind}: DTMC and MDP are known here")


def _arrays(path: Path, built: Any, options: Options) -> Flat:
    """The built model as arrays, by a file that lives for a moment."""
    import stormpy.io

    with tempfile.TemporaryDirectory(prefix="recurl-") as folder:
        file = Path(folder) / "model.umb"
        stormpy.io.export_to_umb(built, str(file))
        return flat_from(read_bytes(file), _title(path), options)


def _title(path: Path) -> str:
    """The name of a model from that of its file."""
    return re.sub(r"\s+", " ", path.stem) or "model"
