"""The linear program of 1-exit models: the reference method on small models.

Minimise ``sum t(q)`` subject to ``t(q) >= r(q, a) + sum p t(q')`` for each action, with
``t(call) = t(entry) + t(return port)``. Its optimum is the value of every state.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recurl.errors import NotProperError
from recurl.solving.one_exit_kernel import improve

if TYPE_CHECKING:
    from recurl.model.tables import Floats
    from recurl.solving.one_exit_iteration import Iterate
    from recurl.solving.one_exit_kernel import Equations

_FINEST, _COARSEST = 1e-10, 1e-4


def linear_program(it: Iterate, tolerance: float) -> bool:
    """Solve the program with HiGHS, and take the best actions at its values."""
    it.x[:] = solve_program(it.equations, it.gain, tolerance)
    it.count("linear programs", 1)
    improve(it.equations, it.gain, it.x, it.choice, 0, len(it.x))
    return True


def solve_program(equations: Equations, gain: Floats, tolerance: float) -> Floats:
    """Values of all rows, up to the tolerance that HiGHS is given.

    Raises:
        NotProperError: The program has no solution, or none was found.
    """
    from scipy.optimize import linprog

    accuracy = float(np.clip(tolerance, _FINEST, _COARSEST))
    found = linprog(
        np.ones(len(equations.action_start) - 1),
        A_ub=_constraints(equations),
        b_ub=-gain,
        bounds=(None, None),
        method="highs",
        options={"primal_feasibility_tolerance": accuracy, "dual_feasibility_tolerance": accuracy},
    )
    if found.x is None:
        raise NotProperError(f"the linear program has no solution: {found.message}")
    values: Floats = found.x
    return values


def _constraints(equations: Equations) -> object:
    """``P t - t <= -r``, a row per action."""
    from scipy.sparse import csr_array

    eq = equations
    n, actions = len(eq.action_start) - 1, len(eq.entry_start) - 1
    own = np.repeat(np.arange(n), np.diff(eq.action_start))
    ways = csr_array((eq.weight, eq.column, eq.entry_start), shape=(actions, n))
    here = csr_array((np.ones(actions), own, np.arange(actions + 1)), shape=(actions, n))
    return ways - here
