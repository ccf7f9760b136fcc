"""Files of pushdown systems: round trips, and errors with their lines."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from tests.strategies import models

import recurl
from recurl.errors import DocumentError

WALK = "start p A\np A go 1/3 p A A -1\np A go 2/3 q -1\nq A go 1 q -1\n"


def read(folder: Path, text: str) -> recurl.RMDP:
    (folder / "walk.pds").write_text(text)
    return recurl.load(folder / "walk.pds")


def test_a_file_is_read_as_its_rules(tmp_path: Path) -> None:
    model = read(tmp_path, f"# a walk\n\n{WALK}  # the end")
    assert model.name == "walk"
    assert recurl.solve(model).value == pytest.approx(-2)
    assert recurl.solve(read(tmp_path, WALK.partition("\n")[2])).value == pytest.approx(-2)


@given(models())
def test_names_and_numbers_come_back(model: recurl.RMDP) -> None:
    rules, start = recurl.pushdown_rules(model)
    with tempfile.TemporaryDirectory() as folder:
        recurl.dump(model, Path(folder, "a.pds"))
        again = recurl.load(Path(folder, "a.pds"))
    assert again == recurl.pushdown(rules, start, name="a")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "there is no rule"),
        ("p A go 1\n", "line 1: is neither a rule nor a start"),
        (f"{WALK}q B go 1 q x\n", "line 5: 'x' is not a finite decimal"),
        (f"{WALK}q B go 1/2 q 0\n", "line 5: the probabilities of 'q', 'B', 'go' sum to 0.5"),
        ("p A go 1 p B 0\n", "line 1: runs get to 'p' with 'B' on top, without a rule"),
        (f"\n{WALK}start p A 1\n", "line 6: is a start that is there twice"),
        (f"start q B\n{WALK}", "line 1: does not begin with one symbol"),
        (WALK.replace("start p A", "start p A 1/2"), r"line 1: probabilities sum to 0\.5"),
        ('p "A go 1 p 0\n', "line 1: has a quotation mark that does not end a word"),
        ('p "\\x" go 1 p 0\n', "line 1: .* is not a text"),
        ("p.q A go 1 p.q 0\n", "line 1: 'p.q' is not a name for a state"),
        ("p A go 1 p" + " A" * 101 + " 0\n", "line 1: pushes 101 symbols"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DocumentError, match=message):
        read(tmp_path, text)


def test_a_system_that_is_too_large_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """n entries and n exits of one symbol, in n boxes, are n squared return ports."""
    monkeypatch.setattr("recurl.model.pushdown._LARGEST", 10_000)
    lines = [
        f"s A a{i} 1 p{i} B C{i} 0\np{i} B go 1 q{i} 0\nq{i} C{i} go 1 e 0" for i in range(200)
    ]
    with pytest.raises(recurl.errors.LimitError, match="more than 10,000 vertices"):
        read(tmp_path, "\n".join(lines))
