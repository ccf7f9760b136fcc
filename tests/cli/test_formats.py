from __future__ import annotations

from tests.cli.conftest import Run, RunJson

from recurl.model.formats import formats


def test_formats_are_listed_with_what_they_need(run: Run) -> None:
    lines = run("formats").output.splitlines()
    prism = next(line for line in lines if ".prism" in line and "PRISM" in line)
    assert "recurl[storm]" in prism
    assert any(".umb" in line and "yes" in line for line in lines)
    assert any(".bp" in line for line in lines)


def test_formats_as_json(run_json: RunJson) -> None:
    listed = run_json("formats")
    names = [format.name for format in formats()]
    assert [entry["name"] for entry in listed] == [*names, "boolean_program", "reward_machine"]
    assert [entry["suffixes"] for entry in listed[-2:]] == [[".bp"], [".txt"]]
    assert all(entry.keys() == listed[0].keys() for entry in listed)
    umb = next(entry for entry in listed if entry["name"] == "umb")
    assert umb["suffixes"] == [".umb"]
    assert umb["options"] == ["goal", "rewards", "property"]
    assert umb["extra"] is None
