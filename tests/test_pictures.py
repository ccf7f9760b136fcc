"""The pictures of the docs show what the commands print now."""

from __future__ import annotations

import pytest

import make_pictures


@pytest.mark.parametrize("name", make_pictures.PICTURES)
def test_a_picture_is_up_to_date(name: str) -> None:
    shown = (make_pictures.FOLDER / name).read_text(encoding="utf-8")
    now = make_pictures.picture(make_pictures.PICTURES[name])
    assert make_pictures.words(shown) == make_pictures.words(now), (
        "run python scripts/make_pictures.py"
    )


def test_times_do_not_matter_and_all_else_does() -> None:
    line = '<text x="0" y="20" clip-path="c">{}</text>'
    one, other, third = (
        make_pictures.words(line.format(text))
        for text in ("9&#160;rounds in 0.58 s.", "9&#160;rounds in 12 s.", "8&#160;rounds in 12 s.")
    )
    assert one == other == ["9", "rounds", "in", "T", "s."]
    assert third != one
