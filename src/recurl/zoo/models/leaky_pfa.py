"""Probabilistic automata that leak: why general multi-exit models are hard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from recurl.model.builder import Builder
from recurl.model.rmdp import RMDP
from recurl.model.spec import Number
from recurl.zoo.values import between, number

Matrix = Sequence[Sequence[Number]]
"""Row by row: the distribution over the states that follow a state."""

BINARY: Mapping[str, Matrix] = {
    "zero": ((1, 0), ("1/2", "1/2")),
    "one": (("1/2", "1/2"), (0, 1)),
}
"""Accepts a word of binary digits with the probability 0.d... that they spell, last digit first."""


def leaky_pfa(
    leak: Number = 0.1,
    initial: tuple[Number, ...] = (1, 0),
    accepting: tuple[int, ...] = (1,),
    *,
    letters: Mapping[str, Matrix] = BINARY,
) -> RMDP:
    """Choose a word that a probabilistic automaton accepts; each letter may leak away the run.

    The component ``words`` has one exit for each state of the automaton, and the exit lane
    ``leaked``. At its entry, a letter leaks with the given probability, else it calls ``words``
    for the letters *before* it: letters are chosen in reverse, the last one first, and without
    sight of the automaton. ``end`` leaves by the exit of the initial state. On the way back the
    letter moves the automaton from the state that the call ended in. ``main`` pays 1 if the last
    state is accepting.

    A word w is worth (1 - leak)^|w| initial M(w1) ... M(wn) accepting; the value is the supremum
    over all words. (With the question whether it reaches a threshold, optimal values of multi-exit
    models are undecidable.) The default automaton accepts n times ``one`` with 1 - 2⁻ⁿ, and no
    other word of that length better: its value is **max (1 - leak)ⁿ (1 - 2⁻ⁿ)**, 0.637875 for a
    leak of 0.1, by three letters.

    Args:
        leak: Probability that a letter leaks, in (0, 1).
        initial: Probability of each state at the start.
        accepting: Numbers of the accepting states.
        letters: Names of letters, each with its stochastic matrix; on the command line
            ``letters=zero:1,0:1/2,1/2+one:1/2,1/2:0,1``.

    Example:
        >>> leaky_pfa(leak=0.2)
        <RMDP leaky_pfa: 2 components, 18 vertices, multi-exit, recursive>
    """
    keep = 1 - between("leak", leak, 0, 1)
    start = _distribution("initial", initial, len(initial))
    states = [f"q{i}" for i in range(len(start))]
    if not letters or set(letters) & {"in", "end", "leaked", *states}:
        raise ValueError("letters must have at least one, not named in, end, leaked, q0, q1, ...")
    if not set(accepting) <= set(range(len(states))):
        raise ValueError(f"accepting must name states in 0..{len(states) - 1}, not {accepting}")
    builder = Builder("leaky_pfa")
    builder.component("main", entries="in", exits="out").box("word", "words")
    builder.at("in").action("choose").to("word")
    for i, state in enumerate(states):
        builder.at(f"word.{state}").action("end", reward=int(i in accepting)).to("out")
    builder.at("word.leaked").action("end").to("out")
    builder.component("words", entries="in", exits=[*states, "leaked"])
    builder.at("in").action("end")
    _lead(builder, start)
    for letter, matrix in letters.items():
        _letter(builder, letter, matrix, keep=keep, size=len(states))
    return builder.build("main")


def _letter(builder: Builder, letter: str, matrix: Matrix, *, keep: Fraction, size: int) -> None:
    """Call for the letters before this one, then let it move the automaton."""
    if len(matrix) != size:
        raise ValueError(f"letter {letter}: its matrix has {len(matrix)} rows instead of {size}")
    builder.box(letter, "words")
    builder.at("in").action(letter).to(letter, keep).to("leaked", 1 - keep)
    for i, row in enumerate(matrix):
        builder.at(f"{letter}.q{i}").action("read")
        _lead(builder, _distribution(f"letter {letter}, row {i}", row, size))
    builder.at(f"{letter}.leaked").action("up").to("leaked")


def _lead(builder: Builder, distribution: Sequence[Fraction]) -> None:
    for i, p in enumerate(distribution):
        if p:
            builder.to(f"q{i}", p)


def _distribution(name: str, row: Sequence[Number], size: int) -> list[Fraction]:
    numbers = [number(name, p) for p in row]
    if len(numbers) != size or min(numbers, default=-1) < 0 or sum(numbers) != 1:
        raise ValueError(f"{name}: {tuple(row)} must be {size} probabilities that sum to 1")
    return numbers
