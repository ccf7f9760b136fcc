"""The cloud program of the paper: open choices in three functions that call each other.

In the paper's figure a crash is an exception, `try: execute_fast()` with `except Crash: S()`, and
so is an interrupt. Programs have no exceptions yet: both are coins here, as in `if flip(0.4): S()`.
The best completion is printed as plain Python and run; its mean earns what was claimed. Its model
is the cloud model of the zoo.

    python examples/cloud_program.py [--quick] [--plot cloud.png]
"""

from __future__ import annotations

import numpy as np
from common import Figure, Settings, settings

import recurl
from recurl import choose, flip, program, reward


@program
def T():
    if choose("mono", "divide") == "mono":
        reward(-8)
    else:
        reward(-0.5)
        S()
        S()
        S()
        reward(-0.5)


@program
def S():
    if choose("reliable", "fast") == "fast":
        reward(-1)
        if flip(0.4):  # crashed: do it again
            S()
    else:
        reward(-1.5)
        if flip(0.3):  # interrupted: ask whether to upgrade
            H()
            reward(0.2)


@program
def H():
    if choose("no", "yes") == "yes":
        reward(-0.2)
        return True
    reward(-0.01)
    return flip(0.3) and (H() or H())


def main(wanted: Settings) -> dict[str, float]:
    completion = T.solve()
    print(completion)
    runs = completion.run(2_000 if wanted.quick else 50_000)
    zoo = recurl.solve(recurl.zoo.cloud())
    print(f"claimed {completion.value:.6f}, simulated {runs.mean():.4f}, zoo {zoo.value:.6f}")
    with Figure(wanted, "Cloud: totals of the completed program") as axes:
        axes.hist(runs, bins=60)
        axes.axvline(completion.value, color="black", label=f"claimed {completion.value:.4f}")
        axes.set_xlabel("total reward")
        axes.set_ylabel("runs")
        axes.legend()
    error = float(runs.std() / np.sqrt(len(runs)))
    return {"value": completion.value, "mean": float(runs.mean()), "error": error, "zoo": zoo.value}


if __name__ == "__main__":
    main(settings(__doc__))
