"""Time spent compiling is known, and not counted as work."""

from __future__ import annotations

import builtins
import sys
import time
from types import ModuleType

import numba
import pytest

import recurl
from recurl import compilation
from recurl.compilation import Stopwatch, compiled_aside, is_compiling


def test_a_stopwatch_does_not_count_what_numba_compiles() -> None:
    watch, began = Stopwatch(), time.perf_counter()
    seen = []

    @numba.njit
    def double(x: float) -> float:
        return 2 * x

    compilation.listen()
    before = compilation._clock.seconds
    assert double(1.5) == 3.0
    seen.append(compilation._clock.seconds - before)
    whole = time.perf_counter() - began
    assert seen[0] > 0
    assert watch.seconds <= whole - seen[0] + 1e-3
    assert not is_compiling()


@pytest.mark.parametrize("loaded", ["numba", "numba.core.event"])
def test_a_half_loaded_numba_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, loaded: str
) -> None:
    # Another thread is importing it; an import here would wait for that thread, and it for us.
    def refuse(name: str, *rest: object) -> None:
        raise AssertionError(f"{name} is imported")

    for name in ("numba", "numba.core", "numba.core.event"):
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "numba", ModuleType("numba"))
    monkeypatch.setitem(sys.modules, loaded, ModuleType(loaded))
    monkeypatch.setattr(compilation, "_clock", compilation._Clock())
    monkeypatch.setattr(builtins, "__import__", refuse)
    compilation.listen()
    monkeypatch.undo()
    assert not is_compiling()


def test_compiling_is_seen_from_other_threads() -> None:
    assert compiled_aside(is_compiling)
    assert not is_compiling()


def test_a_solution_is_not_billed_for_compiling(monkeypatch: object) -> None:
    model = recurl.zoo.cloud(exits=1)
    seconds = []

    def tell(lower: float, upper: float, work: dict[str, float]) -> None:
        began = time.perf_counter()
        compiled_aside(lambda: time.sleep(0.05))
        seconds.append(time.perf_counter() - began)

    began = time.perf_counter()
    solution = recurl.solve(model, "value-iteration", callback=tell)
    assert seconds
    assert solution.seconds <= time.perf_counter() - began - sum(seconds) + 1e-2
