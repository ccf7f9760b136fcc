from __future__ import annotations

import random
import re

import numpy as np
import pytest
from tests.programs.written import program_of

import recurl
from recurl.errors import ModelError

HEAD = """
import datetime, functools, itertools, os, random, time, uuid
import numpy as np
RNG, NUMPY = random.Random(1), np.random.default_rng(1)
COUNT, TURNS, LOG = itertools.count(), 0, []
DRAW = {"hidden": np.random.random}
"""

IMPURE = {
    "random": "def roll(): return random.random() < 0.5",
    "through another": "def roll(): return inner()\ndef inner(): return random.random() < 0.5",
    "imported inside": "def roll():\n    from random import random\n    return random() < 0.5",
    "generator object": "def roll(): return RNG.random() < 0.5",
    "numpy": "def roll(): return np.random.rand() < 0.5",
    "generator of numpy": "def roll(): return NUMPY.random() < 0.5",
    "unseeded": "def roll(): return random.Random().random() < 0.5",
    "lambda": "roll = lambda: random.random() < 0.5",
    "partial": "def both(p): return random.random() < p\nroll = functools.partial(both, 0.5)",
    "cached": "@functools.cache\ndef roll(): return random.random() < 0.5",
    "clock": "def roll(): return time.time_ns() % 2 == 0",
    "date": "def roll(): return datetime.date.today().day % 2 == 0",
    "uuid": "def roll(): return uuid.uuid4().int % 2 == 0",
    "urandom": "def roll(): return os.urandom(1)[0] < 128",
    "global counter": "def roll():\n    global TURNS\n    TURNS += 1\n    return TURNS > 1000",
    "counter": "def roll(): return next(COUNT) % 2 == 0",
    "log": "def roll():\n    LOG.append(1)\n    return len(LOG) % 2",
    "hidden generator": "def roll(): return DRAW['hidden']() < 0.5",
    "class": "class roll:\n    def __new__(cls): return next(COUNT) % 2",
}


def text(helper: str) -> str:
    call = "@program\ndef f():\n    x = 1\n    if roll():\n        x = 2\n    reward(x)\n"
    return f"{call}{HEAD}\n{helper}\n"


@pytest.mark.parametrize("name", IMPURE)
def test_helpers_that_may_give_something_else_next_time_are_refused(name: str) -> None:
    with pytest.raises(ModelError, match=r"line 4: f: roll") as caught:
        program_of(text(IMPURE[name])).solve()
    assert "flip or pick" in str(caught.value)
    assert ".live()" in str(caught.value)


@pytest.mark.parametrize("name", ["random", "clock", "global counter", "hidden generator"])
def test_live_runs_may_call_what_they_like(name: str) -> None:
    live = program_of(text(IMPURE[name])).live(seed=1)
    live()
    assert live.total in (1, 2)


@pytest.mark.parametrize("place", ["reward(roll())", "x = pick({roll(): 1})", "x = choose(roll())"])
def test_helpers_in_the_operands_of_events_are_watched(place: str) -> None:
    for roll in ("def roll(): return next(COUNT)", "def roll(): return DRAW['hidden']()"):
        with pytest.raises(ModelError, match=r"line 3: f: roll .*(called again|draws from)"):
            program_of(f"@program\ndef f():\n    {place}\n{HEAD}\n{roll}").solve()


def test_what_draws_in_a_branch_that_is_seldom_taken_is_found() -> None:
    roll = "def roll(n): return n > 3 and DRAW['hidden']() < 2"
    body = "    for i in range(6):\n        if roll(i):\n            reward(i)\n"
    with pytest.raises(ModelError, match=r"line 4: f: roll draws from a random generator"):
        program_of(f"@program\ndef f():\n{body}\n{HEAD}\n{roll}").solve()


PURE = {
    "seeded": "def roll(): return random.Random(3).random() < 0.5",
    "seeded numpy": "def roll(): return np.random.default_rng(3).random() < 0.5",
    "inner counter": (
        "def roll():\n    n = 0\n    def more():\n        nonlocal n\n        n += 1\n"
        "        return n\n    more()\n    return more() == 3"
    ),
    "cache": "@functools.cache\ndef roll(): return len(LOG) > 0",
    "table": "def roll():\n    if 1 not in TABLE: TABLE[1] = 0\n    return TABLE[1]\nTABLE = {}",
    "not a number": "def roll(): return float('nan') > 0",
    "print": "def roll():\n    print(end='')\n    return False",
    "sorted": "def roll(): return sorted([2, 1], key=lambda x: -x) == [1, 2]",
    "class": "class roll:\n    def __bool__(self): return False",
}


@pytest.mark.parametrize("name", PURE)
def test_pure_helpers_are_welcome(name: str) -> None:
    completion = program_of(text(PURE[name])).solve()
    value = 2 if name.startswith("seeded") else 1
    assert completion.value == value or name.startswith("seeded")


def test_random_generators_are_left_as_they_were() -> None:
    before, shared = random.getstate(), repr(np.random.get_state())  # noqa: NPY002
    recurl.solve(program_of(text(PURE["cache"])).model())
    assert random.getstate() == before
    assert repr(np.random.get_state()) == shared  # noqa: NPY002


@pytest.mark.parametrize("use", ["pay(1)", "x = pay(1)", "x = max(0, 1, key=pay)"])
def test_helpers_with_events_are_to_be_decorated(use: str) -> None:
    body = f"@program\ndef f():\n    {use}\n\ndef pay(n):\n    reward(n)\n    return n\n"
    with pytest.raises(ModelError) as caught:
        program_of(body).solve()
    found = [str(problem) for problem in caught.value.problems]
    assert any(re.search("line 6 of pay: reward.*decorate pay with @program", t) for t in found)
    assert not any("remove it" in t for t in found)


def test_a_wrapped_helper_is_looked_into() -> None:
    helper = (
        "def twice(g):\n    @functools.wraps(g)\n    def both(): return g()\n    return both\n"
        "@twice\ndef roll(): return random.random() < 0.5"
    )
    with pytest.raises(ModelError, match="line 4: f: roll"):
        program_of(text(helper)).solve()
