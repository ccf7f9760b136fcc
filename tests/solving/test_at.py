"""What a vertex is worth by a vector of exit values, and by a stack of boxes."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import pytest

import recurl
from recurl.errors import QuestionError, UnknownNameError
from recurl.model.tables import CALL, EXIT

VECTORS = [(0, 0), (0, 1), (0.25, 0.3), (5, -2), (-100, 100)]
SETTINGS = [
    {"kind": "general"},
    {"kind": "general", "exits": 3, "actions": 1},
    {"kind": "deterministic", "exits": 3},
    {"kind": "hierarchical", "boxes": 2},
    {"kind": "one_exit", "boxes": 2},
]


def interval(solution: recurl.Solution) -> tuple[float, float]:
    """The ends that the certificate proves, which are no narrower than those of the solution."""
    verdict = recurl.verify(solution.model, solution.certificate)
    assert verdict.lower is not None
    assert verdict.upper is not None
    return verdict.lower, verdict.upper


@pytest.mark.parametrize("objective", ["max", "min"])
@pytest.mark.parametrize("settings", SETTINGS)
def test_the_equations_hold_at_every_vertex(settings: dict[str, object], objective: str) -> None:
    """x(v, q) is what the values of what follows make it, at vectors chosen for the vertex."""
    model = recurl.zoo.random_model(seed=4, components=2, nodes=2, **settings)
    t, best = model.tables, max if objective == "max" else min
    solution = recurl.solve(model, objective=objective)
    for q in range(0, t.n_vertices, 2):
        n = int(t.n_exits[t.vertex_component[q]])
        worth = tuple(((7 * q + 3 * k) % 11 - 5) / 2 for k in range(n))

        @cache
        def x(vertex: int, values: tuple[float, ...] = worth) -> tuple[float, float]:
            return interval(solution.at(model.vertex_name(vertex), values))

        if t.vertex_kind[q] == EXIT:
            ends = (worth[t.vertex_port[q]],) * 2
        elif t.vertex_kind[q] == CALL:
            ports = [x(port) for port in model.return_ports(int(t.vertex_box[q]))]
            entry = int(t.entry_of_call(q))
            ends = tuple(x(entry, tuple(port[side] for port in ports))[side] for side in (0, 1))
        else:
            sums = [
                [
                    sum(
                        model.exact.prob(i)
                        * (model.exact.reward(i) + Fraction(x(int(t.target[i]))[side]))
                        for i in t.transitions_of(a)
                    )
                    for side in (0, 1)
                ]
                for a in t.actions_of(q)
            ]
            ends = tuple(float(best(both[side] for both in sums)) for side in (0, 1))
        low, high = x(q)
        assert low <= ends[1] + 1e-12
        assert ends[0] <= high + 1e-12
        assert ends[1] - ends[0] < 1e-5
        assert high - low < 1e-5


@pytest.mark.parametrize("worth", VECTORS)
def test_values_grow_with_the_exits_by_at_most_as_much(worth: tuple[float, float]) -> None:
    """x is monotone, x(v + c) = x(v) + c, and |x(v) - x(w)| is at most the greatest |v - w|."""
    solution = recurl.solve(recurl.zoo.cloud(), epsilon=1e-8)
    low, high = interval(solution.at("H.u5", worth))
    raised = interval(solution.at("H.u5", [each + 2.5 for each in worth]))
    assert raised[0] - 2.5 == pytest.approx(low, abs=1e-7)
    assert raised[1] - 2.5 == pytest.approx(high, abs=1e-7)
    for change in ([0, 0.01], [0.01, 0], [0.01, 0.01]):
        near = interval(solution.at("H.u5", [a + b for a, b in zip(worth, change, strict=True)]))
        assert near[1] >= low
        assert near[0] <= high + 0.01


def test_the_game_called_by_main() -> None:
    model = recurl.zoo.stack_matters()
    entry = model.vertex_name(model.tables.entries_of(1)[0])
    found = recurl.solve(model, start=entry, exit_values=[0, 1, 0])
    low, high = interval(found)
    assert Fraction(low) <= Fraction(43, 55) <= Fraction(high)
    mirrored = recurl.solve(model, start=entry, exit_values=[1, 0, 0])
    assert mirrored.value == pytest.approx(43 / 55, abs=1e-6)
    assert recurl.solve(model, start=entry).upper <= 1e-9
    # What the policy found earns there is the lower end.
    assert found.policy is not None
    earned = recurl.evaluate(found.policy, exit_values=[0, 1, 0])
    assert earned.upper >= found.lower - 1e-12
    assert earned.lower <= found.upper


@pytest.mark.parametrize("of", ["reward", "steps"])
def test_a_stack_is_what_it_makes_the_exits_worth(of: str) -> None:
    solution = recurl.solve(recurl.zoo.cloud(), of=of, objective="min", epsilon=1e-8)
    stack = ["T.b1", "S.b4", "H.b6"]
    low = high = [-1.0]
    for k, box in enumerate(stack):
        model = solution.model
        number = list(model.names.boxes).index(box.partition(".")[2])
        ports = [model.vertex_name(v) for v in model.return_ports(number)]
        low = [interval(solution.at(port, low))[0] for port in ports]
        high = [interval(solution.at(port, high))[1] for port in ports]
        pending = stack[: k + 1]
        for vertex in (v for v in ("S.u3", "H.u5", "H.b7.u5") if v[0] == "TSHH"[k + 1]):
            y = interval(solution.at(vertex, [-1], stack=pending))
            x = interval(solution.at(vertex, low))[0], interval(solution.at(vertex, high))[1]
            assert x[0] <= y[1]
            assert y[0] <= x[1]
            assert x[1] - x[0] < 1e-6


def test_discounted_exits() -> None:
    """From H's entry, "yes" leaves by its first exit, "no" by the second after calls."""
    model = recurl.zoo.cloud()
    worth = [0.0, 1.0]
    direct = recurl.solve(model, start="H.u5", exit_values=worth, gamma="0.9")
    lanes = recurl.discount_steps(model, "0.9")
    same = recurl.solve(lanes, start="H.u5", exit_values=[*worth, 0])
    assert direct.lower <= same.upper
    assert same.lower <= direct.upper
    assert direct.gap < 2e-6
    assert direct.policy is not None
    earned = recurl.evaluate(direct.policy, exit_values=worth, gamma="0.9")
    assert earned.value == pytest.approx(direct.value, abs=1e-6)
    # Where moves count, the way from the exit to the return port is one that starts before it.
    inside = recurl.solve(model, start="S.b4.u6", exit_values=[3], gamma="0.9", count="moves")
    lanes = recurl.discount_steps(model, "0.9", count="moves")
    moved = recurl.solve(lanes, start="S.b4.u6", exit_values=[3, 0])
    assert moved.value == pytest.approx(0.9 * inside.value, abs=1e-5)


def test_questions_are_accepted() -> None:
    model = recurl.zoo.cloud()
    question = recurl.Question("min", "steps", [2.0])
    assert question.exit_values == (2.0,)
    found = recurl.solve(model, of=question)
    assert found.question == question
    assert found.value == pytest.approx(recurl.solve(model, of="steps", objective="min").value + 2)
    nothing = recurl.solve(model, of=recurl.Question("max", "none"))
    assert nothing.lower <= 0 <= nothing.upper
    walk = recurl.solve(recurl.zoo.gambler(), of=recurl.Question("max", "none"))
    assert walk.lower <= 0 <= walk.upper
    chance = recurl.solve(model, of="exit:u7", start="H.b6.u5")
    assert chance.question == recurl.Question("max", "none", (0, 1))
    assert chance.at("H.u5", [0, 1]).value == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("size", [1e-200, 1e13, 1e200])
@pytest.mark.parametrize("of", ["reward", "steps"])
def test_exits_of_unusual_worth(size: float, of: str) -> None:
    model = recurl.zoo.cloud(exits=1)
    usual = recurl.solve(model, of=of)
    found = recurl.solve(model, of=of, exit_values=[size])
    low, high = interval(found)
    assert Fraction(low) - Fraction(size) <= Fraction(usual.upper)
    assert Fraction(usual.lower) <= Fraction(high) - Fraction(size)
    assert found.lower <= found.upper <= found.lower + max(1e-5, 1e-9 * size)


@pytest.mark.parametrize("least", [1e-300, 1.0, -1e-300])
def test_exits_of_very_different_worth(least: float) -> None:
    """No unit suits both; the small one is not lost in that of the large one."""
    builder = recurl.Builder("two").component("A", entries="in", exits=["large", "small"])
    model = builder.at("in").action("a").to("large").action("b").to("small").build()
    found = recurl.solve(model, exit_values=[1e300, least], objective="min")
    assert interval(found) == (least, least) == (found.lower, found.upper)


def test_exits_that_no_run_reaches_have_a_certificate() -> None:
    builder = recurl.Builder("one way").component("A", entries="in", exits=["out", "never"])
    model = builder.at("in").action("go", reward=-1).to("out").action("stay").to("out").build()
    found = recurl.solve(model, exit_values=[2, 10_000])
    assert interval(found) == (2, 2) == (found.lower, found.upper)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"start": "H.u5", "exit_values": [1]}, "1 numbers, .* per exit: u6, u7"),
        ({"start": "H.u5", "exit_values": []}, "0 numbers"),
        ({"exit_values": [1, 2]}, "2 numbers, .* per exit: u2"),
        ({"start": "H.u5", "stack": ["S.b4"], "exit_values": [1, 2]}, "u4$"),
        ({"exit_values": [float("nan")]}, "finite"),
        ({"start": "H.u5", "stack": ["T.b1"]}, "lies in component H"),
        ({"stack": ["T.b1"]}, "name its vertex"),
        ({"start": "H.u6", "of": "steps"}, "the run is over"),
        ({"start": "H.u6", "gamma": 0.9}, "the run is over"),
        ({"start": "T.b1.u3", "gamma": 0.9, "count": "moves"}, "through ports"),
        ({"start": "T.b1.u3", "box_gamma": 0.9}, "pass"),
        ({"of": "reward given end", "exit_values": [3]}, "given_end takes them"),
        ({"of": "exit:u2", "exit_values": [1]}, "exit_values go with"),
        ({"of": recurl.Question(), "objective": "min"}, "its own objective"),
        ({"of": recurl.Question(exit_values=(1, 2))}, "2 numbers"),
        ({"of": recurl.Question("max", "steps"), "gamma": 0.9}, "gamma discounts rewards"),
    ],
)
def test_questions_that_do_not_fit(options: dict[str, object], words: str) -> None:
    with pytest.raises(QuestionError, match=words):
        recurl.solve(recurl.zoo.cloud(), **options)


def test_unknown_places() -> None:
    solution = recurl.solve(recurl.zoo.cloud(exits=1))
    with pytest.raises(UnknownNameError, match="vertex of component H"):
        solution.at("H.u9")
    with pytest.raises(UnknownNameError, match=r"T\.b3"):
        solution.at("S.u3", stack=["T.b9"])


def test_exits_where_a_policy_may_stay() -> None:
    """The room may be left at a loss, by a door that is worth something, or not at all."""
    builder = recurl.Builder("room").component("A", entries="in", exits="out").at("in")
    builder = builder.action("go").to("room").at("room").action("stay").to("room")
    builder = builder.action("try").to("door", "5/8", "3/10").to("room", "3/8", "-3/2")
    builder = builder.at("door").action("on").to("room", "2/5", "4/5").to("out", "3/5")
    model = builder.build()
    loss = recurl.solve(model, objective="min", endless="inf")
    assert loss.value < 0
    for worth in (0.1, 1, 10):
        found = recurl.solve(model, exit_values=[worth])
        low, high = interval(found)
        assert low <= max(0, loss.value + worth) + 1e-9
        assert high >= max(0, loss.value + worth) - 1e-9
        assert high - low < 1e-5


def test_steps_and_the_worth_of_exits_where_nothing_is_decided() -> None:
    """A run takes 3/2 steps on average."""
    builder = recurl.Builder("walk").component("A", entries="in", exits=["left", "right"]).at("in")
    builder = builder.action("go").to("left", "1/3").to("right", "1/6").to("in2", "1/2")
    builder = builder.at("in2").action("go").to("left", "1/2").to("right", "1/2")
    model = builder.build()
    found = recurl.solve(model, of="steps", exit_values=[6, -12])
    assert found.lower <= 1.5 + 6 * Fraction(7, 12) - 12 * Fraction(5, 12) <= found.upper
    assert found.gap < 1e-9
