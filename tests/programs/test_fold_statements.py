from __future__ import annotations

from tests.programs.random_programs import printed
from tests.programs.small import VALUES


def test_constant_tests_and_dead_branches_go() -> None:
    text = printed(
        """
        @program
        def f():
            way = choose("net", "disk", "none")
            if way == "net":  # never
                reward(-9)
            elif way == "disk":
                # from the disk
                reward(-1)  # cheap
            else:
                reward(-5)
            match choose("a", "b"):
                case "a":
                    reward(1)
                case _:
                    reward(2)
            while choose(False, True):
                reward(-1)
                return
            reward(3 if choose(1, 2) == 1 else 4)
            if choose(True, False) and flip(0.5) or choose(False, True):
                return way
            reward(-1)
        """
    )
    assert text == (
        "def f():\n"
        '    way = "disk"\n'
        "    # from the disk\n"
        "    reward(-1)  # cheap\n"
        "    reward(2)\n"
        "    reward(4)\n"
        "    return way\n"
    )


def test_what_a_decided_test_does_besides_is_still_done() -> None:
    text = printed(
        """
        @program
        def f():
            if g() == 1 and choose(True, False):
                reward(-1)
            else:
                reward(2)
            while not g() < 2 or choose(True, False):
                reward(-1)
                return

        @program
        def g():
            reward(-1)
            return 1
        """
    )
    assert text.startswith("def f():\n    g()\n    reward(2)\n    while not g() < 2:\n")


def test_code_behind_a_return_that_was_chosen_goes() -> None:
    text = printed(
        """
        @program
        def f(n):
            if choose("quick", "slow") == "quick":
                reward(1)
                return n
            # the slow way
            for i in range(n):
                reward(-i)
        """,
        3,
    )
    assert text == "def f(n):\n    reward(1)\n    return n\n"


def test_choices_by_locals_become_conditions() -> None:
    program, _, _ = VALUES["roll_again"]
    assert "    if first >= 4:\n        reward(first)\n    else:\n" in program.solve().source()


def test_what_is_never_reached_stays_open() -> None:
    text = printed(
        """
        @program
        def f(n):
            if n > 5:
                g()
            elif n > 3:
                reward(choose(*range(3)) + choose([1, 2]))
            reward(choose(1, 2))

        @program
        def g():
            reward(choose(1, 2))
        """,
        3,
    )
    assert "reward(unreached(*range(3)) + unreached([1, 2]))\n    reward(2)\n" in text
    assert text.endswith("def g():\n    reward(unreached(1, 2))\n")


def test_comments_of_dead_statements_go_with_them() -> None:
    text = printed(
        """
        @program
        def f():
            # Which way?
            way = choose("net", "disk")
            # From the net.
            if way == "net":  # slow
                reward(-1)
            reward(1)
        """
    )
    assert text == "def f():\n    # Which way?\n    reward(1)\n"


def test_a_call_whose_value_no_longer_matters_stands_alone() -> None:
    text = printed(
        """
        @program
        def f():
            if not g():
                if choose("go on", "stop") == "stop":
                    reward(-1)

        @program
        def g():
            reward(-1)
            return flip(0.5)
        """
    )
    assert text.startswith("def f():\n    g()\n")
