"""Branching decision processes: closed-form values of the models that the papers use."""

from __future__ import annotations

from pathlib import Path

import pytest

import recurl
from recurl.errors import DocumentError

CLOUD = """// T -(a1, 1)-> S S S, T -(a2, 6)-> nothing; S -(a1, 2)-> nothing, S -(a2, 1)-> p : S
bdp
const double p = 0.25;
const int eps = 2;
label "final" = entity = eps;
module main
  entity : [0..2] init 0;
  nature : bool init false;
  [a1] entity=0 & !nature -> (nature' = true);
  [a2] entity=0 & !nature -> (entity' = eps);
  [a1] entity=1 -> (entity' = eps);
  [a2] entity=1 -> p : (entity' = 1) + (1-p) : (entity' = eps);
  [step] entity=eps -> true;
  [c1] nature -> (entity' = 1) & (nature' = false);
  [c2] nature -> (entity' = 1) & (nature' = false);
  [c3] nature -> (entity' = 1) & (nature' = false);
endmodule
player one [a1], [a2], [step] endplayer
player nature [c1], [c2], [c3] endplayer
rewards
  [a1] entity=0 : 1; [a2] entity=0 : 6; [a1] entity=1 : 2; [a2] entity=1 : 1;
endrewards
"""

GAMBLER = """bdp
const double p = {p};
label "final" = x = 1;
module main
  x : [0..2] init 0;
  [bet] x=0 -> p : (x'=2) + 1-p : (x'=1);
  [first] x=2 -> (x'=0);
  [second] x=2 -> (x'=0);
endmodule
player gambler [bet] endplayer
player nature [first], [second] endplayer
rewards [bet] true : 1; endrewards
"""


def read(folder: Path, text: str, name: str = "model.prism") -> recurl.RMDP:
    (folder / name).write_text(text)
    return recurl.load(folder / name)


def test_children_add_up_and_the_better_way_is_taken(tmp_path: Path) -> None:
    model = read(tmp_path, CLOUD)
    # S: min(2, 1 / (1 - 1/4)) = 4/3; T: min(1 + 3 * 4/3, 6) = 5.
    assert recurl.solve(model, objective="min").value == pytest.approx(5)
    # S: max = 2 with a1, T: 1 + 6 = 7.
    assert recurl.solve(model).value == pytest.approx(7)


@pytest.mark.parametrize("p", ["0.3", "0.4", "2/3"])
def test_the_gambler_dies_out_with_the_known_probability(tmp_path: Path, p: str) -> None:
    model = read(tmp_path, GAMBLER.format(p=p), "gambler.bdp")
    value = float(recurl.model.numbers.exact(p))
    dies = recurl.solve(model, of="exit:extinct").value
    assert dies == pytest.approx(min(1, (1 - value) / value), abs=1e-6)
    if value < 0.5:
        assert recurl.solve(model).value == pytest.approx(1 / (1 - 2 * value))


def test_the_epidemic_of_the_zoo(tmp_path: Path) -> None:
    text = """bdp
    const double s = 0.4; const double w = 0.2;
    label "final" = k = 2;
    module main
      k : [0..9] init 0;
      [wait] k=0 -> s*w : (k'=3) + s*(1-w) : (k'=0) + (1-s)*w : (k'=1) + (1-s)*(1-w) : (k'=2);
      [isolate] k=0 -> w : (k'=1) + 1-w : (k'=2);
      [wait] k=1 -> s : (k'=3) + 1-s : (k'=2);
      [treat] k=1 -> s/2 : (k'=0) + 1-s/2 : (k'=2);
      [c1] k=3 -> (k'=0);
      [c2] k=3 -> (k'=1);
    endmodule
    player one [wait], [isolate], [treat] endplayer
    player nature [c1], [c2] endplayer
    rewards
      k=0 : -1; k=1 : -10; [isolate] k=0 : -1; [treat] k=1 : -3;
    endrewards
    """
    assert recurl.solve(read(tmp_path, text)).value == pytest.approx(-115 / 24)


def test_children_by_chance_and_children_that_are_gone_at_once(tmp_path: Path) -> None:
    text = """bdp
    label "final" = k = 1;
    module main
      k : [0..4] init 0;
      [go] k=0 -> (k'=2);
      [c1] k=2 -> 0.5 : (k'=3) + 0.5 : (k'=1);
      [c2] k=2 -> 0.25 : (k'=3) + 0.75 : (k'=1);
      [pay] k=3 -> (k'=1);
    endmodule
    player one [go], [pay] endplayer
    player nature [c1], [c2] endplayer
    rewards [pay] true : 8; [go] true : 1; endrewards
    """
    assert recurl.solve(read(tmp_path, text)).value == pytest.approx(1 + 4 + 2)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("nature : bool", "nature : clock", "line 8"),
        ("(entity' = 1) & (nature' = false);\n  [c2]", "(entity' = 9);\n  [c2]", "its range"),
        ('label "final" = entity = eps;', "", 'no label "final"'),
        ("endmodule", "endmodule module b x : bool; endmodule", "several modules"),
        ("p : (entity' = 1)", "p/0 : (entity' = 1)", "divides by zero"),
        ("p : (entity' = 1)", "pp : (entity' = 1)", "'pp' is not defined"),
        ("p : (entity' = 1)", "0.5 : (entity' = 1)", "sum to 1.25"),
        ("p : (entity' = 1)", "true : (entity' = 1)", "number"),
        ("(1-p)", "(" * 3000 + "1-p" + ")" * 3000, "nested more than 50 levels"),
        ("= 0.25;", "= 1e999999999;", "decimal"),
        ("= 0.25;", "= pow(9, pow(9, 4));", "a power is whole"),
        ("player one", 'rewards "a" endrewards player one', "several rewards"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    assert old in CLOUD
    with pytest.raises(DocumentError, match=message):
        read(tmp_path, CLOUD.replace(old, new))


def test_a_chain_of_twenty_thousand_terms_is_no_deep_nest(tmp_path: Path) -> None:
    text = CLOUD.replace("= 0.25;", "= " + "0 + " * 20_000 + "0.25;")
    assert recurl.solve(read(tmp_path, text), objective="min").value == pytest.approx(5)


def test_formulas_that_use_each_other_are_refused(tmp_path: Path) -> None:
    text = CLOUD.replace("const int eps", "formula a = b; formula b = a;\nconst int eps")
    with pytest.raises(DocumentError, match="nested"):
        read(tmp_path, text.replace("entity=eps -> true", "a=1 -> true"))
