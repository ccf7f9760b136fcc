from __future__ import annotations

import re

import recurl
from recurl.zoo import registry

NODE = re.compile(r'^\s+(p\d+m\d+(?:[cr]\d+)?)[(\[]+"([^"\\]*)"[)\]]+$')
ARROW = re.compile(r'^  (\S+) (-->|==>|-\.->)(\|"[^"]*"\|)? (\S+)$')
OTHER = re.compile(r'^(flowchart LR|\s+subgraph p\d+(m\d+)?\["[^"]*"\]|\s+end|  class.*)$')


def test_mermaid_lines_are_nodes_arrows_and_subgraphs() -> None:
    for name in registry.names():
        lines = registry.make(name).draw().mermaid.splitlines()
        known = {found[1] for line in lines if (found := NODE.match(line))}
        for line in lines:
            arrow = ARROW.match(line)
            assert arrow or NODE.match(line) or OTHER.match(line), line
            assert arrow is None or {arrow[1], arrow[4]} <= known, line
        ends = sum(line.strip() == "end" for line in lines)
        assert ends == sum(line.strip().startswith("subgraph") for line in lines)


def test_mermaid_shows_what_the_policy_takes() -> None:
    model = recurl.zoo.cloud()
    text = model.draw(recurl.solve(model).policy).mermaid
    assert "==>" in text
    assert re.search(r"class p\d+m\d+.* taken", text)
    assert '["b4 calls H"]' in text


def odd() -> recurl.RMDP:
    return (
        recurl.Builder('a "quoted" model')
        .component("A|B", entries="<in>", exits="{out}").box('b"x', "A|B")
        .at("<in>").action('go "on" \\ {now}').to('b"x.<in>', 0.25).to("{out}", 0.75)
        .at('b"x.{out}').action("up").to("{out}")
        .build()
    )  # fmt: skip


def test_odd_names_cannot_break_the_text() -> None:
    text = odd().draw().mermaid
    assert "#34;on#34; #92; #123;now#125;" in text
    dot = odd().draw().dot
    assert dot.startswith('digraph "a \\"quoted\\" model" {')
    assert 'label="go \\"on\\" \\\\ {now}, 0"' in dot
    assert "<c0> \\<in\\>" in dot


def test_dot_braces_and_quotes_are_balanced() -> None:
    for name in registry.names():
        dot = registry.make(name).draw().dot
        bare = re.sub(r'"(\\.|[^"\\])*"', '""', dot)
        assert bare.count("{") == bare.count("}")
        assert '"' not in bare.replace('""', "")
        for line in bare.splitlines():
            assert re.search(r"[{};]$", line), line
