"""Tuning a recursive sort: insertion, merge or quick, chosen per call by the size of the list.

The program sorts for real, and its cost is measured: processor time, or counted operations with
--quick. What is learned is then compared, on lists that it was not trained on, with each pure way
and with a cutoff set by hand.

    python examples/sort_tuning.py [--quick] [--plot sort.png]
"""

from __future__ import annotations

import math
import random
import time

from common import Figure, Settings, settings

from recurl import choose, program, reward, schedules

WAYS = ("insertion", "merge", "quick")


class Cost:
    """Milliseconds of processor time; or operations, as the algorithms count them."""

    def __init__(self) -> None:
        self.counted, self.operations, self.lag = False, 0, 0.0

    def calibrate(self) -> None:
        """Find out what reading the clock costs: about as much as sorting a few numbers."""
        lags = sorted(self.now() - self.now() for _ in range(2_001))
        self.lag = -lags[1_000]

    def now(self) -> float:
        return float(self.operations) if self.counted else time.process_time_ns() / 1e6

    def since(self, start: float) -> float:
        return self.now() - start - self.lag


COST = Cost()


def bucket(n):
    """The observation of a list: its size, in steps of a quarter or less.

    Powers of two would be too coarse: the larger part of a list that was split at a pivot would
    often count as an average list of the size of the whole.
    """
    return BUCKETS[n]


BUCKETS = [round(4 * math.log2(max(n, 1))) for n in range(10_000)]


@program(observe=bucket)
def sort(xs):
    n = len(xs)
    if n < 2:
        return xs
    way = choose(*WAYS)
    start = COST.now()
    if way == "insertion":
        done = insertion(xs)
    elif way == "merge":
        low, high = xs[: n // 2], xs[n // 2 :]
        reward(-COST.since(start))
        low, high = sort(low), sort(high)
        start = COST.now()
        done = merge(low, high)
    else:
        low, pivot, high = partition(xs)
        reward(-COST.since(start))
        low, high = sort(low), sort(high)
        start = COST.now()
        done = low + pivot + high
    COST.operations += 20  # what a call costs
    reward(-COST.since(start))
    return done


def sort_by(rule, xs):
    """The same sort with a rule from sizes to ways, and nothing to learn."""
    n = len(xs)
    if n < 2:
        return xs
    way = rule(n)
    COST.operations += 20
    if way == "insertion":
        return insertion(xs)
    if way == "merge":
        return merge(sort_by(rule, xs[: n // 2]), sort_by(rule, xs[n // 2 :]))
    low, pivot, high = partition(xs)
    return sort_by(rule, low) + pivot + sort_by(rule, high)


def insertion(xs):
    done = list(xs)
    for i in range(1, len(done)):
        x, j = done[i], i
        while j and done[j - 1] > x:
            done[j] = done[j - 1]
            j -= 1
        done[j] = x
        COST.operations += i - j + 2
    return done


def merge(low, high):
    done, i, j = [], 0, 0
    while i < len(low) and j < len(high):
        if low[i] <= high[j]:
            done.append(low[i])
            i += 1
        else:
            done.append(high[j])
            j += 1
    COST.operations += 4 * (len(low) + len(high))
    return done + low[i:] + high[j:]


def partition(xs):
    pivot = sorted((xs[0], xs[len(xs) // 2], xs[-1]))[1]
    COST.operations += 3 * len(xs)
    low = [x for x in xs if x < pivot]
    return low, [x for x in xs if x == pivot], [x for x in xs if x > pivot]


def lists(seed, count, most):
    """Random lists of random sizes; one in four is nearly sorted."""
    drawn = random.Random(seed)
    for _ in range(count):
        xs = [drawn.random() for _ in range(drawn.randint(2, most))]
        if drawn.random() < 0.25:
            xs.sort()
            xs[0], xs[-1] = xs[-1], xs[0]
        yield xs


def costs(rules, tests, repeats):
    """Total cost of sorting by each rule: the least of some repeats, taken in turns."""
    found = {}
    for _ in range(repeats):
        for name, rule in rules.items():
            start = COST.now()
            for xs in tests:
                sort_by(rule, xs)
            found.setdefault(name, []).append(COST.now() - start)
    return {name: min(values) for name, values in found.items()}


def main(wanted: Settings) -> dict[str, float]:
    COST.counted = wanted.quick
    COST.calibrate()
    most, episodes = (200, 400) if wanted.quick else (1_000, 3_000)
    live = sort.live(exploration=0.3, learning_rate=schedules.power(0.7), seed=0)
    for xs in lists(1, episodes, most):
        assert live(xs) == sorted(xs)
    ((_, best),) = live.choices().items()
    sizes = {way: [round(2 ** (b / 4)) for b in sorted(best) if best[b] == way] for way in WAYS}
    for way, listed in sizes.items():
        print(f"{way} for sizes about {', '.join(map(str, listed)) or 'none'}")
    rules = {
        "learned": lambda n: best.get(BUCKETS[n], "merge"),
        **{way: (lambda n, way=way: way) for way in WAYS},
        "cutoff at 16": lambda n: "insertion" if n < 16 else "quick",
    }
    found = costs(rules, list(lists(2, 60, most)), repeats=1 if wanted.quick else 9)
    unit = "operations" if wanted.quick else "ms"
    for name, cost in found.items():
        print(f"{name:14} {cost:10.1f} {unit}")
    with Figure(wanted, "Sorting 60 lists that were not trained on") as axes:
        axes.barh(list(found), list(found.values()))
        axes.invert_yaxis()
        axes.set_xscale("log")
        axes.set_xlabel(unit)
    return found


if __name__ == "__main__":
    main(settings(__doc__))
