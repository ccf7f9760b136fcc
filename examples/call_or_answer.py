"""Call or answer: an agent with a token budget that may answer, call itself on parts, or give up.

Accuracy and cost by depth come from a table. The best recursion is computed with a certificate, for
every budget, and compared with agents that always split down to a fixed depth. Then the agent works
around a stub of a language model, and learns the same without the table.

    python examples/call_or_answer.py [--quick] [--plot answers.png] [--table answers.csv]
"""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from answer_table import Row, read_table
from common import Figure, Settings, options
from stub_model import ChatModel, StubModel, is_sorted

import recurl
from recurl import choose, flip, program, reward

WORTH, FREE, EPSILON = 20, 6, 0.01
"""The worth of an answer in thousands of tokens; the depth of a free agent; widths of intervals."""
LIMITS = (0, 1, 2, 3, 5)
TABLE = Path(__file__).with_name("answers.csv")


@dataclass(frozen=True)
class Setup:
    """Settings of the programs below.

    Attributes:
        table: Rows by depth.
        limit: Depth from which on nothing is split.
        fixed: Whether the agent always splits down to the limit, and then answers.
    """

    table: tuple[Row, ...] = read_table(TABLE)
    limit: int = FREE
    fixed: bool = False


SETUP = [Setup()]


@contextmanager
def using(setup: Setup) -> Iterator[None]:
    """Work with another setup for a while."""
    SETUP.append(setup)
    try:
        yield
    finally:
        SETUP.pop()


def row_at(depth: int) -> Row:
    """The row of a depth; the last one holds for everything below."""
    return SETUP[-1].table[min(depth, len(SETUP[-1].table) - 1)]


def ways(depth: int, left: int) -> tuple[tuple[str, int], ...]:
    """The ways on from here with the tokens that are left: pairs of a way and a share.

    A share is the allowance of each part: enough for one or two answers, or a third or a half of
    what is left. A fixed agent splits as long as it may, in halves.
    """
    here, below, found = row_at(depth), row_at(depth + 1), [("give up", 0)]
    if left >= here.tokens:
        found.append(("answer", 0))
    rest = left - here.split_tokens
    shares = {below.tokens, 2 * below.tokens, rest // 3, rest // 2}
    allowed = sorted(share for share in shares if below.tokens <= share <= rest // 2)
    splits = [("split", share) for share in allowed if depth < SETUP[-1].limit]
    return tuple((splits or found)[-1:]) if SETUP[-1].fixed else (*found, *splits)


@program
def question(budget):
    """A question of a user: worth something if it is answered."""
    solved = ask(0, budget)
    reward(WORTH if solved else 0)
    return solved


@program
def ask(depth, left):
    """Answer a question with an allowance of thousands of tokens; every answer is checked."""
    while True:
        way, share = choose(ways(depth, left))
        if way == "give up":
            return False
        if way == "answer":
            reward(-row_at(depth).tokens)
            left -= row_at(depth).tokens
            if flip(row_at(depth).accuracy):
                return True
        else:
            reward(-row_at(depth).split_tokens)
            left -= row_at(depth).split_tokens + share
            if ask(depth + 1, share):  # the first part
                left -= share
                if ask(depth + 1, share) and flip(row_at(depth).join_accuracy):
                    return True


def best(setup: Setup, budget: int) -> recurl.Solution:
    """The best agent for a budget, with a certificate that the independent checker accepts."""
    with using(setup):
        solution = recurl.solve(question.model(budget), epsilon=EPSILON)
    verdict = recurl.verify(solution.model, solution.certificate)
    assert verdict.upper - verdict.lower < 2 * EPSILON
    return solution


def fixed_gain(setup: Setup, budget: int, limit: int) -> float:
    """The gain of an agent that always splits down to a depth."""
    with using(replace(setup, limit=limit, fixed=True)):
        return recurl.evaluate(recurl.Policy.uniform(question.model(budget))).value


def best_limit(setup: Setup, budget: int, gain: float) -> int:
    """The least depth limit with which nothing is lost."""
    for limit in range(FREE):
        if best(replace(setup, limit=limit), budget).value > gain - 2 * EPSILON:
            return limit
    return FREE


def rules(solution: recurl.Solution) -> list[str]:
    """Decisions that depend on the caller, with what it has left, as text."""
    box = r"ask on line \d+, depth=\d+, left=(\d+), share=\d+"
    call = re.compile(r"(when called at )?ask\([^.]*\." + box)
    lines = []
    for row in solution.policy.table():
        if row.context:
            label = solution.model.label(solution.model.find(row.vertex))
            depth, left = re.findall(r"with depth=(\d+), left=(\d+)$", label)[0]
            context = call.sub(r"the caller has \2 left", row.context)
            way, share = ast.literal_eval(row.action)
            each = f", {share} each" if share else ""
            lines.append(f"at depth {depth} with {left} left, {context}: {way}{each}")
    return lines


class Agent:
    """The same agent at work: it sorts words by asking a model, and checks what it gets."""

    def __init__(self, model: ChatModel, budget: int) -> None:
        self.model, self.budget = model, budget

    def paid(self, task: str, text: str) -> tuple[str, int]:
        """A reply of the model, and thousands of tokens; the learner sees what it costs."""
        reply = self.model.complete(f"{task}: {text}")
        reward(-reply.tokens / 1000)
        return reply.text, reply.tokens // 1000


@program
def sort_words(agent, words):
    """Sort some words, worth something if it is done."""
    answer = []
    solved = sort_part(agent, words, answer, 0, agent.budget)
    reward(WORTH if solved else 0)
    return answer[-1] if solved else None


@program(observe=("depth", "left"), returns=(True, False))
def sort_part(agent, words, answer, depth, left):
    """Sort a part with an allowance; the right answer is left at the end of a list."""
    while True:
        way, share = choose(ways(depth, left))
        if way == "give up":
            return False
        if way == "answer":
            text, spent = agent.paid("Sort", " ".join(words))
            left -= spent
        else:
            parts, spent = agent.paid("Split", " ".join(words))
            left -= spent + share
            first, second = (part.split() for part in parts.split(" | "))
            if not sort_part(agent, first, answer, depth + 1, share):
                continue
            left -= share
            if not sort_part(agent, second, answer, depth + 1, share):
                continue
            text, _ = agent.paid("Merge", f"{answer[-2]} | {answer[-1]}")
        if is_sorted(text, words):
            answer.append(text)
            return True


WORDS = [f"{first}{second}" for first in "bdfglmnprst" for second in "aeiou"]


def learned(budget: int, episodes: int, seed: int = 0) -> float:
    """Mean gain of greedy runs around the stub, after learning around it."""
    table, rng = SETUP[-1].table, random.Random(seed)
    count = 2 ** len(table)
    agent = Agent(StubModel(table, count, seed), budget)
    live = sort_words.live(seed=seed, exploration=0.1, quantum=2.0)
    for _ in range(episodes):
        live(agent, rng.sample(WORDS, count))
    gains = []
    for _ in range(2_000):
        words = rng.sample(WORDS, count)
        text = live.greedy(agent, words)
        assert text is None or is_sorted(text, words)
        gains.append(live.total)
    return float(np.mean(gains))


def main(wanted: Settings, table: Path = TABLE) -> dict[str, float]:
    setup = Setup(read_table(table))
    unit = setup.table[0].tokens
    budgets = tuple(unit * n for n in ((3, 6, 8) if wanted.quick else range(1, 13)))
    found = {budget: best(setup, budget) for budget in budgets}
    gains = {n: [fixed_gain(setup, b, n) for b in budgets] for n in LIMITS}
    optimum = []
    print("budget    best  width  solved  best limit  " + "".join(f" limit {n}" for n in LIMITS))
    for i, (budget, solution) in enumerate(found.items()):
        reached = recurl.evaluate(solution)
        optimum.append(reached.value)
        print(
            f"{budget:6} {reached.value:7.2f} {solution.gap:6.3f} "
            f"{reached.exit_probabilities.get('return True', 0):7.1%} "
            f"{best_limit(setup, budget, solution.value):11}  "
            + "".join(f"{gains[n][i]:8.2f}" for n in LIMITS)
        )
    for budget, solution in found.items():
        for rule in rules(solution):
            print(f"budget {budget}: {rule}")
    with using(setup):
        live = learned(6 * unit, 5_000 if wanted.quick else 20_000)
    known = found[6 * unit].value
    print(f"live around a stub, budget {6 * unit}: learned {live:.2f}, best {known:.2f}")
    draw(wanted, budgets, optimum, gains)
    named = {"best": optimum} | {f"limit {n}": values for n, values in gains.items()}
    return {"live": live} | {
        f"{name} {budget}": value
        for name, values in named.items()
        for budget, value in zip(budgets, values, strict=True)
    }


def draw(
    wanted: Settings, budgets: tuple[int, ...], optimum: list[float], gains: dict[int, list[float]]
) -> None:
    """The best agent above all that always split to the same depth."""
    lines = {
        "always split once": (gains[1], "tab:orange", "--"),
        "always split to depth 3": (gains[3], "tab:red", "--"),
        "never split": (gains[0], "tab:blue", "--"),
        "always split twice": (gains[2], "tab:purple", "--"),
        "best (certified)": (optimum, "tab:green", "-"),
    }
    with Figure(wanted, "Answer, or split the question and call yourself?") as axes:
        for name, (values, colour, style) in lines.items():
            width = 3 if style == "-" else 1.5
            axes.plot(budgets, values, style, marker="o", color=colour, linewidth=width)
            lower = -8 if name == "always split twice" else 4 if style == "-" else -3
            place = (budgets[-1], values[-1])
            axes.annotate(name, place, (8, lower), textcoords="offset points", color=colour)
        axes.axhline(0, color="black", linewidth=0.8)
        axes.set_xlim(right=budgets[-1] * 1.4)
        axes.set_xticks(budgets)
        axes.set_xlabel("budget of a question, thousands of tokens")
        axes.set_ylabel(f"gain per question (an answer is worth {WORTH})")


if __name__ == "__main__":
    parser = options(__doc__)
    parser.add_argument("--table", type=Path, default=TABLE, help="CSV or YAML by depth")
    given = parser.parse_args()
    main(Settings(given.quick, given.plot), given.table)
