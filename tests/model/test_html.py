from __future__ import annotations

import recurl
from recurl import zoo
from recurl.model.html import MOST_ROWS, model_html, paragraph, table


def test_text_is_escaped() -> None:
    assert paragraph("a < b & c") == "<p>a &lt; b &amp; c</p>"
    assert table(["x"], [["<script>"]]).count("<script>") == 0


def test_long_tables_are_cut() -> None:
    text = table(["n"], [[n] for n in range(MOST_ROWS + 5)])
    assert text.count("<tr>") == MOST_ROWS + 2
    assert "... and 5 more" in text


def test_a_model_shows_its_components() -> None:
    text = model_html(zoo.cloud())
    assert "<p>cloud: multi-exit, recursive</p>" in text
    assert "<tr><td>H</td><td>1</td><td>2</td><td>2</td><td>9</td></tr>" in text
    assert zoo.cloud()._repr_html_() == text


def test_many_components_are_counted() -> None:
    model = zoo.make("random_model", components=30, nodes=4, seed=1)
    assert f"... and {30 - MOST_ROWS} more components" in model_html(model)


def test_a_solution_shows_its_interval() -> None:
    text = recurl.solve(zoo.cloud(exits=1))._repr_html_()
    assert "greatest expected total reward" in text
    assert "-5.3425" in text
