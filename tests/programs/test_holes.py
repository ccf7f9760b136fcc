from __future__ import annotations

import ast

import pytest
from tests.programs.random_programs import printed
from tests.programs.written import program_of

from recurl.programs.holes import Holes, Turns

RETRY = """
@program
def f():
    for attempt in range(3):
        way = choose("net", "disk"); reward(-1 if way == "net" else -3)
        if flip(0.6 if way == "net" else 0.95): return
    reward(-10)
"""


def test_a_choice_inside_of_a_for_loop_runs() -> None:
    # In the last attempt the disk costs 3.5, the net 5; before that, the net is cheaper.
    completion = program_of(RETRY).solve()
    assert completion.value == pytest.approx(-1.96)
    assert completion.run(10).shape == (10,)
    assert completion.play(1).result is None
    assert printed(RETRY) == (
        "def f():\n"
        "    for attempt in range(3):\n"
        '        way = "net" if attempt <= 1 else "disk"\n'
        '        reward(-1 if way == "net" else -3)\n'
        '        if flip(0.6 if way == "net" else 0.95):\n'
        "            return\n"
        "    reward(-10)\n"
    )


LEAVE = """
@program
def f(xs):
    for x in XS:
        if choose("leave", "wait") == "leave":
            reward(1)
            return
        if flip(0.3):
            reward(3)
            return
"""


@pytest.mark.parametrize(
    ("loop", "head", "test"),
    [
        ("for _ in range(3):", "for turn in range(3):", "if turn >= 2:"),
        ("for i in range(3):", "for i in range(3):", "if i >= 2:"),
        ("for i, x in enumerate(xs):", "for i, x in enumerate(xs):", "if i >= 2:"),
        ("for x in reversed(range(3)):", "for x in reversed(range(3)):", "if x <= 0:"),
        ("for x in 'abc':", "for x in 'abc':", "if x == 'c':"),
        ("for x in {1: 0, 5: 1, 2: 2}:", "for x in {1: 0, 5: 1, 2: 2}:", "if x == 2:"),
        (
            "for x in xs:",
            "items = tuple(xs)\n    for index, x in enumerate(items):",
            "if len(items) - index <= 1:",
        ),
        (
            "for index in xs + (9,):",
            "for index in xs + (9,):",
            "if index == 9:",
        ),
    ],
)
def test_loops_stay_loops(loop: str, head: str, test: str) -> None:
    # To wait earns 0.9 and another turn with 0.7; in the last turn leaving earns more.
    text = printed(LEAVE.replace("for x in XS:", loop), (1, 1, 1))
    assert f"    {head}\n        {test}\n            reward(1)\n" in text


def test_loops_through_different_kinds_of_items_run() -> None:
    text = """
    @program
    def f():
        g((1, 1)); g("bb"); g(range(2))

    @program
    def g(xs):
        for _ in xs:
            if choose("leave", "wait") == "leave":
                reward(1)
                return
            if flip(0.3):
                reward(3)
                return
    """
    assert "for index, _ in enumerate(items):" in printed(text)


def test_nested_loops_depend_on_both() -> None:
    text = printed(
        """
        @program
        def f():
            for i in range(2):
                for _ in (7, 7):
                    if choose("stop", "go") == "stop":
                        reward(1.5)
                        return
                    if flip(0.5):
                        reward(2)
                        return
        """
    )
    assert "items = (7, 7)\n        for index, _ in enumerate(items):" in text


def test_values_without_a_name_get_one_only_where_they_matter() -> None:
    text = printed(
        """
        @program
        def f():
            reward(g() * choose(1, 2))
            if g() == 1 and choose(True, False):
                reward(3)
            elif g() * choose(1, -1) > 0:
                reward(2)

        @program
        def g():
            return 1 if flip(0.5) else -1
        """
    )
    assert "    result = g()\n    reward(result * (2 if result == 1 else 1))\n" in text
    assert "    if g() == 1:\n        reward(3)\n" in text
    assert "    elif (result_2 := g()) * (1 if result_2 == 1 else -1) > 0:\n" in text


def test_options_with_events_are_still_evaluated() -> None:
    text = printed(
        """
        @program
        def f():
            reward(choose(paid(1), 2, paid(4)) + choose(some()))

        @program
        def paid(n):
            reward(-n)
            return n

        @program
        def some():
            reward(-0.5)
            return (3, 5, 1)
        """
    )
    assert "reward((paid(1), 2, paid(4))[2] + some()[1])" in text


def test_options_are_written_as_in_the_program() -> None:
    text = printed(
        """
        import enum
        class Way(enum.Enum):
            UP = 1
            DOWN = -1
        NET = "net"
        @program
        def f(n):
            reward(choose(n - 1, n + 1))
            way = choose(Way.UP, Way.DOWN)
            reward(way.value)
            net = choose(NET, "disk")
            reward(len(net) * (-1 if net == NET else 1))
            return net
        """,
        3,
    )
    assert (
        "    reward(n + 1)\n    way = Way.UP\n    reward(way.value)\n    net = 'disk'"
        in text.replace('"', "'")
    )


def test_long_tables_stand_above_the_function() -> None:
    text = program_of(
        """
        @program
        def f():
            x = pick({i: "1/6" for i in range(6)})
            y = pick({i: "1/6" for i in range(6)})
            guess = choose(0, 1, 2, 3)
            reward(-((x * y) % 4 - guess) ** 2)
        """
    ).solve()
    assert text.value == 0
    assert "F_GUESS = {\n    (0, 0): 0,\n    (0, 1): 0,\n" in text.source()
    assert "    guess = F_GUESS[x, y]\n" in text.source()
    assert not text.run(20).any()


def test_long_tables_of_options_by_locals_are_tables_of_numbers() -> None:
    text = printed(
        """
        @program
        def f():
            x = pick(dict.fromkeys(range(5), "1/5"))
            y = pick(dict.fromkeys(range(5), "1/5"))
            guess = choose(x, y, x * y, x + y)
            reward(-((x * 3 + y * 2) % 5 - guess) ** 2)
        """
    )
    assert "    guess = (x, y, x * y, x + y)[F_GUESS[x, y]]\n" in text


def test_names_that_nothing_reads_are_not_given() -> None:
    value, loop = ast.parse("f()\nfor x in (1, 2): pass").body
    assert isinstance(value, ast.Expr)
    assert isinstance(loop, ast.For)
    holes = Holes(named={value.value: "result"}, turns={loop: Turns(index="index", items="items")})
    assert holes.needed(ast.parse("a = result if index else 1")) is holes
    left = holes.needed(ast.parse("result = items = 1"))
    assert (left.named, left.turns) == ({}, {})


def test_options_that_are_choices_themselves_are_taken_directly() -> None:
    text = printed(
        """
        @program
        def f(n):
            reward(choose(choose(1, 2), n, flip(0.5) + 0))
        """,
        1,
    )
    assert text == "def f(n):\n    reward(2)\n"
