"""Infinite spelunking: over the traps or around them, by the probability that a trap opens.

    python benchmarks/trap_probability.py [picture.svg]

Prints a table and writes the picture of docs/results/README.md. *Over* is the best policy where
every step pays -1, which walks over traps at every probability; *around* is the best policy where a
fall is prohibitive, so that it never stands on a trap. Both are evaluated exactly, with the
rewards of the text and with those of the published runs.
"""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

import recurl
from recurl.model.plotting import BLUE, ORANGE, own_or_new

PUBLISHED: dict[str, Any] = {"fall_reward": -2, "futile_reward": -5}
PICTURE = Path(__file__).parents[1] / "docs" / "images" / "trap_probability.svg"


def main() -> None:
    """Compute, print and draw."""
    chances = [Fraction(n, 40) for n in range(1, 40)] + [Fraction(99, 100)]
    over, over_published, around = [], [], []
    print("probability   over, text   over, published   around")
    for p in chances:
        text, published = recurl.zoo.spelunking(p), recurl.zoo.spelunking(p, **PUBLISHED)
        bold = recurl.solve(text).policy
        careful = recurl.solve(recurl.zoo.spelunking(p, -1000)).policy
        assert bold is not None
        assert careful is not None
        over.append(recurl.evaluate(bold).value)
        over_published.append(recurl.evaluate(bold.changed(published)).value)
        around.append(recurl.evaluate(careful.changed(text)).value)
        print(f"{float(p):.3f} {over[-1]:16.4f} {over_published[-1]:16.4f} {around[-1]:9.4f}")

    figure = Figure(figsize=(6, 3.4), layout="constrained")
    axes = own_or_new(figure.add_subplot())
    x = [float(p) for p in chances]
    axes.plot(x, over, color=BLUE, label="over the traps, rewards of the text")
    axes.plot(x, over_published, "--", color=BLUE, label="over the traps, published runs")
    axes.plot(x, around, color=ORANGE, label="around the traps, both")
    axes.set_xlabel("probability that a trap opens")
    axes.set_ylabel("value of the strategy")
    axes.set_xlim(0, 1)
    axes.legend(frameon=False)
    figure.savefig(sys.argv[1] if len(sys.argv) > 1 else PICTURE, metadata={"Date": None})


if __name__ == "__main__":
    main()
