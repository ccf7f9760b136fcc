"""Answers against truths of `oracle`.

Many models: ``python -m tests.solving.check_oracle 5000``
"""

from __future__ import annotations

import math
import sys
import time
from collections import Counter
from decimal import Decimal
from unittest import mock

from tests.solving.oracle import (
    COSTS,
    INF,
    Chain,
    Truth,
    random_spec,
    stackless,
    truncated,
    uniform,
)

import recurl
from recurl.errors import CertificateError, NotProperError
from recurl.solving.certified import solve_certified

REASONS = {
    "both gains and losses are infinite": "gains and losses",
    "some policy goes on forever": "a policy can go on forever",
    "some policy calls faster than it returns": "calls faster than it returns",
    "some policy calls as fast as it returns": "calls as fast as it returns",
    "some policy may not end": "ends with probability",
    "a run may not end": "may never end",
    "steps are not bounded": "step",
    "calls and returns are nearly balanced": "nearly balanced",
    "floats are too coarse": "no longer bring the bounds together",
    "time": "the time is up",
}
"""What the theory leaves open, by words that messages have."""

LIMITS = ("calls and returns are nearly balanced", "floats are too coarse", "time")
"""Those of them that arithmetic leaves open, not the theory."""

SLACK = Decimal("1e-40")
"""How exact truths are."""


def holds(low: float, truth: Decimal, high: float) -> bool:
    """Whether an interval contains a truth."""
    if truth.is_infinite():
        return high == math.inf if truth > 0 else low == -math.inf
    room = SLACK * (1 + abs(truth))
    return Decimal(low) <= truth + room and truth - room <= Decimal(high)


def check_chain(seed: int, exits: int) -> Counter[str]:
    """`evaluate` and `solve` on a model without choices."""
    model = random_spec(seed, exits=exits)
    truth = Chain(model, uniform(model)).truth()
    found = recurl.evaluate(recurl.Policy.uniform(model))
    said = Counter({"chains": 1})
    for k, (low, high) in enumerate(found.exit_intervals.values()):
        assert holds(low, truth.exits[k], high), f"seed {seed}: exit {k}"
        said["narrow exits"] += high - low < 1e-6
        said["exits"] += 1
    assert holds(*_around(found.termination, truth.end)), f"seed {seed}: end"
    assert holds(*_around(found.steps_interval, truth.steps)), f"seed {seed}: steps"
    if truth.steps == INF:
        said["infinite steps proved"] += found.steps_interval[0] == math.inf
        said["infinite steps"] += 1
    if truth.gain == INF and truth.loss == INF:
        assert (found.lower, found.upper) == (-math.inf, math.inf), f"seed {seed}: undefined"
        said["undefined"] += 1
    else:
        total = truth.gain - truth.loss
        low, high = found.lower, found.upper
        assert holds(low, total, high), f"seed {seed}: reward"
        said["known rewards"] += low == high or high - low < 1e-6
        said["rewards"] += 1
    said += _check_solutions(model, seed, truth)
    return said


def _around(interval: tuple[float, float], truth: Decimal) -> tuple[float, Decimal, float]:
    return interval[0], truth, interval[1]


def _check_solutions(model: recurl.RMDP, seed: int, truth: Truth) -> Counter[str]:
    said: Counter[str] = Counter()
    t = model.tables
    first = int(t.component_start[t.start_component] + t.n_entries[t.start_component])
    truths = {"steps": truth.steps}
    if not (truth.gain == INF and truth.loss == INF):
        truths["reward"] = truth.gain - truth.loss
    for k, p in enumerate(truth.exits):
        truths[f"exit:{model.local_name(first + k)}"] = p
    for of, expected in truths.items():
        try:
            found = recurl.solve(model, of=of)
        except NotProperError as error:
            said[f"refused: {reason_of(str(error))}"] += 1
            continue
        assert holds(found.lower, expected, found.upper), f"seed {seed}: solve {of}"
        said["solved"] += 1
        said += _width(found)
        said += _check_certificate(model, found, seed, expected)
    return said


def reason_of(text: str) -> str:
    """The kind of reason that an error or a solution gives, without names and numbers."""
    for kind, mark in REASONS.items():
        if mark in text:
            return kind
    return f"UNEXPLAINED: {text[:150]}"


def _nameless(model: recurl.RMDP, error: CertificateError) -> str:
    return str(error).replace(model.name, "it")[:60]


def _width(found: recurl.Solution) -> Counter[str]:
    """How much is known, and why not more."""
    if found.gap <= 1e-3 or found.lower == found.upper:
        return Counter({"narrow": 1})
    return Counter({f"wide: {reason_of(found.reason)}": 1})


def _check_certificate(
    model: recurl.RMDP, found: recurl.Solution, seed: int, truth: Decimal
) -> Counter[str]:
    try:
        certificate = found.certificate
    except CertificateError as error:
        return Counter({f"without certificate: {found.method}: {_nameless(model, error)}": 1})
    verdict = recurl.verify(model, certificate)
    low = -math.inf if verdict.lower is None else verdict.lower
    high = math.inf if verdict.upper is None else verdict.upper
    assert holds(low, truth, high), f"seed {seed}: certificate"
    return Counter({"verified": 1})


def check_choices(seed: int, exits: int, most: int = 64, *, totals: bool = True) -> Counter[str]:
    """`termination`, `analyse` and `solve` on a model with choices."""
    model = random_spec(seed, exits=exits, actions=2)
    said = Counter({"models": 1})
    truths = [Chain(model, choice).truth() for choice in stackless(model, most)]
    if model.kind.one_exit and truths:
        for objective, best in (("max", max), ("min", min)):
            found = recurl.termination(model, objective)
            expected = best(truth.end for truth in truths)
            assert holds(found.lower, expected, found.upper), f"seed {seed}: ends {objective}"
            said["narrow terminations"] += found.gap < 1e-6
            said["terminations"] += 1
    _check_analysis(model, seed, truths, said)
    _check_probabilities(model, seed, truths, said)
    if totals:
        _check_totals(model, seed, truths, said)
    return said


def _check_analysis(model: recurl.RMDP, seed: int, truths: list[Truth], said: Counter[str]) -> None:
    analysis = recurl.analyse(model)
    said[analysis.verdict] += 1
    if analysis.verdict == "proper":
        longest = max((truth.steps for truth in truths), default=Decimal(0))
        assert longest <= Decimal(analysis.bound) * (1 + Decimal("1e-9")), f"seed {seed}: proper"
    elif analysis.verdict == "not proper" and truths and model.kind.one_exit:
        assert any(truth.steps == INF for truth in truths), f"seed {seed}: not proper"


def _check_probabilities(
    model: recurl.RMDP, seed: int, truths: list[Truth], said: Counter[str]
) -> None:
    t = model.tables
    first = int(t.component_start[t.start_component] + t.n_entries[t.start_component])
    for objective, best in (("max", max), ("min", min)):
        for k in range(int(t.n_exits[t.start_component])):
            try:
                found = recurl.solve(
                    model, of=f"exit:{model.local_name(first + k)}", objective=objective
                )
            except NotProperError as error:
                said[f"refused: {reason_of(str(error))}"] += 1
                continue
            said["probabilities"] += 1
            said += _width(found)
            low, high = truncated(model, f"exit:{k}", objective, height=2, sweeps=60)
            assert found.lower <= high, f"seed {seed}: {objective} exit {k} low"
            assert found.upper >= low, f"seed {seed}: {objective} exit {k} high"
            if truths:
                attained = best(truth.exits[k] for truth in truths)
                fits = Decimal(found.upper) >= attained - SLACK
                if objective == "min":
                    fits = Decimal(found.lower) <= attained + SLACK
                place = f"seed {seed}: {objective} exit {k}"
                assert fits, f"{place} attained"
                said += _check_proof(model, found, place, attained, objective)


def _check_totals(model: recurl.RMDP, seed: int, truths: list[Truth], said: Counter[str]) -> None:
    """Rewards and steps: stackless policies bound the optimum, and attain it if all end.

    The certified search has one second: that its bounds hold does not depend on when it stops.
    """
    with mock.patch.dict(solve_certified.__kwdefaults__, {"time_limit": 1.0}):
        _check_all_totals(model, seed, truths, said)


def _check_all_totals(
    model: recurl.RMDP, seed: int, truths: list[Truth], said: Counter[str]
) -> None:
    for of in ("reward", "steps"):
        totals = [_total(truth, of) for truth in truths]
        known = [total for total in totals if total is not None]
        for objective, best in (("max", max), ("min", min)):
            try:
                found = recurl.solve(model, of=of, objective=objective, epsilon=1e-4)
            except NotProperError as error:
                said[f"refused: {reason_of(str(error))}"] += 1
                continue
            said["totals"] += 1
            said += _width(found)
            if not known:
                continue
            attained, place = best(known), f"seed {seed}: {objective} {of}"
            if objective == "max":
                assert holds(-math.inf, attained, found.upper), place
            else:
                assert holds(found.lower, attained, math.inf), place
            if model.kind.one_exit and all(truth.steps != INF for truth in truths):
                assert holds(found.lower, attained, found.upper), place
            said += _check_proof(model, found, place, attained, objective)


def check_costs(seed: int, exits: int, most: int = 64) -> Counter[str]:
    """`solve` where every step costs: the least cost and the fewest steps are closed, or infinite.

    Some policies do not end, and some places are lost; no stackless policy beats the answer. With
    several exits, whether some policy surely ends may stay open if no stackless one does.
    """
    model = random_spec(seed, exits=exits, actions=2, rewards=COSTS)
    said = Counter({"models with costs": 1})
    truths = [Chain(model, choice).truth() for choice in stackless(model, most)]
    with mock.patch.dict(solve_certified.__kwdefaults__, {"time_limit": 10.0}):
        for of, objective, sign in (("reward", "max", 1), ("steps", "min", -1)):
            found = recurl.solve(model, of=of, objective=objective, epsilon=1e-4)
            said["costs"] += 1
            low, high = sorted((sign * found.lower, sign * found.upper))
            place = f"seed {seed}: {of}"
            totals = [sign * total for x in truths if (total := _total(x, of)) is not None]
            best = max(totals, default=-INF)
            if low != high and high - low > 1e-3 * (1 + abs(high)):
                kind = reason_of(found.reason)
                lost = best == -INF and "no policy was found that surely ends" in found.reason
                assert lost or kind in LIMITS, f"{place} is wide, {kind}"
                said["wide: no policy may end" if lost else f"wide: {kind}"] += 1
            assert holds(-math.inf, best, high), place
            behind = best.is_finite() and float(best) - low > 1e-3 * (1 + abs(float(best)))
            assert not behind, f"{place}: a stackless policy is better"
            said += _check_proof(model, found, place, sign * best, objective)
    return said


def _total(truth: Truth, of: str) -> Decimal | None:
    """A total, None if it is not defined."""
    if of == "steps":
        return truth.steps
    return None if truth.gain == INF == truth.loss else truth.gain - truth.loss


def _check_proof(
    model: recurl.RMDP, found: recurl.Solution, place: str, attained: Decimal, objective: str
) -> Counter[str]:
    """A certificate is accepted, and does not exclude what a policy attains."""
    try:
        certificate = found.certificate
    except CertificateError as error:
        return Counter({f"without certificate: {found.method}: {_nameless(model, error)}": 1})
    verdict = recurl.verify(model, certificate)
    low = -math.inf if verdict.lower is None else verdict.lower
    high = math.inf if verdict.upper is None else verdict.upper
    fits = (
        holds(-math.inf, attained, high) if objective == "max" else holds(low, attained, math.inf)
    )
    assert fits, f"{place}: certificate"
    return Counter({f"verified: {' and '.join(verdict.theorems)}": 1})


def main() -> None:
    count, first = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    said: Counter[str] = Counter()
    begin = time.process_time()
    for seed in range(first, first + count):
        exits = 1 + seed // 2 % 3
        for check in (check_chain,) if seed % 2 else (check_choices, check_costs):
            try:
                said += check(seed, exits)
            except Exception as error:
                said["failed"] += 1
                print(f"{check.__name__}({seed}, {exits}): {error!r}"[:300], flush=True)
    for what, times in sorted(said.items()):
        print(f"{times:8} {what}")
    print(f"{time.process_time() - begin:.0f} s")


if __name__ == "__main__":
    main()
