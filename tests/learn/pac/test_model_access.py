"""Draws of pairs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import recurl
from recurl.errors import CheckpointError
from recurl.learn.pac.confidence import level_size
from recurl.learn.pac.model_access import ModelAccess, _draw
from recurl.learn.pac.observed import with_probabilities


def test_draws_are_distributed_as_the_model_says() -> None:
    model = recurl.zoo.random_model(seed=1, components=2, nodes=3, kind="one_exit", successors=3)
    access = ModelAccess(model, seed=1)
    access.draw(np.full(model.tables.n_actions, 10**9))
    sizes = np.diff(model.tables.transition_start)
    assert (access.observed().totals == 10**9).all()
    assert sizes.max() >= 3
    np.testing.assert_allclose(access.counts / 1e9, model.tables.prob, atol=5e-4)


def test_what_the_learner_sees_does_not_tell_the_probabilities() -> None:
    one, other = (ModelAccess(recurl.zoo.gambler(p=p)) for p in (0.1, 0.4))
    np.testing.assert_array_equal(one.model.tables.prob, other.model.tables.prob)
    assert one.model == with_probabilities(one.truth, other.model.tables.prob)


def test_levels_are_reached_exactly_and_repeatably() -> None:
    accesses = [ModelAccess(recurl.zoo.cloud(exits=1), seed=3) for _ in range(2)]
    for access in accesses:
        access.raise_levels(np.array([1, 2]))
        access.raise_levels(np.array([2]))
    np.testing.assert_array_equal(accesses[0].counts, accesses[1].counts)
    assert accesses[0].observed().totals[:4].tolist() == [0, level_size(1), level_size(2), 0]
    assert accesses[0].samples == level_size(1) + level_size(2)


def test_shares_of_delta_add_up_to_one() -> None:
    access = ModelAccess(recurl.zoo.cloud(exits=1))
    view = access.observed()
    random = access.support > 1
    assert view.share[random].sum() == 1
    levels = sum(view._replace(level=np.full_like(access.level, j)).failure for j in range(1, 500))
    assert (levels <= view.share).all()


def test_the_learned_model_is_what_was_counted() -> None:
    access = ModelAccess(recurl.zoo.gambler(p=0.25), 1)
    access.draw(np.array([1000, 0, 0]))
    np.testing.assert_allclose(
        access.observed().learned().tables.prob[:2], access.counts[:2] / 1000
    )


def test_counts_levels_and_state_come_back(tmp_path: Path) -> None:
    one, other = (ModelAccess(recurl.zoo.gambler(p=0.25), 1) for _ in range(2))
    one.raise_levels(np.array([0]), by=3)
    one.save(tmp_path / "c", "basis", {"above": np.arange(3.0)})
    basis, state = other.load(tmp_path / "c")
    np.testing.assert_array_equal(other.counts, one.counts)
    np.testing.assert_array_equal(other.level, one.level)
    assert (other.round, basis) == (one.round, "basis")
    assert state["above"].tolist() == [0, 1, 2]


def test_no_file_is_no_counts(tmp_path: Path) -> None:
    assert ModelAccess(recurl.zoo.gambler()).load(tmp_path / "none") == ("", {})


@pytest.mark.parametrize(
    ("access", "message"),
    [
        (ModelAccess(recurl.zoo.cloud(exits=1)), "another model"),
        (ModelAccess(recurl.zoo.gambler(), seed=2), "seed 0"),
    ],
)
def test_foreign_counts_are_refused(access: ModelAccess, message: str, tmp_path: Path) -> None:
    ModelAccess(recurl.zoo.gambler()).save(tmp_path / "c", "", {})
    with pytest.raises(CheckpointError, match=message):
        access.load(tmp_path / "c")


def test_a_damaged_file_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "c").write_bytes(b"PK nothing")
    with pytest.raises(CheckpointError, match="damaged"):
        ModelAccess(recurl.zoo.gambler()).load(tmp_path / "c")


def test_streams_share_every_round_and_their_counts_add_up() -> None:
    model = recurl.zoo.gambler(p=0.25)
    one, four = ModelAccess(model, 1), ModelAccess(model, 1, streams=4)
    for access in (one, four):
        access.draw(np.array([1003, 2, 0]))
    assert one.observed().totals.tolist() == four.observed().totals.tolist()
    assert one.counts.tolist() != four.counts.tolist()
    assert four.counts[0] == pytest.approx(250, abs=60)


def test_streams_are_independent() -> None:
    """Counts of two streams of a round, over many rounds, are not correlated."""
    model = recurl.zoo.gambler(p=0.25)
    drawn = np.array(
        [
            [_draw(model, np.array([100, 0, 0]), [7, number, *stream])[0] for stream in ([], [1])]
            for number in range(400)
        ]
    )
    assert abs(np.corrcoef(drawn.T)[0, 1]) < 0.15
    assert drawn.mean() == pytest.approx(25, abs=0.7)
