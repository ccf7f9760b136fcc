"""Certificates of random models of all kinds, with up to 40 exits: the checker accepts them all.

Many: ``python -m tests.solving.check_certificates 2000 0``
"""

from __future__ import annotations

import math
import random
import sys
import time
from collections.abc import Iterator

import recurl
from recurl.errors import NotProperError, RecurlError

KINDS = ("general", "one_exit", "hierarchical", "deterministic", "chain", "endless")
EPSILON = 1e-6
QUESTIONS = (("reward", "max"), ("reward", "min"), ("steps", "max"), ("exit", "min"))


def model_of(seed: int) -> recurl.RMDP:
    """A random model; the seed decides the kind, by its remainder."""
    draw, kind = random.Random(seed), KINDS[seed % len(KINDS)]
    if kind == "endless":
        return deterministic_with_cycles(draw)
    sizes = {"components": draw.randint(1, 5), "nodes": draw.randint(1, 8)}
    exits = 1 if kind == "one_exit" else draw.choice((1, 2, 3, 4, 5, 8, 14, 20, 32, 40))
    return recurl.zoo.random_model(
        seed,
        kind="general" if kind == "chain" else kind,
        exits=exits,
        entries=draw.choice((1, 1, 2)),
        actions=1 if kind == "chain" else draw.choice((1, 2, 3)),
        **sizes,
    )


def deterministic_with_cycles(draw: random.Random) -> recurl.RMDP:
    """A deterministic model in which calls and steps may go round, and boxes be out of reach."""
    exits = [[f"x{k}" for k in range(draw.randint(1, 3))] for _ in range(draw.randint(2, 3))]
    builder = recurl.Builder("deterministic")
    for c, own in enumerate(exits):
        callee = draw.randrange(len(exits))
        builder.component(f"C{c}", entries="e", exits=own).box("b", f"C{callee}")
        returns = [f"b.{x}" for x in exits[callee]]
        for place in ("e", "n", *returns):
            builder.at(place)
            for a in range(draw.randint(1, 2)):
                target = draw.choice((*own, *own, *own, "n", "b"))
                builder.action(f"a{a}", reward=-draw.randint(1, 12) / 4).to(target)
    return builder.build("C0")


def failures(model: recurl.RMDP, of: str, objective: str) -> Iterator[str]:
    """What is wrong with the answer to a question, where there is one, and its certificate."""
    if of == "exit":
        first = int(model.tables.n_entries[model.tables.start_component])
        start = int(model.tables.component_start[model.tables.start_component])
        of = f"exit:{model.local_name(start + first)}"
    try:
        found = recurl.solve(model, of=of, objective=objective)
        proved = recurl.verify(model, found.certificate)
    except NotProperError:
        return
    except RecurlError as error:
        yield f"{type(error).__name__}: {error}"
        return
    low = -math.inf if proved.lower is None else proved.lower
    high = math.inf if proved.upper is None else proved.upper
    if math.isinf(found.lower) or math.isinf(found.upper):
        wider = 0.0
    else:
        wider = EPSILON * max(1.0, abs(found.lower), abs(found.upper))
    if low < found.lower - wider or high > found.upper + wider:
        yield f"solved [{found.lower}, {found.upper}], proved [{low}, {high}] ({found.method})"


def main(count: int, first: int) -> int:
    """Check seeds; print failures."""
    began, failed = time.time(), 0
    for seed in range(first, first + count):
        model = model_of(seed)
        of, objective = QUESTIONS[seed // len(KINDS) % len(QUESTIONS)]
        for failure in failures(model, of, objective):
            failed += 1
            print(f"seed {seed} ({KINDS[seed % len(KINDS)]}), {of} {objective}: {failure}")
    print(f"{count} models, {failed} failures, {time.time() - began:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:3])))
