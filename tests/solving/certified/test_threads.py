"""Parts of a range on threads: all of it, each place once."""

from __future__ import annotations

import numpy as np
import pytest

from recurl.solving.certified.threads import spread


@pytest.mark.parametrize("count", [0, 1, 64, 65, 1000])
def test_every_place_once(count: int) -> None:
    seen = np.zeros(count, int)

    def work(begin: int, end: int) -> None:
        seen[begin:end] += 1

    spread(count, 10**6, work)
    assert (seen == 1).all()


def test_an_error_is_not_lost() -> None:
    def work(begin: int, end: int) -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        spread(1000, 10**6, work)
