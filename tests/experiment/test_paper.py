from __future__ import annotations

import numpy as np

from recurl.experiment.options import learner_class, learner_options
from recurl.experiment.paper import PAPER, paper_experiments, published_curves, published_end


def test_settings_are_the_papers() -> None:
    cloud, cave, words = PAPER.values()
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


def test_a_shorter_run_is_compared_where_it_ends() -> None:
    end = published_end("palindrome", "deep-rql", 12_000)
    assert end is not None
    assert end.steps[0] == 12_000
    assert published_end("cloud", "nothing") is None


def test_where_no_test_was_published_the_curve_is_interpolated() -> None:
    curve = published_curves()["palindrome", "deep-rql"]
    end = published_end("palindrome", "deep-rql", 30_000)
    assert end is not None
    assert not ((curve.steps >= 27_000) & (curve.steps <= 30_000)).any()
    after = int(np.searchsorted(curve.steps, 28_500))
    before, following = curve.mean[after - 1], curve.mean[after]
    assert min(before, following) < end.mean[0] < max(before, following)
    assert end.low[0] <= end.mean[0] <= end.high[0]


def test_the_end_of_every_quick_run_can_be_compared() -> None:
    for experiment in paper_experiments(quick=True).values():
        for method in experiment.methods:
            end = published_end(experiment.reference, method.published, experiment.steps)
            assert end is None or np.isfinite(np.concatenate(end)).all()
