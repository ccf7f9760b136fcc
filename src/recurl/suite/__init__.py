"""Recursive tasks with certified optima, and what agents reach on them.

`TASKS` are some twenty tasks in four families, each at three sizes; every one has its certified
optimum, its best stackless value and the value of the uniform policy on file. `run_suite` runs
agents on them and keeps records; `score_rows` makes one number of each, per task, per family and in
all.

Example:
    >>> from recurl import suite
    >>> setting = suite.find_setting("words-small")
    >>> round(setting.known.optimum[0], 6)
    0.48
"""

from __future__ import annotations

from recurl.experiment.settings import Method
from recurl.suite.agents import Agent
from recurl.suite.run import run_suite
from recurl.suite.score import read_records, score_rows
from recurl.suite.tasks import FAMILIES, SIZES, TASKS, Setting, Task, find_setting, settings

__all__ = [
    "FAMILIES",
    "SIZES",
    "TASKS",
    "Agent",
    "Method",
    "Setting",
    "Task",
    "find_setting",
    "read_records",
    "run_suite",
    "score_rows",
    "settings",
]
