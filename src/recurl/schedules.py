"""Schedules of settings, under their short name: ``from recurl.schedules import linear``."""

from __future__ import annotations

from recurl.learn.schedules import (
    Schedule,
    as_schedule,
    constant,
    exponential,
    harmonic,
    linear,
    power,
)

__all__ = [
    "Schedule",
    "as_schedule",
    "constant",
    "exponential",
    "harmonic",
    "linear",
    "power",
]
