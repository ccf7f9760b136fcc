from __future__ import annotations

import ast
import math

import pytest
from tests.programs.written import program_of, written

import recurl
from recurl.errors import RecurlError
from recurl.programs.syntax import MISSING, read_source, stored_names


def test_stored_names_are_those_of_the_function_itself() -> None:
    body = ast.parse(
        "a = [b for b in c]\nfor d, e in f: g += 1\nmatch h:\n  case [i, *j]: pass\n"
        "import k.l as m\nwith n as o: pass\n(lambda p: p)(q := 1)"
    ).body
    assert set(stored_names(body)) == set("adegijmoq")


def test_names_stand_for_what_the_module_says() -> None:
    program = program_of("import math\n@program\ndef f(x):\n    return math.sqrt(x) + len(y)")
    source = program.source
    (value,) = (n.value for n in ast.walk(source.tree) if isinstance(n, ast.Return))
    assert isinstance(value, ast.BinOp)
    assert isinstance(value.left, ast.Call)
    assert source.resolve(value.left.func) is math.sqrt
    assert source.look_up("x") is MISSING
    assert source.look_up("len") is len
    assert source.look_up("y") is MISSING


def test_events_are_found_under_any_name() -> None:
    text = """
    import recurl as r
    from recurl import choose as decide
    @r.program
    def f():
        r.reward(decide(1, 2))
        return f()
    """
    program = program_of(text)
    words = [program.source.word(call) for call in program.source.events(program.source.tree)]
    assert set(words) == {"choose", "reward", program}


def test_lines_are_those_of_the_file() -> None:
    source = program_of("\n\nx = 1\n@program\ndef f():\n    reward(1)").source
    (event,) = (call for call in source.events(source.tree) if source.word(call) == "reward")
    assert (event.lineno, event.col_offset) == (source.tree.lineno + 1, 4)


def test_indented_functions_may_contain_text_without_indentation() -> None:
    body = '    def f():\n        return len("""a\nb""")\n    return f'
    text = f"def outer():\n    @program\n{body}\nf = outer()"
    source = program_of(text).source
    assert (source.tree.lineno, source.tree.col_offset) == (3, 4)
    assert program_of(text).solve().play().result == 3


def test_a_function_without_source_is_refused() -> None:
    namespace = written("x = 1")
    exec(compile("def f(): pass", "<nowhere>", "exec"), namespace)  # noqa: S102 (our own text)
    with pytest.raises(RecurlError, match="define it in a file or a notebook"):
        read_source(namespace["f"])
    with pytest.raises(RecurlError, match="defined by `def`"):
        read_source(lambda: None)  # type: ignore[misc, unused-ignore]


def test_closures_are_seen() -> None:
    def outer(p: float) -> recurl.Program:
        @recurl.program
        def f() -> None:
            if recurl.flip(p):
                recurl.reward(1)

        return f

    assert outer(0.25).solve().value == 0.25
    assert outer(0.75).solve().value == 0.75
