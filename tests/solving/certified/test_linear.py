"""Linear equations of contexts: inverses, visits, and fixed points with old inverses."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

import recurl
from recurl.solving.certified import linear
from recurl.solving.certified.linear import Inverses, fixed_point, solve_from_identity
from recurl.solving.certified.lower import Rewards, lower_bound
from recurl.solving.certified.problem import Component, SearchProblem
from recurl.solving.certified.upper import Links, no_hints, upper_bound

from .parts import few_points, few_solved


def moves(part: Component, action: np.ndarray, share: np.ndarray) -> np.ndarray:
    """One context's J, written out."""
    matrix = np.zeros((part.size, part.size))
    matrix[part.states] = part.matrix.toarray()[action]
    for i, q in enumerate(part.calls):
        matrix[q, part.returns[i]] += share[i]
    return matrix


@pytest.mark.parametrize(
    ("dense", "short", "abs"), [(0, 0, 1e-9), (100, 0, 1e-9), (100, 1e9, 1e-4)]
)
def test_inverses_solve_the_equations(
    problem: SearchProblem, dense: int, short: float, abs: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(linear, "_DENSE", dense)
    monkeypatch.setattr(linear, "_SHORT", short)
    contexts = few_points(problem)
    values = np.random.default_rng(1).normal(size=int(contexts.base[-1]))
    links = Links.of(contexts, values, no_hints(contexts))
    inverses = Inverses(contexts)
    links.update(inverses, [np.arange(n) for n in contexts.count])
    right = np.random.default_rng(2).normal(size=(len(values), 2))
    found, single = inverses.solve(right), inverses.solve(right[:, 0])
    visits = inverses.visits().toarray()
    for c, part in enumerate(contexts.parts):
        for x in range(contexts.count[c]):
            share = contexts.view_calls(links.share, c)[:, x]
            matrix = np.eye(part.size) - moves(part, links.action[c][:, x], share)
            expected = np.linalg.solve(matrix, contexts.view(right, c)[:, x])
            assert contexts.view(found, c)[:, x] == pytest.approx(expected, abs=abs)
            assert contexts.view(single, c)[:, x] == pytest.approx(expected[:, 0], abs=abs)
            rows = np.linalg.inv(matrix)[: part.entries, part.calls]
            own = contexts.view_entries(np.arange(len(visits)), c)[:, x]
            columns = contexts.view_calls(np.arange(visits.shape[1]), c)[:, x]
            assert visits[np.ix_(own, columns)] == pytest.approx(rows, abs=abs)


def test_equations_without_an_inverse_have_the_next_best(monkeypatch: pytest.MonkeyPatch) -> None:
    builder = recurl.Builder("stuck").component("A", entries="in", exits=["x", "y"])
    builder = builder.at("in").action("go").to("room").at("room").action("stay").to("room")
    t = builder.action("go").to("x").build().tables
    part = Component.of(t, np.zeros(t.n_actions), 0)
    for dense in (0, 100):
        monkeypatch.setattr(linear, "_DENSE", dense)
        block = linear.block_of(part, 1)
        block.update(np.arange(1), np.array([[0], [1]]), np.zeros((0, 1, 2)))
        assert np.isfinite(block.solve(np.ones((part.size, 1)))).all()


def test_corrections_are_steps_of_newton(problem: SearchProblem) -> None:
    contexts = few_points(problem)
    values = contexts.with_exits(np.zeros(int(contexts.base[-1])))
    links = Links.of(contexts, values, no_hints(contexts))
    inverses = Inverses(contexts)
    links.update(inverses, [np.arange(n) for n in contexts.count])
    residual = links.target - values
    step = links.correction(inverses, residual)
    # The linear model of F at the values leaves nothing after the step.
    after = links.follow(step[:, None])[:, 0]
    after[contexts.call_slots] += links.matrix @ step[contexts.entry_slots]
    assert residual + after - step == pytest.approx(0, abs=1e-4)


def test_old_inverses_come_to_the_same_fixed_point(problem: SearchProblem) -> None:
    upper = few_solved(problem)
    start = upper.values + 0.01
    again = upper_bound(upper.contexts, start, 1e-9, upper.inverses)
    assert again.found
    assert again.values == pytest.approx(upper.values, abs=1e-6)


def test_only_other_equations_are_inverted_again(problem: SearchProblem) -> None:
    upper = few_solved(problem)
    links, contexts = upper.links, upper.contexts
    inverses = Inverses(contexts)
    every = [np.arange(n) for n in contexts.count]
    links.update(inverses, every)
    share = contexts.view_calls(links.share, 0).copy()
    block = inverses.blocks[0]
    before = block.entry.copy()
    assert not block.differs(every[0], links.action[0], share, 1e-5).any()
    share[0, 1] = [0.9, 0.1]
    assert block.differs(every[0], links.action[0], share, 1e-5).nonzero()[0].tolist() == [1]
    inverses.update(0, every[0], links.action[0], share, same=1.0)
    assert (block.entry == before).all()
    inverses.update(0, every[0], links.action[0], share)
    changed = (block.entry != before).any(axis=(1, 2))
    assert changed.nonzero()[0].tolist() == [1]


def test_carried_inverses_are_those_of_the_contexts_named(problem: SearchProblem) -> None:
    upper = few_solved(problem)
    assert upper.inverses is not None
    contexts = upper.contexts
    other = upper.inverses.carried(contexts, [np.zeros(n, int) for n in contexts.count])
    right = np.ones(int(contexts.base[-1]))
    first = contexts.view(upper.inverses.solve(right), 1)[:, 0]
    assert (contexts.view(other.solve(right), 1) == first[:, None]).all()


@pytest.mark.parametrize("size", [5, 400])
def test_solving_from_the_identity(size: int) -> None:
    rng = np.random.default_rng(0)
    matrix = rng.random((size, size))
    matrix *= 0.9 / matrix.sum(axis=1, keepdims=True)
    right = rng.random(size)
    found = solve_from_identity(csr_array(matrix), right, rtol=1e-10)
    assert found - matrix @ found == pytest.approx(right, abs=1e-7)


def test_without_a_solution_the_right_side_comes_back() -> None:
    right = np.array([1.0, 2.0])
    assert solve_from_identity(csr_array(np.eye(2)), right) is not None
    assert (solve_from_identity(csr_array(np.eye(2)), right) == right).all()


def test_small_contexts_are_inverted_again_at_every_step(problem: SearchProblem) -> None:
    """As the rewards of a policy are linear, one step is exact then, and the second one sees it."""
    upper = few_solved(problem)
    assert upper.contexts.quick
    lower = lower_bound(upper.contexts, upper.links.action, upper.links.heaviest, 1e-10)
    applied = []

    def apply(rewards: np.ndarray) -> Rewards:
        applied.append(rewards)
        return Rewards(lower, rewards, 1e-10)

    rest = fixed_point(upper.contexts, apply, 0.0 * lower.rewards, 1e-11, Inverses(upper.contexts))
    assert rest.found
    assert len(applied) <= 3


class _Cycle:
    """A map whose values go round in a circle: there is no fixed point near them."""

    def __init__(self, values: np.ndarray, turn: float) -> None:
        self.target = values + turn

    def update(self, inverses: Inverses, which: list[np.ndarray]) -> None:
        """Nothing to compute."""

    def correction(self, inverses: Inverses, residual: np.ndarray) -> np.ndarray:
        return residual


def test_steps_that_lead_nowhere_are_few(
    problem: SearchProblem, monkeypatch: pytest.MonkeyPatch
) -> None:
    contexts = few_points(problem)
    contexts.quick = False
    start = np.zeros(int(contexts.base[-1]))
    monkeypatch.setattr(Inverses, "solve", lambda _self, right: right)

    def apply(values: np.ndarray) -> _Cycle:
        return _Cycle(values, 1.0 if contexts.applied % 2 else -1.0)

    rest = fixed_point(contexts, apply, start, 1e-9, Inverses(contexts))
    assert not rest.found
    assert contexts.applied <= 12


def test_steps_that_run_away_are_not_followed(problem: SearchProblem) -> None:
    contexts = few_points(problem)
    start = np.zeros(int(contexts.base[-1]))

    def apply(values: np.ndarray) -> _Cycle:
        return _Cycle(values, 1e9**contexts.applied)

    assert not fixed_point(contexts, apply, start, 1e-9, Inverses(contexts)).found
    assert contexts.applied == 2
