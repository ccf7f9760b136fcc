from __future__ import annotations

from statistics import fmean

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.programs.small import VALUES
from tests.programs.written import TooLargeError, program_of, value_by_runs

import recurl
from recurl.errors import LimitError, ModelError, NotProperError, RecurlError


@pytest.mark.parametrize("name", VALUES)
def test_small_programs_are_worth_what_was_computed_by_hand(name: str) -> None:
    program, arguments, value = VALUES[name]
    completion = program.solve(*arguments)
    assert completion.solution is not None
    assert completion.solution.lower - 1e-9 <= value <= completion.solution.upper + 1e-9
    assert completion.value == pytest.approx(float(value), abs=2e-6)


def test_there_are_at_least_thirty() -> None:
    assert len(VALUES) >= 30


# Programs made at random: f calls itself with a smaller argument and returns a number below 3.

EXPRESSIONS = st.sampled_from(
    [
        "x", "y", "n", "(x + y) % 3", "(x * y + n) % 3", "choose(0, 1)", "choose(1, 2)",
        "flip(0.25) + 0", "pick({0: 0.5, 2: 0.5})", "CALL", "(CALL + x) % 3",
        "(1 if flip(0.5) else y)",
    ]
)  # fmt: skip
TESTS = st.sampled_from(
    [
        "x > y", "flip(0.3)", "choose(True, False)", "x and flip(0.5)", "CALL > 0 or y == 1",
        "not CALL", "0 < CALL < 2", "n == 1",
    ]
)  # fmt: skip


def joined(blocks: list[list[str]]) -> list[str]:
    return [line for block in blocks for line in block]


def indented(block: list[str]) -> list[str]:
    return [f"    {line}" for line in block]


SIMPLE = st.one_of(
    st.builds(lambda name, e: [f"{name} = {e}"], st.sampled_from("xy"), EXPRESSIONS),
    st.builds(lambda e: [f"reward({e} - 1)"], EXPRESSIONS),
    st.builds(lambda e: [f"x += {e}", "x %= 3"], EXPRESSIONS),
    st.builds(lambda e: [f"return {e}"], EXPRESSIONS),
)


def counted_loop(test: str, body: list[str]) -> list[str]:
    k = f"k{len(body)}"  # unlike that of any loop inside
    return [f"{k} = 0", f"while {k} < 2 and ({test}):", f"    {k} += 1", *indented(body)]


def compound(inner: st.SearchStrategy[list[str]]) -> st.SearchStrategy[list[str]]:
    body = st.lists(inner, min_size=1, max_size=2).map(joined)
    return st.one_of(
        st.builds(
            lambda t, a, b: [f"if {t}:", *indented(a), "else:", *indented(b)], TESTS, body, body
        ),
        st.builds(lambda a: ["for i in range(2):", *indented(a), "    x = (x + i) % 3"], body),
        st.builds(counted_loop, TESTS, body),
    )


STATEMENTS = st.recursive(SIMPLE, compound, max_leaves=3)


@st.composite
def programs(draw: st.DrawFn) -> str:
    body = joined(draw(st.lists(STATEMENTS, min_size=1, max_size=4)))
    lines = ["if n == 0:", "    return choose(0, 2) if flip(0.5) else 1", "x, y = 1, 0", *body]
    text = "\n".join(["@program", "def f(n):", *indented([*lines, "return (x + y) % 3"])])
    return text.replace("CALL", "f(n - 1)")


@settings(max_examples=30)
@given(programs())
def test_random_programs_are_worth_what_their_runs_are(text: str) -> None:
    program = program_of(text)
    try:
        best = value_by_runs(program, 1)
        mean = value_by_runs(program, 1, best=fmean)
    except TooLargeError:
        assume(False)
    model = program.model(1)
    completion = program.solve(1, epsilon=1e-5)
    solution = completion.solution
    assert solution is not None
    assert solution.lower - 1e-7 <= best <= solution.upper + 1e-7
    assert recurl.evaluate(recurl.Policy.uniform(model)).value == pytest.approx(mean, abs=1e-9)
    assert completion.value == pytest.approx(best, abs=2e-5)


@settings(max_examples=30)
@given(programs(), st.integers(0, 2))
def test_the_completed_source_of_random_programs_earns_what_is_claimed(text: str, n: int) -> None:
    completion = program_of(text).solve(n, epsilon=1e-4)
    returns = completion.run(400, seed=n)
    error = 6 * returns.std() / np.sqrt(len(returns)) + 1e-6
    assert abs(returns.mean() - completion.value) <= error


def test_the_model_speaks_of_lines_and_locals() -> None:
    program = program_of(
        """
        @program
        def f(n):
            while n:
                n -= choose(1, 2)
                n = max(n, 0)
                if flip(0.5):
                    f(n)
        """
    )
    model = program.model(3)
    labels = set(model.labels.values())
    assert "f(n=3); f, line 4: choose(1, 2) with n=3" in labels
    assert "f, line 4: choose(1, 2) with n=1" in labels
    after = "f, line 7: f(n) with n=2, after it returned None; f, line 4: choose(1, 2) with n=2"
    assert after in labels
    assert "f returns None" in labels


def test_calls_that_can_lead_to_each_other_are_entries_and_different_results_exits() -> None:
    model = program_of(
        """
        @program
        def f(n):
            if flip(0.5):
                return f((n + 1) % 3)
            return g(n)

        @program
        def g(n):
            return n if n < 2 else g(n - 1) + 1
        """
    ).model(0)
    t = model.tables
    entries = dict(zip(model.names.components, t.n_entries.tolist(), strict=True))
    assert entries == {"f": 3, "g(0)": 1, "g(2)": 1, "g(1)": 1}
    assert dict(zip(model.names.components, t.n_exits.tolist(), strict=True))["f"] == 3


@pytest.mark.parametrize("name", ["parity", "fibonacci_reward", "factorial_reward", "two_callers"])
def test_models_of_calls_on_no_cycle_are_hierarchical(name: str) -> None:
    program, arguments, value = VALUES[name]
    model = program.model(*arguments)
    assert model.kind.hierarchical
    assert model.tables.n_entries.tolist() == [1] * model.tables.n_components
    assert recurl.solve(model).value == pytest.approx(float(value), abs=1e-6)


def test_a_counter_that_grows_is_named() -> None:
    program = program_of(
        """
        @program
        def f():
            count = 0
            while flip(0.5):
                count += 2
            reward(count)
        """
    )
    with pytest.raises(LimitError, match=r"more than 100 states: count in f took .* \(0, 2, 4, "):
        program.model(state_limit=100)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("return f(n + 1)", r"n took 25 different values \(0, 1, 2"),
        ("return 1 + f(n) if flip(0.5) else 0", r"the (value that f returns|value of f\(n\))"),
    ],
)
def test_arguments_and_results_that_grow_are_named(text: str, message: str) -> None:
    with pytest.raises(LimitError, match=message):
        program_of(f"@program\ndef f(n):\n    {text}").model(0, state_limit=50)


def test_a_local_that_is_never_read_again_does_not_count() -> None:
    program = program_of(
        """
        @program
        def f():
            count = 0
            while flip(0.5):
                count += 1
                reward(1)
        """
    )
    with pytest.raises(LimitError):
        program.model(state_limit=100)
    assert recurl.solve(
        program_of(
            """
        @program
        def f():
            while flip(0.5):
                unused = choose(1, 2, 3)
                reward(1)
        """
        ).model()
    ).value == pytest.approx(1)


def test_many_arguments_make_components_of_their_own() -> None:
    program = program_of(
        """
        @program
        def f(n):
            for i in range(n):
                if flip(0.5):
                    g(i)
                g(n - i)

        @program
        def g(i):
            reward(-i if choose(True, False) else -1)
        """
    )
    model = program.model(150)
    assert model.tables.n_components > 100
    # Each turn calls g(i) with 1/2 and g(n - i): -1 each, or 0 for i = 0.
    assert recurl.solve(model).value == pytest.approx(-(150 + 149 / 2))


def test_learning_finds_the_best_choice() -> None:
    program, arguments, value = VALUES["retry"]
    completion = program.learn(*arguments, steps=20_000, seed=1)
    assert completion.value == pytest.approx(float(value))


def test_a_program_that_may_gain_without_end_has_no_completion() -> None:
    program = program_of(
        """
        @program
        def f():
            while choose(True, False):
                reward(1)
        """
    )
    with pytest.raises(NotProperError):
        program.solve()


def test_play_runs_the_function_itself() -> None:
    program, arguments, _ = VALUES["climb"]
    play = program.play(*arguments, chooser=max)
    assert (play.result, play.total, play.choices) == (None, -3.0, [2, 2])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("async def f(): pass", "f is async: write an ordinary function"),
        ("def f(): yield 1", "f is a generator: return a tuple"),
    ],
)
def test_what_is_no_function_is_refused_at_once(text: str, message: str) -> None:
    with pytest.raises(RecurlError, match=message):
        program_of(f"@program\n{text}")
    with pytest.raises(RecurlError, match="@program decorates functions"):
        recurl.program(3)  # type: ignore[arg-type, call-overload]


def test_words_outside_of_a_program_say_so() -> None:
    with pytest.raises(RecurlError, match="flip was called outside a program"):
        recurl.flip(0.5)
    with pytest.raises(RecurlError, match="seven was called outside"):
        program_of("@program\ndef seven(): return 7", "seven")()


def test_repr_shows_the_signature() -> None:
    assert repr(VALUES["climb"][0]) == "<program climb(n: 'int') -> 'None'>"


def test_an_error_in_a_called_program_names_that_program() -> None:
    program = program_of(
        """
        @program
        def f():
            g()

        @program
        def g():
            global x
            x = 1
        """
    )
    with pytest.raises(ModelError, match=r"program g .*\n.*line 7: g: `global x`"):
        program.model()
