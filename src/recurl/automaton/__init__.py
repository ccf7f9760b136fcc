"""Pushdown reward machines, and their products with labelled processes.

Example:
    >>> from recurl import automaton
    >>> automaton.parse_guard("a & !b").holds({"a"})
    True
"""

from __future__ import annotations

from recurl.automaton.document import alone, load, loads
from recurl.automaton.from_grammar import machine_of
from recurl.automaton.gridworld import gridworld
from recurl.automaton.guards import Guard, parse_guard
from recurl.automaton.machine import Machine, Rule, rule
from recurl.automaton.machine_env import MachineEnv
from recurl.automaton.mdp import LabelledMDP, Move
from recurl.automaton.product import product
from recurl.automaton.reward_machine_text import load_reward_machine, read_reward_machine

__all__ = [
    "Guard",
    "LabelledMDP",
    "Machine",
    "MachineEnv",
    "Move",
    "Rule",
    "alone",
    "gridworld",
    "load",
    "load_reward_machine",
    "loads",
    "machine_of",
    "parse_guard",
    "product",
    "read_reward_machine",
    "rule",
]
