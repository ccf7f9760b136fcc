"""How kernels are compiled."""

from __future__ import annotations

import importlib
import os
import pkgutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import recurl.learn
from recurl.simulation.jit import OPTIONS, compiled, inlined

KERNELS = [m.name for m in pkgutil.iter_modules(recurl.learn.__path__) if "kernel" in m.name]


@inlined
def _doubled(a: np.ndarray) -> np.ndarray:
    a *= 2.0
    return a


@compiled
def _last_of_doubled(a: np.ndarray) -> float:
    return float(_doubled(a)[-1])


@compiled
def _ratio(a: float, b: float) -> float:
    return a / b


def test_inlined_functions_may_hand_arrays_on() -> None:
    array = np.arange(4.0)
    assert _last_of_doubled(array) == 6.0
    assert array.tolist() == [0.0, 2.0, 4.0, 6.0]


def test_division_is_that_of_numpy() -> None:
    assert np.isinf(_ratio(1.0, 0.0))


def test_other_threads_may_run_meanwhile() -> None:
    assert OPTIONS["nogil"]


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_are_compiled_in_this_way(name: str) -> None:
    module = importlib.import_module(f"recurl.learn.{name}")
    own = [f for f in vars(module).values() if getattr(f, "__module__", "") == module.__name__]
    functions = [f for f in own if hasattr(f, "py_func")]
    assert functions
    assert all(f.targetoptions["nogil"] and not f.targetoptions["_nrt"] for f in functions)


def test_kernels_are_compiled_again_where_a_function_that_they_call_has_changed(
    tmp_path: Path,
) -> None:
    head = "from recurl.simulation.jit import compiled, inner\n"
    called = tmp_path / "called.py"
    (tmp_path / "outer.py").write_text(
        f"{head}from called import one\n@compiled\ndef outer():\n    return one()\nprint(outer())\n"
    )
    printed = []
    for number in (1, 1, 23):
        called.write_text(f"{head}@inner\ndef one():\n    return {number}\n")
        os.utime(called, (number, number))
        run = [sys.executable, "outer.py"]
        printed.append(subprocess.run(run, cwd=tmp_path, capture_output=True, text=True).stdout)
    assert printed == ["1\n", "1\n", "23\n"]
