"""Plain Markov decision processes in Storm, for comparison; through stormpy 2."""

from __future__ import annotations

import time
from typing import Any

import recurl

SOUND = {
    "OPTIMISTIC_VALUE_ITERATION": "Storm OVI",
    "INTERVAL_ITERATION": "Storm II",
    "POLICY_ITERATION": "Storm PI",
}


def available() -> bool:
    try:
        import stormpy  # noqa: F401
    except ImportError:
        return False
    return True


def storm_model(model: recurl.RMDP) -> Any:
    """The same process in Storm: vertices are states, exits absorb."""
    from stormpy import models
    from stormpy.datastructures import SparseMatrixBuilder

    t = model.tables
    rewards: list[float] = []
    matrix = SparseMatrixBuilder(columns=t.n_vertices, has_custom_row_grouping=True)
    for v in range(t.n_vertices):
        matrix.new_row_group(len(rewards))
        for action in range(t.action_start[v], t.action_start[v + 1]):
            for column, p in _row(model, action):
                matrix.add_next_value(len(rewards), column, p)
            edges = slice(t.transition_start[action], t.transition_start[action + 1])
            rewards.append(float(t.prob[edges] @ t.reward[edges]))
        if t.action_start[v] == t.action_start[v + 1]:
            matrix.add_next_value(len(rewards), v, 1.0)
            rewards.append(0.0)
    labels = models.StateLabeling(t.n_vertices)
    labels.add_label("init")
    labels.add_label_to_state("init", int(t.starts[0]))
    labels.add_label("done")
    for k in range(int(t.n_exits[0])):
        labels.add_label_to_state("done", int(t.n_entries[0]) + k)
    parts = models.SparseModelComponents(
        transition_matrix=matrix.build(),
        state_labeling=labels,
        reward_models={"r": models.SparseRewardModel(optional_state_action_reward_vector=rewards)},
    )
    return models.SparseMdp(parts)


def _row(model: recurl.RMDP, action: int) -> list[tuple[int, float]]:
    t = model.tables
    row: dict[int, float] = {}
    for i in range(t.transition_start[action], t.transition_start[action + 1]):
        row[int(t.target[i])] = row.get(int(t.target[i]), 0.0) + float(t.prob[i])
    return sorted(row.items())


def storm_time(
    process: Any,
    method: str,
    start: int,
    epsilon: float,
    formula: str = 'R{"r"}max=? [F "done"]',
) -> tuple[float, float]:
    """Processor seconds that Storm takes for a question, and what it says."""
    import stormpy
    from stormpy.developer import LogLevel, set_log_level

    set_log_level(LogLevel.FATAL)

    environment = stormpy.environments.sound()
    # The default, a sparse factorisation, does not come to an end on uniform successors. This one
    # is not sound, as Storm warns: policy iteration may be off by more than epsilon with it.
    environment.solver().set_linear_equation_solver_type(
        stormpy.environments.EquationSolverType.GMMXX
    )
    solver = environment.solver().min_max()
    solver.method = getattr(stormpy.environments.MinMaxMethod, method)
    solver.precision = stormpy.Rational(str(epsilon))
    solver.relative_termination_criterion = False
    [question] = stormpy.parse_properties(formula)
    began = time.process_time()
    result = stormpy.model_checking(process, question, environment=environment)
    return time.process_time() - began, float(result.get_value(start))
