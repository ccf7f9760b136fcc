from __future__ import annotations

from itertools import pairwise, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recurl.automaton.guards import Guard, overlap, parse_guard

CASES = [{label for label, on in zip("abc", bits, strict=True) if on}
         for bits in product([0, 1], repeat=3)]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("a", lambda t: "a" in t),
        ("!a&b", lambda t: "a" not in t and "b" in t),
        ("a&b|c", lambda t: ("a" in t and "b" in t) or "c" in t),
        ("a & (b | c)", lambda t: "a" in t and ("b" in t or "c" in t)),
        ("not a or b and c", lambda t: "a" not in t or ("b" in t and "c" in t)),
        ("!!a", lambda t: "a" in t),
        ("True", lambda t: True),
        ("false | !(a | b)", lambda t: not ({"a", "b"} & t)),
        ("'a' & \"b\"", lambda t: {"a", "b"} <= t),
    ],
)
def test_a_formula_means_what_it_says(text: str, meaning) -> None:  # type: ignore[no-untyped-def]
    guard = parse_guard(text)
    assert [guard.holds(case) for case in CASES] == [meaning(case) for case in CASES]


@pytest.mark.parametrize("text", ["", "a &", "& a", "(a", "a)", "a b", "!", "'a", "a | | b", "()"])
def test_what_is_no_formula_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a formula"):
        parse_guard(text)


def test_nothing_in_a_guard_runs_and_depth_is_limited() -> None:
    assert parse_guard("__import__") == Guard("label", "__import__")
    with pytest.raises(ValueError, match="nested too deep"):
        parse_guard("(" * 200 + "a" + ")" * 200)


GUARDS = st.recursive(
    st.sampled_from([Guard("label", x) for x in ("a", "b", "c", "odd name", "(", "or")]),
    lambda inner: st.one_of(
        st.builds(lambda g: Guard("not", parts=(g,)), inner),
        st.builds(lambda k, g, h: Guard(k, parts=(g, h)), st.sampled_from(["and", "or"]), inner,
                  inner),
    ),
    max_leaves=6,
)  # fmt: skip


@given(GUARDS)
def test_a_guard_is_read_back_from_its_text(guard: Guard) -> None:
    again = parse_guard(str(guard))
    labels = sorted(guard.labels)
    for bits in product([0, 1], repeat=len(labels)):
        case = {label for label, on in zip(labels, bits, strict=True) if on}
        assert again.holds(case) == guard.holds(case)


@given(GUARDS, GUARDS)
def test_overlaps_are_found_exactly(first: Guard, second: Guard) -> None:
    found = overlap(first, second)
    labels = sorted(first.labels | second.labels)
    cases = [
        {label for label, on in zip(labels, bits, strict=True) if on}
        for bits in product([0, 1], repeat=len(labels))
    ]
    both = [case for case in cases if first.holds(case) and second.holds(case)]
    assert (found is None) == (not both)
    assert found is None or (first.holds(found) and second.holds(found))


@given(GUARDS, GUARDS)
def test_overlaps_with_exclusive_labels_are_found_exactly(first: Guard, second: Guard) -> None:
    labels = sorted(first.labels | second.labels)
    groups = [set(labels[:2]), set(labels[1:3])]
    found = overlap(first, second, groups)
    cases = [
        {label for label, on in zip(labels, bits, strict=True) if on}
        for bits in product([0, 1], repeat=len(labels))
    ]
    allowed = [case for case in cases if all(len(case & group) < 2 for group in groups)]
    assert (found is None) == (not any(first.holds(c) and second.holds(c) for c in allowed))
    assert found is None or found in [c for c in allowed if first.holds(c) and second.holds(c)]


def test_exclusive_labels_do_not_overlap() -> None:
    assert overlap(parse_guard("a"), parse_guard("b")) == {"a", "b"}
    assert overlap(parse_guard("a"), parse_guard("b"), ["ab"]) is None
    assert overlap(parse_guard("''"), parse_guard("a | b")) in ({"", "a"}, {"", "b"})


def test_guards_with_many_labels_are_compared() -> None:
    names = [f"x{i}" for i in range(200)]
    none, some = parse_guard(" & !".join(["True", *names])), parse_guard(" | ".join(names))
    assert overlap(none, some) is None
    chain = parse_guard(" & ".join(f"(!{a} | {b})" for a, b in pairwise(names)))
    assert overlap(chain, parse_guard("x0 & !x199")) is None
    assert overlap(chain, parse_guard("x0")) == set(names)


def test_guards_that_would_take_too_long_are_refused() -> None:
    def odd(labels: list[str]) -> str:
        if len(labels) == 1:
            return labels[0]
        a, b = odd(labels[: len(labels) // 2]), odd(labels[len(labels) // 2 :])
        return f"({a} & !{b} | !{a} & {b})"

    text = odd([f"x{i}" for i in range(16)])
    with pytest.raises(ValueError, match="too complex to be compared"):
        overlap(parse_guard(text), parse_guard(f"!{text}"))
