from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.experiment.browser import MISSING, Browser, chromium

import recurl
from recurl.experiment.record import Exact
from recurl.experiment.replay import replay_data
from recurl.experiment.report import (
    report_html,
    rules_by_component,
    shown_columns,
    table_html,
    write_results,
)
from recurl.experiment.study import Optimum, Study
from recurl.experiment.table import HEADS, Row, cells, table_rows

RIGHT, LEFT = "\ue014", "\ue012"
"""Arrow keys, as WebDriver names them."""

needs_browser = pytest.mark.skipif(MISSING is not None, reason=MISSING or "")


def html(*studies: Study) -> str:
    return report_html(studies)


@pytest.fixture(scope="module")
def page(study: Study, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(html(study))
    return path


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def frames(study: Study) -> list[dict[str, Any]]:
    best = max(
        (one for one in study.records if one.config["algorithm"] == "rql"),
        key=lambda one: one.exact.value if one.exact and one.exact.value else -1e9,
    )
    found: list[dict[str, Any]] = replay_data(study.policy(best))["frames"]
    return found


def test_report_needs_no_network(page: Path) -> None:
    text = page.read_text()
    addresses = set(re.findall(r"https?://[^\s\"'<]+", text))
    assert addresses == {"http://www.w3.org/2000/svg"}  # a name, never fetched
    assert "<!--" not in text


def test_data_cannot_end_its_script(page: Path) -> None:
    data = page.read_text().partition('id="data">')[2].partition("</script>")[0]
    assert "<" not in data


@needs_browser
def test_numbers_shown_are_those_of_the_records(page: Path, study: Study, browser: Browser) -> None:
    browser.open(page)
    assert browser.run("return document.querySelector('#figures img').naturalWidth") > 200
    shown = dict(
        browser.run(
            "return [...document.querySelectorAll('#results tr[data-method]')]"
            ".map((row) => [row.dataset.method, [...row.cells].map((cell) => cell.textContent)])"
        )
    )
    for method in ("rql", "ql", "rql-swift"):
        # Read and reckoned anew, past the code that the report is made with.
        files = [study.folder / "runs" / f"{method}-{seed}.json" for seed in (0, 1)]
        records = [json.loads(file.read_text()) for file in files]
        final = np.mean([np.mean(one["curve"]["mean"][-2:]) for one in records])
        exact = np.mean([one["exact"]["value"] for one in records])
        cells = shown[f"cloud/{method}"]
        assert cells[1] == "2"
        assert float(cells[2].partition(" ± ")[0]) == pytest.approx(final, rel=1e-4)
        assert float(cells[4].split()[0]) == pytest.approx(exact, rel=1e-6)
        assert float(cells[5]) == pytest.approx(-5.342485 - exact, rel=5e-3, abs=1e-6)
    assert browser.errors() == []


@needs_browser
def test_the_replay_steps_forward_and_back(
    page: Path, frames: list[dict[str, Any]], browser: Browser
) -> None:
    browser.open(page)
    count = len(frames)
    assert browser.text("where") == f"step 1 of {count}"
    browser.click("forward")
    assert browser.text("where") == f"step 2 of {count}"
    assert browser.text("event") == f"{frames[1]['action']}: {frames[1]['event']}"
    browser.click("back")
    assert browser.text("where") == f"step 1 of {count}"
    assert browser.run("return document.getElementById('back').disabled")
    browser.press("scrub", 2 * RIGHT + LEFT)
    assert browser.text("where") == f"step 2 of {count}"
    browser.drag("scrub", 1.0)
    assert browser.text("where") == f"step {count} of {count}"
    assert browser.run("return document.getElementById('forward').disabled")
    browser.click("first")
    assert browser.text("where") == f"step 1 of {count}"
    assert browser.errors() == []


@needs_browser
def test_every_frame_shows_stack_component_action_and_exit_values(
    page: Path, frames: list[dict[str, Any]], browser: Browser
) -> None:
    browser.open(page)
    for at, frame in enumerate(frames):
        if at:
            browser.click("forward")
        seen = browser.run(
            "const all = (what) => [...document.querySelectorAll(what)];"
            "return {depth: Number(document.getElementById('stack').dataset.depth),"
            " taken: all('#actions .taken').map((one) => one.textContent),"
            " boxes: all('#picture .box').length, steps: all('#picture .step').length,"
            " exits: all('#exits tr').map((row) => [row.cells[0], row.cells[1]]"
            "   .map((cell) => cell.textContent))}"
        )
        assert seen["depth"] == len(frame["stack"]) + 1
        assert seen["taken"] == [frame["action"]]
        assert seen["boxes"] == {"T": 3, "S": 2, "H": 2}[frame["component"]]
        assert seen["steps"] == 1
        assert [(name, float(value)) for name, value in seen["exits"]] == [
            (name, pytest.approx(value, rel=1e-4)) for name, value in frame["exits"]
        ]
    assert browser.errors() == []


@needs_browser
def test_playing_runs_and_pauses(page: Path, browser: Browser) -> None:
    browser.open(page)
    browser.click("play")
    assert browser.text("play") == "Pause"
    browser.wait_for("Number(document.getElementById('scrub').value) >= 2")
    browser.click("play")
    assert browser.text("play") == "Play"
    stopped = browser.text("where")
    browser.run("return new Promise((done) => setTimeout(done, 500))")
    assert browser.text("where") == stopped
    assert browser.errors() == []


@pytest.fixture
def any_screen(browser: Browser) -> Iterator[Browser]:
    """The browser, whose screen is put back afterwards."""
    yield browser
    browser.emulate(1200)


@needs_browser
@pytest.mark.parametrize("width", [320, 375, 700, 1000])
def test_nothing_scrolls_sideways_on_a_narrow_screen(
    page: Path, any_screen: Browser, width: int
) -> None:
    any_screen.emulate(width)
    any_screen.open(page)
    wide = any_screen.run(
        "return [...document.querySelectorAll('html, body, body *:not(svg *)')]"
        f".filter((one) => one.getBoundingClientRect().right > {width} + .5"
        " || (one.scrollWidth > one.clientWidth + 1"
        "     && ['auto', 'scroll'].includes(getComputedStyle(one).overflowX)))"
        ".map((one) => one.tagName + '#' + one.id)"
    )
    assert wide == []
    heads = any_screen.run(
        "return getComputedStyle(document.querySelector('#results td:nth-child(2)'), '::before')"
        ".content"
    )
    assert heads == '"runs"'


@needs_browser
def test_dark_surroundings_get_a_dark_page_and_dark_curves(page: Path, any_screen: Browser) -> None:
    seen = {}
    for dark in (False, True):
        any_screen.emulate(1200, dark=dark)
        any_screen.open(page)
        seen[dark] = any_screen.run(
            "const channels = (text) => text.match(/\\d+/g).slice(0, 3).map(Number);"
            "return {paper: channels(getComputedStyle(document.body).backgroundColor),"
            " ink: channels(getComputedStyle(document.body).color),"
            " dot: channels(getComputedStyle(document.querySelector('#picture circle')).fill),"
            " curves: document.querySelector('#figures img').currentSrc}"
        )
    assert min(seen[False]["paper"] + seen[False]["dot"]) > 240
    assert max(seen[False]["ink"]) < 50
    assert max(seen[True]["paper"] + seen[True]["dot"]) < 40
    assert min(seen[True]["ink"]) > 200
    assert seen[True]["curves"] != seen[False]["curves"]
    assert any_screen.errors() == []


def test_the_caption_tells_only_what_is_there(study: Study) -> None:
    from recurl.experiment.study import Optimum

    text = html(study)
    assert "Dotted: certified optimum." in text
    assert "Shades: 10th to 90th percentile over runs." in text
    one = tuple(record for record in study.records if record.seed == 0)
    bare = html(study._replace(records=one, optimum=Optimum(None, None, "not known", "")))
    assert "Dotted:" not in bare
    assert "Shades:" not in bare


@needs_browser
def test_a_study_without_policies_says_so(study: Study, tmp_path: Path, browser: Browser) -> None:
    nothing = Exact(None, None, None, "endless")
    bare = [one for one in study.records if one.method == "ql"]
    records = tuple(type(one)(**{**_fields(one), "exact": nothing}) for one in bare)
    path = tmp_path / "report.html"
    path.write_text(html(study._replace(records=records)))
    browser.open(path)
    assert "No run has a policy to replay" in browser.text("replay")
    assert "No run has a final policy of finite value" in path.read_text()
    assert browser.errors() == []


def _fields(record: Any) -> dict[str, Any]:
    return {name: getattr(record, name) for name in record.__struct_fields__}


def test_a_policy_that_cannot_be_read_is_named(study: Study, tmp_path: Path) -> None:
    text = html(study._replace(folder=tmp_path))
    assert "The policy of the best run cannot be read" in text
    assert str(tmp_path) in text


def test_names_from_a_model_are_text_and_no_markup(study: Study) -> None:
    import msgspec

    named = msgspec.structs.replace(study.experiment, title="<script>alert(1)</script> & co")
    text = html(study._replace(experiment=named))
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; co" in text


def test_runs_that_are_missing_are_counted(study: Study) -> None:
    assert "not finished: 2" in html(study._replace(missing=2))


def test_cells_are_those_of_the_text_table(study: Study) -> None:
    lines = re.findall(r"<tr data-method.*?</tr>", table_html([study]))
    columns = shown_columns(table_rows([study]))
    for line, row in zip(lines, table_rows([study]), strict=True):
        plain = [re.sub("<[^>]+>", "", cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", line)]
        assert plain == [cells(row)[i] for i in columns]


def test_what_holds_for_all_rows_is_said_once(study: Study) -> None:
    text = table_html([study])
    assert text.count("certified optimum -5.342485") == 1
    assert "2,000 steps a run" in text
    unknown = Optimum(None, None, "not known: the model is not proper", "")
    assert "optimum not known" in table_html([study._replace(optimum=unknown)])


def test_columns_that_say_nothing_are_left_out(study: Study) -> None:
    plain = Row("e", "m", "method", 1, 0, 10, final=1.0, exact=1.0)
    shown = [HEADS[i] for i in shown_columns([plain])]
    assert shown == ["method", "runs", "final value (sampled, 95 %)", "exact value of policy"]
    assert "beside the published mean" in [HEADS[i] for i in shown_columns(table_rows([study]))]


def test_files_are_written(study: Study, tmp_path: Path) -> None:
    files = write_results([study], tmp_path / "new")
    assert [path.suffix for path in files] == [".png", ".pdf", ".svg", ".md", ".json", ".html"]
    rows = json.loads((tmp_path / "new" / "table.json").read_text())
    assert [row["method"] for row in rows] == ["rql", "ql", "rql-swift"]


def test_rules_are_grouped_by_component_the_most_frequent_first() -> None:
    policy = recurl.Policy.stackless(
        recurl.zoo.cloud(exits=1), {"T.u1": "divide", "S.u3": "reliable"}
    )
    assert list(rules_by_component(policy).items()) == [
        ("S", ["at u3: reliable"]),
        ("T", ["at u1: divide"]),
    ]
    assert rules_by_component(recurl.Policy.uniform(policy.model))["T"] == ["at u1: any"]


@pytest.mark.parametrize("model", [recurl.zoo.stack_matters(), recurl.zoo.cloud()])
def test_rules_of_a_report_are_those_of_the_policy(model: recurl.RMDP) -> None:
    best = recurl.solve(model).policy
    assert best is not None
    stated = [line for lines in rules_by_component(best).values() for line in lines]
    assert {line.partition(": ")[2] for line in stated} == {r.text for r in best.rules.all()}
    assert any("called at" in line or "pending calls" in line for line in stated)


def test_rules_that_are_left_out_are_counted() -> None:
    policy = recurl.solve(recurl.zoo.spelunking()).policy
    assert policy is not None
    rules = rules_by_component(policy, most=3)
    assert sum(map(len, rules.values())) == 3
    assert re.fullmatch(r"and \d+ more rules", list(rules)[-1])


def test_places_on_a_grid_are_given_by_row_and_column() -> None:
    policy = recurl.solve(recurl.zoo.battery("S.#/C.T", 1)).policy
    assert policy is not None
    rules = rules_by_component(policy)
    assert rules["reserve"][0].startswith("in row 0, column 0")
    lines = [line for lines in rules.values() for line in lines]
    assert all(line.startswith("in row ") for line in lines)
    assert len(set(lines)) == len(lines)
    assert any(line.endswith(": south") for line in rules["reserve"])
