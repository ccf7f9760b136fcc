"""Tampered certificates; ``python -m tests.verification.check_tampering 2000`` tries many."""

from __future__ import annotations

import pytest
from tests.verification.check_tampering import check


@pytest.mark.parametrize("seed", range(7000, 7006))
def test_false_claims_are_refused(seed: int) -> None:
    check(seed, each=4)
