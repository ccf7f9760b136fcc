"""``recurl zoo``."""

from __future__ import annotations

from recurl import zoo

from .conftest import Run, RunJson


def test_every_model_is_listed_with_its_parameters(run: Run) -> None:
    text = run("zoo").stdout
    for name in zoo.names():
        assert f"\n{name} " in text
        assert all(f"{key}=" in text for key in zoo.parameters(name))
    assert "exits=2" in text
    assert "trap=0.5" in text


def test_machines_get_names_summaries_and_defaults(run_json: RunJson) -> None:
    models = {model["name"]: model for model in run_json("zoo")}
    assert list(models) == zoo.names()
    assert models["cloud"]["summary"] == zoo.summary("cloud")
    assert models["cloud"]["parameters"] == {"exits": 2}
    assert models["palindrome"]["parameters"] == {
        "size": 3,
        "corruption": 0.01,
        "penalty": "each",
    }
