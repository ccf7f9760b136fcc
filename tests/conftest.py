"""Settings that all tests share."""

from __future__ import annotations

import os

import matplotlib as mpl
from hypothesis import settings

# No screen is needed, and none is opened.
mpl.use("agg")

# Same examples on every run and machine. HYPOTHESIS_PROFILE=explore looks for new ones.
settings.register_profile(
    "repeatable", deadline=None, derandomize=True, database=None, max_examples=50
)
settings.register_profile("explore", deadline=None, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))
