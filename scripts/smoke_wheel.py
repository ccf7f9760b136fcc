"""Builds the wheel and tries it in an empty environment, away from the source.

python scripts/smoke_wheel.py
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]

# Runs in the empty environment: what a user gets, typed, and from the wheel.
TRY = """
import importlib.resources, sys, recurl
assert recurl.__file__.startswith(sys.prefix), recurl.__file__
assert importlib.resources.files(recurl).joinpath("py.typed").is_file()
model = recurl.zoo.cloud()
assert recurl.loads(recurl.dumps(model)) == model
print(recurl.__version__)
"""


def run(*command: str | Path, cwd: Path) -> str:
    """The output of a command that must succeed."""
    done = subprocess.run(command, cwd=cwd, check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout.strip()


def build(folder: Path) -> Path:
    run(sys.executable, "-m", "build", "--wheel", "--outdir", folder, ROOT, cwd=folder)
    (wheel,) = folder.glob("*.whl")
    return wheel


def smoke(folder: Path) -> str:
    """The version that the installed wheel and its command agree on."""
    wheel = build(folder)
    environment = folder / "env"
    venv.create(environment, with_pip=True)
    binaries = environment / "bin"
    constraints = ROOT / "constraints.txt"
    python = binaries / "python"
    run(python, "-m", "pip", "install", "-q", "-c", constraints, wheel, cwd=folder)
    version = run(python, "-I", "-c", TRY, cwd=folder)
    stated = run(binaries / "recurl", "--version", cwd=folder)
    if version not in stated.split():
        raise SystemExit(f"recurl --version prints {stated!r}, the package says {version!r}")
    run(binaries / "recurl", "check", "cloud", cwd=folder)
    return version


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        print(f"wheel of recurl {smoke(Path(name))}: installs, imports and runs")
