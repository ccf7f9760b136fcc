"""Builds the wheel and the sdist, and tries each in an empty environment, away from the source.

A script such as a user writes is checked there by mypy and run: mypy sees the types of the package
only if they are in the archive.

python scripts/smoke_wheel.py
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]

# Runs in the empty environment: the package must come from the archive.
TRY = """
import importlib.resources, sys, recurl
assert recurl.__file__.startswith(sys.prefix), recurl.__file__
assert importlib.resources.files(recurl).joinpath("py.typed").is_file()
model = recurl.zoo.cloud()
assert recurl.loads(recurl.dumps(model)) == model
print(recurl.__version__)
"""
USER = """\
import recurl
from recurl import RMDP, Builder, Policy, Solution


def server(failure: float) -> RMDP:
    builder = Builder("server").component("S", entries="start", exits="done").box("retry", "S")
    builder.at("start").action("fast", reward=-1).to("retry", failure).to("done", 1 - failure)
    builder.action("safe", reward=-2).to("done")
    return builder.at("retry.done").action("return").to("done").build()


model: RMDP = server(0.25)
solution: Solution = recurl.solve(model)
policy: Policy | None = solution.policy
assert policy is not None
value: float = recurl.evaluate(policy).value
action: str = policy.action_name("S.start")
mean: float = recurl.simulate(model, policy, episodes=100, seed=1).mean
learner = recurl.RecursiveQLearning(model, seed=1).learn(1_000)
learned: float = recurl.evaluate(learner.policy()).value
proved: float | None = recurl.verify(model, solution.certificate).lower
assert proved is not None and proved <= -4 / 3 <= solution.upper
"""
"""A script of a user, with types."""
WRONG = USER + "number: int = recurl.solve(model)\n"
"""The same with a mistake that mypy finds only if it sees the types of the package."""


def run(*command: str | Path, cwd: Path) -> str:
    """The output of a command that must succeed."""
    done = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))} failed:\n{done.stdout}")
    return done.stdout.strip()


def build(folder: Path) -> list[Path]:
    """The wheel and the sdist."""
    run(sys.executable, "-m", "build", "--sdist", "--wheel", "--outdir", folder, ROOT, cwd=folder)
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return [wheel, sdist]


def smoke(archive: Path, folder: Path) -> str:
    """The version that the installed package and its command agree on."""
    venv.create(folder / "env", with_pip=True)
    binaries = folder / "env" / "bin"
    python, constraints = binaries / "python", ROOT / "constraints.txt"
    run(python, "-m", "pip", "install", "-q", "-c", constraints, archive, cwd=folder)
    version = run(python, "-I", "-c", TRY, cwd=folder)
    for command in ([binaries / "recurl"], [python, "-m", "recurl"]):
        stated = run(*command, "--version", cwd=folder)
        if version not in stated.split():
            raise SystemExit(f"{command} prints {stated!r}, the package says {version!r}")
    run(binaries / "recurl", "check", "cloud", cwd=folder)
    check_types(python, folder)
    return version


def check_types(python: Path, folder: Path) -> None:
    """Check and run the script of a user; a wrong one must be refused."""
    mypy = [sys.executable, "-m", "mypy", "--strict", "--python-executable", str(python)]
    (folder / "user.py").write_text(USER, encoding="utf-8")
    (folder / "wrong.py").write_text(WRONG, encoding="utf-8")
    run(*mypy, "user.py", cwd=folder)
    run(python, "-I", "user.py", cwd=folder)
    found = subprocess.run([*mypy, "wrong.py"], cwd=folder, capture_output=True, text=True)
    if 'has type "Solution"' not in found.stdout:
        raise SystemExit(f"mypy does not see the types of the package:\n{found.stdout}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        for archive in build(Path(name)):
            place = Path(name) / archive.suffix.lstrip(".")
            place.mkdir()
            print(
                f"{archive.name}: version {smoke(archive, place)} installs, imports, runs, is typed"
            )
