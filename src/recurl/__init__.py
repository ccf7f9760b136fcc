"""recurl: optimal decisions in systems that call themselves.

Recursive Markov decision processes as models, solved with certified bounds, and learned in with
Recursive Q-learning. The public names are listed in ``__all__``; each loads on first use.
"""

from __future__ import annotations

from recurl import interrupts

# Before anything large is imported: Ctrl-C ends the command quietly from here on.
interrupts.watch_command()

import importlib  # noqa: E402
from typing import TYPE_CHECKING, Any  # noqa: E402

from recurl.registration import register_environments  # noqa: E402
from recurl.version import __version__  # noqa: E402

_HOMES = {
    "Analysis": "recurl.solving.properness",
    "Builder": "recurl.model.builder",
    "Certificate": "recurl.model.certificate",
    "Completion": "recurl.programs.completion",
    "DQN": "recurl.learn.deep.learner",
    "DeepRecursiveQLearning": "recurl.learn.deep.learner",
    "Drift": "recurl.learn.pac.drift",
    "Evaluation": "recurl.solving.evaluate",
    "FlatView": "recurl.env.flat",
    "Layout": "recurl.model.tables",
    "ModelBasedRecursiveLearning": "recurl.learn.model_based.learner",
    "ModelEnv": "recurl.env.model_env",
    "PACLearner": "recurl.learn.pac.learner",
    "Policy": "recurl.policy",
    "Program": "recurl.programs.decorator",
    "QLearning": "recurl.learn.tabular",
    "Question": "recurl.solving.question",
    "RMDP": "recurl.model.rmdp",
    "RecurlError": "recurl.errors",
    "RecursiveQLearning": "recurl.learn.tabular",
    "Simulation": "recurl.simulation.rollout",
    "Solution": "recurl.solving.solution",
    "Tables": "recurl.model.tables",
    "Walk": "recurl.simulation.walk",
    "analyse": "recurl.solving.properness",
    "automaton": "recurl.automaton",
    "callbacks": "recurl.callbacks",
    "check_recursive_env": "recurl.env.protocol",
    "choose": "recurl.programs.language",
    "discount_boxes": "recurl.model.transforms.discounting",
    "discount_steps": "recurl.model.transforms.discounting",
    "dump": "recurl.model.formats",
    "dumps": "recurl.model.document",
    "errors": "recurl.errors",
    "evaluate": "recurl.solving.evaluate",
    "flatten": "recurl.model.transforms.unravelling",
    "grammar": "recurl.grammar",
    "flip": "recurl.programs.language",
    "learn_many": "recurl.learn.seeds",
    "load": "recurl.automaton.document",
    "loads": "recurl.model.document",
    "loggers": "recurl.loggers",
    "outcome": "recurl.programs.language",
    "pick": "recurl.programs.language",
    "program": "recurl.programs.decorator",
    "pushdown": "recurl.model.pushdown",
    "pushdown_rules": "recurl.model.pushdown",
    "register_network": "recurl.learn.deep.network",
    "reward": "recurl.programs.language",
    "schedules": "recurl.schedules",
    "schema": "recurl.model.document.schema",
    "simulate": "recurl.simulation.rollout",
    "solve": "recurl.solving.api",
    "start_at": "recurl.model.transforms.starting",
    "suite": "recurl.suite",
    "termination": "recurl.solving.termination",
    "unravel": "recurl.model.transforms.unravelling",
    "verify": "recurl.verification",
    "zoo": "recurl.zoo",
}
_MODULES = {"automaton", "callbacks", "errors", "grammar", "loggers", "schedules", "suite", "zoo"}

__all__ = [
    "DQN",
    "RMDP",
    "Analysis",
    "Builder",
    "Certificate",
    "Completion",
    "DeepRecursiveQLearning",
    "Drift",
    "Evaluation",
    "FlatView",
    "Layout",
    "ModelBasedRecursiveLearning",
    "ModelEnv",
    "PACLearner",
    "Policy",
    "Program",
    "QLearning",
    "Question",
    "RecurlError",
    "RecursiveQLearning",
    "Simulation",
    "Solution",
    "Tables",
    "Walk",
    "__version__",
    "analyse",
    "automaton",
    "callbacks",
    "check_recursive_env",
    "choose",
    "discount_boxes",
    "discount_steps",
    "dump",
    "dumps",
    "errors",
    "evaluate",
    "flatten",
    "flip",
    "grammar",
    "learn_many",
    "load",
    "loads",
    "loggers",
    "outcome",
    "pick",
    "program",
    "pushdown",
    "pushdown_rules",
    "register_network",
    "reward",
    "schedules",
    "schema",
    "simulate",
    "solve",
    "start_at",
    "suite",
    "termination",
    "unravel",
    "verify",
    "zoo",
]


if TYPE_CHECKING:  # type checkers see the names where they are defined
    from recurl import automaton, callbacks, errors, grammar, loggers, schedules, suite, zoo
    from recurl.automaton.document import load
    from recurl.env.flat import FlatView
    from recurl.env.model_env import ModelEnv
    from recurl.env.protocol import check_recursive_env
    from recurl.errors import RecurlError
    from recurl.learn.deep.learner import DQN, DeepRecursiveQLearning
    from recurl.learn.deep.network import register_network
    from recurl.learn.model_based.learner import ModelBasedRecursiveLearning
    from recurl.learn.pac.drift import Drift
    from recurl.learn.pac.learner import PACLearner
    from recurl.learn.seeds import learn_many
    from recurl.learn.tabular import QLearning, RecursiveQLearning
    from recurl.model.builder import Builder
    from recurl.model.certificate import Certificate
    from recurl.model.document import dumps, loads
    from recurl.model.document.schema import schema
    from recurl.model.formats import dump
    from recurl.model.pushdown import pushdown, pushdown_rules
    from recurl.model.rmdp import RMDP
    from recurl.model.tables import Layout, Tables
    from recurl.model.transforms.discounting import discount_boxes, discount_steps
    from recurl.model.transforms.starting import start_at
    from recurl.model.transforms.unravelling import flatten, unravel
    from recurl.policy import Policy
    from recurl.programs.completion import Completion
    from recurl.programs.decorator import Program, program
    from recurl.programs.language import choose, flip, outcome, pick, reward
    from recurl.simulation.rollout import Simulation, simulate
    from recurl.simulation.walk import Walk
    from recurl.solving.api import solve
    from recurl.solving.evaluate import Evaluation, evaluate
    from recurl.solving.properness import Analysis, analyse
    from recurl.solving.question import Question
    from recurl.solving.solution import Solution
    from recurl.solving.termination import termination
    from recurl.verification import verify
else:

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module 'recurl' has no attribute {name!r}")
        module = importlib.import_module(_HOMES[name])
        value = module if name in _MODULES else getattr(module, name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return __all__


if not interrupts.is_command():
    register_environments()
