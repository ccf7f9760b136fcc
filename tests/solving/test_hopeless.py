"""States in which every policy pays without end, beside those in which one can rest."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from msgspec import structs

import recurl


def pit_and_loop(sign: int, risk: float) -> recurl.RMDP:
    """To a pit that stays for free, for 1; or into a loop that pays forever, perhaps."""
    builder = recurl.Builder("pit").component("A", entries="in", exits="out")
    builder.at("in").action("go", reward=sign).to("pit")
    gamble = builder.action("gamble").to("loop", risk)
    if risk < 1:
        gamble.to("pit", 1 - risk)
    builder.at("pit").action("stay").to("pit").action("leave").to("out")
    builder.at("loop").action("pay", reward=sign).to("loop")
    builder.action("try").to("loop", 0.5).to("well", 0.5)
    return builder.at("well").action("pay", reward=sign * 2).to("loop").build()


@pytest.mark.parametrize("method", ["auto", "certified", "policy-iteration"])
@pytest.mark.parametrize("risk", [1, 0.5, 1e-6])
@pytest.mark.parametrize("sign", [1, -1])
def test_states_that_pay_without_end_are_kept_away_from(
    sign: int, risk: float, method: str
) -> None:
    model = pit_and_loop(sign, risk)
    found = recurl.solve(model, method, objective="min" if sign > 0 else "max")
    assert found.gap <= 1e-6
    assert found.lower <= sign <= found.upper
    proved = recurl.verify(model, found.certificate)
    assert (proved.lower, proved.upper) == (found.lower, found.upper)
    assert found.policy is not None
    assert found.policy.action_name("A.in") == "go"


def test_an_upper_end_counts_where_its_policy_comes_to_only() -> None:
    """Claims of a policy that enters the loop are refused, however they are written."""
    model = pit_and_loop(1, 0.5)
    proof = recurl.solve(model, objective="min").certificate
    assert proof.values is not None
    actions = list(proof.values.actions)
    actions[model.find("A.in")] = 1
    values = structs.replace(proof.values, actions=actions)
    proof = structs.replace(proof, values=values)
    with pytest.raises(recurl.errors.CertificateError):
        recurl.verify(model, proof)


@pytest.mark.parametrize("seed", range(60))
def test_random_processes_with_hopeless_states(seed: int) -> None:
    """Against all policies, each evaluated by its own chain."""
    random = np.random.default_rng(seed)
    n = int(random.integers(2, 6))
    builder = recurl.Builder("m").component("A", entries="in", exits="out")
    builder.at("in").action("go").to("n0")
    table: list[list[tuple[float, dict[int, float]]]] = []
    for i in range(n):
        builder.at(f"n{i}")
        table.append([])
        for a in range(int(random.integers(1, 4))):
            cost = int(random.integers(0, 3)) * int(random.random() < 0.7)
            targets = random.choice(n + 1, size=int(random.integers(1, 3)), replace=False)
            targets = targets if random.random() < 0.5 else targets[targets < n]
            targets = targets if len(targets) else np.array([i])
            share = 1.0 / len(targets)
            action = builder.action(f"a{a}", reward=-cost)
            for j in targets.tolist():
                action.to(f"n{j}" if j < n else "out", share)
            table[-1].append((float(cost), dict.fromkeys(targets.tolist(), share)))
    model = builder.build()
    best = min(total(policy) for policy in itertools.product(*table))
    found = recurl.solve(model)
    recurl.verify(model, found.certificate)
    assert found.lower <= -best + 1e-9
    assert -best - 1e-9 <= found.upper
    assert math.isinf(best) or found.gap <= 1e-6


def total(policy: tuple[tuple[float, dict[int, float]], ...]) -> float:
    """The cost of a chain from its first state, which is infinite where it pays without end."""
    n = len(policy)
    matrix = np.zeros((n + 1, n + 1))
    matrix[n, n] = 1.0
    cost = np.append([paid for paid, _ in policy], 0.0)
    for i, (_, moves) in enumerate(policy):
        for j, p in moves.items():
            matrix[i, j] += p
    leads = np.linalg.matrix_power(matrix + np.eye(n + 1), n + 1) > 0
    recurrent = np.array([leads[leads[i], i].all() for i in range(n + 1)])
    if (cost[recurrent & leads[0]] > 0).any():
        return math.inf
    own = ~recurrent
    if not own[0]:
        return 0.0
    x = np.linalg.solve(np.eye(int(own.sum())) - matrix[np.ix_(own, own)], cost[own])
    return float(x[0])
