"""A component as text and as data."""

from __future__ import annotations

import pytest

from recurl.cli.component_view import Limits, print_component
from recurl.model.builder import Builder
from recurl.model.rmdp import RMDP


def fan() -> RMDP:
    builder = Builder("fan").component("A", entries="in", exits=["x", "y", "z"]).at("in")
    builder.action("even").to("x", "1/3", 1).to("y", "1/3", -2).to("z", "1/3", "1/3")
    builder.action("long", reward="0.1234567890123").to("x")
    return builder.build()


def words(capsys: pytest.CaptureFixture[str], limits: Limits) -> list[str]:
    print_component(fan(), 0, limits)
    return [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]


def test_numbers_are_as_written_unless_they_are_long(capsys: pytest.CaptureFixture[str]) -> None:
    found = words(capsys, Limits())
    assert "in even 1/3 x (+1), 1/3 y (-2), 1/3 z (+1/3)" in found
    assert "long 0.123457 x" in found


def test_limits_count_what_they_leave_out(capsys: pytest.CaptureFixture[str]) -> None:
    found = words(capsys, Limits(actions=1, targets=2, names=1))
    assert "exits x and 2 more" in found
    assert "in even 1/3 x (+1), 1/3 y (-2) and 1 more" in found
    assert "... and 1 more action (all with --all)" in found
