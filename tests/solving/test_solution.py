from __future__ import annotations

import copy
import itertools
import math
import pickle  # noqa: TID251  # what other processes are sent
import re
from dataclasses import replace
from pathlib import Path

import matplotlib as mpl
import msgspec
import numpy as np
import pytest

import recurl
from recurl.errors import CertificateError
from recurl.solving.question import Question
from recurl.solving.solution import MOST, History, Solution, is_watched


def solution(low: float, high: float, question: Question | None = None) -> Solution:
    return Solution(recurl.zoo.gambler(), question or Question(), low, high, "guessing", "why not")


def test_value_and_gap() -> None:
    assert (solution(1, 2).value, solution(1, 2).gap) == (1.5, 1)
    assert (solution(math.inf, math.inf).value, solution(math.inf, math.inf).gap) == (math.inf, 0)
    assert math.isnan(solution(1, math.inf).value)
    assert solution(1, math.inf).gap == math.inf


@pytest.mark.parametrize(
    ("low", "high", "threshold", "answer"),
    [(1, 2, 1, True), (1, 2, 2.5, False), (1, 2, 2, None), (math.inf, math.inf, 9, True)],
)
def test_thresholds(low: float, high: float, threshold: float, answer: bool | None) -> None:
    assert solution(low, high).at_least(threshold) is answer


def test_one_paragraph() -> None:
    text = str(solution(1, 2))
    assert text == (
        "gambler: the greatest expected total reward is in [1, 2], width 1. "
        "Method: guessing (why not). 0 s."
    )
    assert "least expected number of steps is 3" in str(solution(3, 3, Question("min", "steps")))
    by_exit = str(solution(0, 1, Question("min", "none", (1.0,))))
    assert "gambler: the least probability to leave by out is in [0, 1]" in by_exit
    assert "expected worth of the exit reached" in str(
        solution(0, 1, Question("max", "none", (3.0,)))
    )
    assert "\n" not in text


def test_work_is_counted_in_words() -> None:
    told = replace(solution(1, 2), work={"rounds": 1.0, "points": 58.0})
    assert "1 round, 58 points in 0 s" in str(told)
    assert "1 policy in 0 s" in str(replace(told, work={"policies": 1.0}))


def test_as_a_table() -> None:
    page = solution(1, 2)._repr_html_()
    assert "greatest expected total reward" in page
    assert "guessing (why not)" in page


def test_answers_without_evidence_say_so() -> None:
    with pytest.raises(CertificateError, match="this answer has no certificate: why not"):
        _ = solution(1, 2).certificate


def test_bounds_by_vertex() -> None:
    # A countdown from a call: 19 expected; after its return only the step up is left.
    found = recurl.solve(recurl.zoo.countdown(), epsilon=1e-9)
    assert found.values_lower is not None
    assert found.values_upper is not None
    assert (found.values_lower <= found.values_upper).all()
    model = found.model
    t = model.tables
    start = int(t.starts[0])
    assert found.values_lower[start] <= 19 + 1e-9
    assert found.values_upper[start] >= 19 - 1e-9
    exits = t.vertex_kind == 1
    assert (found.values_upper[exits] == 0).all()


@pytest.mark.parametrize("objective", ["max", "min"])
@pytest.mark.parametrize("kind", ["hierarchical", "deterministic"])
@pytest.mark.parametrize("seed", range(4))
def test_bounds_by_vertex_with_several_exits(seed: int, kind: str, objective: str) -> None:
    # Flattening, or longest paths, against the points and pieces of the certified search.
    model = recurl.zoo.random_model(seed=seed, kind=kind, components=3, nodes=6)
    exact = recurl.solve(model, objective=objective)
    search = recurl.solve(model, "certified", objective=objective)
    assert search.method != exact.method
    assert exact.values_lower is not None
    assert exact.values_upper is not None
    assert search.values_lower is not None
    assert search.values_upper is not None
    known = ~np.isnan(exact.values_lower)
    own = model.tables.vertex_component == model.tables.start_component
    assert known.sum() > 3
    assert own[known].all()
    assert (np.isnan(search.values_lower) == ~own).all()
    assert (search.values_lower[known] <= exact.values_upper[known] + 1e-9).all()
    assert (search.values_upper[known] >= exact.values_lower[known] - 1e-9).all()
    start = model.tables.starts
    assert search.values_upper[start] - search.values_lower[start] == pytest.approx(0, abs=2e-6)


@pytest.mark.parametrize(
    ("name", "parameters"), [("cloud", {}), ("cloud", {"exits": 1}), ("countdown", {})]
)
def test_solutions_are_pickled_with_their_evidence(name: str, parameters: dict[str, int]) -> None:
    model = getattr(recurl.zoo, name)(**parameters)
    found = recurl.solve(model, epsilon=0.01)
    other = pickle.loads(pickle.dumps(found))  # noqa: S301
    assert (other.lower, other.upper, str(other)) == (found.lower, found.upper, str(found))
    assert (other.model, other.policy, other.question) == (model, found.policy, found.question)
    assert other.certificate == found.certificate
    recurl.verify(model, other.certificate)
    assert copy.deepcopy(found) is found


def test_a_solution_without_a_certificate_is_pickled_without_one() -> None:
    other = pickle.loads(pickle.dumps(solution(1, 2)))  # noqa: S301
    with pytest.raises(CertificateError, match="no certificate"):
        _ = other.certificate


def test_what_a_solution_leads_to_is_pickled() -> None:
    policy = recurl.solve(recurl.zoo.cloud(), epsilon=0.01).policy
    assert policy is not None
    worth = recurl.evaluate(policy)
    assert pickle.loads(pickle.dumps(worth)).value == worth.value  # noqa: S301
    runs = recurl.simulate(policy.model, policy, 20, traces=2)
    other = pickle.loads(pickle.dumps(runs))  # noqa: S301
    assert other.returns.tolist() == runs.returns.tolist()
    assert list(map(str, other.traces)) == list(map(str, runs.traces))


mpl.use("Agg")


def test_intervals_are_noted_and_passed_on() -> None:
    told = []
    history = History(lambda *interval: told.append(interval))
    history(-2.0, 1.0, {"rounds": 1})
    assert told == [(-2.0, 1.0, {"rounds": 1})]
    assert history.intervals[0][1:] == (-2.0, 1.0)


def test_of_many_intervals_some_are_kept_in_order() -> None:
    history = History()
    for i in range(10 * MOST):
        history(float(i), 1e9, {})
    lows = [low for _, low, _ in history.intervals]
    assert len(lows) <= MOST
    assert lows == sorted(lows)
    assert (lows[0], lows[-1]) == (0.0, 10.0 * MOST - 1)


def test_a_history_alone_is_nobody_who_watches() -> None:
    assert not is_watched(None)
    assert not is_watched(History())
    assert is_watched(History(print))
    assert is_watched(print)


def test_noting_does_not_change_how_a_model_is_solved() -> None:
    """With somebody to tell, 1-exit methods refine in stages; a history is no such body."""
    model = recurl.zoo.spelunking()
    alone = recurl.solve(model, "value-iteration")
    watched = recurl.solve(model, "value-iteration", callback=lambda *_: None)
    assert len(watched.history) > len(alone.history) == 2


@pytest.mark.parametrize("model", [recurl.zoo.cloud(), recurl.zoo.cloud(exits=1)])
def test_bounds_close_over_time(model: recurl.RMDP) -> None:
    solution = recurl.solve(model)
    seconds, lower, upper = np.array(solution.history).T
    assert (np.diff(seconds) >= 0).all()
    assert (lower <= upper).all()
    assert (lower[-1], upper[-1], seconds[-1]) == (solution.lower, solution.upper, solution.seconds)


def test_a_plot_shows_both_bounds() -> None:
    import matplotlib.pyplot as plt

    solution = recurl.solve(recurl.zoo.cloud())
    axes = solution.plot()
    low, high = axes.lines[:2]
    assert list(np.asarray(low.get_ydata())) == [one[1] for one in solution.history]
    assert list(np.asarray(high.get_ydata())) == [one[2] for one in solution.history]
    assert axes.get_xlabel() == "seconds"
    assert axes.get_ylabel() == "greatest expected total reward"
    bottom, top = axes.get_ylim()
    assert bottom < solution.lower <= solution.upper < top
    plt.close("all")


def test_an_infinite_value_is_not_plotted() -> None:
    endless = (
        recurl.Builder("endless")
        .component("A", entries="in", exits="out")
        .at("in").action("go").to("on")
        .at("on").action("more", reward=1).to("on").action("stop").to("out")
        .build()
    )  # fmt: skip
    with pytest.raises(ValueError, match="nothing to plot: the value is inf"):
        recurl.solve(endless).plot()


def test_certified_intervals_never_widen() -> None:
    seen: list[tuple[float, float]] = []
    solution = recurl.solve(
        recurl.zoo.stack_matters(),
        "certified",
        callback=lambda low, high, work: seen.append((low, high)),
    )
    assert len(seen) > 1
    for before, after in itertools.pairwise(seen):
        assert after[0] >= before[0]
        assert after[1] <= before[1]
    assert solution.lower <= 43 / 55 <= solution.upper


def test_the_sentence_says_whether_the_policy_needs_the_stack() -> None:
    assert str(recurl.solve(recurl.zoo.gambler())).endswith("Attained by a stackless policy.")
    said = str(recurl.solve(recurl.zoo.cloud()))
    assert said.endswith("Attained by a policy that uses the stack.")


def test_a_policy_that_does_the_same_in_all_contexts_needs_no_stack() -> None:
    builder = recurl.Builder("ways").component("A", entries="in", exits=["x", "y"])
    builder.at("in").action("near", reward=-1).to("x").action("far", reward=-2).to("y")
    found = recurl.solve(builder.build(), "certified")
    assert not found.policy.uses_stack
    assert str(found).endswith("Attained by a stackless policy.")
    assert recurl.solve(recurl.zoo.cloud()).policy.uses_stack


def test_the_first_line_says_that_epsilon_is_missed() -> None:
    gambler = recurl.zoo.gambler(p=0.4)
    assert "wider than the 1e-300 asked for. Method" in str(recurl.solve(gambler, epsilon=1e-300))
    assert "asked for" not in str(recurl.solve(gambler))
    decided = recurl.solve(recurl.zoo.cloud(), epsilon=1e-12, at_least=-6)
    assert decided.epsilon is None
    assert "asked for" not in str(decided)


@pytest.mark.parametrize("epsilon", [1e-6, 1e-11, 1e-13])
def test_more_precision_keeps_the_words_of_a_policy(epsilon: float) -> None:
    rule = recurl.solve(recurl.zoo.cloud(), epsilon=epsilon).policy.explain("H.u5")
    assert rule.text.startswith("no with 0..7 pending calls of H at b6, yes from 8 on")


@pytest.mark.parametrize("objective", ["max", "min"])
def test_probabilities_and_steps_stay_in_their_range(objective: str) -> None:
    builder = recurl.Builder("m").component("C", entries="in", exits=["x", "y"]).box("b", "C")
    builder.at("in").action("go").to("y", 0.55).to("b", 0.45).action("up").to("y")
    builder.at("b.x").action("go").to("x").at("b.y").action("go").to("y", 0.5).to("b", 0.5)
    model = builder.build()
    for of in ("exit:x", "exit:y", "reward"):
        found = recurl.solve(model, "certified", of=of, objective=objective)
        assert 0.0 <= found.lower <= found.upper <= 1.0
        proved = recurl.verify(model, found.certificate)
        assert (proved.lower, proved.upper) == (found.lower, found.upper)


def test_ends_that_are_clear_replace_wider_ones() -> None:
    worth = Question("max", "none", (-2.0,))
    assert (solution(-3, 1, worth).lower, solution(-3, 1, worth).upper) == (-2, 0)
    assert solution(-1, math.inf, Question("min", "steps")).lower == 0
    assert solution(-1, 1, Question("max", "none", (1.0,))).lower == 0


@pytest.mark.parametrize(
    ("known", "proved", "narrow", "reported"),
    [
        ((1.0, 2.0), (0.0, 10.0), 1e-9, (0.0, 10.0)),
        ((1.0, 2.0), (0.0, 20.0), 1e-9, (1.0, 2.0)),
        ((1.0, 2.0), (0.0, 3.0), 1.5, (1.0, 2.0)),  # narrow enough, and its evidence is not
        ((1.0, 2.0), (0.0, 2.0), 2.0, (0.0, 2.0)),
        ((5.0, math.inf), (None, None), 1e-9, (5.0, math.inf)),
        ((5.0, math.inf), (5.0, 6.0), 1e-9, (5.0, 6.0)),
    ],
)
def test_the_interval_of_a_certificate_that_is_not_much_wider(
    known: tuple[float, float],
    proved: tuple[float | None, float | None],
    narrow: float,
    reported: tuple[float, float],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("recurl.solving.solution.verify", lambda *_: None)  # it lists no evidence
    model, question = recurl.zoo.gambler(), Question()
    certificate = question.certificate(model, proved)
    found = replace(solution(*known), _certify=lambda: certificate).as_proved(narrow)
    assert (found.lower, found.upper) == reported
    claim = "greatest expected total reward"
    assert found.certificate == msgspec.structs.replace(certificate, claim=claim)
    assert solution(1, 2).as_proved(1e-9).upper == 2  # there is no certificate


@pytest.mark.parametrize(
    ("model", "asked"),
    [
        (recurl.zoo.cloud(), {}),
        (recurl.zoo.cloud(exits=1), {}),
        (recurl.zoo.succinct(5), {}),
        (recurl.zoo.gambler(p=0.4), {"of": "exit:out"}),
        (recurl.zoo.gambler(p=0.4), {"of": "steps", "objective": "min"}),
        (recurl.zoo.frozen_lake(), {}),
        (recurl.zoo.palindrome(size=3), {}),
        (recurl.zoo.office(), {}),
    ],
)
def test_what_it_took_is_explained(model: recurl.RMDP, asked: dict[str, str]) -> None:
    page = Path(__file__).parents[2] / "docs" / "reference" / "solving.md"
    table = page.read_text().partition("## What the counts mean")[2].partition("##")[0]
    words = {
        word.strip() for row in table.split("\n| ")[3:] for word in row.split("|")[0].split(",")
    }
    solution = recurl.solve(model, **asked)
    assert set(solution.work) <= words
    assert re.search(r"[.,] 0 \w", str(solution)) is None  # what did not happen is not told
