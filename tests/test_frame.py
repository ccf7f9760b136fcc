"""The package as a whole: its surface, what loads with it, and the order of its rooms."""

from __future__ import annotations

import ast
import importlib
import importlib.metadata
import importlib.resources
import re
import subprocess
import sys
from pathlib import Path

import pytest

import check_imports
import recurl

ROOT = Path(__file__).parents[1]
HEAVY = ["jax", "matplotlib", "numba", "rich", "scipy", "typer", "yaml"]


def in_order(name: str) -> tuple[bool, bool, str]:
    """The linter's order: ACRONYMS, then Classes, then the rest, each by the alphabet."""
    return not name.isupper(), not name[0].isupper(), name


def test_public_names_are_sorted_and_real() -> None:
    assert recurl.__all__ == sorted(recurl.__all__, key=in_order)
    assert len(set(recurl.__all__)) == len(recurl.__all__)
    assert [name for name in recurl.__all__ if not hasattr(recurl, name)] == []
    assert set(recurl.__all__) <= set(dir(recurl))


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = recurl.no_such_name


@pytest.mark.parametrize("name", sorted(recurl._MODULES))
def test_modules_among_the_names_can_be_imported_from(name: str) -> None:
    code = f"import importlib; print(importlib.import_module('recurl.{name}').__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == f"recurl.{name}\n"
    assert importlib.import_module(f"recurl.{name}") is getattr(recurl, name)


def test_short_names_give_the_same_things() -> None:
    from recurl.callbacks import KeepBest
    from recurl.loggers import CSVLogger
    from recurl.schedules import linear

    assert KeepBest.__module__ == "recurl.learn.callbacks"
    assert (CSVLogger, linear) == (recurl.loggers.CSVLogger, recurl.schedules.linear)
    assert recurl.RecurlError is recurl.errors.RecurlError


def test_import_loads_nothing_heavy() -> None:
    code = f"import sys, recurl; print([name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_version_is_stated_once() -> None:
    assert recurl.__version__ == importlib.metadata.version("recurl")
    cited = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {recurl.__version__}\n" in cited
    log = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"^## \[(\d.*?)\]", log, re.MULTILINE)[0] == recurl.__version__


def test_type_checkers_see_every_public_name_where_it_is_defined() -> None:
    tree = ast.parse(Path(recurl.__file__).read_text(encoding="utf-8"))
    branches = [node for node in tree.body if isinstance(node, ast.If)]
    (branch,) = (node for node in branches if ast.unparse(node.test) == "TYPE_CHECKING")
    seen = {
        alias.name: f"{node.module}.{alias.name}" if alias.name in recurl._MODULES else node.module
        for node in branch.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert seen == recurl._HOMES


def test_package_says_that_it_is_typed() -> None:
    assert importlib.resources.files(recurl).joinpath("py.typed").is_file()


def test_imports_of_the_package_go_one_way() -> None:
    assert check_imports.check(Path(recurl.__file__).parent) == []


@pytest.mark.parametrize(
    ("file", "source", "problem"),
    [
        ("model/a.py", "import recurl.solving", "1: model must not import solving"),
        ("model/a.py", "from recurl.policy import Policy", "1: model must not import policy"),
        ("model/a.py", "from recurl import zoo", "1: model must not import zoo"),
        ("model/a.py", "from ..env import wrappers", "1: model must not import env"),
        ("model/a.py", "from .. import cli", "1: model must not import cli"),
        (
            "model/a.py",
            "def f():\n    from recurl.learn import x",
            "2: model must not import learn",
        ),
        ("zoo/a.py", "m = importlib.import_module('recurl.cli')", "1: zoo must not import cli"),
        ("solving/deep/a.py", "from ...learn import x", "1: solving must not import learn"),
        ("programs/a.py", "import recurl.grammar", "1: programs must not import grammar"),
        (
            "verification.py",
            "from recurl.simulation import x",
            "1: verification may import errors, model",
        ),
        ("policy.py", "from recurl import RMDP", "1: imports 'RMDP' through the front door"),
        ("attic/a.py", "", " 'attic' has no place in the order"),
    ],
)
def test_a_planted_import_is_found(file: str, source: str, problem: str, tmp_path: Path) -> None:
    path = tmp_path / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(source, encoding="utf-8")
    (found,) = check_imports.check(tmp_path)
    assert found.startswith(f"{path}:{problem}")


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("__init__.py", "from recurl.cli import main"),
        ("verification.py", "from recurl.model import rmdp\nfrom recurl.errors import RecurlError"),
        ("model/a.py", "from . import b\nfrom .b import c\nfrom recurl.model.b import d"),
        ("cli/a.py", "import recurl.zoo, recurl.solving\nfrom recurl.version import __version__"),
        ("errors.py", "import numpy\nfrom collections import abc\nimport recurlish"),
    ],
)
def test_a_lawful_import_passes(file: str, source: str, tmp_path: Path) -> None:
    path = tmp_path / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(source, encoding="utf-8")
    assert check_imports.check(tmp_path) == []
