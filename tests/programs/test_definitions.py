from __future__ import annotations

import pytest
from tests.programs.small import VALUES
from tests.programs.written import program_of

from recurl.programs.definitions import needed


def test_helpers_constants_and_classes_come_along() -> None:
    source = VALUES["travel"][0].solve().source()
    assert "PRICES = {'bus': 3, 'taxi': 12}" in source
    assert "def double(x: int) -> int:\n    return 2 * x" in source
    source = VALUES["crossing"][0].solve().source()
    assert ".\nimport enum\nimport random\n" in source
    assert "class Light(enum.Enum):" in source


def test_what_helpers_need_comes_before_them() -> None:
    text = """
    import math
    from math import floor as down
    BASE = 2
    def square(x):
        return BASE * power(x)
    def power(x):
        return down(math.sqrt(x))
    @program
    def f():
        reward(square(choose(16, 25)))
    """
    program = program_of(text)
    imports, definitions = needed([("square(3)", program.source)])
    assert set(imports) == {"import math", "from math import floor as down"}
    assert [d.split("(")[0] for d in definitions] == ["BASE = 2", "def power", "def square"]
    assert program.solve().play().total == 10


def test_constants_of_any_kind_and_wrapped_helpers_come_along() -> None:
    completion = program_of(
        """
        import enum
        import functools
        from collections import namedtuple
        from fractions import Fraction as F

        Pair = namedtuple("Pair", "a b")

        class Way(enum.Flag):
            NET = 1
            DISK = 2

        PRICES = {Way.NET | Way.DISK: F(1, 4), Way.NET: F(1, 2)}
        THIRD = F(1, 3)
        NET = Way.NET
        PAIR = Pair(1, Way.DISK)
        MOST = float("inf")

        @functools.cache
        def helper(x):
            return x + 1

        twice = helper

        @program
        def f():
            reward(PRICES[choose(NET, NET | Way.DISK)])
            reward(helper(twice(THIRD)))
            if PAIR.b is Way.DISK and PAIR.a < MOST:
                reward(1)
        """
    ).solve()
    assert completion.value == pytest.approx(1 / 2 + 1 / 3 + 3)
    assert completion.play().total == pytest.approx(completion.value)
    for line in (
        "THIRD = F(1, 3)",
        "NET = Way.NET",
        "Pair = collections.namedtuple('Pair', ('a', 'b'))",
        "PAIR = Pair(1, Way.DISK)",
        "MOST = float('inf')",
        "@functools.cache\ndef helper(x):\n    return x + 1",
        "twice = helper",
    ):
        assert f"\n{line}\n" in completion.source()


def test_modules_may_be_imported_inside_of_a_program() -> None:
    program = program_of(
        "@program\ndef f():\n    import math\n    reward(math.floor(choose(1.5, 2.5)))\n"
    )
    assert program.solve().play().total == 2
