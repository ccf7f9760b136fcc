"""Callbacks of learners, under their short name: ``from recurl.callbacks import KeepBest``."""

from __future__ import annotations

from recurl.learn.callbacks import (
    Callback,
    CallFunction,
    KeepBest,
    SaveEvery,
    StopAtReward,
    as_list,
)

__all__ = [
    "CallFunction",
    "Callback",
    "KeepBest",
    "SaveEvery",
    "StopAtReward",
    "as_list",
]
