"""How kernels are compiled."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

import numba
from numba.core.dispatcher import Dispatcher

OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False}
BARE: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Compile a function that Python calls, without reference counting.

    Kernels read arrays at every step. Counting references there costs ten times the step itself,
    for nothing: the caller holds the arrays. In return, kernels must not allocate arrays nor return
    them.
    """
    made: Any = numba.njit(cache=True, **OPTIONS)(function)
    # numba alone would look at the file of the kernel, and run an old one where only a file that
    # it calls has changed.
    made._cache._cache_file._source_stamp = source_stamp(function)
    kernel: Function = made
    return kernel


def source_stamp(function: Callable[..., Any]) -> list[tuple[str, float, int]]:
    """Name, time and size of the files of a kernel and of all compiled functions that it may call.

    Example:
        >>> from recurl.learn.loop_kernel import learn_steps
        >>> [os.path.basename(name) for name, *_ in source_stamp(learn_steps.py_func)]
        ['loop_kernel.py', 'rule_kernel.py', 'store_kernel.py', 'random.py']
    """
    files: set[str] = set()
    waiting: list[Any] = [function]
    while waiting:
        each = waiting.pop()
        if each.__code__.co_filename not in files:
            files.add(each.__code__.co_filename)
            known = each.__globals__.values()
            waiting += [f.py_func for f in known if isinstance(f, Dispatcher)]
    found = ((name, os.stat(name)) for name in sorted(files))
    return [(name, stat.st_mtime, stat.st_size) for name, stat in found]


def inner(function: Function) -> Function:
    """Compile a function that only kernels call: they are cached with it, and Python needs none."""
    made: Function = numba.njit(**BARE, **OPTIONS)(function)
    return made


def inlined(function: Function) -> Function:
    """Paste a function into the kernels that call it.

    It may return arrays, and is not compiled on its own before it is compiled with its caller.
    """
    made: Function = numba.njit(inline="always", **OPTIONS)(function)
    return made
