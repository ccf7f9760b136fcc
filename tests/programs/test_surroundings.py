from __future__ import annotations

from tests.programs.small import VALUES
from tests.programs.written import program_of

from recurl.programs.surroundings import needed


def test_helpers_constants_and_classes_come_along() -> None:
    source = VALUES["travel"][0].solve().source()
    assert "PRICES = {'bus': 3, 'taxi': 12}" in source
    assert "def double(x: int) -> int:\n    return 2 * x" in source
    source = VALUES["crossing"][0].solve().source()
    assert source.startswith("import enum\nimport random\n")
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
