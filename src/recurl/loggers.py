"""Loggers of learners, under their short name: ``from recurl.loggers import CSVLogger``."""

from __future__ import annotations

from recurl.learn.loggers import (
    CSVLogger,
    LoggedRun,
    Logger,
    RunLogger,
    TensorBoard,
)

__all__ = [
    "CSVLogger",
    "LoggedRun",
    "Logger",
    "RunLogger",
    "TensorBoard",
]
