from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

import recurl
from recurl.zoo import registry

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("name", ["cloud", "stack_matters", "and_or", "language", "gambler"])
def test_every_vertex_of_a_small_model_is_named(name: str) -> None:
    model = registry.make(name)
    root = ET.fromstring(model.draw().svg)
    titles = {element.text for element in root.iter(f"{SVG}title")}
    assert {model.vertex_name(v) for v in range(model.tables.n_vertices)} <= titles


def test_every_picture_of_the_zoo_is_well_formed() -> None:
    for name in registry.names():
        root = ET.fromstring(registry.make(name).draw().svg)
        assert root.tag == f"{SVG}svg"


def test_what_the_policy_does_is_marked() -> None:
    model = recurl.zoo.cloud()
    root = ET.fromstring(model.draw(recurl.solve(model).policy).svg)
    pills = {
        (text.text or "", list(text.itertext())[-1]): text.get("class")
        for text in root.iter(f"{SVG}text")
        if (text.get("class") or "").startswith("pill")
    }
    styles = {shown.split()[0]: style for (_, shown), style in pills.items()}
    assert styles["divide"] == "pill always"
    assert styles["mono"] == "pill"
    assert styles["no"] == styles["yes"] == "pill sometimes"


def test_names_are_text_and_no_markup() -> None:
    model = (
        recurl.Builder("<script>")
        .component("A & B", entries="<in>", exits="out")
        .at("<in>").action('"go"').to("out")
        .build()
    )  # fmt: skip
    svg = model.draw().svg
    ET.fromstring(svg)
    assert "<script>" not in svg
    assert "&lt;in&gt;" in svg


def test_dark_surroundings_have_colours_of_their_own() -> None:
    assert "prefers-color-scheme: dark" in recurl.zoo.cloud().draw().svg
