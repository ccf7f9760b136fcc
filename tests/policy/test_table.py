"""What a policy does, as a table."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from tests.policy.some import random_policy

import recurl
from recurl.policy import Policy
from recurl.policy import policy as module
from recurl.policy.table import PolicyTable


@pytest.fixture(scope="module")
def cloud() -> Policy:
    policy = recurl.solve(recurl.zoo.cloud()).policy
    assert policy is not None
    return policy


def test_rows_say_where_in_which_context_what_and_how_often(cloud: Policy) -> None:
    rows = [(row.vertex, row.context, row.action) for row in cloud.table()]
    assert rows == [
        ("S.u3", "", "reliable"),
        ("H.u5", "with 0..7 pending calls of H at b6", "no"),
        ("T.u1", "", "divide"),
        ("H.u5", "with 8 or more pending calls of H at b6", "yes"),
    ]
    visits = [row.visits.mean for row in cloud.table()]
    assert visits == sorted(visits, reverse=True)
    assert visits[0] == pytest.approx(3)
    assert visits[2] == 1


def test_text(cloud: Policy) -> None:
    lines = str(cloud.table()).splitlines()
    assert lines[0].split() == ["at", "context", "do", "visits", "per", "run"]
    assert lines[2].split() == ["S.u3", "any", "reliable", "3"]
    assert "sampled" not in str(cloud.table())


def test_one_row_per_context_where_asked(cloud: Policy) -> None:
    rows = cloud.table("H.u5", merged=False)
    assert {row.vertex for row in rows} == {"H.u5"}
    assert len(rows) == 9
    assert rows[1].context == "H within 1 call of H"
    assert [row.context for row in rows if row.action == "yes"] == ["H within 8 calls of H"]
    assert sum(row.visits.mean for row in rows) == pytest.approx(
        sum(row.visits.mean for row in cloud.table("H.u5"))
    )


def test_markdown(cloud: Policy) -> None:
    lines = cloud.table().to_markdown().splitlines()
    assert lines[:2] == ["| at | context | do | visits per run |", "| --- | --- | --- | ---: |"]
    assert lines[2] == "| S.u3 | any | reliable | 3 |"
    assert len(lines) == 6


def test_bars_in_names_do_not_break_markdown() -> None:
    builder = recurl.Builder("odd").component("A", entries="i|n", exits="out")
    model = builder.at("i|n").action("a|b").to("out").action("<b>").to("out").build()
    table = Policy.stackless(model, {}).table()
    assert table.to_markdown().splitlines()[2] == "| A.i\\|n | any | a\\|b | 1 |"
    assert "&lt;b&gt;" in Policy.stackless(model, {"A.i|n": "<b>"})._repr_html_()


def test_data_frame(cloud: Policy) -> None:
    pytest.importorskip("pandas")
    frame = cloud.table().to_frame()
    assert list(frame.columns) == ["vertex", "context", "action", "visits", "margin"]
    assert frame.visits.iloc[0] == pytest.approx(3)
    assert len(frame) == 4


def test_long_tables_are_folded_with_a_count() -> None:
    policy = recurl.solve(recurl.zoo.spelunking()).policy
    assert policy is not None
    table = policy.table()
    assert f"... and {len(table) - 20} more rows" in str(table)
    assert f"... and {len(table) - 20} more rows" in table._repr_html_()
    assert len(table.to_markdown().splitlines()) == len(table) + 2


def test_sampled_visits_are_called_sampled() -> None:
    policy = Policy.uniform(recurl.zoo.gambler(p=0.6))
    text = str(PolicyTable(policy, ["W.in"]))
    assert "±" in text
    assert "visits are sampled" in text
    assert "were cut" in text


def test_a_model_without_choices_says_so() -> None:
    assert "runs have no choice to make" in str(Policy.uniform(recurl.zoo.gambler(p=0.3)).table())


class Checker(HTMLParser):
    """Every tag is closed in order, and nothing sets colours of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.cells = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert not any("color" in (value or "") for _, value in attrs)
        self.open.append(tag)
        self.cells += tag == "td"

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def check(html: str) -> int:
    checker = Checker()
    checker.feed(html)
    checker.close()
    assert checker.open == []
    return checker.cells


def test_notebooks_show_policies_and_solutions(cloud: Policy) -> None:
    assert check(cloud._repr_html_()) == 16
    solution = recurl.solve(recurl.zoo.cloud())
    html = solution._repr_html_()
    assert "8 or more pending calls of H" in html
    assert check(html) > 16
    assert check(random_policy(recurl.zoo.palindrome(), 1)._repr_html_()) == 80


def test_what_is_too_large_for_a_table_is_left_away(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Policy) -> None:
        raise recurl.errors.LimitError("too many")

    policy = Policy.uniform(recurl.zoo.cloud())
    monkeypatch.setattr(module.Policy, "table", refuse)
    assert policy._repr_html_() == "<p>Policy for cloud: stackless, 3 contexts</p>"
