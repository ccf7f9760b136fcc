from __future__ import annotations

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
