"""How kernels are compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba

OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False}
BARE: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Compile a function that Python calls, without reference counting.

    Kernels read arrays at every step. Counting references there costs ten times the step itself,
    for nothing: the caller holds the arrays. In return, kernels must not allocate arrays nor return
    them.
    """
    made: Function = numba.njit(cache=True, **OPTIONS)(function)
    return made


def inner(function: Function) -> Function:
    """Compile a function that only kernels call: they are cached with it, and Python needs none."""
    made: Function = numba.njit(**BARE, **OPTIONS)(function)
    return made


def inlined(function: Function) -> Function:
    """Paste a function into the kernels that call it, so that it may return arrays."""
    made: Function = numba.njit(inline="always", **OPTIONS)(function)
    return made
