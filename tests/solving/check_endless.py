"""Least and greatest costs to reach a goal, compared with Storm in exact numbers.

    python tests/solving/check_endless.py [models] [first seed]

Random processes with free and paid loops, some of which cannot reach the goal, in both directions:
runs that miss the goal cost infinitely much, in PRISM, in Storm and with ``endless="inf"``.
"""

from __future__ import annotations

import math
import random
import sys
import tempfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import recurl

Ways = list[list[tuple[int, list[tuple[Fraction, int]]]]]
"""For every state its actions: what they cost, and where they lead to with which probability."""


def random_process(seed: int) -> Ways:
    """A process with up to seven states, before the goal."""
    draw = random.Random(seed)
    n, costs = draw.randint(1, 7), draw.choice([[0], [0, 0, 0, 1], [0, 1, 2], [1, 3]])
    process: Ways = []
    for _ in range(n):
        ways = []
        for _ in range(draw.randint(1, 3)):
            targets = draw.sample(range(n + 1), draw.randint(1, min(3, n + 1)))
            weights = [draw.randint(1, 5) for _ in targets]
            moves = [(Fraction(w, sum(weights)), t) for w, t in zip(weights, targets, strict=True)]
            ways.append((draw.choice(costs), moves))
        process.append(ways)
    return process


def model_of(process: Ways, sign: int = 1) -> recurl.RMDP:
    """The process as a model with one exit, the goal; costs are rewards times a sign."""
    builder = recurl.Builder("random").component("A", entries="in", exits="goal")
    builder.at("in").action("begin").to("s0")
    names = [*(f"s{i}" for i in range(len(process))), "goal"]
    for i, ways in enumerate(process):
        builder.at(f"s{i}")
        for k, (cost, moves) in enumerate(ways):
            builder.action(f"a{k}", reward=sign * cost)
            for p, target in moves:
                builder.to(names[target], p)
    return builder.build()


def prism_of(process: Ways) -> str:
    """The process as a PRISM program; its goal is the last state."""
    lines, rewards = ["mdp", "module m", f"s : [0..{len(process)}] init 0;"], ["rewards"]
    for i, ways in enumerate(process):
        for k, (cost, moves) in enumerate(ways):
            ends = " + ".join(f"{p} : (s'={t})" for p, t in moves)
            lines.append(f"[a{i}_{k}] s={i} -> {ends};")
            rewards.append(f"[a{i}_{k}] true : {cost};")
    lines.append(f"[end] s={len(process)} -> true;")
    return "\n".join([*lines, "endmodule", *rewards, "endrewards"])


def by_storm(process: Ways, direction: str) -> float | Fraction:
    """What Storm says of the cost to reach the goal, in exact numbers."""
    import stormpy

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.prism"
        file.write_text(prism_of(process))
        program = stormpy.parse_prism_program(str(file))
    text = f"R{direction}=? [F s={len(process)}]"
    properties = stormpy.parse_properties(text, program)
    formulas: Any = [properties[0].get_raw_formula()]
    built = stormpy.build_model[stormpy.Rational](program, formulas)
    found = stormpy.model_checking(built, properties[0]).get_value(built.initial_states[0])
    text = str(found)
    return math.inf if "inf" in text else Fraction(text)


def disagreement(seed: int) -> str | None:
    """How the two differ on a process, if they do."""
    process = random_process(seed)
    for direction in ("min", "max"):
        expected = by_storm(process, direction)
        for sign in (1, -1):
            objective = direction if sign > 0 else {"min": "max", "max": "min"}[direction]
            model, endless = model_of(process, sign), "inf" if sign > 0 else "-inf"
            found = recurl.solve(model, objective=objective, endless=endless, epsilon=1e-9)
            proved = recurl.verify(model, found.certificate)
            ends = (found.lower, found.upper)
            wide = 1e-9 * (1 + abs(found.value))
            same = (proved.lower, proved.upper) == ends and found.gap <= wide
            if not (same and ends[0] <= sign * expected <= ends[1]):
                return f"seed {seed}, R{direction}, sign {sign}: Storm {expected}, here {found}"
    return None


def main(models: int = 2000, first: int = 0) -> None:
    """Compare on many processes."""
    for seed in range(first, first + models):
        if (said := disagreement(seed)) is not None:
            raise SystemExit(said)
    print(f"{models} processes, {4 * models} questions: all agree")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
