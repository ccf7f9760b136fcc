from __future__ import annotations

import itertools

import pytest
from tests.programs.written import program_of

from recurl.errors import LimitError, ModelError
from recurl.programs.boolean.translate import boolean_program
from recurl.programs.steps import EndlessError, StepCounter

ENDLESS = {
    "nothing": "while True:\n        pass",
    "toggle": "x = True\n    while True:\n        x = not x",
    "counter": "x = 0\n    while x >= 0:\n        x += 1",
    "range": "for i in range(10**12):\n        x = i",
    "return": "for i in range(10**12):\n        if i < 0:\n            return",
    "items": "for i in itertools.count():\n        reward(i)",
    "comprehension": "x = [i for i in itertools.count()]",
    "options": "choose([i for i in itertools.count()])",
    "caught": "while True:\n        try: x = 1\n        except Exception: pass",
    "inside try": "try:\n        while True: x = 1\n    except Exception: pass",
}


@pytest.mark.parametrize("name", ENDLESS)
def test_loops_without_events_are_refused_with_their_line(name: str) -> None:
    program = program_of(f"import itertools\n@program\ndef f():\n    {ENDLESS[name]}")
    message = r"program f .*: line [4-6]: the loop takes more than 250000 steps without a choice"
    with pytest.raises(LimitError, match=message):
        program.model()
    with pytest.raises(LimitError, match="more than 70 steps"):
        program.solve(state_limit=70)


@pytest.mark.parametrize(
    "text",
    [
        "void main() {\n  while (true) { skip; }\n}",
        "var x; void main() {\n while (true) { x = !x; } }",
        "var x, y; void main() {\n while (x == x) { x, y = y, !x; } }",
    ],
)
def test_boolean_loops_without_events_are_refused_with_their_line(text: str) -> None:
    with pytest.raises(LimitError, match=r"program main .*: line 2: the loop takes more than"):
        boolean_program(text, "prog.bp").model()


def test_steps_count_from_event_to_event() -> None:
    text = """
    @program
    def f():
        for i in range(5):
            reward(1)
            for j in range(30): x = j
    """
    assert program_of(text).solve(state_limit=60).value == 5
    with pytest.raises(LimitError, match="line 5: the loop takes more than 20 steps"):
        program_of(text).solve(state_limit=20)


def test_calls_without_events_are_states() -> None:
    model = program_of("@program\ndef f():\n    f()").model(state_limit=10)
    assert model.tables.n_vertices <= 5
    with pytest.raises(LimitError, match="more than 100 states"):
        program_of("@program\ndef f(n):\n    f(n + 1)").model(0, state_limit=100)


def test_sequences_can_be_cut_and_end() -> None:
    steps = StepCounter()
    steps.begin(3)
    assert steps.sequence({1: 2}, 1, True) == (1,)
    assert steps.sequence(range(5), 1, True)[1:] == range(1, 5)
    assert steps.sequence({2}, 1, False) == (2,)
    with pytest.raises(EndlessError):
        steps.sequence(itertools.count(), 1, True)
    with pytest.raises(TypeError, match="sorted"):
        steps.sequence({2}, 1, True)


def test_sets_have_no_order_to_go_through() -> None:
    with pytest.raises(ModelError, match=r"line 3: f: TypeError: the order of a set .* sorted"):
        program_of("@program\ndef f():\n    for x in {1, 2}: reward(x)").model()
