from __future__ import annotations

import pytest
from tests.solving.references import broken_step_bounds

import recurl
from recurl.solving import offsets
from recurl.solving.properness import step_bounds


@pytest.mark.parametrize("largest", [0, offsets.LARGEST_PROGRAM])
@pytest.mark.parametrize("model", [recurl.zoo.gambler(p=0.7), recurl.zoo.and_or()])
def test_exit_lanes(model: recurl.RMDP, largest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offsets, "LARGEST_PROGRAM", largest)
    discounted = recurl.discount_steps(model, 0.95)
    bounds = step_bounds(discounted.tables)
    assert bounds is not None
    assert broken_step_bounds(discounted, bounds) == []


def crossed() -> recurl.RMDP:
    """Needs bound 0 at the first exit of A and at the second of B, others above."""
    builder = recurl.Builder("crossed")
    for name, other, end, more in (("A", "B", "x", "y"), ("B", "A", "y", "x")):
        builder.component(name, entries="in", exits=["x", "y"]).box("first", other)
        builder.box("second", other)
        builder.at("in").action("go").to(end, "3/10").to("first", "7/10")
        builder.at(f"first.{more}").action("end").to(end)
        builder.at(f"first.{end}").action("more").to("second")
        for exit_name in ("x", "y"):
            builder.at(f"second.{exit_name}").action("end").to(end)
    return builder.build("A")


def test_each_component_has_its_own_exit_at_zero() -> None:
    model = crossed()
    bounds = step_bounds(model.tables)
    assert bounds is not None
    assert broken_step_bounds(model, bounds) == []


def test_nothing_is_found_where_runs_may_not_end() -> None:
    builder = recurl.Builder("endless").component("A", entries="in", exits=["x", "y"])
    builder.box("a", "A").box("b", "A")
    builder.at("in").action("go").to("a", 0.8).to("x", 0.1).to("y", 0.1)
    for name in ("x", "y"):
        builder.at(f"a.{name}").action("next").to("b")
        builder.at(f"b.{name}").action("up").to(name)
    assert step_bounds(builder.build().tables) is None
