from __future__ import annotations

import re
import textwrap

import pytest
from tests.programs.written import program_of

import recurl
from recurl.errors import ModelError

# Body of a function; what is said of it; what to write instead.
REFUSED = {
    "global": ("global x\nx = 1", "line 4: f: `global x` changes state", "pass it as an argument"),
    "attribute": ("LOG.x = 1", "line 4: f: assigns to LOG.x, outer state", "keep the value in a"),
    "item": ("LOG[0] = 1", r"assigns to LOG\[0\], outer state", "use a tuple in a local"),
    "delete": ("del LOG[0]", r"line 4: f: assigns to LOG\[0\], outer state", "use a tuple"),
    "print": ("print(n)", r"print\(n\) depends on, or changes, what is outside", "run the program"),
    "side effect": ("LOG.append(n)", r"LOG.append\(n\) depends on, or changes", "run the program"),
    "value of a mutation": ("n = LOG.pop()", r"LOG.pop\(\) depends on, or changes", "flip or pick"),
    "random": ("n = MODULE.random()", r"MODULE.random\(\) depends on", "draw with flip or pick"),
    "generator object": ("n = RANDOM.choice((1, 2))", "depends on, or changes", "flip or pick"),
    "clock": ("n = CLOCK()", r"CLOCK\(\) depends on", "count with reward"),
    "useless call": ("helper(n)", r"helper\(n\) is called for a side effect", "remove it, or run"),
    "inner function": ("def g(): pass", "g is defined inside it", "define it at module level"),
    "inner class": ("class C: pass", "C is defined inside it", "define it at module level"),
    "lambda": ("g = lambda: flip(0.5)", "an event inside a lambda", "decorate a function"),
    "comprehension": ("x = [flip(0.5) for _ in (1, 2)]", "inside a comprehension", "a for loop"),
    "generator expression": ("x = any(flip(0.5) for _ in (1, 2))", "a comprehension", "a for loop"),
    "walrus": ("if (x := flip(0.5)): pass", "`:=` and an event in one", "on a separate line"),
    "walrus beside": ("n = (x := 3) + choose(x, 2)", "`:=` and an event", "on a separate line"),
    "set": ("for x in {1, n}: reward(x)", "order of a set differs", "no exceptions"),
    "try": ("try:\n    f(n)\nfinally:\n    pass", "calls inside `try`", "a helper that returns"),
    "with": ("with LOG:\n    reward(1)", "calls inside `with`", "run it live"),
    "return in try": ("try:\n    return 1\nfinally:\n    pass", "`return` inside", "after"),
    "guard": ("match n:\n    case 1 if flip(0.5): pass", "guard of a case", "before the match"),
    "target": ("x = [0]\nx[f(n)] = 1", "inside the target of an assignment", "use a local"),
    "word as a value": ("x = max(map(flip, ()))", "flip is used without calling it", "call it"),
    "program as a value": ("g = f", "f is used without calling it", r"call it: f\(...\)"),
    "flip without odds": ("flip()", "flip takes one argument", r"write flip\(x\)"),
    "choice without options": ("choose()", "choose takes options", "write choose"),
    "outcome": ("x = outcome(helper)", "outcome does real work", "say how likely each result is"),
    "unassigned": ("while n:\n    x = flip(0.5)\nreward(x)", "x may be read before it has", "x ="),
}  # fmt: skip

MODULE = """
import random, time
LOG, MODULE, RANDOM, CLOCK = [], random, random.Random(0), time.perf_counter
def helper(n=0): return n
"""


def made(body: str, head: str = "def f(n):") -> object:
    text = f"@program\n{head}\n    pass\n" + textwrap.indent(body, "    ") + "\n" + MODULE
    return program_of(text).model(1, state_limit=100)


@pytest.mark.parametrize("name", REFUSED)
def test_refused_with_the_line_and_what_to_write_instead(name: str) -> None:
    body, message, fix = REFUSED[name]
    with pytest.raises(ModelError) as caught:
        made(body)
    problem = caught.value.problems[0]
    assert problem.line is not None
    assert problem.line >= 4
    assert re.search(message, str(problem)), str(problem)
    assert re.search(fix, problem.fix), problem.fix


def test_named_arguments_of_any_name_are_refused() -> None:
    with pytest.raises(ModelError, match=r"takes \*\*more \(name the parameters\)"):
        made("return", "def f(n, **more):")


def test_nonlocal_names_are_refused() -> None:
    text = """
    def outer():
        count = 0
        @program
        def f():
            nonlocal count
            count += 1
        return f
    f = outer()
    """
    with pytest.raises(ModelError, match="line 5: f: `nonlocal count` changes state outside"):
        program_of(text).model()


def test_all_problems_are_told_at_once() -> None:
    with pytest.raises(ModelError) as caught:
        made("global x\nx = print(n)\ndef g(): pass")
    assert [problem.line for problem in caught.value.problems] == [4, 5, 6]


@pytest.mark.parametrize(
    ("body", "worth"),
    [
        # a list between events
        ("xs = []\nxs.append(n)\nreward(len(xs))", 1),
        ("xs = [0, 0]\nxs[0] = n\nreward(sum(xs))", 1),
        ("try:\n    n = 1 // n\nexcept ZeroDivisionError:\n    n = 0\nreward(n)", 1),
        ("with MODULE_LOCK as x:\n    n = 2\nreward(n)", 2),
        ("reward(max((1, 2), key=lambda i: i * n))", 2),
        ("reward(sum([i * n for i in range(3)]))", 3),
        ("del n", 0),
    ],
)
def test_pure_python_is_welcome(body: str, worth: float) -> None:
    lock = "import contextlib\nMODULE_LOCK = contextlib.nullcontext()\n"
    text = "@program\ndef f(n):\n" + textwrap.indent(body, "    ") + f"\n{lock}"
    model = program_of(text).model(1, state_limit=100)
    assert recurl.solve(model).value == pytest.approx(worth)
