from __future__ import annotations

import numpy as np
import pytest

import recurl
from recurl.experiment.options import learner_class, learner_options
from recurl.experiment.paper import (
    PAPER,
    beside_published,
    departures,
    paper_experiments,
    published_curves,
)
from recurl.experiment.run import make_learner


def test_settings_are_the_papers() -> None:
    cloud, cave, _, words = PAPER.values()
    assert (cloud.steps, cave.steps, words.steps) == (100_000, 200_000, 300_000)
    assert (cloud.settings["learning_rate"], cave.settings["learning_rate"]) == (0.02, 0.2)
    assert cloud.settings["quantum"] == 0.001
    assert cave.model.parameters == {"fall_reward": -2, "futile_reward": -5}
    assert all(one.seeds == tuple(range(10)) for one in PAPER.values())


def test_every_setting_is_one_of_its_learner() -> None:
    for experiment in PAPER.values():
        for run in experiment.runs():
            known = {*learner_class(run.method.algorithm).settings_type.__struct_fields__, "preset"}
            assert set(learner_options(run.settings)) <= known


def test_quick_is_three_seeds_and_a_short_palindrome() -> None:
    quick = paper_experiments(quick=True)
    assert {one.seeds for one in quick.values()} == {(0, 1, 2)}
    assert quick["cloud"].steps == 100_000
    assert quick["palindrome"].steps < PAPER["palindrome"].steps


def test_all_six_curves_are_there_and_in_order() -> None:
    curves = published_curves()
    assert {name for name, _ in curves} == {"cloud", "spelunking", "palindrome"}
    for curve in curves.values():
        assert (curve.steps[1:] > curve.steps[:-1]).all()
        assert (curve.low <= curve.high).all()
    assert len(curves) == 6


def test_ours_is_better_or_worse_where_its_interval_excludes_the_published_mean() -> None:
    curve = published_curves()["palindrome", "deep-rql"]
    spread = np.random.default_rng(0).normal(0, 1, (10, len(curve.steps)))
    shift = np.where(curve.steps < 5_000, 50, np.where(curve.steps > 200_000, -50, 0))
    ours = curve.mean + shift + spread - spread.mean(axis=0)
    found = beside_published(curve.steps, ours, curve)
    assert found is not None
    assert found.better.tolist() == curve.steps[curve.steps < 5_000].tolist()
    assert found.worse.tolist() == curve.steps[curve.steps > 200_000].tolist()
    assert "better at 5 (steps 0 to 4,004), alike at" in found.words


def test_a_shorter_run_is_compared_as_far_as_it_goes() -> None:
    curve = published_curves()["palindrome", "deep-rql"]
    ours = np.array([[-100.0, -50.0], [-101.0, -50.0]])
    found = beside_published(np.array([0.0, 12_000.0]), ours, curve)
    assert found is not None
    assert found.steps[-1] == 11_011
    middle = np.interp(found.steps, [0, 12_000], ours.mean(axis=0))
    assert ((found.low <= middle) & (middle <= found.high)).all()


def test_one_run_is_not_compared() -> None:
    curve = published_curves()["cloud", "ql"]
    assert beside_published(curve.steps, curve.mean[None], curve) is None


def test_spelunking_runs_with_both_rewards() -> None:
    published, text = PAPER["spelunking"], PAPER["spelunking-text"]
    assert recurl.solve(published.model.make()).value == pytest.approx(-12.5471, abs=1e-4)
    assert recurl.solve(text.model.make()).value == pytest.approx(-11.7619, abs=1e-4)
    assert published.reference
    assert not text.reference
    assert "published" in published.title
    assert "text" in text.title


def test_the_best_strategy_of_the_text_is_learned() -> None:
    model = PAPER["spelunking-text"].model.make()
    for run in paper_experiments(seeds=2)["spelunking-text"].runs():
        if run.method.name == "rql-swift":
            learner = make_learner(run, model).learn(run.experiment.steps)
            assert recurl.evaluate(learner.policy()).value > -11.7619 * 1.005


@pytest.mark.parametrize("name", sorted(PAPER))
def test_what_is_not_from_the_text_is_listed_with_its_origin(name: str) -> None:
    experiment = paper_experiments(quick=True)[name]
    found = {(row.method, row.setting): (row.value, row.origin) for row in departures(experiment)}
    assert found["all", "seeds"] == (3, "the command")
    assert (("all", "steps") in found) == (name == "palindrome")
    assert {row.experiment for row in departures(experiment)} == {name}
    cut = "evaluate_limit" if name == "palindrome" else "episode_limit"
    assert found["paper's", cut] == (experiment.settings[cut], "the published runs")
    # The settings of the text; any other one has to be in the list.
    text = {"preset", "learning_rate", "exploration", "quantum", "buffer", "warm_up", "batch"}
    text |= {"target_every", "hidden", "evaluate_every", "evaluate_episodes"}
    assert set(experiment.settings) - text <= {setting for _, setting in found}
    assert set(experiment.model.parameters) <= {setting for _, setting in found}
    own = next(method for method in experiment.methods if not method.with_shared)
    assert found[own.name, "own_root"] == (True, "this package")
