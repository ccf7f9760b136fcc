"""PReMo: round trips, and closed-form values of recursive chains."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from tests.strategies import models

import recurl
from recurl.errors import DocumentError
from recurl.model.formats import dump
from recurl.model.rmdp import RMDP

GAMBLER = """
W(1,1);
W {{
  first(W); second(W);
  entry(1): {p}: call first(1); {q}: return 1;
  first(1): 1: call second(1);
  second(1): 1: return 1;
}}
"""


def read(folder: Path, text: str) -> RMDP:
    (folder / "model.rmc").write_text(text)
    return recurl.load(folder / "model.rmc")


@pytest.mark.parametrize(("p", "q"), [("2/5", "3/5"), ("0.75", "0.25")])
def test_the_gambler_returns_with_the_known_probability(tmp_path: Path, p: str, q: str) -> None:
    model = read(tmp_path, GAMBLER.format(p=p, q=q))
    value = model.tables.prob[0]
    returns = recurl.solve(model, of="exit:ex1").value
    assert returns == pytest.approx(min(1, (1 - value) / value), abs=1e-6)


def test_the_tree_of_and_and_or(tmp_path: Path) -> None:
    """The first exit is true, the second false; see `recurl.zoo.and_or`."""
    text = "And(1,2); Or(1,2);\n"
    for name, parts, decisive in (("And", "Or", 2), ("Or", "And", 1)):
        other = 3 - decisive
        text += f"""{name} {{ left({parts}); right({parts});
          entry(1): 1/4: return 1; 1/4: return 2; 1/2: call left(1);
          left({decisive}): 1: return {decisive};
          left({other}): 1: call right(1);
          right(1): 1: return 1; right(2): 1: return 2; }}\n"""
    model = read(tmp_path, text)
    value = recurl.solve(model, of="exit:ex2").value
    assert value == pytest.approx(math.sqrt(10) / 2 - 1, abs=1e-6)


def test_palindromes(tmp_path: Path) -> None:
    """S -> a S a | b S b | empty, each with 1/3."""
    text = """S(1,1);
    S { inner(S);
        entry(1): 2/3: goto letter; 1/3: return 1;
        letter: 1: call inner(1);
        inner(1): 1: return 1; }"""
    model = read(tmp_path, text)
    assert recurl.solve(model, of="exit:ex1").value == pytest.approx(1)
    # Steps: 1 with 1/3, else letter, call and return: s = 1 + 2/3 (1 + s + 1), so s = 7.
    assert recurl.solve(model, of="steps").value == pytest.approx(7)


def test_a_player_chooses(tmp_path: Path) -> None:
    text = """A(1,1);
    A { one(A); two(A);
        max entry(1): goto risky; goto safe;
        risky: 0.9: call one(1); 0.1: return 1;
        safe: 1/2: goto safe; 1/4: return 1; 1/4: goto stuck;
        one(1): 1: call two(1);
        two(1): 1: return 1;
        stuck: 1: goto stuck; }"""
    model = read(tmp_path, text)
    # Safe: x = 1/2. Risky from then on: 0.1 + 0.9 / 4 < 1/2, so safe is best; least is x = 1/9.
    assert recurl.solve(model, of="exit:ex1").value == pytest.approx(0.5, abs=1e-6)
    least = recurl.solve(model, of="exit:ex1", objective="min")
    assert least.lower <= 1 / 9 + 1e-6
    assert least.upper >= 1 / 9 - 1e-6


@given(models())
def test_what_is_written_reads_back_as_the_same_process(model: RMDP) -> None:
    """Writing what was read changes nothing, and nothing but names and rewards is lost."""
    with tempfile.TemporaryDirectory() as folder:
        first, second = Path(folder, "a.rmc"), Path(folder, "b.rmc")
        dump(model, first)
        again = recurl.load(first)
        dump(again, second)
        assert recurl.load(second).tables.prob.tolist() == again.tables.prob.tolist()
        assert recurl.load(second).tables.target.tolist() == again.tables.target.tolist()
        t, u = model.tables, again.tables
        assert u.n_components - t.n_components in (0, 1)
        assert u.n_boxes - t.n_boxes == u.n_components - t.n_components
        assert (np.diff(u.action_start) > 1).sum() == (np.diff(t.action_start) > 1).sum()


def test_a_chain_keeps_its_probabilities(tmp_path: Path) -> None:
    model = recurl.zoo.and_or()
    dump(model, tmp_path / "a.rmc")
    again = recurl.load(tmp_path / "a.rmc")
    assert again.tables.prob.tolist() == model.tables.prob.tolist()
    assert [again.exact.prob(i) for i in range(9)] == [model.exact.prob(i) for i in range(9)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "declares no component"),
        ("A(1,1);", "declared, not defined"),
        ("A(1,1); A { entry(1): 1/2: return 1; }", "sum to 0.5"),
        ("A(1,1); A { entry(1): 1: return 2; }", "ex2"),
        ("A(1,1); A { entry(1): 1: goto x; }", "x"),
        ("A(1,1); A { b(C); entry(1): 1: return 1; }", "unknown component 'C'"),
        ("A(1,1); A { entry(1): 1: call b(1); }", "b.en1"),
        ("A(1,1); A { entry(1): 1/0: return 1; }", "divides by zero"),
        ("A(1,1); A { entry(1): 1: return 1;", "is expected, not 'the end'"),
        ("A(0,1); A { }", "not a number from 1"),
        ("A(999999999,1); A { }", "not a number from 1"),
        ("A(1,1); A { max entry(1): goto u; min u: return 1; }", "games of two players"),
        ("A(1,1); A { entry(1): 1: return 1; } A { }", "defined twice"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DocumentError, match=message):
        read(tmp_path, text)
