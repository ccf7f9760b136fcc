"""FILE.py:FUNCTION: programs on the command line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import Run, RunJson

STAIRS = '''
"""Steps of one or two."""

import enum

import rules_of_stairs
from recurl import choose, flip, program, reward


class Foot(enum.Enum):
    LEFT = 1


def plain(n):
    return n


# Climb n steps.
@program
def climb(n, most=rules_of_stairs.MOST):
    """Up."""
    while n > 0:  # steps that are left
        reward(-1)
        n -= choose(range(1, most + 1))
    return Foot.LEFT


@program
def named(*, n):
    reward(n)


@program
def endless():
    while True:
        pass


if __name__ == "__main__":
    raise SystemExit("not as a script")
'''


@pytest.fixture(autouse=True)
def stairs(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files in the folder where commands are run; what imports leave behind goes."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in ("stairs", "stairs_program", "rules_of_stairs", "broken", "wrong", "empty"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    Path("stairs.py").write_text(STAIRS)
    Path("rules_of_stairs.py").write_text("MOST = 2\n")
    Path("broken.py").write_text("x = 1\nimport no_such_module_of_stairs\n")
    Path("wrong.py").write_text("x = 1\ny = (\n")
    Path("empty.py").write_text("")


def test_the_completed_program_is_written_and_runs(run: Run, run_json: RunJson) -> None:
    data = run_json("solve", "stairs.py:climb", "--arg", "4", "--source", "best.py")
    assert data["lower"] == data["upper"] == -2
    text = Path("best.py").read_text()
    assert ".\nimport enum\nimport rules_of_stairs\n" in text
    assert '# Climb n steps.\ndef climb(n, most=rules_of_stairs.MOST):\n    """Up."""\n' in text
    assert "    while n > 0:  # steps that are left\n        reward(-1)\n        n -= 2\n" in text
    code = "import best; print(best.climb(4), best.total)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "Foot.LEFT -2.0\n"


def test_arguments_in_order_and_by_name(run_json: RunJson) -> None:
    for arguments in (["--arg", "5", "--arg", "3"], ["n=5", "most=3"], ["most=3", "--arg", "5"]):
        assert run_json("solve", "stairs.py:climb", *arguments)["lower"] == -2


@pytest.mark.parametrize("verb", ["check", "describe", "analyse", "simulate"])
def test_other_verbs_take_programs_too(verb: str, run: Run) -> None:
    assert "climb" in run(verb, "stairs.py:climb", "n=3").stdout


def test_learning_takes_programs_too(run: Run) -> None:
    assert run("learn", "stairs.py:climb", "n=3", "--steps", "1000").stdout


def test_boolean_programs_are_completed_too(run: Run) -> None:
    Path("coin.bp").write_text("var x; void main() { x = *; assert(x == flip(0.6)); }")
    found = run("solve", "coin.bp", "--source", "coin.py").stdout
    assert "least probability that an assertion is violated  0.4" in found
    assert "x = True" in Path("coin.py").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing.py:f"], "nothing.py: file not found"),
        (["stairs.py"], "stairs.py: name one of its programs, as in stairs.py:climb"),
        (["stairs.py:clim"], "Unknown program of stairs.py 'clim'. Did you mean 'climb'?"),
        (["stairs.py:plain"], "plain in stairs.py is not a program: decorate it"),
        (["empty.py:f"], "empty.py has no program: decorate a function"),
        (["stairs.py:climb"], "climb(n, most): missing a required argument: 'n'; give each"),
        (["stairs.py:climb", *["--arg", "1"] * 3], "climb(n, most): too many positional arguments"),
        (["stairs.py:climb", "m=1", "n=1"], "climb(n, most): got an unexpected keyword"),
        (["stairs.py:climb", "--arg", "many"], "--arg many: 'many' is not a Python literal"),
        (["stairs.py:climb", "n=1+"], "n=1+: '1+' is not a Python literal"),
        (["stairs.py:climb", "3"], "3: an argument of climb that is not KEY=VALUE"),
        (["stairs.py:climb", "n=3", "n=4"], "n=4: an argument of climb that is given twice"),
        (["stairs.py:named", "n=3"], "named(n): n cannot be given by position"),
        (["cloud", "--arg", "3"], "--arg and --source are for programs, FILE.py:FUNCTION, not for"),
        (["cloud", "--source", "x.py"], "--arg and --source are for programs"),
        (["stairs.py:climb", "n=1", "--source", "no/x.py"], "the folder no does not exist"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(arguments: list[str], message: str, run: Run) -> None:
    assert message in run("solve", *arguments, code=2).stderr


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("broken.py:f", "broken.py cannot be imported: line 2: ModuleNotFoundError: No module"),
        ("wrong.py:f", "wrong.py cannot be imported: line 2: SyntaxError: '(' was never closed"),
        ("stairs.py:endless", "line 35: the loop takes more than 250000 steps without a choice"),
    ],
)
def test_files_that_fail_say_where(name: str, message: str, run: Run) -> None:
    assert message in run("check", name, code=1).stderr
    assert message in run("solve", name, code=1).stderr


def test_help_says_that_the_file_is_imported(run: Run) -> None:
    words = " ".join(run("solve", "--help").stdout.split())
    assert "FILE.py:FUNCTION for a program, whose file is imported: its code runs." in words
