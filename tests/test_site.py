"""The site builds without warnings, its pages link to each other, and it documents every name."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

import recurl

ROOT = Path(__file__).parents[1]
MODULES = ["automaton", "callbacks", "errors", "grammar", "loggers", "schedules", "suite", "zoo"]

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("sphinx") is None, reason="needs the extra 'docs'"
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site in its light form: no page is executed, no model is solved."""
    folder = tmp_path_factory.mktemp("site")
    options = ["-W", "--keep-going", "-q", "-D", "nb_execution_mode=off", "-D", "site_light=1"]
    command = [sys.executable, "-m", "sphinx", *options, "-d", folder / "trees"]
    done = subprocess.run(
        [*command, ROOT / "docs", folder / "html"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "html"


def documented(site: Path) -> set[str]:
    from sphinx.util.inventory import InventoryFile

    found = InventoryFile.loads((site / "objects.inv").read_bytes(), uri="")
    return {name for kind, names in found.data.items() if kind[:3] == "py:" for name in names}


def test_every_public_name_is_documented(site: Path) -> None:
    names = {f"recurl.{name}" for name in recurl.__all__} - {"recurl.__version__"}
    for module in MODULES:
        public = getattr(getattr(recurl, module), "__all__", ())
        names |= {f"recurl.{module}.{name}" for name in public}
    assert names - documented(site) == set()


def test_every_tutorial_can_be_downloaded(site: Path) -> None:
    tutorials = {page.stem for page in (ROOT / "docs" / "tutorials").glob("*.md")} - {"index"}
    assert {file.stem for file in (site / "_downloads").rglob("*.ipynb")} == tutorials


def test_the_gallery_shows_every_model(site: Path) -> None:
    shown = {page.stem for page in (site / "gallery" / "models").glob("*.html")}
    assert shown == set(recurl.zoo.names())
