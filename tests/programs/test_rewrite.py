from __future__ import annotations

import ast

import pytest
from tests.programs.written import program_of

from recurl.programs.rewrite import Rewriter, loop_over


def rewritten(body: str) -> str:
    program = program_of(f"@program\ndef f(x=0):\n    {body}\n")
    return "\n".join(map(ast.unparse, Rewriter(program.source).body()))


@pytest.mark.parametrize(
    ("body", "result"),
    [
        ("x = 1 + 2", "x = 1 + 2"),
        ("x = flip(0.5)", "x = flip(0.5)"),
        ("reward(-1)", "reward(-1)"),
        ("reward(x + 1)", "amount_1 = x + 1\nreward(amount_1)"),
        ("return f(f(x))", "result_2 = f(x)\nresult_1 = f(result_2)\nreturn result_1"),
        (
            "x = flip(0.5) and f()",
            "coin_2 = flip(0.5)\ntest_1 = coin_2\nif test_1:\n    result_3 = f()\n"
            "    test_1 = result_3\nx = test_1",
        ),
        (
            "x = 1 if flip(0.5) else f()",
            "coin_2 = flip(0.5)\nif coin_2:\n    value_1 = 1\nelse:\n    result_3 = f()\n"
            "    value_1 = result_3\nx = value_1",
        ),
        (
            "while f(): x += 1",
            "while True:\n    result_1 = f()\n    if result_1:\n        x += 1\n    else:\n"
            "        break",
        ),
        ("x += choose(1, 2)", "choice_1 = choose(1, 2)\nx += choice_1"),
    ],
)
def test_events_stand_alone(body: str, result: str) -> None:
    assert rewritten(body) == result


def test_a_loop_keeps_what_is_left() -> None:
    (node,) = ast.parse("for a, b in pairs:\n    c = a\nelse:\n    d = 1").body
    assert isinstance(node, ast.For)
    begin, loop = loop_over(node, "rest")
    assert ast.unparse(begin) == "rest = sequence_(pairs)"
    assert ast.unparse(loop) == (
        "while rest:\n    a, b = rest[0]\n    rest = rest[1:]\n    c = a\nelse:\n    d = 1"
    )


def test_temporaries_do_not_meet_locals() -> None:
    assert rewritten("coin_1 = 3; return flip(0.5)") == (
        "coin_1 = 3\ncoin_1_ = flip(0.5)\nreturn coin_1_"
    )
