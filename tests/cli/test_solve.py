"""``recurl solve``."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from recurl import Builder, dump
from recurl.policy import Policy
from recurl.zoo import cloud

from .conftest import Run, RunJson


def test_the_optimum_of_cloud(run: Run, run_json: RunJson) -> None:
    data = run_json("solve", "cloud", "exits=1")
    assert data["lower"] <= -5.3425 + 1e-9
    assert data["upper"] >= -5.3425 - 1e-9
    assert data["upper"] - data["lower"] <= 1e-6
    assert data["choices"] == {"T.u1": ["divide"], "S.u3": ["reliable"]}
    assert data["policy"]["kind"] == "stackless"
    text = run("solve", "cloud", "exits=1").stdout
    assert "greatest expected total reward" in text
    assert ["S.u3", "reliable"] in [line.split() for line in text.splitlines()]


def test_other_questions(run_json: RunJson) -> None:
    least = run_json("solve", "cloud", "exits=1", "--of", "steps", "--objective", "min")
    assert least["lower"] == pytest.approx(1)
    assert least["rewards"] == "steps"
    assert least["choices"] == {"T.u1": ["mono"]}
    reached = run_json("solve", "gambler", "p=0.25", "--of", "exit:out")
    assert reached["lower"] == pytest.approx(1)


def test_infinity_is_an_answer(run_json: RunJson) -> None:
    data = run_json("solve", "gambler", "p=0.75")
    assert math.inf == float(data["lower"]) == float(data["upper"])


def test_rewards_of_a_property_are_infinite_where_the_goal_is_missed(
    run: Run, run_json: RunJson
) -> None:
    builder = Builder("wait").component("A", entries="in", exits="done").at("in")
    builder.action("wait").to("room").at("room").action("wait").to("room")
    dump(builder.action("work", reward=1).to("done").build(), "wait.umb")
    for direction, value in (("min", 1), ("max", math.inf)):
        asked = f'R{direction}=? [ F "done" ]'
        data = run_json("solve", "wait.umb", "--property", asked, "--certificate", "c.cert")
        assert data["endless"] == "inf"
        assert float(data["lower"]) == pytest.approx(value)
        assert float(data["upper"]) == pytest.approx(value)
        verdict = run_json("verify", "wait.umb", f"property={asked}", "c.cert")
        assert verdict["endless"] == "inf"
        assert "inf for runs that do not end" in verdict["claim"]
    collected = run_json("solve", "wait.umb", "--objective", "min")
    assert (collected["endless"], collected["upper"]) == (None, 0)
    given = run_json("solve", "wait.umb", "--objective", "min", "--endless", "inf")
    assert given["lower"] == pytest.approx(1)
    asked = 'Rmin=? [ F "done" ]'
    free = run_json("solve", "wait.umb", "--property", asked, "--endless", "none")
    assert (free["endless"], free["upper"]) == (None, 0)


DOMAIN = """
(define (domain lazy) (:requirements :hierarchy :typing)
 (:predicates (begun) (finished))
 (:task work :parameters ())
 (:method again :parameters () :task (work) :ordered-subtasks (and (work)))
 (:method properly :parameters () :task (work) :ordered-subtasks (and (begin) (finish)))
 (:action begin :parameters () :precondition () :effect (begun))
 (:action finish :parameters () :precondition (begun) :effect (finished)))
"""
PROBLEM = """
(define (problem p) (:domain lazy)
 (:htn :ordered-subtasks (and (work))) (:init))
"""


def test_plans_have_to_end(run_json: RunJson) -> None:
    """A method that calls its own task for free, again and again, is not the least cost."""
    pytest.importorskip("unified_planning", reason="needs the extra planning")
    Path("lazy.hddl").write_text(DOMAIN)
    Path("problem.hddl").write_text(PROBLEM)
    data = run_json("solve", "lazy.hddl", "problem=problem.hddl", "--certificate", "c.cert")
    assert data["endless"] == "-inf"
    assert data["lower"] == data["upper"] == -2
    verdict = run_json("verify", "lazy.hddl", "problem=problem.hddl", "c.cert")
    assert verdict["lower"] == verdict["upper"] == -2
    free = run_json("solve", "lazy.hddl", "problem=problem.hddl", "--endless", "none")
    assert free["lower"] == 0


def test_an_open_end_is_said_first_and_told_to_scripts(run: Run) -> None:
    builder = Builder("loan").component("A", entries="in", exits="out").at("in")
    builder.action("go").to("room").at("room").action("lend", reward=-1).to("back")
    builder.action("leave", reward=-4).to("out").at("back").action("regain", reward=1).to("room")
    dump(builder.build(), "loan.yaml")
    text = run("solve", "loan.yaml", code=3).stdout
    assert text.startswith("loan: open end: the greatest expected total reward is in [")
    assert "A.room" in text or "A.back" in text
    run("solve", "loan.yaml", "--at-least", "-6")
    run("solve", "loan.yaml", "--at-least", "6", code=3)


@pytest.mark.parametrize(("threshold", "decided"), [("-6", True), ("-5", False)])
def test_thresholds(threshold: str, decided: bool, run: Run, run_json: RunJson) -> None:
    data = run_json("solve", "cloud", "exits=1", "--at-least", threshold)
    assert (data["at_least"], data["decided"]) == (float(threshold), decided)
    text = run("solve", "cloud", "exits=1", "--at-least", threshold).stdout
    assert f"at least {threshold}?  {'yes' if decided else 'no'}" in text


def test_files_are_written(run: Run) -> None:
    run("solve", "cloud", "exits=1", "--certificate", "c.cert", "--policy", "p.json")
    assert Policy.load("p.json", cloud(exits=1)).action_name("S.u3") == "reliable"
    assert "proved" in run("verify", "cloud", "exits=1", "c.cert").stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--method", "policy-iteratio"), "Did you mean 'policy-iteration'?"),
        (("--objective", "mix"), "'mix'"),
        (("--of", "exit:u9"), "'u9'"),
        (("--of", "money"), "'money'"),
        (("--epsilon", "-1"), "'--epsilon'"),
        (("--epsilon", "nan"), "'--epsilon'"),
        (("--certificate", "nowhere/c.cert"), "the folder nowhere does not exist"),
        (("--policy", "."), "is a folder"),
    ],
)
def test_a_wrong_option_is_a_usage_error(
    arguments: tuple[str, str], message: str, run: Run
) -> None:
    assert message in run("solve", "cloud", "exits=1", *arguments, code=2).stderr
    assert list(Path.cwd().iterdir()) == []


def test_a_boolean_program_is_answered_with_a_probability(run: Run, run_json: RunJson) -> None:
    Path("guess.bp").write_text("var x; void main() { x = choose(); assert(x == flip(0.6)); }")
    text = run("solve", "guess.bp").stdout
    assert "least probability that an assertion is violated  0.4" in text
    assert ["main.x=False", "True"] in [line.split() for line in text.splitlines()]
    assert run_json("solve", "guess.bp")["lower"] == pytest.approx(-0.4)
    Path("wrong.bp").write_text("void main() {\n  asert(true); }")
    result = run("solve", "wrong.bp", code=1)
    assert "wrong.bp: 1 problem:\n  line 2: column 3: unknown procedure asert" in result.stderr


def test_what_depends_on_the_stack_is_stated_as_a_rule(run: Run, run_json: RunJson) -> None:
    text = run("solve", "cloud").stdout
    assert "H.u5   no with 0..7 pending calls of H at b6, yes from 8 on" in text
    assert "depends on the stack" not in text
    table = run("solve", "cloud", "--explain").stdout
    assert "H.u5   with 8 or more pending calls of H at b6   yes" in table
    one = run("solve", "cloud", "exits=2", "--explain", "H.u5").stdout
    assert "H.u5: no with 0..7 pending calls of H at b6, yes from 8 on" in one
    assert "H.u5   H within 8 calls of H   yes" in one
    data = run_json("solve", "--explain", "cloud", "H.u5")
    assert [clause["do"] for clause in data["rules"][0]["clauses"]] == ["no", "yes"]
    assert "rules" not in run_json("solve", "cloud")
    assert "Did you mean 'u5'" in run("solve", "cloud", "--explain", "H.u55", code=2).stderr
    assert "H.u5" in run("solve", "cloud", "H.u5", code=2).stderr  # no parameter


def test_the_reward_of_runs_that_end(run_json: RunJson) -> None:
    found = run_json("solve", "gambler", "p=0.75", "--of", "reward given end")
    assert found["lower"] == pytest.approx(3)
    assert found["rewards"] == "given end"


def test_from_any_vertex(run: Run, run_json: RunJson) -> None:
    worth = ("--start", "H.u5", "--exit-values", "0,1")
    data = run_json("solve", "cloud", *worth, "--certificate", "h.cert", "--policy", "h.json")
    assert data["lower"] <= 0.8 <= data["upper"]
    assert data["exit_values"] == [0, 1]
    assert run_json("verify", "cloud", "h.cert", "--start", "H.u5")["exit_values"] == {"u7": 1.0}
    assert "for another model" in run("verify", "cloud", "h.cert", code=1).stderr
    stack = ("--start", "H.u5", "--stack", "T.b1", "--stack", "S.b4")
    data = run_json("solve", "cloud", *stack, "--certificate", "s.cert")
    assert run_json("verify", "cloud", "s.cert", *stack)["proved"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--start", "H.u9"), "Unknown vertex"),
        (("--start", "H.u5", "--exit-values", "1"), "one per exit: u6, u7"),
        (("--exit-values", "a"), "list of numbers"),
        (("--exit-values", "nan"), "finite"),
        (("--stack", "T.b1"), "--start"),
        (("--start", "H.u5", "--stack", "T.b1"), "lies in component H"),
        (("--discount", "0.9", "--endless", "inf"), "every run ends"),
    ],
)
def test_starts_that_do_not_fit(run: Run, options: tuple[str, ...], words: str) -> None:
    assert words in run("solve", "cloud", *options, code=2).stderr
