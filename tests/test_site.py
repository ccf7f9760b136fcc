"""The site builds without warnings, its pages link to each other, and it documents every name."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from tests.experiment.browser import MISSING, chromium

import recurl
from recurl.cli.app import app
from recurl.learn.deep.settings import DeepSettings
from recurl.learn.settings import Settings

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
HOSTS = {
    "arxiv.org", "docs.cleanrl.dev", "docs.openclaw.ai", "docs.rs", "app.unpkg.com",
    "filesystem-spec.readthedocs.io", "github.com", "gymnasium.farama.org", "istio.io",
    "julia.quantecon.org", "juliapomdp.github.io", "json-schema.org", "keepachangelog.com",
    "linkerd.io", "pycrm.xyz", "reference.langchain.com", "semver.org",
    "stable-baselines3.readthedocs.io", "www.envoyproxy.io", "www.prismmodelchecker.org",
    "www.stormchecker.org",
}  # fmt: skip
"""Other hosts that pages link to, each looked at when it was added."""
MADE = {DOCS / "reference" / "settings.md", DOCS / "reference" / "verbs.md"}
"""Pages that are written by the build."""
LINK = re.compile(r"\]\(([^)\s]+)\)")
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


def gallery_pages(site: Path, part: str) -> dict[str, str]:
    pages = (site / "gallery" / part).glob("*.html")
    return {page.stem: page.read_text(encoding="utf-8") for page in pages}


def test_the_gallery_shows_every_model(site: Path) -> None:
    assert set(gallery_pages(site, "models")) == set(recurl.zoo.names())


def test_the_index_of_the_gallery_shows_a_picture_of_each_page(site: Path) -> None:
    index = (site / "gallery" / "index.html").read_text(encoding="utf-8")
    cards = re.findall(
        r'<img[^>]*class="sd-card-img-top"[^>]*>.*?href="(.*?)\.html', index, re.DOTALL
    )
    pages = [
        f"{part}/{name}" for part in ("models", "examples") for name in gallery_pages(site, part)
    ]
    assert sorted(cards) == sorted(pages)


def test_the_gallery_shows_every_example(site: Path) -> None:
    parts = {"answer_table.py", "call_graphs.py", "common.py", "flaky_server.py", "stub_model.py"}
    parts |= {"answers.csv", "towers_problem.hddl"}
    if importlib.util.find_spec("unified_planning") is None:
        parts |= {"towers.hddl"}
    files = {file.name for file in (ROOT / "examples").iterdir() if file.is_file()} - parts
    pages = gallery_pages(site, "examples")
    titles = {re.findall(r"<h1>(.*?)<a ", page)[0] for page in pages.values()}
    assert titles == files


@pytest.mark.parametrize("part", ["models", "examples"])
def test_a_page_of_the_gallery_has_a_picture_and_a_replay(site: Path, part: str) -> None:
    for name, page in gallery_pages(site, part).items():
        assert f'alt="{name}' in page or f"_images/{name}." in page, name
        ids = re.findall(r' id="([^"]+)"', page)
        assert {"replay", "stack", "picture"} <= set(ids), name
        assert len(ids) == len(set(ids)), name  # the script finds its parts by id
        data = re.search(r'<script type="application/json" id="data">(.*?)</script>', page)
        assert data is not None
        assert json.loads(data[1])["replays"][0]["frames"], name


@pytest.mark.skipif(MISSING is not None, reason=MISSING or "")
def test_the_replay_of_a_page_shows_its_stack(site: Path) -> None:
    with chromium() as browser:
        for page in ("models/cloud", "examples/queens"):
            browser.open(site / "gallery" / f"{page}.html")
            assert browser.text("where").startswith("step 1 of ")
            assert browser.run("return document.querySelectorAll('#picture circle').length") > 1
            for _ in range(3):
                browser.run("document.getElementById('forward').click()")
            assert browser.text("where").startswith("step 4 of ")
            assert int(browser.run("return document.getElementById('stack').dataset.depth")) > 1
            assert browser.errors() == []


def test_every_error_is_explained() -> None:
    page = (DOCS / "reference" / "messages.md").read_text(encoding="utf-8")
    named = {name for name, kind in vars(recurl.errors).items() if isinstance(kind, type)}
    errors = {name for name in named if issubclass(getattr(recurl.errors, name), Exception)}
    assert {name for name in errors if f"`{name}`" not in page} == set()


def test_settings_are_listed_with_the_values_of_the_presets(site: Path) -> None:
    page = (site / "reference" / "settings.html").read_text(encoding="utf-8")
    text = re.sub(r"<[^>]+>", "", page)
    for value in (
        "linear(0.002, 5e-05, 80000, fraction=1)",
        "power(1, offset=10)",
        "clopper-pearson",
    ):
        assert value in text
    for name in (*Settings.__struct_fields__, *DeepSettings.__struct_fields__):
        assert re.search(rf"^{name}$", text, re.MULTILINE), name


def test_every_verb_is_listed(site: Path) -> None:
    page = (site / "reference" / "verbs.html").read_text(encoding="utf-8")
    verbs = {info.name or info.callback.__name__ for info in app.registered_commands}
    assert {verb for verb in verbs if f"recurl {verb}" not in page} == set()


def texts() -> dict[Path, str]:
    """All pages that are written by hand, those of the root included."""
    pages = [*ROOT.glob("*.md"), *DOCS.rglob("*.md")]
    made = DOCS / "gallery"
    return {p: p.read_text(encoding="utf-8") for p in pages if made not in p.parent.parents}


def test_links_within_the_repository_lead_somewhere() -> None:
    for page, text in texts().items():
        for link in LINK.findall(text):
            if "://" not in link and not link.startswith(("#", "mailto:")):
                file = (page.parent / link.partition("#")[0]).resolve()
                assert file.exists() or file in MADE, f"{page.name}: {link}"


def test_links_lead_to_hosts_that_were_reviewed() -> None:
    links = (link for text in texts().values() for link in LINK.findall(text) if "://" in link)
    assert {urlsplit(link).hostname for link in links} - HOSTS == set()
