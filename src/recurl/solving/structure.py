"""Models with a structure of their own: chains, deterministic and hierarchical models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from recurl.solving.certified import solve_certified
from recurl.solving.hierarchical import solve_hierarchical
from recurl.solving.longest_path import solve_deterministic
from recurl.solving.no_choice import has_choice, solve_chain
from recurl.solving.one_exit import solve_one_exit

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP
    from recurl.solving.question import Question
    from recurl.solving.solution import Solution


def solve_by_structure(model: RMDP, question: Question, epsilon: float, **options: Any) -> Solution:
    """The optimum of a deterministic or multi-exit model.

    In a deterministic one it is a longest path; a multi-exit model with nothing to decide is
    evaluated, a hierarchical one of moderate size flattened. All others, and those in which a
    policy may not end, go to the general methods, which explain.
    """
    found: Solution | None = None
    if not has_choice(model) and not model.kind.one_exit:
        return solve_chain(model, question, epsilon, **options)
    if model.kind.deterministic:
        found = solve_deterministic(model, question, epsilon, **options)
    elif model.kind.hierarchical:
        found = solve_hierarchical(model, question, epsilon, **options)
    general = solve_one_exit if model.kind.one_exit else solve_certified
    return found or general(model, question, epsilon, **options)
