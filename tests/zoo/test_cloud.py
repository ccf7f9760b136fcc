from __future__ import annotations

import pytest
from tests.zoo.reference import start_value, value_to_depth

from recurl import zoo


def test_one_exit_form_has_the_known_value() -> None:
    assert start_value(zoo.cloud(exits=1)) == pytest.approx(-5.3425, abs=1e-9)


def test_both_forms_have_the_same_value() -> None:
    lower = value_to_depth(zoo.cloud(), 14)
    upper = value_to_depth(zoo.cloud(), 14, max)
    assert lower <= -5.3425 <= upper
    assert upper - lower < 1e-3


def test_structure() -> None:
    model = zoo.cloud()
    assert list(model.names.components) == ["T", "S", "H"]
    assert list(model.names.boxes) == ["b1", "b2", "b3", "b4", "b5", "b6", "b7"]
    assert model.action_names(model.find("T.u1")) == ["mono", "divide"]
    assert model.action_names(model.find("S.u3")) == ["reliable", "fast"]
    assert model.action_names(model.find("H.u5")) == ["no", "yes"]
    assert model.call_graph.edges == ((0, 1), (1, 1), (1, 2), (2, 2))
    assert not model.warnings


def test_one_exit_form_lacks_the_upgrade() -> None:
    model = zoo.cloud(exits=1)
    assert model.kind.one_exit
    assert model.action_names(model.find("H.u5")) == ["no"]
    assert not model.warnings


def test_other_numbers_of_exits_are_refused() -> None:
    with pytest.raises(ValueError, match="exits must be 1 or 2, not 3"):
        zoo.cloud(exits=3)  # type: ignore[arg-type]
