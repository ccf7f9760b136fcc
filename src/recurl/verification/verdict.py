"""The verdict of the checker of certificates."""

from __future__ import annotations

from dataclasses import dataclass

from recurl.model.certificate import in_words

THEOREMS = {
    "steps": "every policy ends within {steps:.6g} expected steps",
    "costs": "a policy that takes infinitely many steps on average pays infinitely much",
    "nonnegative": "what is still to come is never worth less than 0",
    "policy": "a policy that earns the lower end ends within {steps:.6g} expected steps",
    "nonpositive": "what is still to come is never worth more than 0",
    "must go on": "every policy takes infinitely many steps on average, and pays for them",
    "values": "totals are not negative, and runs surely leave where the lower bounds are positive",
    "stacks": "there are finitely many stacks, and every policy ends",
    "may not end": "runs may not end, under a policy or under all, and what counts adds up",
    "surely ends": "runs have to end: no policy that surely ends gains more in a step than the "
    "upper bounds fall, and one that surely ends attains the lower ones",
    "ways": "no finite run costs less than the table of ways says, and one costs as much",
    "no way": "no run ends",
    "none ends": "no policy ends with probability 1",
    "all end": "there are finitely many stacks, and every policy ends",
    "may stay": "some policy does not end, with positive probability",
    "can go on": "a policy takes infinitely many steps on average, and is paid for them",
}
"""Why bounds of one step at a time are bounds of the total; for a least total, read with rewards
negated."""
ENDING = {"steps", "ways", "no way", "surely ends", "none ends", "all end", "may stay"}
"""Theorems that prove both ends, whatever a run that does not end is worth."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The statement that a certificate proves.

    Attributes:
        lower: The optimum is at least this, or None if nothing is claimed.
        upper: The optimum is at most this, or None if nothing is claimed.
        steps: The policies that `theorems` names end within this expected number of steps from
            the start; infinite if none is bounded.
        checked: How many inequalities were checked.
        objective: Which optimum it is: ``"max"`` or ``"min"``.
        rewards: What is added up: ``"model"`` rewards, ``"steps"``, or ``"none"``.
        exit_values: Worth of each exit of the start component, by name, where one is not 0.
        theorems: Keys of `THEOREMS`: why the points, and why the pieces, prove their end.
        endless: ``"inf"`` or ``"-inf"`` if a run that does not end is worth that; None for what it
            collects.
        loops: A node of each free loop, which is taken as a place to stop; empty if none is.
    """

    lower: float | None
    upper: float | None
    steps: float
    checked: int
    objective: str
    rewards: str
    exit_values: dict[str, float]
    theorems: tuple[str, ...]
    endless: str | None = None
    loops: tuple[str, ...] = ()

    @property
    def claim(self) -> str:
        """The total that the interval is about, in words."""
        return in_words(self.objective, self.rewards, self.exit_values, self.endless)

    def __str__(self) -> str:
        low = "-inf" if self.lower is None else repr(self.lower)
        high = "inf" if self.upper is None else repr(self.upper)
        lies = f"is {low}" if low == high else f"lies in [{low}, {high}]"
        why = ", and ".join(THEOREMS[key].format(steps=self.steps) for key in self.theorems)
        if self.loops:
            why = f"to stay in a free loop (at {', '.join(self.loops)}) is to stop, and {why}"
        text = f"proved: the {self.claim} {lies}, as {why}"
        return f"{text} ({self.checked} inequalities, all exact)"
