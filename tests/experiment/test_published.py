from __future__ import annotations

import numpy as np

from recurl.experiment.paper import paper_experiments
from recurl.experiment.published import published_curves, published_end


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
