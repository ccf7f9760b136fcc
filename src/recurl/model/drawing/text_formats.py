"""Charts as text that other programs draw: Mermaid and Graphviz' dot."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from recurl.model.drawing.chart import Arrow, Chart, Mark


def mermaid_text(charts: Sequence[Chart]) -> str:
    """The charts as a Mermaid flowchart, each a subgraph."""
    lines = ["flowchart LR"]
    taken: list[str] = []
    for number, chart in enumerate(charts):
        lines.append(f'  subgraph p{number}["{_quoted(_titled(chart))}"]')
        for i, mark in enumerate(chart.marks):
            lines += (f"    {line}" for line in _mermaid_mark(f"p{number}m{i}", mark))
            taken += [f"p{number}m{i}"] if mark.taken else []
        lines.append("  end")
        lines += (f"  {_mermaid_arrow(chart, number, arrow)}" for arrow in chart.arrows)
    if taken:
        lines.append("  classDef taken fill:#b84a00,color:#ffffff,stroke:#b84a00")
        lines.append(f"  class {','.join(taken)} taken")
    return "\n".join(lines) + "\n"


def _titled(chart: Chart) -> str:
    return f"{chart.title} ({chart.note})" if chart.note else chart.title


def _mermaid_mark(key: str, mark: Mark) -> Iterator[str]:
    if mark.kind == "box":
        yield f'subgraph {key}["{_quoted(_worded(mark))}"]'
        for side, ports in (("c", mark.calls), ("r", mark.returns)):
            yield from (f'  {key}{side}{i}["{_quoted(p.text)}"]' for i, p in enumerate(ports))
        yield "end"
        return
    opening, closing = {"action": ("([", "])"), "exit": ("[[", "]]"), "component": ("[", "]")}.get(
        mark.kind, ("(", ")")
    )
    yield f'{key}{opening}"{_quoted(_worded(mark))}"{closing}'


def _worded(mark: Mark) -> str:
    """The text on a mark, in one line."""
    if mark.kind == "box":
        return f"{mark.text} calls {mark.note}"
    return f"{mark.text}, {mark.note}" if mark.note else mark.text


def _mermaid_arrow(chart: Chart, number: int, arrow: Arrow) -> str:
    source, target = f"p{number}m{arrow.source}", f"p{number}m{arrow.target}"
    source += f"r{arrow.source_port}" if chart.marks[arrow.source].returns else ""
    target += f"c{arrow.target_port}" if chart.marks[arrow.target].calls else ""
    line = {"always": "==>", "sometimes": "-.->"}.get(arrow.taken, "-->")
    label = f'|"{_quoted(arrow.label)}"|' if arrow.label else ""
    return f"{source} {line}{label} {target}"


def _quoted(text: str) -> str:
    """Text inside quotes of Mermaid, where only entities stand for special characters."""
    return "".join(c if c.isalnum() or c in " _-+.,:/()=" else f"#{ord(c)};" for c in text)


def dot_text(charts: Sequence[Chart], name: str) -> str:
    """The charts as a graph in Graphviz' language, each a cluster."""
    lines = [f"digraph {_dot(name)} {{", "  rankdir=LR;", "  node [fontsize=11, shape=box];"]
    for number, chart in enumerate(charts):
        lines += [f"  subgraph cluster_{number} {{", f"    label={_dot(_titled(chart))};"]
        for i, mark in enumerate(chart.marks):
            lines.append(f"    p{number}m{i} [{_dot_mark(mark)}];")
        lines.append("  }")
        lines += (f"  {_dot_arrow(chart, number, arrow)};" for arrow in chart.arrows)
    return "\n".join([*lines, "}"]) + "\n"


def _dot_mark(mark: Mark) -> str:
    if mark.kind == "box":
        calls = "|".join(f"<c{i}> {_record(p.text)}" for i, p in enumerate(mark.calls))
        returns = "|".join(f"<r{i}> {_record(p.text)}" for i, p in enumerate(mark.returns))
        return f'shape=record, label="{{{{{calls}}}|{_record(_worded(mark))}|{{{returns}}}}}"'
    shapes = {"action": "shape=box, style=rounded", "entry": "shape=oval", "node": "shape=oval"}
    shapes |= {"exit": "shape=oval, peripheries=2", "more": "shape=box, style=dashed"}
    filled = ', style="rounded,filled", fillcolor="#b84a00", fontcolor=white'
    shape = shapes.get(mark.kind, "shape=box") + (filled if mark.taken == "always" else "")
    return f"{shape}, label={_dot(_worded(mark))}"


def _dot_arrow(chart: Chart, number: int, arrow: Arrow) -> str:
    source, target = f"p{number}m{arrow.source}", f"p{number}m{arrow.target}"
    source += f":r{arrow.source_port}:e" if chart.marks[arrow.source].returns else ""
    target += f":c{arrow.target_port}:w" if chart.marks[arrow.target].calls else ""
    settings = [f"label={_dot(arrow.label)}"] if arrow.label else []
    settings += ['color="#b84a00", penwidth=2'] if arrow.taken else []
    settings += ["style=dashed"] if arrow.taken == "sometimes" else []
    return f"{source} -> {target}" + (f" [{', '.join(settings)}]" if settings else "")


def _dot(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _record(text: str) -> str:
    """Text inside a record label, where more characters are special."""
    return "".join(f"\\{c}" if c in '{}|<> "\\' else c for c in text)
