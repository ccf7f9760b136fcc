"""How kernels are compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba

OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy", "_nrt": False}
Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Compile a function that Python calls, without reference counting.

    Kernels read arrays out of named tuples at every step. Counting references there costs ten times
    the step itself, for nothing: the caller holds the tuples. In return, kernels must not allocate
    arrays nor return them.
    """
    made: Function = numba.njit(**OPTIONS)(function)
    return made


def inner(function: Function) -> Function:
    """Compile a function that only kernels call: without the code that Python would need."""
    bare: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    made: Function = numba.njit(**OPTIONS, **bare)(function)
    return made


def inlined(function: Function) -> Function:
    """Paste a function into the kernels that call it, so that it may return arrays."""
    made: Function = numba.njit(inline="always", **OPTIONS)(function)
    return made
