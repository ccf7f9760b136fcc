"""Certificates tampered with so that they claim what is not true; all must be refused.

Many: ``python -m tests.verification.check_tampering 2000``
"""

from __future__ import annotations

import math
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from typing import Any
from unittest import mock

import msgspec
from tests.solving.oracle import random_spec

import recurl
from recurl.errors import CertificateError, RecurlError
from recurl.model.certificate import Certificate, Piece, Point
from recurl.solving.certified import solve_certified

Change = Callable[[random.Random, Certificate, float], Certificate]


def _replace(given: Any, **changes: Any) -> Any:
    return msgspec.structs.replace(given, **changes)


def _points(change: Callable[[Point], list[float]]) -> Callable[[Certificate], Certificate]:
    return lambda c: _replace(c, points=[_replace(p, values=change(p)) for p in c.points])


def _pieces(change: Callable[[Piece], list[float]]) -> Callable[[Certificate], Certificate]:
    return lambda c: _replace(c, pieces=[_replace(p, rewards=change(p)) for p in c.pieces])


def _only_the_claim(draw: random.Random, given: Certificate, by: float) -> Certificate:
    return given


def _shifted(draw: random.Random, given: Certificate, by: float) -> Certificate:
    """All bounds moved along with the claim."""
    sign = 1 if given.objective == "max" else -1
    moved = _points(lambda p: [x + sign * by for x in p.values])(given)
    return _pieces(lambda p: [x + sign * by for x in p.rewards])(moved)


def _some_shifted(draw: random.Random, given: Certificate, by: float) -> Certificate:
    """Some bounds moved along with the claim."""
    sign = 1 if given.objective == "max" else -1
    moved = _points(lambda p: [x + sign * by * draw.randint(0, 1) for x in p.values])(given)
    return _pieces(lambda p: [x + sign * by * draw.randint(0, 1) for x in p.rewards])(moved)


def _fewer_steps(draw: random.Random, given: Certificate, by: float) -> Certificate:
    """Bounds moved, and step bounds halved."""
    moved = _shifted(draw, given, by)
    halved = [
        _replace(p, steps=None if p.steps is None else [x / 2 for x in p.steps])
        for p in moved.pieces
    ]
    return _replace(moved, steps=[x / 2 for x in given.steps], pieces=halved)


def _without_steps(draw: random.Random, given: Certificate, by: float) -> Certificate:
    """Bounds moved, and another theorem in the place of the one that was used."""
    moved = _shifted(draw, given, by)
    pieces = [_replace(p, steps=None) for p in moved.pieces]
    potential = None if given.potential else [0.0] * len(given.steps)
    return _replace(moved, steps=[], reach=None, potential=potential or None, pieces=pieces)


def _scaled(draw: random.Random, given: Certificate, by: float) -> Certificate:
    """The same numbers in another unit."""
    return _replace(given, scale=given.scale + draw.choice([-3, -1, 1, 3]))


CHANGES: dict[str, Change] = {
    "claim": _only_the_claim,
    "all bounds": _shifted,
    "some bounds": _some_shifted,
    "steps": _fewer_steps,
    "theorem": _without_steps,
    "unit": _scaled,
}


def tampered(draw: random.Random, given: Certificate) -> tuple[str, Certificate] | None:
    """A certificate that claims something else, which the given one shows to be false."""
    if given.infinite:
        ends = draw.choice([{"lower": 0.0, "upper": 1e9}, {"infinite": _opposite(given)}])
        return "infinite", _replace(given, **{"infinite": None, **ends})
    if draw.random() < 0.1:
        return "infinite", _replace(given, infinite=draw.choice(["inf", "-inf"]), lower=None,
                                    upper=None)  # fmt: skip
    if given.lower is None or given.upper is None:
        return None
    by = draw.choice([-1.0, 1.0]) * 10 ** draw.uniform(-4, 1)
    by += math.copysign(given.upper - given.lower, by)
    name = draw.choice(sorted(CHANGES))
    found = CHANGES[name](draw, given, by)
    return name, _replace(found, lower=given.lower + by, upper=given.upper + by)


def _opposite(given: Certificate) -> str:
    return "inf" if given.infinite == "-inf" else "-inf"


def certificates(seed: int) -> list[tuple[recurl.RMDP, Certificate]]:
    """Certificates of a random model, proper or not, for some questions.

    The certified search has one second: certificates of wide intervals are forged as well.
    """
    model = random_spec(seed, exits=1 + seed % 3, actions=1 + seed // 3 % 2)
    t = model.tables
    first = int(t.component_start[t.start_component] + t.n_entries[t.start_component])
    found = []
    for of in ("reward", "steps", f"exit:{model.local_name(first)}"):
        for objective in ("max", "min"):
            try:
                with mock.patch.dict(solve_certified.__kwdefaults__, {"time_limit": 1.0}):
                    solution = recurl.solve(model, of=of, objective=objective)
                    certificate = _replace(solution.certificate, claim="")  # numbers alone decide
                recurl.verify(model, certificate)
            except RecurlError:
                continue
            found.append((model, certificate))
    return found


def check(seed: int, each: int = 3) -> Counter[str]:
    """Tamper with the certificates of a random model; AssertionError if one is accepted."""
    said: Counter[str] = Counter()
    draw = random.Random(seed)
    for model, certificate in certificates(seed):
        for _ in range(each):
            changed = tampered(draw, certificate)
            if changed is None:
                continue
            name, forged = changed
            try:
                verdict = recurl.verify(model, forged)
            except CertificateError:
                said[name] += 1
            else:
                raise AssertionError(f"seed {seed}: {name} was accepted: {verdict}")
    return said


def main() -> None:
    count, seed = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    said: Counter[str] = Counter()
    begin = time.process_time()
    while said.total() < count:
        try:
            said += check(seed)
        except AssertionError as error:
            said["accepted"] += 1
            print(error, flush=True)
        seed += 1
    print(f"{said.total()} certificates tampered with: {dict(said)}, {seed} models,", end=" ")
    print(f"{time.process_time() - begin:.0f} s")


if __name__ == "__main__":
    main()
