from __future__ import annotations

import ast

import pytest
from tests.programs.written import program_of

from recurl.programs.decisions import DecisionTable
from recurl.programs.fill_expressions import Filling
from recurl.programs.holes import FilledChoice, Holes
from recurl.programs.literals import Writer


def filled(text: str, *tables: DecisionTable, test: bool = False) -> str:
    """An expression whose choices, in order, are what tables say."""
    program = program_of(
        f"@program\ndef f(n=1, way='a'):\n    return {text}\n@program\ndef g():\n    return 1"
    )
    (statement,) = program.source.tree.body
    assert isinstance(statement, ast.Return)
    assert statement.value is not None
    events = list(program.source.events(statement.value))
    chosen = [node for node in events if program.source.word(node) == "choose"]
    chosen.sort(key=lambda node: node.col_offset)
    choices = {node: FilledChoice(table) for node, table in zip(chosen, tables, strict=True)}
    fill = Filling(program.source, Holes(choices), Writer(), {}, lambda _: False)
    fill.known = {"way": "net"}
    part = fill.test(statement.value) if test else fill.expression(statement.value)
    return ast.unparse(ast.fix_missing_locations(part.node))


def always(value: object) -> DecisionTable:
    return DecisionTable((), {(): value})


BY_N = DecisionTable(("n",), {(n,): "few" if n < 3 else "many" for n in range(6)})


@pytest.mark.parametrize(
    ("text", "tables", "result"),
    [
        ("choose(1, 2)", [always(2)], "2"),
        ("-choose(1, 2)", [always(2)], "-2"),
        ("n - choose(1, 2)", [always(2)], "n - 2"),
        ("choose('a', 'b') == 'a'", [always("b")], "False"),
        ("choose('few', 'many')", [BY_N], "'few' if n <= 2 else 'many'"),
        ("choose('few', 'many') == 'many'", [BY_N], "n >= 3"),
        ("not choose('few', 'many') == 'many'", [BY_N], "n <= 2"),
        ("choose('few', 'many') in ('many', 'none')", [BY_N], "n >= 3"),
        ("1 if choose('few', 'many') == 'few' else g()", [BY_N], "1 if n <= 2 else g()"),
        ("1 if choose(True, False) else g()", [always(False)], "g()"),
        ("choose(True, False) and g()", [always(True)], "g()"),
        ("choose(True, False) and g()", [always(False)], "False"),
        ("g() and choose(True, False)", [always(True)], "g() and True"),
        ("g() or choose(True, False)", [always(True)], "g() or True"),
        ("flip(0.5) and choose(1, 0) or n", [always(0)], "flip(0.5) and 0 or n"),
        ("way == 'net'", [], "True"),
        ("(way, 'net' if way == 'net' else n)", [], "(way, 'net')"),
        ("n == 1", [], "n == 1"),
        ("0 < choose(1, 2) < 3", [always(2)], "True"),
        ("0 < g() < choose(1, 2)", [always(2)], "0 < g() < 2"),
        ("[i for i in (1, 2) if i == n]", [], "[i for i in (1, 2) if i == n]"),
    ],
)
def test_values_stay_what_they_are(text: str, tables: list[DecisionTable], result: str) -> None:
    assert filled(text, *tables) == result


@pytest.mark.parametrize(
    ("text", "tables", "result"),
    [
        ("g() and choose(True, False)", [always(True)], "g()"),
        ("flip(0.5) and choose(True, False)", [always(False)], "False"),
        ("g() and choose(True, False)", [always(False)], "g() and False"),
        ("flip(0.5) and choose(1, 0) or n", [always(0)], "n"),
        ("not (choose(1, 0) or n)", [always(1)], "False"),
        ("choose('', 'a')", [always("a")], "True"),
        ("n if choose(0, 1) else g()", [always(1)], "n"),
    ],
)
def test_of_tests_only_the_truth_stays(text: str, tables: list[DecisionTable], result: str) -> None:
    assert filled(text, *tables, test=True) == result
