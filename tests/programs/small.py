"""Small programs whose best values are computed by hand, beside each."""

from __future__ import annotations

import enum
from fractions import Fraction
from typing import Any

from recurl import Program, choose, flip, pick, program, reward

VALUES: dict[str, tuple[Program, tuple[Any, ...], Fraction]] = {}
"""By name: the program, its arguments, and what it is worth."""


def worth(value: str | int, *arguments: Any) -> Any:
    """Register a program with its value."""

    def register(made: Program) -> Program:
        VALUES[made.name] = (made, arguments, Fraction(value))
        return made

    return register


class Light(enum.Enum):
    RED = 0
    GREEN = 1


def double(x: int) -> int:
    return 2 * x


PRICES = {"bus": 3, "taxi": 12}


@worth(0)
@program
def nothing() -> None:
    """Does nothing."""


@worth(3)
@program
def best_of_three() -> None:
    reward(choose(1, 3, 2))


@worth("0.4")
@program
def one_flip() -> None:
    if flip(0.4):
        reward(1)


# 1/6 (1 + ... + 6)
@worth("7/2")
@program
def die() -> None:
    reward(pick(dict.fromkeys(range(1, 7), "1/6")))


# Roll once; keep, or roll again for 3.5: max(i, 3.5) on average.
@worth("17/4")
@program
def roll_again() -> None:
    first = pick({i: Fraction(1, 6) for i in range(1, 7)})
    if choose("keep", "again") == "keep":
        reward(first)
    else:
        reward(pick({i: Fraction(1, 6) for i in range(1, 7)}))


# x = -1 + 0.4 x or -2: -5/3
@worth("-5/3")
@program
def retry() -> None:
    if choose("fast", "safe") == "fast":
        reward(-1)
        if flip(0.4):
            retry()
    else:
        reward(-2)


# As a loop: the same.
@worth("-5/3")
@program
def retry_loop() -> None:
    while True:
        if choose("safe", "fast") == "safe":
            reward(-2)
            return
        reward(-1)
        if not flip(0.4):
            break


# Geometric: 0.5 / 0.5
@worth(1)
@program
def geometric() -> None:
    while flip(0.5):
        reward(1)


# 0 + 1 + 2 + 3
@worth(6)
@program
def triangle() -> None:
    for i in range(4):
        reward(i)


# Steps of 1 or 2 up to 5: three steps.
@worth(-3, 5)
@program
def climb(n: int) -> None:
    while n > 0:
        reward(-1)
        n -= choose(1, 2) if n > 1 else 1


# Fibonacci numbers add up: f(6) = 8.
@worth(8)
@program
def fibonacci_reward() -> None:
    reward(fibonacci(6))


@program
def fibonacci(n: int) -> int:
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


# 4! as a result.
@worth(24)
@program
def factorial_reward() -> None:
    reward(factorial(4))


@program
def factorial(n: int) -> int:
    if n == 0:
        return 1
    return n * factorial(n - 1)


# even(3) is False, odd(3) is True: 10.
@worth(10)
@program
def parity() -> None:
    if even(3):
        reward(1)
    elif odd(3):
        reward(10)


@program
def even(n: int) -> bool:
    return n == 0 or odd(n - 1)


@program
def odd(n: int) -> bool:
    return n != 0 and even(n - 1)


# Both true: 0.5 * 0.25, and the second is asked only if the first is true: 0.125 * 8 - 0.5.
@worth("1/2")
@program
def conjunction() -> None:
    if coin_of(0.5) and not coin_of(0.75):
        reward(8)
    else:
        reward(0)
    if coin_of(0.5):
        reward(-1)


@program
def coin_of(p: float) -> bool:
    return flip(p)


# An or that stops at the first: pays 1 for each that is asked: 1 + 0.5.
@worth("-3/2")
@program
def disjunction() -> bool:
    return paid_coin() or paid_coin()


@program
def paid_coin() -> bool:
    reward(-1)
    return flip(0.5)


# Whoever chooses sees the truth: the guess is right half of the time, and else it pays to ask.
@worth("19/2")
@program
def ask() -> None:
    truth = flip(0.5)
    if choose("ask", "guess") == "ask":
        reward(-1)
        guess = truth
    else:
        guess = True
    if guess == truth:
        reward(10)


# The choice comes before the draw: 0.6 * 10.
@worth(6)
@program
def guess_first() -> None:
    guess = choose(True, False)
    if guess == flip(0.6):
        reward(10)


# Whoever loses 5 by a failure retries twice at most; whoever loses 1/2 gives up. A try costs 1 and
# works with 1/2: f(0) = -5, f(n) = -1 + f(n - 1) / 2: f(1) = -7/2, f(2) = -11/4; plus -1/2.
@worth("-13/4")
@program
def two_callers() -> None:
    if not tries(2):
        reward(-5)
    if not tries(2):
        reward(-0.5)


@program
def tries(n: int) -> bool:
    if n == 0 or choose("try", "give up") == "give up":
        return False
    reward(-1)
    return flip(0.5) or tries(n - 1)


# Red costs 2 to wait for, green nothing; half the time each; running the red light costs 3.
@worth(-1)
@program
def crossing() -> None:
    light = pick({Light.RED: 0.5, Light.GREEN: 0.5})
    if light is Light.RED:
        if choose("wait", "run") == "wait":
            reward(-2)
        else:
            reward(-3)


# Helper functions and module constants: 2 * 3 against 12.
@worth(-6)
@program
def travel() -> None:
    way = choose("bus", "taxi")
    reward(-(double(PRICES[way]) if way == "bus" else PRICES[way]))


# Tuples: swap, then 10 a + b.
@worth(21)
@program
def swap() -> None:
    a, b = 1, 2
    a, b = b, a
    pair = (a, b)
    reward(10 * pair[0] + pair[1])


# Early return from a nested loop: the first pair that sums to 3 is (0, 3).
@worth(3)
@program
def early() -> None:
    for a in range(3):
        for b in range(4):
            if a + b == 3:
                reward(10 * a + b)
                return


# break, continue and else: 0 + 2, then else is skipped; 100 from the second loop's else.
@worth(102)
@program
def loop_words() -> None:
    for i in range(10):
        if i == 1:
            continue
        if i == 3:
            break
        reward(i)
    else:
        reward(1000)
    for _ in (1, 2):
        if flip(0):
            break
    else:
        reward(100)


# A chained comparison asks the middle once: -1 for it, 5 if it lies between.
@worth(4)
@program
def chained() -> None:
    if 0 < middle() < 3:
        reward(5)


@program
def middle() -> int:
    reward(-1)
    return 2


# A call within a conditional expression, made only if the condition holds: 0.5 * 7.
@worth("7/2")
@program
def conditional() -> None:
    reward(seven() if flip(0.5) else 0)


@program
def seven() -> int:
    return 7


# Keyword arguments and defaults: 3 - 1 and 3 - 2.
@worth(3)
@program
def keywords() -> None:
    reward(minus(3) + minus(b=2, a=3))


@program
def minus(a: int, b: int = 1) -> int:
    return a - b


# Match: 0.25 * 1 + 0.75 * 2.
@worth("7/4")
@program
def matching() -> None:
    match pick({("a", 1): 0.25, ("b", 2): 0.75}):
        case ("a", n):
            reward(n)
        case (_, n):
            reward(choose(0, n))


# Two recursive calls: h = -1 + 2 (1/4) h: -2.
@worth(-2)
@program
def branching() -> None:
    reward(-1)
    if flip(0.25):
        branching()
        branching()


# A computed choice: the best of all squares below n.
@worth(16, 5)
@program
def computed(n: int) -> None:
    reward(choose([i * i for i in range(n)]))


# A while condition with a call: it holds with 1/2 each time, and asking costs 1: -2.
@worth(-2)
@program
def asking() -> None:
    rounds = 0
    while paid_coin():
        rounds = (rounds + 1) % 2


# Deal with 3 candidates, 1/2 good each; taking a bad one costs 1; the last must be taken:
# e(1) = 0; e(n) = 1/2 + 1/2 e(n - 1), where good is worth 1 and bad -1: e(3) = 3/4.
@worth("3/4", 3)
@program
def candidates(n: int) -> None:
    while n:
        good = flip(0.5)
        n -= 1
        if n == 0 or choose(True, False):
            reward(1 if good else -1)
            return


# Sum of a tuple by recursion on its tail.
@worth(10)
@program
def tuple_sum() -> None:
    reward(add_up((1, 2, 3, 4)))


@program
def add_up(xs: tuple[int, ...]) -> int:
    if not xs:
        return 0
    head, tail = xs[0], xs[1:]
    return head + add_up(tail)


# Gambler with a stake, all in or one: from 2 to 4 with p = 1/2 any way: 1/2.
@worth("1/2", 2)
@program
def gamble(money: int) -> None:
    while 0 < money < 4:
        stake = choose(range(1, min(money, 4 - money) + 1))
        money += stake if flip(0.5) else -stake
    if money >= 4:
        reward(1)


# Augmented assignment by a call, and assertions that hold.
@worth(9)
@program
def augmented() -> None:
    x = 2
    x += seven()
    assert x == 9
    reward(x)
