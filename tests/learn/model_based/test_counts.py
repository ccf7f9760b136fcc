"""Counts of outcomes."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium import spaces

from recurl.errors import ProtocolError
from recurl.learn.model_based.counts import OutcomeCounts


def test_a_mask_that_changes_is_refused() -> None:
    counts = OutcomeCounts(spaces.Discrete(3), spaces.Discrete(2, start=4))
    state = counts.visit(1, np.array([0, 1], np.int8))
    assert counts.visit(1, [False, True]) == state  # type: ignore[arg-type]
    with pytest.raises(ProtocolError, match=r"it leaves \[4, 5\], and left \[5\] before"):
        counts.visit(1, None)
    assert counts.visit(2, None) == counts.visit(2, np.ones(2))


@pytest.mark.parametrize("seen", [-1, 3, 1.5, "1"])
def test_an_observation_beyond_the_space_is_refused(seen: object) -> None:
    counts = OutcomeCounts(spaces.Discrete(3), spaces.Discrete(2))
    with pytest.raises(ProtocolError, match="not in the observation space"):
        counts.visit(seen, None)
