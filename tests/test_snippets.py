"""Everything that the README and the docs show is run, and prints what they say it prints.

Per page, in order, in one folder and one namespace:

- a `python` block runs; with `>>>` prompts its output is compared as well;
- a `{code-cell}` of a tutorial runs;
- a `console` block holds lines `$ recurl ...` or `$ python ...`, each followed by the output it
  must print (`...` stands for anything; without any, the command only has to succeed);
- a block right after `<!-- not run: reason -->` is left alone.
"""

from __future__ import annotations

import doctest
import linecache
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from types import ModuleType

import pytest
from typer.testing import CliRunner

from recurl.cli.app import app

ROOT = Path(__file__).parents[1]
MADE = ROOT / "docs" / "gallery"  # pages below it are written by `make docs`
PAGES = [
    ROOT / "README.md",
    *(page for page in sorted((ROOT / "docs").rglob("*.md")) if MADE not in page.parent.parents),
]

FENCE = re.compile(r"^(?P<indent> *)(?P<ticks>```+)(?P<language>[\w-]*|\{[\w-]+\})(?= |$)")
NOT_RUN = re.compile(r"<!-- not run: \S.*-->\s*$")
RUNNABLE = re.compile(r"^\$ (recurl|python)\b")
SHELL = re.compile(r"[|<>;&$*`]")
SHELLS = {"bash", "sh", "shell"}
PLAIN = {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb", "PYTHONUTF8": "1"}
"""Output that does not depend on the terminal."""
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@dataclass(frozen=True)
class Block:
    """A fenced block: where its first line stands, its language and its text."""

    page: str
    line: int
    language: str
    text: str

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"


def blocks(page: Path) -> Iterator[Block]:
    """The blocks of a page that are not marked as not run."""
    lines = page.read_text(encoding="utf-8").splitlines()
    at, before = 0, ""
    while at < len(lines):
        if opening := FENCE.match(lines[at]):
            first = at + 1
            at = _closing(lines, first, opening["ticks"])
            if not NOT_RUN.search(before):
                shown = ["" if line.startswith(":tags:") else line for line in lines[first:at]]
                text = dedent("\n".join(shown) + "\n")
                yield Block(page.name, first + 1, opening["language"], text)
        before = lines[at] if lines[at].strip() else before
        at += 1


def _closing(lines: list[str], first: int, ticks: str) -> int:
    for at in range(first, len(lines)):
        if lines[at].strip() == ticks:
            return at
    raise AssertionError(f"the block that starts at line {first} is never closed")


def run_python(block: Block, module: ModuleType) -> None:
    """Runs the block at its own line numbers, its source at hand for `inspect`."""
    if block.text.lstrip().startswith(">>>"):
        run_session(block, module)
        return
    source = "\n" * (block.line - 1) + block.text
    name = f"<{block.place}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    exec(compile(source, name, "exec", dont_inherit=True), module.__dict__)


def run_session(block: Block, module: ModuleType) -> None:
    parser, report = doctest.DocTestParser(), list[str]()
    test = parser.get_doctest(block.text, module.__dict__, block.place, None, block.line - 1)
    # The parser gives the test a copy of the namespace; later blocks want what it defines.
    test.globs = module.__dict__
    doctest.DocTestRunner(verbose=False, optionflags=FLAGS).run(
        test, out=report.append, clear_globs=False
    )
    assert not report, "".join(report)


def run_console(block: Block) -> None:
    for command, expected in commands(block):
        here = command.startswith("recurl ") and not SHELL.search(command)
        code, printed = run_recurl(command) if here else run_shell(command)
        where = f"{block.place}: {command}\n"
        assert code == 0, f"{where}ended with {code}:\n{printed}"
        same = doctest.OutputChecker().check_output(expected, printed, FLAGS)
        assert same or not expected, f"{where}printed:\n{printed}\nnot:\n{expected}"


def run_recurl(command: str) -> tuple[int, str]:
    """Exit code and output of a command of ours, run in this process: starting one takes longer."""
    result = CliRunner().invoke(app, shlex.split(command)[1:], prog_name="recurl", env=PLAIN)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


def run_shell(command: str) -> tuple[int, str]:
    """Exit code and output of a command, this interpreter's commands being found first."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    done = subprocess.run(
        command,
        shell=True,
        env=os.environ | PLAIN | {"PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )
    return done.returncode, done.stdout


def commands(block: Block) -> Iterator[tuple[str, str]]:
    """Each command of a console block with the output shown below it."""
    text = block.text.replace("\\\n", "")
    for part in re.split(r"^(?=\$ )", text, flags=re.MULTILINE):
        if part.strip():
            assert RUNNABLE.match(part), (
                f"{block.place}: write '$ recurl ...' or '$ python ...', "
                f"or put '<!-- not run: reason -->' before the block"
            )
            command, _, expected = part.partition("\n")
            yield command[2:], expected.rstrip() + "\n" if expected.strip() else ""


def run_page(page: Path, module: ModuleType) -> None:
    for block in blocks(page):
        assert block.language not in SHELLS, f"{block.place}: use 'console' for {block.language!r}"
        if block.language in {"python", "pycon", "{code-cell}"}:
            run_python(block, module)
        elif block.language == "console":
            run_console(block)
        else:
            plain = re.search(r"^(\$ )?(recurl|python) ", block.text, re.MULTILINE)
            assert plain is None, f"{block.place}: use 'console' for {plain and plain[0]!r}"


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """An empty module that snippets fill, with a folder to work in that has only the examples."""
    made = ModuleType("snippets")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.setitem(sys.modules, made.__name__, made)
    monkeypatch.chdir(tmp_path)
    # A slow machine must not make a quick command say how far it is.
    monkeypatch.setattr("recurl.progress.SPACING", 3600.0)
    return made


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_page(page: Path, module: ModuleType) -> None:
    run_page(page, module)


def write_page(text: str) -> Path:
    page = Path("page.md")
    page.write_text(dedent(text), encoding="utf-8")
    return page


def test_blocks_share_one_namespace_and_one_folder(module: ModuleType) -> None:
    page = write_page(
        """
        ```python
        import inspect, pathlib
        def double(x):
            return 2 * x
        pathlib.Path("seen.txt").write_text(inspect.getsource(double))
        ```
        ```python
        >>> double(4)
        8
        >>> tripled = 12
        ```
        ```console
        $ python -c "print(open('seen.txt').read())"
        def double(x):
            ...
        $ python -c \\
            "print(tuple(range(100)))"
        (0, 1, ..., 99)
        ```
        """
    )
    run_page(page, module)
    assert module.__dict__["tripled"] == 12


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ("```python\nassert 1 == 2, 'unequal'\n```", "unequal"),
        ("```python\n>>> 1 + 1\n3\n```", r"Expected:\s+3\s+Got:\s+2"),
        ("```console\n$ python -c 'print(1)'\n2\n```", r"printed:\s+1\s+not:\s+2"),
        ("```console\n$ python -c 'raise SystemExit(3)'\n```", "ended with 3"),
        ("```console\n$ ls\n```", r"write '\$ recurl \.\.\.'"),
        ("```bash\nls\n```", "use 'console'"),
        ("```\nrecurl check cloud\n```", "use 'console'"),
        ("```python\n1\n", "never closed"),
    ],
)
def test_a_wrong_block_is_found(block: str, message: str, module: ModuleType) -> None:
    with pytest.raises(AssertionError, match=message):
        run_page(write_page(block), module)


def test_a_marked_block_is_not_run(module: ModuleType) -> None:
    run_page(write_page("<!-- not run: it fails -->\n\n```python\n1 / 0\n```\n"), module)
    with pytest.raises(ZeroDivisionError):
        run_page(write_page("<!-- not run: -->\n```python\n1 / 0\n```\n"), module)


def test_an_error_names_the_line_of_the_page(module: ModuleType) -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        run_page(write_page("text\n\n```python\nx = 1\nx / 0\n```\n"), module)
    assert caught.traceback[-1].lineno == 5 - 1
