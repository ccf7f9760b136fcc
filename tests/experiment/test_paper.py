from __future__ import annotations

from recurl.experiment.options import learner_class, learner_options
from recurl.experiment.paper import PAPER, paper_experiments


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
