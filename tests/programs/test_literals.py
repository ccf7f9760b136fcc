from __future__ import annotations

import enum
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from tests.programs.written import program_of

from recurl.errors import RecurlError
from recurl.programs.literals import Option, Writer


@pytest.mark.parametrize(
    "value",
    [1, -0.5, "x", None, (1,), ((), "y"), frozenset([1]), frozenset(), Fraction(1, 3), b"x", 1j,
     range(1, 3), [1, {2: {3}}], set(), {}, Decimal("1.5"), float("inf"), True],
)  # fmt: skip
def test_literals_can_be_read_again(value: Any) -> None:
    names = {"Fraction": Fraction, "Decimal": Decimal}
    found = eval(Writer().literal(value), names)  # noqa: S307 (our own text)
    assert found == value
    assert type(found) is type(value)


def test_classes_are_called_as_the_program_calls_them() -> None:
    source = program_of(
        """
        import enum
        from dataclasses import dataclass
        from fractions import Fraction as F
        class Light(enum.Flag):
            RED = 1
            GREEN = 2
        @dataclass(frozen=True)
        class Point:
            x: int
            light: Light
        Shade = Light
        del Light
        @program
        def f(): pass
        """
    ).source
    writer, names = Writer(source), source.globals
    light = names["Shade"]
    assert writer.literal(light.RED) == "Shade.RED"
    assert writer.literal(light.RED | light.GREEN) == "Shade(3)"
    assert writer.literal(names["Point"](1, light.RED)) == "Point(x=1, light=Shade.RED)"
    assert writer.literal(Fraction(1, 2)) == "F(1, 2)"
    assert writer.imported == {}
    assert writer.literal(Decimal(1)) == "Decimal('1')"
    assert writer.imported == {"Decimal": Decimal}


def test_options_keep_their_text() -> None:
    assert Writer().literal(Option(1, "n + 1")) == "n + 1"


def test_what_cannot_be_written_is_refused() -> None:
    with pytest.raises(RecurlError, match="cannot be written in source text"):
        Writer().literal(object())
    source = program_of("@program\ndef f(): pass").source
    with pytest.raises(RecurlError, match="has no name at module level"):
        Writer(source).literal(lambda: None)


class Colour(enum.Enum):
    RED = 1


def test_enums_are_written_by_name() -> None:
    assert Writer().literal((Colour.RED, "x")) == "(Colour.RED, 'x')"
