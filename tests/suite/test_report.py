from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.experiment.browser import MISSING, chromium

from recurl.experiment.figure import COLOURS, MARKERS
from recurl.experiment.record import Record, write_record
from recurl.suite.agents import ready_agents
from recurl.suite.report import report_html, write_report
from recurl.suite.run import run_suite
from recurl.suite.score import read_records
from recurl.suite.tasks import settings


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("suite")
    chosen = settings(["words", "fishery"], ["small"])
    run_suite(["rql", "q", "tests.suite.sarsa:Counting"], chosen, out, seeds=2, factor=0.02)
    write_report(read_records(out), out)
    return out


def test_the_page_compares_agents_by_family(folder: Path) -> None:
    page = (folder / "report.html").read_text()
    assert "<h3>One exit</h3>" in page
    assert "<h3>Several exits</h3>" in page
    assert "<h3>Sparse reward</h3>" not in page
    assert page.count('class="bar"') == 3 * 3
    assert page.count('class="curves"') == 2
    assert page.count("words-small") >= 3
    assert "sampled" in page
    assert not re.findall(r"<!--[A-Z_]+-->", page)


def test_every_agent_is_replayed_with_its_stack(folder: Path) -> None:
    page = (folder / "report.html").read_text()
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    assert data is not None
    replays = json.loads(data[1])["replays"]
    assert {one["run"].partition(" on ")[0] for one in replays} == {
        "recursive Q-learning",
        "Q-learning",
        "Counting",
    }
    assert all("stack" in frame for one in replays for frame in one["frames"])


def test_failures_are_told(folder: Path, tmp_path: Path) -> None:
    broken = Record(
        experiment="words-small", method="q", label="<b>", seed=0, config={}, error="no <memory>"
    )
    write_record(tmp_path / "words-small" / "runs" / "q-0.json", broken)
    page = report_html(read_records(tmp_path), tmp_path)
    assert "no &lt;memory&gt;" in page
    assert "<b>, seed" not in page
    assert "1 of 1 runs failed" in page


@pytest.mark.skipif(MISSING is not None, reason=MISSING or "")
def test_the_page_fits_a_desk_and_a_phone(folder: Path) -> None:
    with chromium() as browser:
        for width in (1280, 390):
            browser.emulate(width)
            browser.open(folder / "report.html")
            assert browser.run("return document.documentElement.scrollWidth") <= width
            assert "step 1 of" in browser.text("where")
            browser.click("forward")
            assert "step 2 of" in browser.text("where")
        assert browser.errors() == []


@pytest.mark.skipif(MISSING is not None, reason=MISSING or "")
@pytest.mark.parametrize("width", [1280, 1010])
def test_the_page_fits_with_all_agents(folder: Path, tmp_path: Path, width: int) -> None:
    some = [one for one in read_records(folder) if one.exact.note]
    agents = ready_agents().values()
    all_of_them = [replace(one, method=a.name, label=a.label) for a in agents for one in some]
    (tmp_path / "report.html").write_text(report_html(all_of_them, tmp_path))
    with chromium() as browser:
        browser.emulate(width)
        browser.open(tmp_path / "report.html")
        assert browser.run("return document.documentElement.scrollWidth") <= width


def test_every_ready_agent_has_a_colour_and_a_marker_of_its_own() -> None:
    agents = len(ready_agents())
    assert agents <= len(set(COLOURS)) == len(COLOURS)
    assert agents <= len(set(MARKERS)) == len(MARKERS)
