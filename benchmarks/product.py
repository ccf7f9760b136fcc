"""How long products of machines and grids take to build, by size.

python benchmarks/product.py
"""

from __future__ import annotations

import time

from recurl.automaton import gridworld, product
from recurl.zoo.models.palindrome_product import palindrome_machine

SIZES = (9, 19, 37, 71)


def main() -> None:
    print(f"{'grid':>6} {'vertices':>10} {'transitions':>12} {'seconds':>8}")
    for size in SIZES:
        rows = [["."] * size for _ in range(size)]
        rows[size // 2][size // 2] = "G"
        began = time.perf_counter()
        grid = gridworld(
            "/".join(map("".join, rows)),
            start={(0, 0): 1},
            stays={"special": ""},
            replaced={"special": "0.01"},
        )
        tables = product(grid, palindrome_machine()).tables
        seconds = time.perf_counter() - began
        print(f"{size:>6} {tables.n_vertices:>10} {tables.n_transitions:>12} {seconds:>8.2f}")


if __name__ == "__main__":
    main()
