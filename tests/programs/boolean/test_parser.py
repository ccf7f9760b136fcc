from __future__ import annotations

import ast

import pytest

from recurl.errors import DocumentError
from recurl.programs.boolean.parser import ProgramToken, parse, python_name, tokens_of


def body(text: str) -> str:
    procedure = parse(f"var g; void main() {{ var x, y; {text} }} bool p(a) {{ return !a; }}")
    made = procedure.procedures["main"].body[2:-1]
    return "\n".join(map(ast.unparse, made))


@pytest.mark.parametrize(
    ("text", "python"),
    [
        ("x = !y && g || x;", "x = not y and g or x"),
        ("x = (x || y) && true;", "x = (x or y) and True"),
        ("x = x == y != g;", "x = (x == y) != g"),
        ("x = x ^ y;", "x = x != y"),
        ("x, y = y, x;", "x, y = (y, x)"),
        ("x = * || choose();", "x = choose(True, False) or choose(True, False)"),
        ("x = flip(1/3);", "x = flip('1/3')"),
        ("skip;", "pass"),
        ("if (x) y = g; else { x = y; }", "if x:\n    y = g\nelse:\n    x = y"),
        ("while (x) { x = flip(0.5); }", "while x:\n    x = flip('0.5')"),
        ("assert(x);", "if not x:\n    return (True, False, False)"),
        ("return;", "return (False, g, False)"),
        (
            "x = p(y);",
            "failed_, g, x = p(g, y)\nif failed_:\n    return (True, False, False)",
        ),
        (
            "p(true);",
            "failed_, g, result_ = p(g, True)\nif failed_:\n    return (True, False, False)",
        ),
    ],
)
def test_statements_become_python(text: str, python: str) -> None:
    assert body(text) == python


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x", "line 1: column 1: found 'x' (write void or bool before the name"),
        ("", "line 1: column 1: procedure main is missing"),
        ("void main(a) { }", "line 1: column 6: main has parameters (use globals)"),
        ("void main() { x = true; }", "unknown variable x (known: none)"),
        ("var lock; void main() { lok = true; }", "(did you mean lock?)"),
        ("void main() { q(); }", "unknown procedure q (known: main)"),
        ("void main() { p(); } void p(a) { }", "p is called with 0 arguments (it takes 1: a)"),
        ("var x; void main() { x = true }", "found '}' (write ';' after the assignment)"),
        ("var x; void main() { x = ; }", "found ';' (give the name of a variable)"),
        ("var x; void main() { x = x && main(); }", "a call inside an expression"),
        ("var x; void main() { x = flip(x); }", "give a probability, such as 0.5 or 1/3"),
        ("var x, x; void main() { }", "x is declared already (choose another name)"),
        ("void main() { } void main() { }", "main is there already"),
        ("void main() { ", "the file ends inside a block (write '}')"),
        ("var x, y; void main() { x, y = true; }", "2 variables, 1 values"),
        ("void if() { }", "found 'if' (give the name of the procedure)"),
        ("void main() { if true { } }", "found 'true' (write '(' after if)"),
        ("void main() {\n\n assert true; }", "line 3: column 9: found 'true'"),
    ],
)
def test_errors_say_where_and_what_to_write(text: str, message: str) -> None:
    with pytest.raises(DocumentError) as caught:
        parse(text, "prog.bp")
    assert message in str(caught.value)
    assert str(caught.value).startswith("prog.bp: 1 problem:")


def test_names_that_mean_something_in_python_are_changed() -> None:
    assert [python_name(name) for name in ("x", "in", "start", "a_")] == [
        "x",
        "in_",
        "start_",
        "a__",
    ]


def test_tokens_know_where_they_stand() -> None:
    found = tokens_of("x =\n  1/3; /* a\n comment */ y && 0.5 // end")
    assert found == [
        ProgramToken("name", "x", 1, 1),
        ProgramToken("sign", "=", 1, 3),
        ProgramToken("number", "1/3", 2, 3),
        ProgramToken("sign", ";", 2, 6),
        ProgramToken("name", "y", 3, 13),
        ProgramToken("sign", "&&", 3, 15),
        ProgramToken("number", "0.5", 3, 18),
        ProgramToken("end", "", 3, 28),
    ]
    assert found[0].shown == "'x'"
    assert found[-1].shown == "the end of the file"


def test_what_means_nothing_is_refused_with_its_line() -> None:
    with pytest.raises(DocumentError, match=r"prog\.bp: 1 problem:\n  line 2: '@' means nothing"):
        tokens_of("x\n @", "prog.bp")
