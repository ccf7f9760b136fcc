"""Counts and numbers: one spelling for all verbs, and a refusal that names the option."""

from __future__ import annotations

import inspect

import pytest
import typer

from recurl.cli.app import VERBS, app
from recurl.cli.numbers import count, real

from .conftest import Run, RunJson


def test_a_count_can_be_written_with_an_exponent(run_json: RunJson) -> None:
    assert run_json("simulate", "gambler", "--episodes", "1e2")["episodes"] == 100
    learned = run_json("learn", "gambler", "--steps", "2.5e3", "--seeds", "1e0", "--out", "a")
    assert learned["runs"][0]["steps"] == 2500


@pytest.mark.parametrize(
    ("verb", "option", "value", "reason"),
    [
        ("simulate", "--episodes", "4611686018427387904", "range"),
        ("simulate", "--episodes", "0", "range"),
        ("simulate", "--step-limit", "-3", "range"),
        ("simulate", "--seed", "1e30", "range"),
        ("simulate", "--trace", "-1", "range"),
        ("learn", "--steps", "1.5", "whole"),
        ("learn", "--steps", "nan", "range"),
        ("learn", "--steps", "inf", "range"),
        ("learn", "--steps", "many", "number"),
        ("learn", "--seeds", "-1", "range"),
        ("learn", "--episode-limit", "0", "range"),
        ("learn", "--evaluate-every", "-1", "range"),
        ("learn", "--memory", "-1", "range"),
        ("learn", "--exploration", "1.5", "at most 1"),
        ("learn", "--quantum", "-1", "at least 0"),
        ("learn", "--learning-rate", "0", "greater than 0"),
        ("pac", "--epsilon", "0", "greater than 0"),
        ("pac", "--delta", "1", "less than 1"),
        ("pac", "--discount", "nan", "finite"),
        ("pac", "--steps", "0.5", "at least 1"),
        ("pac", "--most", "0.5", "range"),
        ("pac", "--seed", "-1", "range"),
        ("pac", "--support", "x", "number"),
        ("reproduce", "--seeds", "0", "range"),
        ("reproduce", "--workers", "1e9", "range"),
        ("explain", "--contexts", "-1", "range"),
        ("solve", "--epsilon", "0", "greater than 0"),
        ("solve", "--at-least", "nan", "finite"),
    ],
)
def test_what_is_out_of_range_is_refused_by_name(
    verb: str, option: str, value: str, reason: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    subject = {"reproduce": "cloud", "explain": "runs"}.get(verb, "gambler")
    monkeypatch.setattr("recurl.zoo.make_from_text", None)  # nothing runs
    told = run(verb, subject, f"{option}={value}", code=2).stderr
    assert option in told
    assert reason in told


def test_no_verb_reads_a_count_in_another_way() -> None:
    for command in app.registered_commands:
        assert command.callback is not None
        for parameter in inspect.signature(command.callback, eval_str=True).parameters.values():
            notes = getattr(parameter.annotation, "__metadata__", ())
            kind = str(getattr(parameter.annotation, "__origin__", ""))
            if "int" in kind or "float" in kind:
                assert notes[0].parser is not None, (command.name, parameter.name)
    assert len(app.registered_commands) == len(VERBS)


def test_bounds_are_part_of_the_range() -> None:
    whole, part = count("", least=2, most=10).parser, real("", least=0, most=1).parser
    assert [whole("2"), whole("1e1"), part("0"), part("1")] == [2, 10, 0, 1]
    with pytest.raises(typer.BadParameter, match="range"):
        whole("11")
