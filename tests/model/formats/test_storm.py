"""PRISM, JANI and DRN, through Storm; and the text files that Storm reads."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import recurl
from recurl.errors import DocumentError, MissingExtraError
from recurl.model.formats import dump
from recurl.model.formats import storm as storm_reader
from recurl.model.formats.format import Options

DIE = """
dtmc
const int SIDES;
module die
  s : [0..SIDES] init 0;
  [roll] s=0 -> 1/3 : (s'=1) + 1/3 : (s'=2) + 1/3 : (s'=0);
  [stay] s>0 -> true;
endmodule
rewards "rolls"
  [roll] true : 1;
endrewards
rewards "weight"
  s=0 : 2;
endrewards
label "one" = s=1;
"""

CHOICE = """
mdp
module walk
  s : [0..3] init 0;
  [safe] s=0 -> 0.5 : (s'=1) + 0.5 : (s'=3);
  [bold] s=0 -> 0.9 : (s'=2) + 0.1 : (s'=3);
  [on] s=1 -> (s'=3);
  [loop] s=2 -> (s'=2);
  [end] s=3 -> (s'=3);
endmodule
label "home" = s=3;
label "dark" = s=2;
"""


@pytest.fixture
def storm() -> object:
    return pytest.importorskip("stormpy", reason="needs the extra storm")


def file(folder: Path, text: str, name: str = "model.prism") -> Path:
    (folder / name).write_text(text)
    return folder / name


def test_a_program_with_a_property(tmp_path: Path, storm: object) -> None:
    path = file(tmp_path, DIE)
    model = recurl.load(path, constants="SIDES=2", property="P=? [ F s=2 ]")
    assert recurl.solve(model, of="exit:goal").value == pytest.approx(0.5)
    rolls = recurl.load(path, constants={"SIDES": 2}, property='R{"rolls"}=? [ F s>0 ]')
    assert recurl.solve(rolls).value == pytest.approx(1.5)
    weight = recurl.load(path, constants="SIDES=2", property='R{"weight"}=? [ F s>0 ]')
    assert recurl.solve(weight).value == pytest.approx(3)


def test_the_greatest_and_the_least(tmp_path: Path, storm: object) -> None:
    path = file(tmp_path, CHOICE)
    most = recurl.load(path, property='Pmax=? [ F "home" ]')
    assert recurl.solve(most, of="exit:goal").value == pytest.approx(1)
    assert recurl.solve(most, of="exit:goal", objective="min").value == pytest.approx(0.1)
    until = recurl.load(path, property='Pmax=? [ s!=1 U "home" ]')
    assert recurl.solve(until, of="exit:goal").value == pytest.approx(0.5)
    steps = recurl.load(path, goal=["home", "dark"])
    assert recurl.solve(steps, of="steps", objective="min").value == pytest.approx(1)
    assert recurl.solve(steps, of="steps").value == pytest.approx(1.5)


@pytest.mark.parametrize("body", ['F P>=0.5 [ F "home" ]', '(s=1 & P{"p"}>0[F s=3]) U s=3'])
def test_nested_operators_are_refused_by_name(tmp_path: Path, storm: object, body: str) -> None:
    """Storm would decide them in floats, also where a probability is exactly the bound."""
    with pytest.raises(recurl.errors.PropertyError, match=r"a nested operator \(P within F or U\)"):
        recurl.load(file(tmp_path, CHOICE), property=f"Pmax=? [ {body} ]")


@pytest.mark.parametrize(
    ("body", "most"),
    [
        ('(F "home")', 1),
        ('((F ("home")))', 1),
        ('("dark" U ("home"))', 0),
        ("(s<2) U (s=2)", 0.9),
        ('((!"dark") U s=3)', 1),
    ],
)
def test_brackets_around_path_formulas(
    tmp_path: Path, storm: object, body: str, most: float
) -> None:
    model = recurl.load(file(tmp_path, CHOICE), property=f"Pmax=? [ {body} ]")
    assert recurl.solve(model, of="exit:goal").value == pytest.approx(most)


EXACT = """
mdp
const double p;
module walk
  s : [0..3] init 0;
  [safe] s=0 -> 0.1 : (s'=1) + 0.2 : (s'=2) + 0.7 : (s'=3);
  [bold] s=0 -> p : (s'=2) + 1-p : (s'=3);
  [on] s>0 & s<3 -> 1/3 : (s'=3) + 2/3 : (s'=0);
endmodule
rewards "paid"
  s=0 : 0.1;
  [safe] true : 1/7;
endrewards
label "home" = s=3;
"""


@pytest.mark.parametrize("form", ["prism", "jani", "drn"])
def test_numbers_are_rationals_as_written(tmp_path: Path, storm: object, form: str) -> None:
    import stormpy
    import stormpy.io

    path, options = file(tmp_path, EXACT), {"constants": "p=1e-3"}
    if form == "jani":
        jani, _ = stormpy.parse_prism_program(str(path)).to_jani([])
        path = tmp_path / "model.jani"
        stormpy.io.export_jani_to_file(str(path), jani)
    if form == "drn":
        program = stormpy.parse_prism_program(str(path))
        program, _ = stormpy.io.instantiate_constants(program, options.pop("constants"))
        path = tmp_path / "model.drn"
        built = stormpy.build_model[stormpy.Rational](program)
        stormpy.io.export_to_drn(built, str(path))
    model = recurl.load(path, goal="home", **options)
    count = model.tables.n_transitions
    found = {(str(model.exact.prob(i)), str(model.exact.reward(i))) for i in range(count)}
    inner = {("1/3", "0"), ("2/3", "0")}
    first = {(p, "17/70") for p in ("1/10", "1/5", "7/10")} | {
        ("1/1000", "1/10"),
        ("999/1000", "1/10"),
    }
    assert found == first | inner


def test_what_a_certificate_proves_holds_for_the_decimals(tmp_path: Path, storm: object) -> None:
    """0.1 + 0.2 three times over 0.3 is 3 exactly, and not so in doubles."""
    program = """
        dtmc module m s : [0..4] init 0;
          [] s<3 -> (s'=s+1); [] s=3 -> (s'=4);
        endmodule
        rewards s<2 : 0.1; s=2 : 0.7; s=3 : 0.1; endrewards
        label "end" = s=4;
    """
    model = recurl.load(file(tmp_path, program), property='R=? [ F "end" ]')
    proved = recurl.verify(model, recurl.solve(model, "certified").certificate)
    assert proved.lower <= 1 <= proved.upper
    assert sum(model.exact.reward(i) for i in range(model.tables.n_transitions)) == 1


def test_numbers_that_only_doubles_have(tmp_path: Path, storm: object) -> None:
    """Logarithms and roots have no rational value: the whole model is in doubles, and says so."""
    program = """
        dtmc module m s : [0..1] init 0;
          [] s=0 -> pow(0.5, 0.5) : (s'=1) + 1-pow(0.5, 0.5) : (s'=0);
        endmodule
        label "end" = s=1;
    """
    model = recurl.load(file(tmp_path, program), goal="end")
    assert model.exact.binary
    assert recurl.solve(model, of="steps").value == pytest.approx(2**0.5)


def test_rounded_probabilities_of_other_tools_are_completed(tmp_path: Path, storm: object) -> None:
    lines = ["@type: DTMC", "@parameters", "", "@reward_models", "", "@nr_states", "3"]
    lines += ["@nr_choices", "3", "@model", "state 0 init", "\taction 0"]
    lines += ["\t\t1 : 0.3333333333333333", "\t\t2 : 0.6666666666666666"]
    lines += [
        "state 1 one",
        "\taction 0",
        "\t\t1 : 1",
        "state 2 two",
        "\taction 0",
        "\t\t2 : 1",
        "",
    ]
    path = file(tmp_path, "\n".join(lines), "thirds.drn")
    model = recurl.load(path, goal=["one", "two"])
    probs = [model.exact.prob(i) for i in range(2)]
    assert sum(probs) == 1
    assert str(probs[0]) == "3333333333333333/10000000000000000"
    with pytest.raises(DocumentError, match="probabilities sum to"):
        recurl.load(
            file(tmp_path, path.read_text().replace("0.66", "0.56"), "less.drn"), goal="one"
        )


def test_states_are_called_by_the_values_of_variables(tmp_path: Path, storm: object) -> None:
    program = """
        mdp module m
          x : [0..2] init 0; up : bool init false; warm : bool init false;
          [go] x<2 -> 0.5 : (x'=x+1) & (up'=true) + 0.5 : (warm'=!warm);
        endmodule
        label "end" = x=2;
    """
    model = recurl.load(file(tmp_path, program), goal="end")
    names = {name.removeprefix("main.") for name in map(model.vertex_name, range(6))}
    assert {"start", "end", "x=1, up, warm", "x=0, !up, warm", "x=1, up, !warm"} <= {
        ", ".join(sorted(name.split(", "), key=lambda part: part.lstrip("!").replace("x=", "a")))
        for name in names
    }


UNTYPED = """// not a dtmc
module m
  s : [0..2] init 0;
  [a] s=0 -> (s'=1);
  [b] s=0 -> (s'=2);
endmodule
rewards s=0 : 1/3; endrewards
rewards s=0 : 2; endrewards
rewards "cost" s=0 : 5; endrewards
"""


def test_a_program_without_a_type_is_an_mdp(tmp_path: Path, storm: object) -> None:
    model = recurl.load(file(tmp_path, UNTYPED), property="Pmin=? [ F s=1 ]")
    assert recurl.solve(model, of="exit:goal").value == pytest.approx(1)
    assert recurl.solve(model, of="exit:goal", objective="min").value == pytest.approx(0)


def test_rewards_without_a_name_are_the_first_structure(tmp_path: Path, storm: object) -> None:
    path = file(tmp_path, UNTYPED)
    first = recurl.load(path, property="Rmax=? [ F s>0 ]")
    assert str(first.exact.reward_range[1]) == "1/3"
    named = recurl.load(path, property='R{"cost"}max=? [ F s>0 ]')
    assert recurl.solve(named).value == pytest.approx(5)
    rolls = recurl.load(file(tmp_path, DIE), constants="SIDES=2", property="R=? [ F s>0 ]")
    assert recurl.solve(rolls).value == pytest.approx(1.5)


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (DIE, {}, "undefined constants: SIDES"),
        (DIE, {"constants": "SIDES=2"}, "several rewards: name one"),
        (DIE, {"constants": "SIDES=2", "property": 'R{"x"}=? [ F s=1 ]'}, "no rewards 'x'"),
        (CHOICE, {}, "several labels .name one: goal=LABEL; labels: .*home"),
        (CHOICE, {"property": 'Pmax=? [ F "hme" ]'}, "Storm cannot read it: .*hme"),
        (CHOICE, {"property": "Pmax=? [ F s= ]"}, "Storm cannot read it"),
        ("mdp\nmodule", {}, "Storm cannot read it"),
        (CHOICE.replace("mdp", "ctmc"), {"goal": "home"}, "is a CTMC|Storm cannot read it"),
    ],
)
def test_what_storm_refuses_is_one_clear_error(
    tmp_path: Path, storm: object, text: str, options: dict[str, str], message: str
) -> None:
    with pytest.raises(DocumentError, match=message):
        recurl.load(file(tmp_path, text), **options)


def test_jani_is_read(tmp_path: Path, storm: object) -> None:
    import stormpy
    import stormpy.io

    program = stormpy.parse_prism_program(str(file(tmp_path, CHOICE)))
    jani, _ = program.to_jani([])
    stormpy.io.export_jani_to_file(str(tmp_path / "model.jani"), jani)
    model = recurl.load(tmp_path / "model.jani", property="Pmin=? [ F s=3 ]")
    assert recurl.solve(model, of="exit:goal", objective="min").value == pytest.approx(0.1)


def test_drn_goes_out_and_comes_back(tmp_path: Path, storm: object) -> None:
    for model in (recurl.unravel(recurl.zoo.cloud(), 2), recurl.zoo.succinct(3)):
        dump(model, tmp_path / "a.drn", depth=3)
        flat = recurl.unravel(model, 3)
        exits = [flat.names.nodes[1 + k] for k in range(int(flat.tables.n_exits[0]))]
        again = recurl.load(tmp_path / "a.drn", goal=exits)
        assert again.tables.n_vertices == flat.tables.n_vertices
        assert recurl.solve(again).value == pytest.approx(recurl.solve(flat).value)


def test_explicit_files_say_the_same_as_the_model(tmp_path: Path) -> None:
    model = recurl.unravel(recurl.zoo.cloud(), 2)
    dump(model, tmp_path / "a.tra")
    header, *lines = (tmp_path / "a.tra").read_text().splitlines()
    t, exits = model.tables, int(model.tables.n_exits[0])
    counts = [t.n_vertices, t.n_actions + exits, t.n_transitions + exits]
    assert [int(word) for word in header.split()] == counts
    rows = {tuple(map(int, line.split()[:3])): float(line.split()[3]) for line in lines}
    _, *paid = (tmp_path / "a.trew").read_text().splitlines()
    rewards = {tuple(map(int, line.split()[:3])): float(line.split()[3]) for line in paid}
    for action in range(t.n_actions):
        vertex = int(t.action_vertex[action])
        for i in range(t.transition_start[action], t.transition_start[action + 1]):
            place = (vertex, action - int(t.action_start[vertex]), int(t.target[i]))
            assert rows.pop(place) == t.prob[i]
            assert rewards.get(place, 0) == t.reward[i]
    assert rows == {(1 + k, 0, 1 + k): 1.0 for k in range(exits)}


def test_text_files_need_no_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "stormpy", None)
    builder = recurl.Builder("coin").component("A", entries="in", exits=["up", "down side"])
    builder.at("in").action("toss", reward="1/3").to("up", "1/4").to("down side", "3/4")
    dump(builder.build(), tmp_path / "a.drn")
    lines = (tmp_path / "a.drn").read_text().splitlines()
    assert "state 0 [0] init" in lines
    assert lines[lines.index("state 0 [0] init") + 1 :][:3] == [
        "\taction toss [1/3]",
        "\t\t1 : 1/4",
        "\t\t2 : 3/4",
    ]
    assert "state 2 [0] exit1" in lines
    dump(builder.build(), tmp_path / "a.tra")
    assert (
        tmp_path / "a.tra"
    ).read_text() == "3 3 4\n0 0 1 0.25\n0 0 2 0.75\n1 0 1 1.0\n2 0 2 1.0\n"
    assert (
        tmp_path / "a.lab"
    ).read_text() == '0="init" 1="deadlock" 2="up" 3="exit1"\n0: 0\n1: 2\n2: 3\n'
    with pytest.raises(MissingExtraError, match=r"pip install 'recurl\[storm\]'"):
        recurl.load(tmp_path / "a.drn")


def test_a_crash_or_a_hang_of_storm_is_one_clear_error(
    tmp_path: Path, storm: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = file(tmp_path, "mdp module m x : [0..2000000000] init 0; [] true -> (x'=x+1); endmodule")
    monkeypatch.setattr(storm_reader, "LONGEST_EXPLORATION", 2.0)
    with pytest.raises(DocumentError, match="has not built it after 2 seconds"):
        recurl.load(path, goal="init")
    killed = [sys.executable, "-c", "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"]
    run = subprocess.run
    monkeypatch.setattr(
        storm_reader.subprocess, "run", lambda command, **given: run(killed, **given)
    )
    with pytest.raises(DocumentError, match=r"crashed on it \(SIGSEGV\)"):
        recurl.load(path, goal="init")


@pytest.mark.skipif(sys.platform != "linux", reason="sets a limit of the process")
def test_files_are_read_under_a_limit_of_memory(tmp_path: Path, storm: object) -> None:
    """Batch schedulers set the hard limit, which no process may raise."""
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 1024
    path = file(tmp_path, CHOICE)
    code = "import recurl, sys; print(recurl.load(sys.argv[1], goal='home').tables.n_vertices)"
    limited = f'ulimit -v {whole - 1024} && exec "$@"'
    done = subprocess.run(
        ["bash", "-c", limited, "bash", sys.executable, "-c", code, str(path)],
        capture_output=True,
        text=True,
    )
    assert (done.stdout, done.stderr) == ("4\n", "")


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_storm_ends_with_the_process_that_asked(tmp_path: Path, storm: object) -> None:
    text = "mdp module m x : [0..2000000000] init 0; [] true -> (x'=x+1); endmodule"
    path = file(tmp_path, text)
    code = "import recurl, sys; recurl.load(sys.argv[1], goal='init')"
    with subprocess.Popen([sys.executable, "-c", code, str(path)]) as asking:
        children = Path(f"/proc/{asking.pid}/task/{asking.pid}/children")
        wait_for(lambda: "storm_build" in "".join(map(command, children.read_text().split())))
        (child,) = children.read_text().split()
        time.sleep(1)
        asking.kill()
    wait_for(lambda: "storm_build" not in command(child))


@pytest.mark.skipif(sys.platform != "linux", reason="the parent is known there")
def test_nothing_is_built_for_a_process_that_has_ended(tmp_path: Path, storm: object) -> None:
    built = tmp_path / "built.umb"
    request = storm_reader._request("prism", file(tmp_path, CHOICE), Options(), built)
    request["asked_by"] = os.getppid()
    start = [sys.executable, "-m", "recurl.model.formats.storm_build"]
    assert subprocess.run(start, input=json.dumps(request), text=True).returncode == 1
    assert not built.exists()


def command(process: str) -> str:
    """Command line of a process; empty if it has ended."""
    try:
        return Path(f"/proc/{process}/cmdline").read_text()
    except OSError:
        return ""


def wait_for(condition: Callable[[], bool]) -> None:
    """Wait until something holds, for half a minute at most."""
    for _ in range(300):
        if condition():
            return
        time.sleep(0.1)
    raise AssertionError("it did not come to hold")
