"""The command as a whole: help, version, errors and exit codes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from recurl.cli import app as application
from recurl.cli.app import VERBS
from recurl.errors import LimitError
from recurl.version import __version__

from .conftest import Run

COMMAND = [sys.executable, "-W", "error", "-m", "recurl"]


def test_help_lists_every_verb_with_a_whole_sentence(run: Run) -> None:
    text = run("--help").stdout
    listed = text.partition("Commands:")[2].partition("Examples:")[0].split("\n")
    lines = {line.split()[0]: line for line in listed if line.strip()}
    assert list(lines) == list(VERBS)
    assert all(line.endswith(".") and not line.endswith("...") for line in lines.values())


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_examples_and_json(verb: str, run: Run) -> None:
    text = run(verb, "--help").stdout
    assert f"Usage: recurl {verb}" in text
    assert f"Examples:\n    recurl {verb}" in text or "Examples:\n    recurl solve" in text
    assert "--json" in text


def test_version(run: Run) -> None:
    assert run("--version").stdout == f"recurl {__version__}\n"


def test_no_arguments_show_the_help(run: Run) -> None:
    result = run(code=2)
    assert "Usage: recurl" in result.output


def test_an_unknown_verb_is_answered_with_a_close_one(run: Run) -> None:
    assert "Did you mean 'simulate'?" in run("simulat", "cloud", code=2).stderr


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (LimitError("too large"), 1, "Error: too large\n"),
        (PermissionError(13, "Permission denied", "x"), 1, "Permission denied: 'x'\n"),
        (MemoryError("Unable to allocate 3 PiB"), 1, "Error: Unable to allocate 3 PiB\n"),
        (KeyboardInterrupt(), 130, "Stopped.\n"),
    ],
)
def test_an_error_is_one_message(
    error: BaseException,
    code: int,
    message: str,
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr("recurl.zoo.names", fail)
    result = run("zoo", code=code)
    assert result.stdout == ""
    assert result.stderr.endswith(message)
    assert "Traceback" not in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_a_bug_keeps_its_traceback(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recurl.zoo.names", lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        run("zoo", code=1)


def test_a_module_can_be_run_and_says_its_name() -> None:
    done = subprocess.run([*COMMAND, "check", "cloud"], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[0].split() == ["cloud", "valid"]
    assert done.stderr == ""


def test_output_that_nobody_reads_ends_quietly() -> None:
    read, write = os.pipe()
    os.close(read)
    command = [*COMMAND, "describe", "palindrome", "--all"]
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (141, "")


def test_an_interrupt_ends_with_one_line_in_a_pipe_too() -> None:
    # A shell makes its background jobs deaf to interrupts, and these tests may be one of them:
    # a signal that is ignored stays so in children, one that is handled does not.
    ours = signal.signal(signal.SIGINT, signal.default_int_handler)
    soon = "import sys; sys.argv[0] = 'recurl'; from recurl import cli, progress; "
    soon += "progress.SPACING = 1.0; cli.main()"
    process = subprocess.Popen(
        [*COMMAND[:3], "-c", soon, "simulate", "gambler", "p=0.499", "--episodes", "1e9"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    signal.signal(signal.SIGINT, ours)
    assert process.stderr is not None
    told = iter(process.stderr.readline, "")  # every second it says how far it is
    assert any(line.startswith("simulating gambler: ") for line in told)
    process.send_signal(signal.SIGINT)
    out, error = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert error.splitlines()[-1].startswith("Stopped while ")
    assert "Traceback" not in error


def test_an_ascii_terminal_gets_other_characters() -> None:
    done = subprocess.run(
        [*COMMAND, "describe", "cloud"],
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=True,
    )
    assert done.stdout.isascii()
    assert b"reliable" in done.stdout


def test_colour_is_for_terminals_only() -> None:
    command = [*COMMAND, "check", "cloud"]
    plain = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    done = subprocess.run(command, env=plain, capture_output=True, text=True, check=True)
    assert "\x1b" not in done.stdout


def test_verbs_load_no_heavy_package_before_they_run() -> None:
    script = (
        "import sys, recurl.cli.app\n"
        "heavy = {'rich', 'numba', 'scipy', 'yaml', 'jax', 'matplotlib', 'msgspec'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("verb", "without"),
    [
        ("check", {"gymnasium", "scipy", "recurl.cli.solve"}),
        ("describe", {"gymnasium", "scipy", "recurl.cli.solve"}),
        ("solve", {"gymnasium", "recurl.cli.describe", "recurl.solving.hierarchical"}),
    ],
)
def test_a_verb_of_the_command_imports_what_it_needs(verb: str, without: set[str]) -> None:
    script = (
        f"import sys; sys.argv = ['recurl', {verb!r}, 'cloud']\n"
        "from recurl.cli import main\n"
        "try: main()\n"
        f"finally: print(sorted({without} & set(sys.modules)), file=sys.stderr)"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


def test_programs_of_the_command_find_environments_by_id(tmp_path: Path) -> None:
    (tmp_path / "prog.py").write_text(
        "import gymnasium, recurl\n"
        "NAME = gymnasium.make('recurl/Cloud-v0').unwrapped.model.name\n"
        "@recurl.program\n"
        "def walk():\n"
        "    recurl.reward(len(NAME))\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "recurl", "solve", "prog.py:walk", "--json"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout)["lower"] == 5.0


def test_every_file_of_a_verb_is_listed() -> None:
    folder = Path(application.__file__).parent
    verbs = {path.stem for path in folder.glob("*.py") if "\nEXAMPLES = " in path.read_text()}
    assert verbs == set(VERBS)


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("recurl sim", ["simulate"]),
        ("recurl solve clo", ["cloud"]),
        ("recurl learn ./mo", ["./model.yaml", "./models/"]),
        ("recurl solve cloud --obj", ["--objective"]),
    ],
)
def test_a_shell_completes_verbs_options_models_and_files(
    typed: str, offered: list[str], tmp_path: Path
) -> None:
    (tmp_path / "model.yaml").touch()
    (tmp_path / "models").mkdir()
    asked = {
        "_RECURL_COMPLETE": "complete_bash",
        "COMP_WORDS": typed,
        "COMP_CWORD": str(len(typed.split()) - 1),
    }
    done = subprocess.run(
        [sys.executable, "-c", "from recurl.cli import main; main()"],
        cwd=tmp_path, env=os.environ | asked, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout.split() == offered
    assert done.stderr == ""


def test_completion_can_be_installed(run: Run) -> None:
    text = run("--help").stdout
    assert "--install-completion" in text
    assert "--show-completion" in text
