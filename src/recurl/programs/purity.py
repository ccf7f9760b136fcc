"""Helpers of programs must be pure: signs that one is not.

What a helper gives becomes part of the model. Where it could differ from call to call, the model
would be another one in every run. So the code of helpers is searched for random generators, clocks
and outer state; for what cannot be found there, `Code` watches the generators that all share and
calls helpers again.
"""

from __future__ import annotations

import ast
import functools
import inspect
import random
import sysconfig
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from recurl.programs.language import WORDS
from recurl.programs.syntax import MISSING, Source, read_helper

IMPURE_MODULES = {"random", "secrets", "time", "_random", "numpy.random"}
IMPURE_BUILTINS = {"input", "open", "print", "exec", "eval"}
IMPURE_FUNCTIONS = {
    ("datetime", "now"), ("datetime", "today"), ("datetime", "utcnow"), ("nt", "urandom"),
    ("posix", "getrandom"), ("posix", "urandom"), ("uuid", "uuid1"), ("uuid", "uuid4"),
}  # fmt: skip
"""Functions of other modules that depend on what is outside."""
STABLE = (open, print, exec, eval)
"""Builtins that a helper may use: it gives the same again, or is seen to give something else."""
PURE_MODULES = {"builtins", "decimal", "fractions", "math", "operator"}
"""Modules whose other classes and builtin functions are pure."""
SEEDED = ("Random", "RandomState", "SeedSequence", "default_rng")
"""Makers of random generators: from a seed, always the same."""
FIX = "draw with flip or pick, count with reward; or run the program live, with .live()"
"""The advice about a helper that is not pure."""

_LIBRARIES = tuple(sysconfig.get_paths()[key] for key in ("stdlib", "purelib", "platlib"))


def comes_from_outside(function: Any) -> bool:
    """Whether what a function gives or does depends on, or changes, what is outside."""
    module = getattr(function, "__module__", None) or ""
    name = getattr(function, "__name__", "")
    owner = getattr(function, "__self__", None)
    if isinstance(owner, type):
        module = owner.__module__
    if module in IMPURE_MODULES or (module, name) in IMPURE_FUNCTIONS or is_random(owner):
        return True
    return module in ("builtins", "io", "_io") and name in IMPURE_BUILTINS


def is_random(value: object) -> bool:
    """Whether something is a random generator."""
    module = type(value).__module__
    return module == "random" or module.startswith("numpy.random")


def generator_states() -> tuple[Any, ...]:
    """The states of the random generators that all share."""
    shared: Any = np.random.get_state()  # noqa: NPY002 (that of code which is not ours)
    return random.getstate(), shared[1].tobytes(), *shared[2:]


def may_be_impure(thing: Any) -> bool:
    """Whether a call of something may run code that is not known to be pure."""
    known = inspect.isbuiltin(thing) or isinstance(thing, type)
    return callable(thing) and not (known and thing.__module__ in PURE_MODULES)


def impurity(helper: Any) -> tuple[str, str]:
    """Where the code of a helper, or of a helper of it, is not pure, and the fix; else two blanks.

    Example:
        >>> impurity(len)
        ('', '')
    """
    seen: set[FunctionType] = set()
    todo = [helper]
    while todo:
        function = _function_of(todo.pop())
        source = None if function is None or function in seen else read_helper(function)
        if function is None or source is None:
            continue
        seen.add(function)
        for node, thing in _used(source):
            where = f"line {node.lineno} of {source.name}: {source.text(node)}"
            if _is_event(thing):
                return where, f"decorate {source.name} with @program: then it is part of the model"
            if any(thing is one for one in STABLE):
                continue
            if thing is MISSING or is_random(thing) or comes_from_outside(thing):
                return where, FIX
            todo.append(thing)
    return "", ""


def _is_event(thing: Any) -> bool:
    from recurl.programs.decorator import Program

    return isinstance(thing, Program) or (inspect.isfunction(thing) and thing in WORDS)


def _function_of(thing: Any) -> FunctionType | None:
    """The function that a call of something runs, if it is one of the user's own."""
    while isinstance(thing, functools.partial):
        thing = thing.func
    if isinstance(thing, type):
        thing = vars(thing).get("__init__")
    elif callable(thing) and not hasattr(thing, "__code__") and not hasattr(thing, "__wrapped__"):
        thing = vars(type(thing)).get("__call__")
    plain = inspect.unwrap(getattr(thing, "__func__", thing)) if callable(thing) else None
    if not isinstance(plain, FunctionType) or str(plain.__module__).startswith("recurl."):
        return None
    file = plain.__code__.co_filename
    return None if file.startswith((*_LIBRARIES, "<frozen")) else plain


def _used(source: Source) -> Iterator[tuple[ast.stmt | ast.expr, Any]]:
    """The objects that a helper mentions; `MISSING` where it changes what is outside."""
    seeded = {
        node.func
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Call) and (node.args or node.keywords)
        if getattr(source.resolve(node.func), "__name__", "") in SEEDED
    }
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Global | ast.Nonlocal):
            if isinstance(node, ast.Global) or not source.closure.keys().isdisjoint(node.names):
                yield node, MISSING
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names = {alias.name for alias in node.names} | {getattr(node, "module", "")}
            if names & IMPURE_MODULES:
                yield node, MISSING
        elif isinstance(node, ast.Name | ast.Attribute) and node not in seeded:
            thing = source.resolve(node)
            if thing is not MISSING and not isinstance(thing, ModuleType):
                yield node, thing
