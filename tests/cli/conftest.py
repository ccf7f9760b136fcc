"""Running the command line in this process."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any, Protocol

import pytest
from typer.testing import CliRunner, Result

from recurl.cli.app import app


class Run(Protocol):
    def __call__(self, *arguments: str, code: int = 0) -> Result: ...


class RunJson(Protocol):
    def __call__(self, *arguments: str, code: int = 0) -> Any: ...


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command in an empty folder, and look at its exit code."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("NO_COLOR", "1")
    # A slow machine must not make a quick command say how far it is.
    monkeypatch.setattr("recurl.progress.SPACING", 3600.0)

    def command(*arguments: str, code: int = 0) -> Result:
        result = CliRunner().invoke(app, list(arguments), prog_name="recurl")
        assert result.exit_code == code, result.output
        if isinstance(result.exception, Exception):
            raise result.exception
        return result

    return command


@pytest.fixture
def run_json(run: Run) -> RunJson:
    """Run a command with --json: stdout is JSON and nothing else, stderr is empty."""

    def command(*arguments: str, code: int = 0) -> Any:
        result = run(*arguments, "--json", code=code)
        assert result.stderr == ""
        return json.loads(result.stdout, parse_constant=_refuse)

    return command


@pytest.fixture(scope="session")
def quick_look(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the experiment with cloud was reproduced with `--quick`."""
    folder = tmp_path_factory.mktemp("quick")
    with contextlib.chdir(folder):
        words = ["reproduce", "cloud", "--quick", "--seeds", "1"]
        result = CliRunner().invoke(app, words, prog_name="recurl")
    assert result.exit_code == 0, result.output
    return folder


def _refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is not JSON")
