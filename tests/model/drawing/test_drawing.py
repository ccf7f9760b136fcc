from __future__ import annotations

from pathlib import Path

import pytest

import recurl
from recurl.errors import UnknownNameError
from recurl.model.drawing.drawing import actions_taken


def test_a_small_model_is_drawn_as_a_whole_calls_first() -> None:
    drawing = recurl.zoo.cloud().draw()
    assert [chart.title for chart in drawing.charts] == ["Calls", "T", "S", "H"]
    assert drawing.caption == ()


def test_a_thousand_vertices_fold_into_calls_and_start() -> None:
    drawing = recurl.zoo.random_model(components=10, nodes=60).draw()
    assert [chart.title for chart in drawing.charts] == ["Calls", "c0"]
    assert drawing.charts[1].note
    assert drawing.caption[0] == "9 more components: draw one with component=NAME."
    assert len(drawing.svg) < 100_000


def test_a_component_can_be_chosen_by_name_or_by_vertex() -> None:
    model = recurl.zoo.palindrome()
    assert [chart.title for chart in model.draw(component="north").charts] == ["north"]
    around = model.draw(around="north.r1c1-back")
    assert around.charts[0].marks[0].title == "north.r1c1-back"
    with pytest.raises(UnknownNameError, match="north"):
        model.draw(component="norht")
    with pytest.raises(ValueError, match="not 0"):
        model.draw(most=0)


def test_more_can_be_drawn() -> None:
    model = recurl.zoo.palindrome()
    few, many = model.draw(component="north"), model.draw(component="north", most=600)
    assert not many.charts[0].note
    assert len(many.charts[0].marks) > 10 * len(few.charts[0].marks)


@pytest.mark.parametrize(
    ("suffix", "start"),
    [
        ("svg", "<svg"),
        ("html", "<!DOCTYPE html>"),
        ("mmd", "flowchart LR"),
        ("md", "```mermaid\nflowchart LR"),
        ("dot", "digraph"),
    ],
)
def test_the_suffix_says_how_it_is_written(suffix: str, start: str, tmp_path: Path) -> None:
    recurl.zoo.cloud().draw().save(tmp_path / f"cloud.{suffix}")
    assert (tmp_path / f"cloud.{suffix}").read_text().startswith(start)


def test_another_suffix_is_answered_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match=r"\.svg"):
        recurl.zoo.cloud().draw().save(tmp_path / "cloud.png")


def test_notebooks_show_it() -> None:
    drawing = recurl.zoo.cloud().draw()
    assert drawing._repr_svg_() == drawing.svg


def test_the_picture_of_the_docs_is_what_is_drawn() -> None:
    model = recurl.zoo.cloud()
    page = Path(__file__).parents[3] / "docs" / "images" / "cloud.svg"
    assert page.read_text() == model.draw(recurl.solve(model).policy).svg


def names(model: recurl.RMDP, policy: recurl.Policy | None) -> dict[str, str]:
    assert policy is not None
    t = model.tables
    return {
        f"{model.vertex_name(int(t.action_vertex[a]))} {model.action_name(a)}": how
        for a, how in actions_taken(model, policy).items()
    }


def test_a_stackless_policy_takes_one_action_always() -> None:
    model = recurl.zoo.cloud(exits=1)
    policy = recurl.Policy.stackless(model, {"T.u1": "divide", "S.u3": "fast"})
    found = names(model, policy)
    assert found["T.u1 divide"] == found["S.u3 fast"] == "always"
    assert "S.u3 reliable" not in found


def test_what_depends_on_the_context_or_on_chance_is_taken_sometimes() -> None:
    model = recurl.zoo.cloud()
    found = names(model, recurl.solve(model).policy)
    assert found["H.u5 no"] == found["H.u5 yes"] == "sometimes"
    assert found["T.u1 divide"] == "always"
    assert names(model, recurl.Policy.uniform(model))["T.u1 mono"] == "sometimes"


def test_vertices_that_are_never_reached_have_no_action() -> None:
    model = recurl.zoo.cloud(exits=1)
    found = names(model, recurl.Policy.stackless(model, {"T.u1": "mono"}))
    assert list(found) == ["T.u1 mono"]


def test_another_model_and_another_thing_are_refused() -> None:
    model = recurl.zoo.cloud()
    with pytest.raises(ValueError, match="for another model than cloud"):
        model.draw(recurl.Policy.uniform(recurl.zoo.gambler()))
    with pytest.raises(TypeError, match=r"not Solution: give \.policy"):
        model.draw(recurl.solve(model))  # type: ignore[arg-type]
