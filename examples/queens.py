"""A search that learns in which order to try: queens on a board, counted in nodes.

The search places one queen per row and goes back when it is stuck. In which order the columns of a
row are tried is open; the learner sees the row, and where the last two queens stand. Every
placement costs 1.

    python examples/queens.py [--quick] [--plot queens.png]
"""

from __future__ import annotations

from common import Figure, Settings, settings

from recurl import choose, program, reward

ORDERS = {
    "from the left": lambda columns, n: columns,
    "from the right": lambda columns, n: columns[::-1],
    "from the middle": lambda columns, n: sorted(columns, key=lambda c: abs(2 * c - n + 1)),
    "from the sides": lambda columns, n: sorted(columns, key=lambda c: -abs(2 * c - n + 1)),
}


def recent(row, placed):
    """The observation of the learner: the row, and the columns of the last two queens."""
    return row, tuple(placed[-2:])


@program(observe=recent, returns=(True, False))
def place(row, n, placed):
    """Place queens from a row on; the list of columns is changed in place."""
    if row == n:
        return True
    order = choose(*ORDERS)
    for column in ORDERS[order](free_columns(n, placed), n):
        reward(-1)
        placed.append(column)
        if place(row + 1, n, placed):
            return True
        placed.pop()
    return False


def free_columns(n, placed):
    row = len(placed)
    return [
        c for c in range(n) if all(c != q and abs(c - q) != row - r for r, q in enumerate(placed))
    ]


def nodes(n, chooser):
    """Nodes of a search with a fixed order."""
    return -place.play(0, n, [], chooser=chooser).total


def main(wanted: Settings) -> dict[str, float]:
    n, episodes = (8, 1_500) if wanted.quick else (12, 3_000)
    live = place.live(quantum=8.0, exploration=0.05, seed=1)
    counts = []
    for _ in range(episodes):
        board = []
        assert live(0, n, board)
        counts.append(-live.total)
    board = []
    live.greedy(0, n, board)
    assert sorted(board) == list(range(n))
    found = {"learned": -live.total}
    for order in ORDERS:
        found[order] = nodes(n, lambda options, order=order: order)
    for name, count in found.items():
        print(f"{name:16} {count:6.0f} nodes")
    with Figure(wanted, f"{n} queens: nodes per search while learning") as axes:
        axes.semilogy(counts, ".", markersize=2, label="learning")
        for name, count in found.items():
            axes.axhline(count, linewidth=1, label=name, color=f"C{1 + list(found).index(name)}")
        axes.set_xlabel("searches")
        axes.set_ylabel("nodes")
        axes.legend()
    return found


if __name__ == "__main__":
    main(settings(__doc__))
