from __future__ import annotations

from recurl.experiment.paper import paper_experiments
from recurl.experiment.progress import Estimate


def test_no_estimate_before_every_method_has_begun() -> None:
    runs = list(paper_experiments(seeds=2)["cloud"].runs())
    estimate = Estimate(runs, workers=2)
    estimate.note(runs[0], 50_000, 1.0)
    assert estimate.seconds() is None
    estimate.note(runs[1], 50_000, 2.0)
    estimate.note(runs[2], 50_000, 3.0)
    # Half a run and a whole one are left of each, at 2, 4 and 6 seconds a run, two at a time.
    assert estimate.seconds() == (3 + 6 + 9) / 2
    assert estimate.share == 0.25
    for run in runs:
        estimate.complete(run)
    assert estimate.seconds() == 0
