from __future__ import annotations

import numpy as np
import pytest

from recurl.errors import PropertyError, UnknownNameError
from recurl.model.formats.properties import Property, asked, holds


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ('Pmax=? [ F "a" ]', Property("max", "exit:goal", None, '"a"', None)),
        ('Pmin =? [F ("a" & !"b")]', Property("min", "exit:goal", None, '("a" & !"b")', None)),
        ("P=? [ F s=7 & d=1 ]", Property("", "exit:goal", None, "s=7 & d=1", None)),
        ('Pmax=? [ "safe" U "a" ]', Property("max", "exit:goal", None, '"a"', '"safe"')),
        ('Pmax=? [ "U" U "a U b" ]', Property("max", "exit:goal", None, '"a U b"', '"U"')),
        ('R{"cost"}min=? [ F "a" ]', Property("min", "reward", "cost", '"a"', None)),
        ('Rmin{"cost"}=? [ F "a" ]', Property("min", "reward", "cost", '"a"', None)),
        ('Tmin=? [ F "a" ]', Property("min", "steps", None, '"a"', None)),
    ],
)
def test_the_usual_properties_are_questions(text: str, question: Property) -> None:
    assert asked(text) == question


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('Pmax=? [ G "a" ]', "globally"),
        ('Pmax=? [ X "a" ]', "next"),
        ('Pmax=? [ F<=10 "a" ]', "bounded operators"),
        ('Pmax=? [ "b" U<=10 "a" ]', "bounded operators"),
        ('S=? [ "a" ]', "steady-state"),
        ("Rmax=? [ C<=10 ]", "cumulative"),
        ("Rmax=? [ I=10 ]", "instantaneous"),
        ("LRAmax=? [ C ]", "LRAmax|something"),
        ('P>=0.5 [ F "a" ]', "yes or no about a bound"),
        ('multi(Pmax=? [ F "a" ], Rmax=? [ C ])', "several objectives"),
        ('Rmax=? [ "a" U "b" ]', "until .U. of a reward"),
        ("nonsense", "another form"),
        ("", "another form"),
    ],
)
def test_other_operators_are_refused_by_name(text: str, named: str) -> None:
    with pytest.raises(PropertyError, match=named):
        asked(text)


def test_expressions_of_labels() -> None:
    labels = {"a": np.array([1, 1, 0, 0], bool), "b": np.array([1, 0, 1, 0], bool)}
    cases = {
        '"a" & "b"': [1, 0, 0, 0],
        '"a" | "b"': [1, 1, 1, 0],
        '!"a" & !("b")': [0, 0, 0, 1],
        '"a" => "b"': [1, 0, 1, 1],
        "true & !false": [1, 1, 1, 1],
        '!!"a"': [1, 1, 0, 0],
    }
    for text, states in cases.items():
        assert holds(text, labels, 4).astype(int).tolist() == states


@pytest.mark.parametrize(
    "text",
    ["s=7", '"a', '"a" &', '("a"', '"a")', "", "(" * 5000, "!" * 5000 + '"a"', '"a" "a"'],
)
def test_other_expressions_are_refused(text: str) -> None:
    with pytest.raises(PropertyError):
        holds(text, {"a": np.zeros(1, bool)}, 1)


def test_an_unknown_label_is_answered_with_a_close_one() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'done'"):
        holds('"dome"', {"done": np.zeros(1, bool)}, 1)
