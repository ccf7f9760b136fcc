"""Wrong calls are found by a type checker."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import recurl
from recurl.programs.decorator import SolveOptions

WRONG = """\
import recurl

@recurl.program
def f(n: int) -> None:
    recurl.reward(n)

f.solve(3, epsilonn=3)
f.solve(3, epsilon="small")
recurl.zoo.cloud(exit=1)
recurl.zoo.gambler(p=[])
recurl.zoo.clowd()

@recurl.program
def g(n: int) -> bool:
    f("three")
    f(m=3)
    return g(n - 1, True)

f.solve(3, epsilon=1e-3, objective="min")
recurl.zoo.cloud(exits=1)
"""


def test_wrong_calls_are_found_by_a_type_checker(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    file = tmp_path / "wrong.py"
    file.write_text(WRONG)
    cache = Path(__file__).parents[2] / ".mypy_cache"  # warm where the code was checked before
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "wrong.py"]
    command += ["--cache-dir", str(cache)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    found = {int(line.split(":")[1]) for line in done.stdout.splitlines() if ": error:" in line}
    assert found == {7, 8, 9, 10, 11, 15, 16, 17}, done.stdout


def test_options_of_programs_are_those_of_solve() -> None:
    known = {*inspect.signature(recurl.solve).parameters} - {"model"}
    other_starts = {"start", "stack", "exit_values"}  # a run of a program starts at its call
    assert {*SolveOptions.__annotations__} == known - other_starts
