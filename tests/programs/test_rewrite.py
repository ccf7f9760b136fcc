from __future__ import annotations

import ast

import pytest
from tests.programs.written import program_of

from recurl.programs.rewrite import EventWhile, Rewriter


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
        ("x += choose(1, 2)", "choice_1 = choose(1, 2)\nx += choice_1"),
    ],
)
def test_events_stand_alone(body: str, result: str) -> None:
    assert rewritten(body) == result


def test_events_in_the_test_of_a_loop_come_before_each_test() -> None:
    program = program_of("@program\ndef f(x=0):\n    while f(): x += 1\n    else: x = 2")
    (loop,) = Rewriter(program.source).body()
    assert isinstance(loop, EventWhile)
    parts = [*loop.head, loop.test, *loop.body, *loop.orelse]
    assert list(map(ast.unparse, parts)) == ["result_1 = f()", "result_1", "x += 1", "x = 2"]


def test_temporaries_and_events_know_where_they_come_from() -> None:
    source = program_of("@program\ndef f():\n    for x in (1, 2):\n        reward(x * f())").source
    rewriter = Rewriter(source)
    (loop,) = rewriter.body()
    (original,) = source.tree.body
    assert rewriter.rests[id(loop)] == "rest_1"
    assert rewriter.loops == {"rest_1": original}
    assert {name: ast.unparse(node) for name, node in rewriter.values.items()} == {
        "result_2": "f()",
        "amount_3": "x * result_2",
    }
    assert [ast.unparse(node) for node in rewriter.origins.values()] == ["f()", "reward(x * f())"]


def test_temporaries_do_not_meet_locals() -> None:
    assert rewritten("coin_1 = 3; return flip(0.5)") == (
        "coin_1 = 3\ncoin_1_ = flip(0.5)\nreturn coin_1_"
    )
