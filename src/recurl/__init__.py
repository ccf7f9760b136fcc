"""recurl: optimal decisions in systems that call themselves.

Recursive Markov decision processes as models, solved with certified bounds, and learned in with
Recursive Q-learning. The public names are listed in ``__all__``; each loads on first use.
"""

from __future__ import annotations

import importlib
from typing import Any

from recurl.version import __version__
from recurl.zoo.registration import register_environments

_HOMES = {
    "Analysis": "recurl.solving.properness",
    "Builder": "recurl.model.builder",
    "Certificate": "recurl.model.certificate",
    "Evaluation": "recurl.solving.evaluate",
    "FlatView": "recurl.env.flat",
    "Layout": "recurl.model.tables",
    "ModelEnv": "recurl.env.model_env",
    "Policy": "recurl.policy",
    "Question": "recurl.solving.question",
    "RMDP": "recurl.model.rmdp",
    "Simulation": "recurl.simulation.rollout",
    "Solution": "recurl.solving.solution",
    "Tables": "recurl.model.tables",
    "Walk": "recurl.simulation.walk",
    "analyse": "recurl.solving.properness",
    "check_recursive_env": "recurl.env.protocol",
    "discount_boxes": "recurl.model.transforms.discounting",
    "discount_steps": "recurl.model.transforms.discounting",
    "dump": "recurl.model.document",
    "dumps": "recurl.model.document",
    "errors": "recurl.errors",
    "evaluate": "recurl.solving.evaluate",
    "flatten": "recurl.model.transforms.unravelling",
    "load": "recurl.model.document",
    "loads": "recurl.model.document",
    "schema": "recurl.model.document.schema",
    "simulate": "recurl.simulation.rollout",
    "solve": "recurl.solving.api",
    "termination": "recurl.solving.termination",
    "unravel": "recurl.model.transforms.unravelling",
    "verify": "recurl.verification",
    "zoo": "recurl.zoo",
}
_MODULES = {"errors", "schedules", "zoo"}

__all__ = [
    "RMDP",
    "Analysis",
    "Builder",
    "Certificate",
    "Evaluation",
    "FlatView",
    "Layout",
    "ModelEnv",
    "Policy",
    "Question",
    "Simulation",
    "Solution",
    "Tables",
    "Walk",
    "__version__",
    "analyse",
    "check_recursive_env",
    "discount_boxes",
    "discount_steps",
    "dump",
    "dumps",
    "errors",
    "evaluate",
    "flatten",
    "load",
    "loads",
    "schema",
    "simulate",
    "solve",
    "termination",
    "unravel",
    "verify",
    "zoo",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'recurl' has no attribute {name!r}")
    module = importlib.import_module(_HOMES[name])
    value = module if name in _MODULES else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__


register_environments()
