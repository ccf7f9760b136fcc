"""Solves and verifies every setting of the suite, and writes what is known of it.

    python scripts/make_suite.py [--only NAME ...] [--optima] [--certificates FOLDER]

For every setting: the model is solved, its certificate is verified in exact arithmetic, the uniform
policy is evaluated with proved bounds, and the best stackless value is found. Of models with one
exit that is the optimum. Of others all stackless policies are tried where they are few; where they
are many, a local search by exact evaluation gives a value that is attained. With ``--optima`` only
the optima are found and verified again, in a minute; what is known of other policies stays.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt

from recurl.experiment.record import versions
from recurl.model.files import write_atomic
from recurl.model.rmdp import RMDP
from recurl.model.tables import CALLS, Floats, Ints
from recurl.policy import Policy
from recurl.solving.api import solve
from recurl.solving.evaluate import Evaluation, evaluate
from recurl.solving.rows import rows_of_policy
from recurl.solving.solution import Solution
from recurl.suite.gains import action_gains, policy_worth, usual_actions
from recurl.suite.tasks import Known, KnownFile, Setting, settings
from recurl.verification import verify

PATH = Path(__file__).parents[1] / "src" / "recurl" / "suite" / "data" / "known.json"
COMMAND = "python scripts/make_suite.py"
FEW = 5_000
"""Stackless policies that are all tried."""
RANDOM_STARTS = 8
"""Random policies that a local search begins with, beside those of the solution."""
SINGLE = 12
"""Single changes that are tried before a search gives up."""


def known(setting: Setting, certificates: Path | None = None, before: Known | None = None) -> Known:
    """The facts about a setting, computed.

    Args:
        setting: The setting.
        certificates: Folder to keep the certificate in.
        before: Facts whose values of stackless and uniform policies are kept.
    """
    model = setting.model()
    solution = solve(model)
    verdict = verify(model, solution.certificate)
    assert verdict.lower is not None
    assert verdict.upper is not None
    assert verdict.theorems[0] == "steps", f"{setting.name}: not every policy ends"
    content = msgspec.json.encode(solution.certificate)
    if certificates is not None:
        write_atomic(certificates / f"{setting.name}.cert", content)
    optimum, digest = (verdict.lower, verdict.upper), hashlib.sha256(content).hexdigest()
    if before is not None and before.fingerprint == model.fingerprint:
        stackless = optimum if model.kind.one_exit else before.stackless
        return msgspec.structs.replace(
            before, optimum=optimum, certificate=digest, stackless=stackless
        )
    uniform = evaluate(Policy.uniform(model))
    stackless, exact = best_stackless(model, solution)
    assert solution.policy is not None
    return Known(
        fingerprint=model.fingerprint,
        vertices=model.tables.n_vertices,
        optimum=optimum,
        certificate=digest,
        stackless=stackless,
        stackless_is="exact" if exact else "attained",
        uniform=(uniform.lower, uniform.upper),
        steps=round(evaluate(solution.policy).steps, 3),
        uniform_steps=round(uniform.steps, 3),
    )


def best_stackless(model: RMDP, solution: Solution) -> tuple[tuple[float, float], bool]:
    """The best value of a deterministic stackless policy, and whether that is proved."""
    ends = solution.lower, solution.upper
    if model.kind.one_exit:
        return ends, True
    every = _all_policies(model)
    tried = every or _searched(model, solution)
    best: Evaluation | None = None
    for found in map(evaluate, tried):
        if found.upper >= solution.lower:
            return (found.lower, solution.upper), True
        best = found if best is None or found.value > best.value else best
    assert best is not None
    return (best.lower, best.upper), bool(every)


def _all_policies(model: RMDP) -> list[Policy]:
    """All stackless policies, if there are few."""
    counts = np.diff(model.tables.action_start)
    choices = np.flatnonzero(counts > 1)
    if np.log(counts[choices]).sum() > np.log(FEW):
        return []
    return [
        Policy.stackless(model, _choice(model, choices, actions))
        for actions in itertools.product(*(range(n) for n in counts[choices]))
    ]


def _choice(model: RMDP, at: Ints | npt.NDArray[np.intp], actions: tuple[int, ...]) -> Ints:
    chosen = np.zeros(model.tables.n_vertices, np.int32)
    chosen[at] = actions
    return chosen


def _searched(model: RMDP, solution: Solution) -> Iterator[Policy]:
    """Local optima from several starts."""
    for start in _starts(model, solution):
        yield improved(Policy.stackless(model, start))


def _starts(model: RMDP, solution: Solution) -> Iterator[Ints]:
    assert solution.policy is not None
    yield usual_actions(solution.policy)
    yield _greedy(model, Policy.uniform(model))
    random, counts = np.random.default_rng(0), np.diff(model.tables.action_start)
    for _ in range(RANDOM_STARTS):
        yield (random.random(len(counts)) * np.maximum(counts, 1)).astype(np.int32)


def _greedy(model: RMDP, policy: Policy) -> Ints:
    """At every vertex the action that gains most if it alone is changed a little."""
    slopes, start = gains(policy), model.tables.action_start
    return np.array(
        [slopes[a:b].argmax() if b > a else 0 for a, b in itertools.pairwise(start.tolist())],
        np.int32,
    )


def improved(policy: Policy) -> Policy:
    """A local optimum: no promising change of one action improves it."""
    best = evaluate(policy)
    while (better := _better(best)) is not None:
        best = better
    return best.policy


def _better(best: Evaluation) -> Evaluation | None:
    """An evaluation of a better policy that changes some actions, the promising ones first."""
    model, policy = best.policy.model, best.policy
    slopes, owner = gains(policy), model.tables.action_vertex
    first = model.tables.action_start
    found = [int(a) for a in np.argsort(-slopes) if slopes[a] > 1e-12]
    count, single = len(found), 0
    while count >= 1 and single < SINGLE:
        part = found[:count] if count > 1 else found[single : single + 1]
        single += count == 1
        actions = policy.actions.copy()
        for a in reversed(part):
            actions[owner[a]] = a - first[owner[a]]
        there = evaluate(Policy.stackless(model, actions))
        if there.lower > best.upper:
            return there
        count = max(1, count // 2) if part else 0
    return None


def gains(policy: Policy) -> Floats:
    """How much the value rises, per probability, if an action is taken instead of the policy's.

    With W(q) the expected visits of q, and M(q) their sum weighted by the exit values at hand:
    W(q) (R(q, a) - R(q)) + (P(q, a) - P(q)) M(q), for the expected rewards R to an exit and the
    probabilities P of exits. Contexts need not be known one by one, as all is linear in them.
    """
    model, worth = policy.model, policy_worth(policy)
    vertex = model.tables.action_vertex
    weights = _weights(policy, worth)[vertex]
    slopes: Floats = (action_gains(model, worth) * weights).sum(axis=1)
    return slopes


def _weights(policy: Policy, worth: Floats) -> Floats:
    """Expected visits of each vertex, and their sums weighted by exit values."""
    rows = rows_of_policy(policy)
    place, begin = rows.row_place, np.zeros_like(worth)
    begin[rows.start, 0] = rows.start_prob
    calls, steps = np.flatnonzero(rows.move == CALLS), np.flatnonzero(rows.move == 0)
    weights = begin
    for _ in range(20_000):
        new = begin.copy()
        at = rows.prob[:, None] * weights[place]
        np.add.at(new, rows.landing[steps], at[steps])
        np.add.at(new[:, 0], rows.landing[calls], at[calls, 0])
        for j in range(int(rows.n_returns.max(initial=0))):
            some = calls[rows.n_returns[calls] > j]
            back, entry = rows.push[some] + j, rows.landing[some]
            np.add.at(new, back, worth[entry, 1 + j, None] * at[some])
            np.add.at(new[:, 1 + j], entry, (worth[back] * at[some]).sum(axis=1))
        if np.abs(new - weights).max() < 1e-9 * max(1.0, np.abs(new).max()):
            break
        weights = new
    return new


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--only", nargs="*", default=[], help="names of settings; all if not given")
    parser.add_argument("--optima", action="store_true", help="keep the values of other policies")
    parser.add_argument("--certificates", type=Path, help="folder to keep the certificates in")
    given = parser.parse_args()
    old = msgspec.json.decode(PATH.read_bytes(), type=KnownFile).settings if PATH.exists() else {}
    found = {name: old[name] for name in old if given.only}
    if given.certificates is not None:
        given.certificates.mkdir(parents=True, exist_ok=True)
    for setting in settings():
        if given.only and setting.name not in given.only:
            continue
        begun, mark = time.perf_counter(), setting.model().fingerprint
        same = [one for name, one in found.items() if one.fingerprint == mark]
        before = old.get(setting.name) if given.optima else None
        shared = same[0] if same and setting.name not in found else None
        one = shared or known(setting, given.certificates, before)
        found[setting.name] = one
        took = time.perf_counter() - begun
        print(
            f"{setting.name}: {one.optimum}, stackless {one.stackless} {one.stackless_is}, "
            f"uniform {one.uniform}, {took:.1f} s",
            flush=True,
        )
        ordered = {s.name: found[s.name] for s in settings() if s.name in found}
        whole = KnownFile(COMMAND, versions(), ordered)
        write_atomic(PATH, msgspec.json.format(msgspec.json.encode(whole), indent=1) + b"\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
