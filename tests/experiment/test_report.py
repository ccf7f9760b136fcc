from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.experiment.browser import MISSING, chromium

from recurl.experiment.figure import draw_figure, figure_bytes
from recurl.experiment.replay import replay_data
from recurl.experiment.report import report_html
from recurl.experiment.study import Study
from recurl.experiment.table import table_rows
from recurl.experiment.table_text import cells


@pytest.fixture(scope="module")
def page(study: Study, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(report_html([study], figure_bytes(draw_figure([study]), "png")))
    return path


def test_report_needs_no_network(page: Path) -> None:
    text = page.read_text()
    addresses = set(re.findall(r"https?://[^\s\"'<]+", text))
    assert addresses == {"http://www.w3.org/2000/svg"}  # a name, never fetched
    assert "<!--" not in text


def test_data_cannot_end_its_script(page: Path) -> None:
    data = page.read_text().partition('id="data">')[2].partition("</script>")[0]
    assert "<" not in data


@pytest.mark.skipif(MISSING is not None, reason=MISSING or "")
def test_report_in_a_browser(page: Path, study: Study) -> None:
    with chromium() as browser:
        browser.open(page)
        assert browser.run("return document.getElementById('figure').naturalWidth") > 500

        shown = browser.run(
            "return [...document.querySelectorAll('#results tr[data-method]')]"
            ".map((row) => [...row.cells].map((cell) => cell.textContent))"
        )
        assert shown == [cells(row) for row in table_rows([study])]

        best = max(
            (one for one in study.records if one.config["algorithm"] == "rql"),
            key=lambda one: one.exact.value if one.exact and one.exact.value else -1e9,
        )
        frames = replay_data(study.policy(best))["frames"]
        count = len(frames)
        assert browser.text("where") == f"step 1 of {count}"
        assert browser.text("action").startswith(frames[0]["action"])

        browser.click("forward")
        assert browser.text("where") == f"step 2 of {count}"
        assert browser.text("action").startswith(frames[1]["action"])
        depth = "return Number(document.getElementById('stack').dataset.depth)"
        assert browser.run(depth) == len(frames[1]["stack"]) + 1
        browser.click("back")
        assert browser.text("where") == f"step 1 of {count}"
        browser.click("back")
        assert browser.text("where") == f"step 1 of {count}"

        for at, frame in enumerate(frames):
            browser.run(
                f"const s = document.getElementById('scrub'); s.value = {at};"
                "s.dispatchEvent(new Event('input'))"
            )
            assert browser.run(depth) == len(frame["stack"]) + 1
            values = browser.run(
                "return [...document.querySelectorAll('#exits tr')]"
                ".map((row) => [row.cells[0].textContent, Number(row.cells[1].textContent)])"
            )
            assert values == frame["exits"]
        boxes = browser.run("return document.querySelectorAll('#picture .box').length")
        assert boxes == len(study.model.names.boxes[:3])  # the run ends in T, which has three

        browser.click("play")
        browser.wait_for("document.getElementById('where').textContent.startsWith('step 2 ')")
        browser.click("play")
        assert browser.text("play") == "Play"
        assert browser.errors() == []
