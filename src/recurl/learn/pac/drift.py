"""Any model, undiscounted, under assumptions on how stacks shrink and what levels are worth.

Assumed are c_o >= 1, mu in (0, 1] and b. Whatever the policy, from any vertex with an empty stack:
the expected height at step t is at most c_o - mu (expected steps before t); and what is collected
until the level is left is b at most, in absolute value.

Each step is cut with probability 1/k before it is taken, k = ceil(c_o b / (mu eps')). Then every
level pays b in an upper model and -b in a lower one, in place of what it would still collect, which
is at most b: the true value of every policy lies between its values there.

From height h, the height expected at any later time is at most c_o h, as each level grows to c_o at
most. The upper value is b h at most, plus 2 b for each level that is met at the cut, and not below
the true one: it lies in [-b h, b h (1 + 2 c_o)]. At step t, reached uncut with (1 - 1/k)^t, the
height is t + 1 at most. So if rewards of one pair differ by at most s, then a step of an eps-close
model changes the value by eps/2 (s + 2 b (1 + c_o) (t + 2)) at most, and all steps by

    eps (b (1 + c_o) (k² - 1) + s (k - 1) / 2).

The assumptions are needed for the true model only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from recurl.learn.pac.criteria import Enclosure, plan_of
from recurl.learn.pac.nature import without_lanes
from recurl.learn.pac.observed import with_probabilities
from recurl.model.transforms.discounting import discount_steps
from recurl.policy import Policy
from recurl.simulation.walk import Walk
from recurl.solving.api import solve

if TYPE_CHECKING:
    from recurl.learn.pac.loop import PACTask
    from recurl.learn.pac.plan import Plan
    from recurl.model.rmdp import RMDP

_PART, _SOLVED, _LONGEST = 0.4, 0.05, 10**5
_EPISODES, _LIMIT, _POLICIES, _SURE = 200, 300, 4, 4.0
_FEW = 30


@dataclass(frozen=True)
class Drift:
    """Assumptions on an undiscounted model.

    Attributes:
        height: c_o >= 1, the expected stack height that runs never exceed.
        fall: mu in (0, 1], by how much a step lowers it on average.
        value: b, the most that a level of the stack is worth in absolute value.

    Example:
        Discounting by 0.9 with rewards up to 2 is the case

        >>> Drift(height=1 + 1 / (1 - 0.9), fall=1 - 0.9, value=2 / (1 - 0.9)).cut(1.0)
        2200
    """

    height: float
    fall: float
    value: float

    def __post_init__(self) -> None:
        if not (1 <= self.height < math.inf and 0 < self.fall <= 1 and 0 < self.value < math.inf):
            raise ValueError(f"c_o >= 1, mu in (0, 1] and b > 0 are needed, not {self}")

    @classmethod
    def of_steps(cls, steps: float, reward_bound: float) -> Self:
        """Assumptions that always hold if a level takes at most `steps` steps on average.

        A stack of height h takes h more steps at least to unwind, so that height and steps so far
        add up to all steps, on average: c_o = K, mu = 1, b = K r.

        Example:
            >>> Drift.of_steps(steps=5, reward_bound=2)
            Drift(height=5, fall=1.0, value=10)
        """
        return cls(height=steps, fall=1.0, value=steps * reward_bound)

    @classmethod
    def of_discount(cls, discount: float, reward_bound: float) -> Self:
        """The paper's assumptions on a model that `discount_steps` made.

        They hold, and ask for far more samples than a discount does: on the cloud with 0.9, a
        precision of 0.5 is planned with 1.3e27 samples of a pair, because k is 44,000 and the
        closeness falls with k². Give ``gamma`` to the learner instead.

        Example:
            >>> Drift.of_discount(0.5, reward_bound=2)
            Drift(height=3.0, fall=0.5, value=4.0)
        """
        rate = 1 - discount
        return cls(height=1 + 1 / rate, fall=rate, value=reward_bound / rate)

    def cut(self, epsilon: float) -> int:
        """k, the steps after which a run is cut on average: ceil(c_o b / (mu eps'))."""
        return max(math.ceil(round(self.height * self.value / (self.fall * epsilon), 9)), 2)

    def change(self, k: int, spread: float = 0.0) -> float:
        """By how much, times eps, the cut values of eps-close models differ at most.

        Args:
            k: The steps after which runs are cut.
            spread: Greatest difference of rewards of one pair.

        Example:
            >>> Drift(height=3, fall=0.5, value=2).change(k=10)
            792.0
        """
        return self.value * (1 + self.height) * (k**2 - 1) + spread * (k - 1) / 2

    def closeness(self, epsilon: float, spread: float = 0.0) -> float:
        """eps, such that the cut models of eps-close models differ by at most epsilon."""
        return min(epsilon / self.change(self.cut(epsilon), spread), 2.0)


def paying(model: RMDP, pay: float) -> RMDP:
    """A model discounted step by step in which each level left through a lane pays.

    A step into the lane pays nothing else: the run is cut before it is taken.

    Args:
        model: What `discount_steps` made: the last exit of each component is its lane.
        pay: What a level pays.

    Example:
        >>> import recurl
        >>> model = paying(recurl.discount_steps(recurl.zoo.gambler(p=0.25), 0.5), 10)
        >>> model.tables.reward.tolist()
        [1.0, 1.0, 10.0, 1.0, 10.0, 10.0, 1.0, 10.0, 10.0]
    """
    t = model.tables
    lanes = t.component_start[:-1] + t.n_entries + t.n_exits - 1
    return with_probabilities(model, t.prob, np.where(np.isin(t.target, lanes), pay, t.reward))


class Cut:
    """The total reward of a model whose runs are cut after k steps on average.

    Each level of the stack then pays b in an upper model and -b in a lower one.

    Args:
        drift: The assumptions.
        k: The steps; `adjust` makes them more.
    """

    rule = "cut values differ by closeness (b (1 + c_o) (k² - 1) + s (k - 1) / 2) at most; Weissman"

    def __init__(self, drift: Drift, k: int) -> None:
        self.drift, self.k = drift, k
        self.name = f"{drift!r}"

    @classmethod
    def of(cls, drift: Drift, epsilon: float) -> Self:
        """The cut that a precision asks for at least."""
        return cls(drift, drift.cut(_PART * epsilon))

    @property
    def discount(self) -> float:
        """Probability that a step is not cut."""
        return 1 - 1 / self.k

    def upper(self, model: RMDP) -> RMDP:
        """The model whose lanes pay b a level."""
        return paying(discount_steps(model, self.discount), self.drift.value)

    def lower(self, model: RMDP) -> RMDP:
        """The model whose lanes take b a level."""
        return paying(discount_steps(model, self.discount), -self.drift.value)

    def adjust(self, learned: RMDP, epsilon: float) -> None:
        """Cut later where the cut alone leaves more than half of epsilon open."""
        while self.k < _LONGEST:
            found = self._enclose(learned, _SOLVED * epsilon)
            if found.upper - found.lower <= epsilon / 2:
                return
            self.k *= 2

    def _enclose(self, learned: RMDP, precise: float) -> Enclosure:
        high, low = (
            solve(cut, epsilon=precise) for cut in (self.upper(learned), self.lower(learned))
        )
        optima: dict[str, float | str] = {
            "Optimum of the lower model": low.value,
            "Optimum of the upper model": high.value,
        }
        # The policy is worth low.lower in the lower model, and not less in the true one.
        return Enclosure(low.lower, high.upper, (low.lower + high.upper) / 2, low.policy, optima)

    def plan(self, model: RMDP, task: PACTask) -> Plan:
        """Samples of each pair that bring the cut values within a part of epsilon."""
        t, room = model.tables, _PART * task.epsilon
        first = t.transition_start[:-1]
        spread = np.maximum.reduceat(t.reward, first) - np.minimum.reduceat(t.reward, first)
        closeness = self.drift.closeness(room, float(spread.max(initial=0.0)))
        return plan_of(model, closeness, task.delta, room, self.numbers())

    def enclose(self, learned: RMDP, precise: float) -> Enclosure:
        """The optimum of a learned model, between those of its cut models."""
        return self._enclose(learned, _SOLVED / (1 - _PART) * precise)

    def policy_for(self, policy: Policy, model: RMDP) -> Policy:
        """The policy without its choices in lanes."""
        return without_lanes(policy, model)

    def numbers(self) -> dict[str, float | str]:
        """The assumptions, and the cut."""
        return {
            "Assumed c_o (height)": self.drift.height,
            "Assumed mu (fall)": self.drift.fall,
            "Assumed b (worth of a level)": self.drift.value,
            "Cut length k": float(self.k),
        }

    def state(self) -> dict[str, np.ndarray]:
        """The cut so far."""
        return {"cut": np.array([self.k])}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Take over a cut."""
        self.k = int(state["cut"][0])


class _Runs(NamedTuple):
    """Simulated runs.

    Attributes:
        heights: Stack height by episode and step; 0 after the end.
        levels: Rewards of finished levels, by the vertex at which they were entered.
        cut: Entry vertices of levels that did not finish in time.
    """

    heights: np.ndarray
    levels: dict[int, list[float]]
    cut: set[int]


def contradictions(model: RMDP, drift: Drift, seed: int = 0) -> tuple[str, ...]:
    """Places where simulated runs contradict the assumptions, by four standard errors.

    Under the uniform policy and some random stackless ones: the height at step t plus mu times the
    steps before it has an expectation of at most c_o, and what a level collects one of at most b in
    absolute value; the whole run is a level, and so is every call.

    Example:
        >>> import recurl
        >>> contradictions(recurl.zoo.gambler(p=0.25), Drift(height=1.1, fall=0.9, value=10))
        ('under the uniform policy the stack height at step ... above c_o = 1.1',)
    """
    random = np.random.default_rng([seed, 77])
    count = np.maximum(np.diff(model.tables.action_start), 1)
    named = [("the uniform policy", Policy.uniform(model))]
    for number in range(1, _POLICIES if count.max() > 1 else 1):
        choice = random.integers(0, count)
        named.append((f"random policy {number}", Policy.stackless(model, choice)))
    return tuple(
        f"under {name} {text}"
        for name, policy in named
        for text in _against(model, drift, _runs(model, policy, random))
    )


def _against(model: RMDP, drift: Drift, runs: _Runs) -> list[str]:
    found = []
    running = (runs.heights > 0).astype(np.int64)
    potential = runs.heights + drift.fall * (running.cumsum(axis=1) - running)
    mean, doubt = potential.mean(axis=0), potential.std(axis=0) / math.sqrt(_EPISODES)
    worst = int(np.argmax(mean - _SURE * doubt))
    if mean[worst] - _SURE * doubt[worst] > drift.height + 1e-12:
        found.append(
            f"the stack height at step {worst} plus mu times the steps before is "
            f"{mean[worst]:.4g} on average, above c_o = {drift.height:g}"
        )
    for vertex, totals in sorted(runs.levels.items()):
        if vertex in runs.cut or len(totals) < _FEW:
            continue
        total, error = float(np.mean(totals)), float(np.std(totals)) / math.sqrt(len(totals))
        if abs(total) - _SURE * error > drift.value + 1e-12:
            name = model.vertex_name(vertex)
            found.append(
                f"a level entered at {name} is worth {total:.4g}, beyond b = {drift.value:g}"
            )
    return found


def _runs(model: RMDP, policy: Policy, random: np.random.Generator) -> _Runs:
    runs = _Runs(np.zeros((_EPISODES, _LIMIT), np.int64), {}, set())
    walk = Walk(model, random)
    for episode in range(_EPISODES):
        walk.restart()
        open_levels, total = [(walk.vertex, 0.0)], 0.0
        for step in range(_LIMIT):
            runs.heights[episode, step] = walk.height
            action = policy.action(walk.vertex)
            taken = walk.step(int(random.integers(walk.n_actions)) if action < 0 else action)
            total += taken.reward
            if taken.event == "call":
                open_levels.append((walk.vertex, total))
            elif taken.event == "return" or taken.ended:
                vertex, before = open_levels.pop()
                runs.levels.setdefault(vertex, []).append(total - before)
            if taken.ended:
                break
        runs.cut.update(vertex for vertex, _ in open_levels)
    return runs
