"""Plans that slip: a tower of blocks is moved, and what is carried may fall.

A planner that ignores slips carries the whole tower at once, and plans again each time it slips.
The best recursive policy, computed with a certificate, takes the tower apart into halves of halves,
depending on how often a block slips. The domain is also there in HDDL, towers.hddl, and gives the
same numbers (--hddl, needs the extra planning).

    python examples/slipping_plans.py [--quick] [--plot plans.png] [--hddl]
"""

from __future__ import annotations

from fractions import Fraction
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory

from common import Figure, Settings, options

import recurl
from recurl import choose, flip, program, reward

BLOCKS = 8
HERE = Path(__file__).parent


def holds(blocks: int, p: Fraction) -> Fraction:
    """Probability that no block of a load slips."""
    return (1 - p) ** blocks


@program
def move(blocks, p):
    """Move a tower: as a whole, or its upper half to a spare place, and back on top later."""
    if blocks > 1 and choose("carry", "halves") == "halves":
        move(blocks // 2, p)  # the upper half, out of the way
        move(blocks // 2, p)  # the lower half
        move(blocks // 2, p)  # the upper half, on top of it
    else:
        reward(-1)
        while not flip(holds(blocks, p)):  # it slips, and lies where it was
            reward(-1)


def hddl_model(p: Fraction) -> recurl.RMDP:
    """The same domain, read from HDDL, with a file of slips."""
    with TemporaryDirectory() as folder:
        slips = Path(folder, "slips.txt")
        slips.write_text("".join(f"carry-{n} {1 - holds(n, p)}\n" for n in (1, 2, 4, 8)))
        problem = HERE / "towers_problem.hddl"
        return recurl.load(HERE / "towers.hddl", problem=problem, slips=slips)


def certified(model: recurl.RMDP) -> recurl.Solution:
    """The best policy, with a certificate that the independent checker accepts."""
    solution = recurl.solve(model, epsilon=1e-9)
    verdict = recurl.verify(model, solution.certificate)
    assert verdict.upper - verdict.lower < 1e-6
    return solution


def replanned(model: recurl.RMDP) -> float:
    """Expected cost of the plan for a world without slips, made again after every slip.

    The policy is that of the domain without slips: a slip leaves everything where it was, so that
    a new plan from there is the old one.
    """
    (first,) = certified(move.model(BLOCKS, Fraction(0))).policy.table()
    plan = {model.vertex_name(0): first.action}
    return -recurl.evaluate(recurl.Policy.stackless(model, plan)).value


def load(solution: recurl.Solution) -> int:
    """Blocks that the best policy carries at once."""
    chosen = {row.vertex: row.action for row in solution.policy.table()}
    carried = [name for name, action in chosen.items() if action == "carry"]
    return max((int(name.split("=")[1].split(",")[0]) for name in carried), default=1)


def thresholds() -> dict[int, float]:
    """Risks from which on a tower of some blocks is better moved in halves.

    Carrying n blocks costs (1 - p)^-n, three halves 3 (1 - p)^(-n / 2): they are equal where
    (1 - p)^(n / 2) = 1/3.
    """
    return {n: 1 - 3 ** (-2 / n) for n in (8, 4, 2)}


def main(wanted: Settings, hddl: bool = False) -> dict[str, float]:
    step = 20 if wanted.quick else 100
    risks = [Fraction(i, step) for i in range(3 * step // 4 + 1)]
    models = [move.model(BLOCKS, p) for p in risks]
    solutions = [certified(model) for model in models]
    costs, loads = [-s.value for s in solutions], [load(s) for s in solutions]
    plans = [replanned(model) for model in models]
    print("   p  best (certified)  carried at once  plan and replan")
    for i in range(0, len(risks), step // 10):
        print(f"{float(risks[i]):4.1f} {costs[i]:17.3f} {loads[i]:16} {plans[i]:16.2f}")
    for blocks, p in thresholds().items():
        print(f"towers of {blocks} are moved in halves from p = {p:.3f} on")
    if hddl:
        for p, cost in zip(risks[:: step // 10], costs[:: step // 10], strict=True):
            print(f"HDDL, p = {float(p):.1f}: {-certified(hddl_model(p)).value:.3f}, as {cost:.3f}")
    draw(wanted, [float(p) for p in risks], plans, costs, loads)
    found = {f"best {float(p)}": cost for p, cost in zip(risks, costs, strict=True)}
    found |= {f"plan {float(p)}": cost for p, cost in zip(risks, plans, strict=True)}
    return found | {f"load {float(p)}": n for p, n in zip(risks, loads, strict=True)}


def draw(
    wanted: Settings, risks: list[float], plans: list[float], costs: list[float], loads: list[int]
) -> None:
    """Both costs, and the loads of the best policy as bands."""
    with Figure(wanted, "Moving a tower of eight blocks that slip") as axes:
        axes.semilogy(risks, plans, color="tab:red", linewidth=2)
        axes.semilogy(risks, costs, color="tab:green", linewidth=3)
        end = 0
        for n, group in groupby(loads):
            begin, end = end, end + len(list(group))
            last = risks[min(end, len(risks) - 1)]
            axes.axvspan(risks[begin], last, color="tab:green", alpha=0.05 + 0.05 * (8 // n) ** 0.5)
            text = f"{n} blocks\nat once" if n > 1 else "1 block\nat once"
            middle = (risks[begin] + last) / 2
            axes.text(middle, 0.62, text, ha="center", va="bottom", fontsize="small")
        axes.text(
            0.42, 150, "plan for no slips,\nplan again after each", color="tab:red", ha="right"
        )
        axes.text(0.45, 15, "best recursive policy\n(certified)", color="tab:green", ha="left")
        axes.set_ylim(0.55, 1000)
        axes.set_xlim(0, risks[-1])
        axes.set_xlabel("probability that a block slips")
        axes.set_ylabel("expected number of carries")


if __name__ == "__main__":
    parser = options(__doc__)
    parser.add_argument("--hddl", action="store_true", help="read the domain from HDDL as well")
    given = parser.parse_args()
    main(Settings(given.quick, given.plot), given.hddl)
