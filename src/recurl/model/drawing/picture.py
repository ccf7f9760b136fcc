"""Pictures: charts with a place for everything, as shapes that any canvas can draw."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from recurl.model.drawing.chart import Arrow, Chart, Mark
from recurl.model.drawing.layered import Bezier, Edge, Placed, Point, Size, place

FONT, SMALL = 12.0, 10.5
"""Sizes of text, in pixels."""
LINE, PAD = 16.0, 8.0
LONGEST = 26
"""Characters of a name that are shown; the tooltip has all of it."""
MARGIN, TITLE = 16.0, 26.0
WIDEST = 1100.0
"""Charts stand side by side up to this width."""
_NARROW, _WIDE = "iljtfrI.,:;|!'()[] -", "mwMW@%"


class Rectangle(NamedTuple):
    """A rectangle with round corners: left, top, width, height, and its style."""

    x: float
    y: float
    width: float
    height: float
    style: str
    title: str = ""


class Text(NamedTuple):
    """A line of text at its baseline, and its style; ``anchor`` is start, middle or end."""

    x: float
    y: float
    text: str
    style: str
    anchor: str = "middle"
    title: str = ""


class Stroke(NamedTuple):
    """A curve of several pieces, with a head at its end unless it is plain, and its style."""

    curves: list[Bezier]
    style: str
    head: bool = True


class Picture(NamedTuple):
    """Shapes from back to front, and what they take up.

    Attributes:
        size: Width and height.
        shapes: Rectangles, lines and texts.
        marks: For each chart, by its key, the rectangle of every mark.
    """

    size: Size
    shapes: list[Rectangle | Stroke | Text]
    marks: dict[str, list[Rectangle]]


def text_width(text: str, size: float = FONT) -> float:
    """Width of a text in pixels, about: what a usual sans-serif font takes, rounded up.

    Example:
        >>> text_width("ill") < text_width("mmm")
        True
    """
    units = sum(
        0.36 if c in _NARROW else 0.95 if c in _WIDE else 0.62 if ord(c) < 0x2E80 else 1.05
        for c in text
    )
    return units * size


def shortened(text: str) -> str:
    """A name, cut in the middle if it is long."""
    half = LONGEST // 2
    return text if len(text) <= LONGEST else f"{text[: half - 1]}…{text[-half:]}"


def picture(charts: Sequence[Chart], caption: Sequence[str] = ()) -> Picture:
    """All charts on one sheet, the first one on top and the others in rows below it."""
    panels = [_Panel(chart) for chart in charts]
    shapes: list[Rectangle | Stroke | Text] = []
    marks: dict[str, list[Rectangle]] = {}
    x = y = MARGIN
    row_height, width = 0.0, 0.0
    for panel in panels:
        too_wide = x > MARGIN and x + panel.size.width > WIDEST
        if too_wide or (x > MARGIN and panels[0].key == "calls" and marks.keys() == {"calls"}):
            x, y, row_height = MARGIN, y + row_height + MARGIN, 0.0
        moved, rectangles = panel.drawn((x, y))
        shapes += moved
        marks[panel.key] = rectangles
        row_height, width = max(row_height, panel.size.height), max(width, x + panel.size.width)
        x += panel.size.width + MARGIN
    y += row_height
    for line in caption:
        y += LINE + 2
        shapes.append(Text(MARGIN, y + 2, line, "caption", "start"))
        width = max(width, MARGIN + text_width(line))
    return Picture(Size(width + MARGIN, y + MARGIN), shapes, marks)


class _Panel:
    """One chart, laid out."""

    def __init__(self, chart: Chart) -> None:
        self.key, self._chart = chart.key, chart
        self._sizes = [_size(mark) for mark in chart.marks]
        last = [i for i, mark in enumerate(chart.marks) if mark.kind == "exit"]
        edges = [self._edge(arrow) for arrow in chart.arrows]
        self._placed: Placed = place(self._sizes, edges, last)
        inner = self._placed.size
        head = max(text_width(chart.title, 14), text_width(chart.note, SMALL)) + 2 * PAD
        foot = LINE if chart.note else 0.0
        self.size = Size(
            max(inner.width + 2 * MARGIN + 16, head), TITLE + inner.height + foot + MARGIN
        )

    def _edge(self, arrow: Arrow) -> Edge:
        source, target = self._chart.marks[arrow.source], self._chart.marks[arrow.target]
        label = Size(text_width(arrow.label, SMALL) + 8, 13) if arrow.label else None
        return Edge(
            arrow.source,
            arrow.target,
            _port_y(source, len(source.returns), arrow.source_port),
            _port_y(target, len(target.calls), arrow.target_port),
            label,
        )

    def drawn(self, at: Point) -> tuple[list[Rectangle | Stroke | Text], list[Rectangle]]:
        """The shapes of the chart with its corner at a point, and the rectangles of its marks."""
        x, y = at
        chart, (width, height) = self._chart, self.size
        shapes: list[Rectangle | Stroke | Text] = [
            Rectangle(x, y, width, height, "panel"),
            Text(x + PAD, y + 18, chart.title, "title", "start"),
        ]
        if chart.note:
            shapes.append(Text(x + PAD, y + height - 7, chart.note, "note", "start"))
        left = (width - self._placed.size.width) / 2
        offset = x + left, y + TITLE
        for arrow, route in zip(chart.arrows, self._placed.routes, strict=True):
            shapes.append(Stroke([_moved(c, offset) for c in route], f"edge {arrow.taken}".strip()))
        shapes += self._labels(offset)
        rectangles = []
        for mark, size, centre in zip(chart.marks, self._sizes, self._placed.centres, strict=True):
            middle = centre[0] + offset[0], centre[1] + offset[1]
            drawn = _mark_shapes(mark, size, middle)
            rectangles.append(drawn[0])
            shapes += [*_borders(mark, drawn[0], (x, x + width)), *drawn]
        return shapes, [r for r in rectangles if isinstance(r, Rectangle)]

    def _labels(self, offset: Point) -> list[Rectangle | Text]:
        shapes: list[Rectangle | Text] = []
        for arrow, centre in zip(self._chart.arrows, self._placed.labels, strict=True):
            if centre is not None:
                x, y = centre[0] + offset[0], centre[1] + offset[1]
                width = text_width(arrow.label, SMALL) + 4
                shapes.append(Rectangle(x - width / 2, y - 7, width, 14, "gap"))
                shapes.append(Text(x, y + 4, arrow.label, f"label {arrow.taken}".strip()))
        return shapes


def _moved(curve: Bezier, by: Point) -> Bezier:
    a, b, c, d = ((x + by[0], y + by[1]) for x, y in curve)
    return a, b, c, d


def _rows(mark: Mark) -> int:
    return max(len(mark.calls), len(mark.returns))


def _size(mark: Mark) -> Size:
    """Width and height of a mark."""
    text = text_width(shortened(mark.text))
    if mark.kind == "box":
        sides = [
            max((text_width(p.text, SMALL) for p in ports), default=0.0) for ports in mark[4:6]
        ]
        head = max(text, text_width(_calls(mark), SMALL))
        return Size(max(head, sum(sides) + 18) + 2 * PAD, 2 * LINE + 6 + LINE * _rows(mark) + 2)
    if mark.kind == "action":
        return Size(text_width(_pill(mark), SMALL) + 2 * PAD, 18)
    if mark.kind == "component":
        return Size(max(text, text_width(mark.note, SMALL)) + 2 * PAD, 38)
    return Size(max(text + 2 * PAD, 30), 22)


def _pill(mark: Mark) -> str:
    """The text on an action: its name and its reward."""
    return f"{shortened(mark.text)}  {mark.note}" if mark.note else shortened(mark.text)


def _calls(mark: Mark) -> str:
    return f"calls {shortened(mark.note)}"


def _port_y(mark: Mark, ports: int, port: int) -> float:
    """How far below the middle of a mark a port is."""
    if mark.kind != "box" or not ports:
        return 0.0
    top = 2 * LINE + 6 - _size(mark).height / 2
    return top + LINE * (port + 0.5 + (_rows(mark) - ports) / 2)


def _mark_shapes(mark: Mark, size: Size, middle: Point) -> list[Rectangle | Stroke | Text]:
    (x, y), (width, height) = middle, size
    style = " ".join(w for w in (mark.kind, mark.taken, "start" if mark.bold else "") if w)
    shapes: list[Rectangle | Stroke | Text] = [
        Rectangle(x - width / 2, y - height / 2, width, height, style, mark.title)
    ]
    if mark.kind == "box":
        top = y - height / 2
        shapes.append(Text(x, top + 15, shortened(mark.text), "name", title=mark.title))
        shapes.append(Text(x, top + 29, _calls(mark), "note"))
        return [*shapes, *_port_texts(mark, middle, width)]
    if mark.kind == "component":
        shapes.append(Text(x, y - 3, shortened(mark.text), "name", title=mark.title))
        shapes.append(Text(x, y + 12, mark.note, "note"))
    elif mark.kind == "action":
        shapes.append(Text(x, y + 4, _pill(mark), f"pill {mark.taken}".strip(), title=mark.title))
    else:
        shapes.append(Text(x, y + 4, shortened(mark.text), "name", title=mark.title))
    return shapes


def _port_texts(mark: Mark, middle: Point, width: float) -> list[Text]:
    x, y = middle
    texts = []
    for side, ports in ((-1, mark.calls), (1, mark.returns)):
        for i, port in enumerate(ports):
            at = x + side * (width / 2 - 6), y + _port_y(mark, len(ports), i) + 4
            anchor = "start" if side < 0 else "end"
            texts.append(Text(*at, port.text, "port", anchor, port.title))
    return texts


def _borders(
    mark: Mark, box: Rectangle | Stroke | Text, sides: tuple[float, float]
) -> list[Stroke]:
    """The arrow that leads into an entry from the border, and out of an exit to it."""
    if not isinstance(box, Rectangle) or mark.kind not in ("entry", "exit"):
        return []
    y = box.y + box.height / 2
    right = box.x + box.width
    a, b = ((sides[0], y), (box.x, y)) if mark.kind == "entry" else ((right, y), (sides[1], y))
    return [Stroke([(a, a, b, b)], "border")]
