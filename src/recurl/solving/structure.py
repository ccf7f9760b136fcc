"""Models with a structure of their own: chains, deterministic and hierarchical models.

Methods are imported where they are used: most answers need one of them.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from recurl.errors import NotProperError
from recurl.policy import Policy
from recurl.solving.certified import solve_certified
from recurl.solving.properness import analyse
from recurl.solving.rows import part_of

if TYPE_CHECKING:
    from recurl.model.certificate import Certificate
    from recurl.model.rmdp import RMDP
    from recurl.model.tables import Floats
    from recurl.solving.question import Question
    from recurl.solving.solution import Solution


def has_choice(model: RMDP) -> bool:
    """Whether some vertex has more than one action."""
    return bool((np.diff(model.tables.action_start) > 1).any())


def solve_by_structure(
    model: RMDP, question: Question, epsilon: float, *, near: Sequence[Floats] = (), **options: Any
) -> Solution:
    """The optimum of a deterministic or multi-exit model.

    In a deterministic one it is a longest path; a multi-exit model with nothing to decide is
    evaluated, a hierarchical one of moderate size flattened. All others, and those in which a
    policy may not end, go to the general methods, which explain.
    """
    found: Solution | None = None
    if not has_choice(model) and not model.kind.one_exit:
        from recurl.solving.no_choice import solve_chain

        return solve_chain(model, question, epsilon, **options)
    if model.kind.deterministic:
        from recurl.solving.longest_path import solve_deterministic

        found = solve_deterministic(model, question, epsilon, **options)
    if found is None and model.kind.hierarchical and not model.kind.one_exit:
        from recurl.solving.hierarchical import solve_hierarchical

        found = solve_hierarchical(model, question, epsilon, **options)
    if found is not None:
        return found
    if model.kind.one_exit:
        from recurl.solving.one_exit import solve_one_exit

        return solve_one_exit(model, question, epsilon, **options)
    return solve_any(model, question, epsilon, near=near, **options)


def solve_given_end(model: RMDP, question: Question) -> Solution | None:
    """The expected total reward of the runs that end; None if every policy ends.

    Where every policy ends it is the expected total. Where policies may differ in the probability
    to end, it is a quotient of two expectations: see `best_given_end`.

    Raises:
        NotProperError: No run ends, or nothing could be proved.
    """
    if not has_choice(model):
        from recurl.solving.no_choice import solve_chain_given_end

        return solve_chain_given_end(model, question)
    if analyse(model).verdict == "proper":
        return None
    from recurl.solving.ending_runs import best_given_end

    return best_given_end(model, question)


def solve_any(model: RMDP, question: Question, epsilon: float, **options: Any) -> Solution:
    """The certified search, and what there is to say of a model on which it does not apply.

    Raises:
        NotProperError: Some policy does not end, or none of the tests shows that all do, and the
            optimum is not known to be infinite.
    """
    began = time.perf_counter()
    try:
        return solve_certified(model, question, epsilon, **options)
    except NotProperError:
        if not model.reach.reachable[model.tables.states].all():
            with suppress(NotProperError):
                return _reachable_optimum(model, question, epsilon, **options)
        from recurl.solving.improper import improper_optimum

        return improper_optimum(model, question, analyse(model), began=began)


def _reachable_optimum(model: RMDP, question: Question, epsilon: float, **options: Any) -> Solution:
    """The optimum of a model with vertices that no run visits, whatever may happen there."""
    found = solve_certified(
        part_of(model.tables, model.reach.reachable, model.name), question, epsilon, **options
    )
    policy = found.policy
    if policy is not None:
        policy = Policy(
            model,
            policy.context_component,
            policy.actions,
            callees=policy.callees,
            start=policy.start,
        )
    reason = f"{found.reason}; vertices that no run visits are left out"

    def certify() -> Certificate:
        # Without what is clear in the part alone.
        assert found._certify is not None
        return msgspec.structs.replace(found._certify(), model=model.fingerprint)

    whole = replace(found, model=model, policy=policy, reason=reason, _certify=certify)
    return whole.as_proved(epsilon)
