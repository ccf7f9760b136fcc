"""The certificate checker against a second, slower reading of the same inequalities."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import proper_models

import recurl
from recurl.errors import CertificateError
from recurl.model.certificate import Certificate
from recurl.model.tables import CALL, EXIT
from recurl.solving.no_choice import chain_certificate

Tree = Any


def holds(model: recurl.RMDP, given: Certificate) -> bool:
    """Whether every inequality holds, in plain fractions and in the words of the theory."""
    return all(_inequalities(model, given))


def _visited(model: recurl.RMDP, given: Certificate) -> set[tuple[int | None, int]]:
    """Vertices that runs come to, and those that runs of the policy come to in a piece."""
    t = model.tables
    first = int(t.component_start[t.start_component])
    starts = [e for e in range(len(t.start_prob)) if model.exact.start(e)]
    seen: set[tuple[int | None, int]] = {(None, first + e) for e in starts}
    seen |= {(given.start_pieces[e], first + e) for e in starts if given.start_pieces}
    while True:
        new: set[tuple[int | None, int]] = set()
        for i, v in seen:
            actions = list(range(t.action_start[v], t.action_start[v + 1]))
            begin = int(t.component_start[t.vertex_component[v]])
            if i is not None and actions:
                actions = [actions[given.pieces[i].actions[v - begin]]]
            for a in actions:
                moves = range(t.transition_start[a], t.transition_start[a + 1])
                new |= {(i, int(t.target[k])) for k in moves if model.exact.prob(k)}
            if t.vertex_kind[v] == CALL:
                box = int(t.vertex_box[v])
                callee = int(t.box_component[box])
                calls = [q for q in range(begin, v) if t.vertex_kind[q] == CALL]
                j = None if i is None else given.pieces[i].calls[len(calls)]
                new.add((j, int(t.component_start[callee] + t.vertex_port[v])))
                for k in range(t.n_exits[callee]):
                    out = int(t.component_start[callee] + t.n_entries[callee]) + k
                    if (j, out) in seen:
                        new.add((i, int(t.box_return[box]) + k))
        if new <= seen:
            return seen
        seen |= new


def _inequalities(model: recurl.RMDP, given: Certificate) -> Iterator[bool]:
    t, f, seen = model.tables, Fraction, _visited(model, given)
    sign = 1 if given.objective == "max" else -1
    blocks = [range(t.component_start[c], t.component_start[c + 1]) for c in range(t.n_components)]
    exits = [[v for v in block if t.vertex_kind[v] == EXIT] for block in blocks]
    calls = [[v for v in block if t.vertex_kind[v] == CALL] for block in blocks]
    root = [sign * f(x) for x in given.exit_values] or [f(0)] * len(exits[t.start_component])

    def ways(a: int) -> list[tuple[Fraction, Fraction, int]]:
        rows = range(t.transition_start[a], t.transition_start[a + 1])
        pay = {"model": model.exact.reward, "steps": lambda i: f(1), "none": lambda i: f(0)}
        reward = pay[given.rewards]
        return [(model.exact.prob(i), sign * reward(i), int(t.target[i])) for i in rows]

    def actions(v: int) -> range:
        return range(t.action_start[v], t.action_start[v + 1])

    def ports(v: int) -> tuple[int, int, list[int]]:
        box = int(t.vertex_box[v])
        callee = int(t.box_component[box])
        returns = [int(t.box_return[box]) + k for k in range(t.n_exits[callee])]
        return callee, int(t.component_start[callee] + t.vertex_port[v]), returns

    every = [v for block in blocks for v in block]
    rows = given.reach or [[0.0] * len(exits[t.vertex_component[v]]) for v in every]
    sure = [[f(x) for x in row] for row in rows]
    for v, row in enumerate(sure):
        yield sum(row) <= 1
        for k, least in enumerate(row):
            yield least >= 0
            if (None, v) not in seen:
                continue
            if t.vertex_kind[v] == EXIT:
                yield least == 0 or (least <= 1 and v == exits[t.vertex_component[v]][k])
            for a in actions(v):
                yield least <= sum(p * sure[q][k] for p, _, q in ways(a))
            if t.vertex_kind[v] == CALL:
                _, entry, returns = ports(v)
                pairs = zip(sure[entry], returns, strict=True)
                yield least <= sum((p * sure[r][k] for p, r in pairs), f(0))

    def rise(entry: int, change: list[Fraction]) -> Fraction:
        # The most that a distribution over exits can make of it which is at least `sure`.
        known = sum((p * x for p, x in zip(sure[entry], change, strict=True)), f(0))
        return max(known + (1 - sum(sure[entry])) * x for x in change)

    d = [f(x) for x in given.steps]
    for block, out in zip(blocks, exits, strict=True):
        yield min(d[v] for v in out) == 0
        for v in block:
            yield d[v] >= sum((p * d[x] for p, x in zip(sure[v], out, strict=True)), f(0))
            if (None, v) not in seen:
                continue
            for a in actions(v):
                yield d[v] >= 1 + sum(p * d[q] for p, _, q in ways(a))
            if t.vertex_kind[v] == CALL:
                callee, entry, returns = ports(v)
                change = [d[r] - d[x] for r, x in zip(returns, exits[callee], strict=True)]
                yield d[v] >= d[entry] + rise(entry, change)

    def mixed(mix: list[tuple[int, float]], entry: int, outside: list[Fraction]) -> Fraction | None:
        shares = [f(w) for _, w in mix[:-1]]
        shares.append(1 - sum(shares, f(0)))
        if min(shares) < 0:
            return None
        mean: dict[int, Fraction] = {}
        for share, (j, _) in zip(shares, mix, strict=True):
            point = given.points[j]
            for v, x in zip(blocks[point.component], point.values, strict=True):
                mean[v] = mean.get(v, f(0)) + share * f(x)
        out = exits[given.points[mix[0][0]].component]
        change = [o - mean[x] for o, x in zip(outside, out, strict=True)]
        return mean[entry] + rise(entry, change)

    for point in given.points:
        block = blocks[point.component]
        w = dict(zip(block, map(f, point.values), strict=True))
        for v in block:
            for a in actions(v) if (None, v) in seen else ():
                yield w[v] >= sum(p * (r + w[q]) for p, r, q in ways(a))
        for v, mix in zip(calls[point.component], point.calls, strict=True):
            _, entry, returns = ports(v)
            bound = mixed(mix, entry, [w[r] for r in returns])
            yield bound is not None and (w[v] >= bound or (None, v) not in seen)

    def weights(number: int, v: int) -> list[Fraction]:
        piece = given.pieces[number]
        if piece.weights is None:
            return [f(1)]
        return [f(x) for x in piece.weights[v - blocks[piece.component].start]]

    for number, piece in enumerate(given.pieces):
        block = blocks[piece.component]
        gain = dict(zip(block, map(f, piece.rewards), strict=True))
        reach = {v: weights(number, v) for v in block}
        callee_piece = dict(zip(calls[piece.component], piece.calls, strict=True))
        for v in block:
            yield min(reach[v]) >= 0 and sum(reach[v]) <= 1
            if (number, v) not in seen:
                continue
            if t.vertex_kind[v] == EXIT:
                unit = [f(x == v) for x in exits[piece.component]]
                after, spread = f(0), unit
            elif t.vertex_kind[v] == CALL:
                _, entry, returns = ports(v)
                inner = weights(callee_piece[v], entry)
                other = given.pieces[callee_piece[v]]
                own = f(other.rewards[entry - blocks[other.component].start])
                after = own + sum(p * gain[r] for p, r in zip(inner, returns, strict=True))
                after += (1 - sum(inner)) * min(gain[r] for r in returns)
                spread = [
                    sum(p * reach[r][k] for p, r in zip(inner, returns, strict=True))
                    for k in range(len(reach[v]))
                ]
            else:
                row = ways(actions(v)[piece.actions[v - block.start]])
                after = sum((p * (r + gain[q]) for p, r, q in row), f(0))
                spread = [sum(p * reach[q][k] for p, _, q in row) for k in range(len(reach[v]))]
            yield gain[v] <= after
            if len(reach[v]) > 1:
                yield all(a <= b for a, b in zip(reach[v], spread, strict=True))

    first = blocks[t.start_component].start
    share = [model.exact.start(e) for e in range(len(t.start_prob))]
    above = [mixed(m, first + e, root) for e, m in enumerate(given.start_points)]
    yield None not in above
    high = sum((p * x for p, x in zip(share, above, strict=True) if x is not None), f(0))
    low = f(0)
    for e, number in enumerate(given.start_pieces):
        p = weights(number, first + e)
        value = f(given.pieces[number].rewards[e]) + (1 - sum(p)) * min(root)
        low += share[e] * (value + sum(a * b for a, b in zip(p, root, strict=True)))
    assert given.lower is not None
    assert given.upper is not None
    yield f(given.lower) <= min(sign * low, sign * high)
    yield f(given.upper) >= max(sign * low, sign * high)


def numbers(tree: Tree, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Paths to all floats of a certificate."""
    if isinstance(tree, float):
        yield path
    elif isinstance(tree, dict | list | tuple):
        items = tree.items() if isinstance(tree, dict) else enumerate(tree)
        for key, value in items:
            yield from numbers(value, (*path, key))


def changed(tree: Tree, path: tuple[Any, ...], value: float) -> Tree:
    """A copy of a tree with one number replaced."""
    if not path:
        return value
    if isinstance(tree, dict):
        return {**tree, path[0]: changed(tree[path[0]], path[1:], value)}
    copy = list(tree)
    copy[path[0]] = changed(tree[path[0]], path[1:], value)
    return copy


SMALL = [
    recurl.zoo.cloud(exits=1),
    recurl.zoo.cloud(),
    recurl.zoo.gambler(p=0.25),
    recurl.zoo.and_or(),
]


@pytest.mark.parametrize("model", SMALL, ids=lambda m: f"{m.name}-{m.tables.max_exits}")
def test_every_number_nudged_both_ways(model: recurl.RMDP) -> None:
    certificate = recurl.solve(model, epsilon=0.1).certificate
    assert holds(model, certificate)
    tree = msgspec.to_builtins(certificate)
    refused = 0
    for path, nudge in itertools.product(numbers(tree), (-1e-3, 1e-3)):
        value = tree
        for key in path:
            value = value[key]
        nudged = msgspec.convert(changed(tree, path, value + nudge), Certificate)
        try:
            recurl.verify(model, nudged)
        except CertificateError:
            refused += 1
            assert not holds(model, nudged), path
        else:
            assert holds(model, nudged), path
    assert refused >= sum(1 for _ in numbers(tree)) // 3


@settings(max_examples=15)
@given(proper_models())
def test_solutions_of_random_models_are_proved(model: recurl.RMDP) -> None:
    for objective in ("max", "min"):
        solution = recurl.solve(model, epsilon=1e-3, objective=objective)
        verdict = recurl.verify(model, solution.certificate)
        assert solution.certificate.values is not None or holds(model, solution.certificate)
        assert verdict.lower is not None
        assert verdict.upper is not None
        assert verdict.upper - verdict.lower <= max(solution.gap, 1e-3) + 1e-6


def test_a_claim_beyond_the_evidence_is_refused() -> None:
    model = recurl.zoo.cloud(exits=1)
    certificate = recurl.solve(model).certificate
    assert certificate.lower is not None
    bold = msgspec.structs.replace(certificate, lower=certificate.lower + 1e-3)
    with pytest.raises(CertificateError, match="the lower claim"):
        recurl.verify(model, bold)


def test_another_model_is_refused() -> None:
    certificate = recurl.solve(recurl.zoo.cloud(exits=1)).certificate
    with pytest.raises(CertificateError, match="another model"):
        recurl.verify(recurl.zoo.gambler(), certificate)


@pytest.mark.parametrize(
    "change",
    [
        {"steps": [1.0]},
        {"points": []},
        {"pieces": []},
        {"start_points": []},
        {"start_pieces": [7]},
        {"start_points": [[]]},
        {"objective": "most"},
        {"rewards": "gold"},
        {"exit_values": [1.0, 2.0, 3.0]},
        {"upper": float("inf")},
        {"reach": []},
        {"reach": [[0.0, 0.0]]},
    ],
)
def test_a_malformed_certificate_is_refused(change: dict[str, Any]) -> None:
    model = recurl.zoo.cloud(exits=1)
    certificate = recurl.solve(model).certificate
    with pytest.raises(CertificateError):
        recurl.verify(model, msgspec.structs.replace(certificate, **change))


def test_a_piece_without_weights_is_malformed() -> None:
    model = recurl.zoo.cloud()
    certificate = recurl.solve(model).certificate
    pieces = [msgspec.structs.replace(piece, weights=[]) for piece in certificate.pieces]
    with pytest.raises(CertificateError, match="malformed"):
        recurl.verify(model, msgspec.structs.replace(certificate, pieces=pieces))


@pytest.mark.parametrize(
    ("objective", "of", "words"),
    [
        ("max", "reward", "the greatest expected total reward lies in"),
        ("min", "reward", "the least expected total reward lies in"),
        ("max", "steps", "the greatest expected number of steps lies in"),
        ("min", "exit:u2", "the least probability to leave by u2 lies in"),
    ],
)
def test_a_verdict_says_what_was_proved(objective: str, of: str, words: str) -> None:
    model = recurl.zoo.cloud()
    verdict = recurl.verify(model, recurl.solve(model, of=of, objective=objective).certificate)
    assert verdict.objective == objective
    assert words in str(verdict)


def test_a_verdict_names_what_exits_are_worth() -> None:
    model = recurl.zoo.and_or()
    question = recurl.Question("max", "model", (2.5,))
    certificate = chain_certificate(model, question)
    verdict = recurl.verify(model, certificate)
    assert verdict.exit_values == {"out": 2.5}
    assert "greatest expected total reward (exits: out worth 2.5)" in str(verdict)


def never_ends() -> recurl.RMDP:
    """Calls itself forever; what follows a call leaves by the other exit."""
    builder = recurl.Builder("never").component("A", entries="in", exits=["x", "y"]).box("a", "A")
    builder.at("in").action("go").to("a")
    builder.at("a.x").action("go").to("y").at("a.y").action("go").to("x")
    return builder.build()


@given(
    st.lists(st.integers(0, 40), min_size=6, max_size=6),
    st.lists(st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]), min_size=2, max_size=2),
)
def test_certain_exits_of_a_run_without_end_prove_nothing(
    steps: list[int], sure: list[float]
) -> None:
    # p = (1/2, 1/2) everywhere satisfies the inequalities of reach, as nothing is ever reached.
    model = never_ends()
    reach = [sure if model.local_name(v) in ("in", "a.in") else [0.0, 0.0] for v in range(6)]
    reach[model.find("A.x")], reach[model.find("A.y")] = [1.0, 0.0], [0.0, 1.0]
    reach[model.find("A.a.x")], reach[model.find("A.a.y")] = [0.0, 1.0], [1.0, 0.0]
    d = [float(x) for x in steps]
    with pytest.raises(CertificateError, match="not proved"):
        recurl.verify(model, bare(model, d, reach))


def bare(
    model: recurl.RMDP, steps: list[float], reach: list[list[float]] | None = None
) -> Certificate:
    """A certificate that claims no more than that all policies end."""
    return Certificate(
        model=model.fingerprint, objective="max", rewards="none", exit_values=[], lower=None,
        upper=None, points=[], pieces=[], steps=steps, start_points=[], start_pieces=[],
        reach=reach,
    )  # fmt: skip


def test_certain_exits_prove_what_steps_alone_cannot() -> None:
    model = recurl.zoo.and_or()
    certificate = recurl.solve(model).certificate
    proved = recurl.verify(model, bare(model, certificate.steps, certificate.reach))
    assert proved.steps == pytest.approx(10.5497035508)
    with pytest.raises(CertificateError, match=r"steps at and\.left\.in"):
        recurl.verify(model, bare(model, certificate.steps))


def test_steps_below_zero_prove_nothing() -> None:
    # A component that calls itself twice forever satisfies the other inequalities with d < 0.
    model = (
        recurl.Builder("endless")
        .component("A", entries="in", exits="out")
        .box("one", "A")
        .box("two", "A")
        .at("in")
        .action("go")
        .to("one")
        .at("one.out")
        .action("go")
        .to("two")
        .at("two.out")
        .action("go")
        .to("out")
        .build()
    )
    names = ["in", "out", "one.in", "two.in", "one.out", "two.out"]
    steps = dict.fromkeys(names, 0.0)
    steps |= {"two.out": 1.0, "in": -4.0, "two.in": -3.0, "one.out": -2.0, "one.in": -6.0}
    t = model.tables
    d = [steps[model.local_name(v)] for v in range(t.n_vertices)]
    with pytest.raises(CertificateError, match="steps at A"):
        recurl.verify(model, bare(model, d))


def _stay_or_leave(reward: int) -> recurl.RMDP:
    builder = recurl.Builder("m").component("A", entries="in", exits=["x", "y"])
    builder.at("in").action("go").to("n", 0.5).to("x", 0.5).action("up", reward=reward).to("n")
    return builder.at("n").action("go").to("y").build()


@pytest.mark.parametrize(
    ("objective", "end", "clear", "narrow"),
    [("max", "upper", 1.0, 0.9), ("min", "lower", 0.0, 0.1)],
)
def test_a_claim_that_is_clear_needs_no_better_bounds(
    objective: str, end: str, clear: float, narrow: float
) -> None:
    model = _stay_or_leave(0)
    found = recurl.solve(model, "certified", of="exit:y", objective=objective).certificate
    more = [1, 0, 0, 1]  # not at the exits
    loose = [[x + y for x, y in zip(p.values, more, strict=True)] for p in found.points]
    points = [msgspec.structs.replace(found.points[i], values=x) for i, x in enumerate(loose)]
    weaker = msgspec.structs.replace(found, points=points, **{end: clear})
    assert getattr(recurl.verify(model, weaker), end) == clear
    with pytest.raises(CertificateError, match=f"the {end} claim"):
        recurl.verify(model, msgspec.structs.replace(weaker, **{end: narrow}))


@pytest.mark.parametrize("reward", [-1, 1])
def test_a_claim_is_not_clear_with_rewards_of_that_sign(reward: int) -> None:
    model = _stay_or_leave(reward)
    objective = "max" if reward > 0 else "min"
    found = recurl.solve(model, "certified", objective=objective).certificate
    end = "upper" if reward > 0 else "lower"
    with pytest.raises(CertificateError, match=f"the {end} claim"):
        recurl.verify(model, msgspec.structs.replace(found, **{end: 0.0}))
