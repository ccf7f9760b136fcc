"""A run as pixels: the grid or the component that it is in, next to the call stack."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from recurl.env.rendering import frame_line, place_line, step_line
from recurl.model.cells import DIRECTIONS, WALL, Cells, Place, map_letters
from recurl.model.drawing.component_chart import component_chart, fits
from recurl.model.drawing.picture import Picture, Rectangle, Stroke, Text, picture

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageDraw import ImageDraw
    from PIL.ImageFont import FreeTypeFont

    from recurl.model.drawing.chart import Chart
    from recurl.model.rmdp import RMDP
    from recurl.simulation.walk import Step, Walk

WIDTH, HEIGHT = 960, 544
"""Pixels of a frame; multiples of 16, as video codecs want them."""
_STACK, _HEAD, _FOOT, _EDGE = 250, 44, 40, 16
_CALLS = 12
_WHOLE, _PART = 60, 15
"""Most actions of a component that is drawn as a whole, and of the part of one that is not."""
_SMALLEST = 0.62
"""A component that would have to be drawn smaller is drawn in part."""
_SHARPNESS = 2
_KEPT = 64
"""Images of parts of components that are kept."""

INK, SOFT, LINE, EDGE = "#1b1f24", "#57606a", "#8c959f", "#d0d7de"
PAPER, WASH, BLUE, PALE, MARK = "#ffffff", "#f6f8fa", "#0072b2", "#e7f2f9", "#d55e00"
_FILL = {"panel": WASH, "gap": WASH, "box": PALE, "entry": "#e6f4ec", "exit": "#fdeee4"}
_STROKE = {"panel": EDGE, "box": BLUE, "action": EDGE, "gap": WASH}


class _Shown(NamedTuple):
    """A component as an image, and where its vertices are on it."""

    image: Image
    spots: dict[int, tuple[float, float, float, float]]


class Frames:
    """Frames of the runs of one model, all of the same size.

    Args:
        model: The model.
        maps: Text maps of a gridworld, to be shown below the run: one for all components, or by
            name of component.

    Example:
        >>> import numpy as np, recurl
        >>> walk = recurl.Walk(recurl.zoo.cloud(), np.random.default_rng(0))
        >>> frame = Frames(walk.model).frame(walk, None)
        >>> frame.shape, frame.dtype.name
        ((544, 960, 3), 'uint8')
    """

    def __init__(self, model: RMDP, maps: str | Mapping[str, str] | None = None) -> None:
        self._model, self._maps, self._cells = model, maps, Cells.of(model)
        self._wholes: dict[int, _Shown | None] = {}
        self._parts: dict[int, _Shown] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return Frames, (self._model, self._maps)

    def frame(self, walk: Walk, last: Step | None) -> npt.NDArray[np.uint8]:
        """Where a walk stands, and what it did last."""
        from PIL import Image, ImageDraw

        image = Image.new("RGB", (WIDTH, HEIGHT), PAPER)
        canvas = ImageDraw.Draw(image)
        self._write(canvas, walk, last)
        self._draw_stack(canvas, walk)
        vertex = last.vertex if walk.ended and last is not None else walk.vertex
        if self._cells is not None and self._cells.place(vertex) is not None:
            self._draw_grid(canvas, self._cells, vertex, last)
        else:
            self._draw_component(image, canvas, vertex)
        return np.asarray(image, np.uint8).copy()

    def _write(self, canvas: ImageDraw, walk: Walk, last: Step | None) -> None:
        name = f"{self._model.name}: {self._where(walk)}"
        canvas.text((_EDGE, 22), _cut(name, 100), INK, _font(17), "lm")
        if last is not None:
            line = step_line(self._model, last)
            canvas.text((_EDGE, HEIGHT - 20), _cut(line, 120), SOFT, _font(14), "lm")

    def _where(self, walk: Walk) -> str:
        """Where a walk stands, on a grid by row and column."""
        if walk.ended or self._cells is None or self._cells.place(walk.vertex) is None:
            return "the run is over" if walk.ended else place_line(walk)
        component = self._model.names.components[self._model.tables.vertex_component[walk.vertex]]
        return f"{component}  {self._cells.words(walk.vertex)}"

    def _draw_stack(self, canvas: ImageDraw, walk: Walk) -> None:
        """The pending calls, the innermost on top."""
        calls = [frame_line(self._model, box) for box in walk.stack]
        component = self._model.tables.vertex_component[walk.vertex]
        running = [] if walk.ended else [f"{self._model.names.components[component]}  runs"]
        hidden = max(0, len(calls) - _CALLS)
        rows = [f"{hidden} more"] if hidden else []
        rows += [*calls[hidden:], *running]
        bottom = HEIGHT - _FOOT - 8
        canvas.text((_EDGE, _HEAD + 8), f"call stack: {len(calls)} pending", SOFT, _font(13), "lm")
        for i, text in enumerate(rows):
            y = bottom - 30 * (i + 1)
            now = i == len(rows) - 1 and not walk.ended
            box = (_EDGE, y, _EDGE + _STACK - 30, y + 26)
            canvas.rounded_rectangle(box, 5, BLUE if now else PALE, BLUE)
            colour = PAPER if now else INK
            canvas.text((_EDGE + 10, y + 13), _cut(text, 28), colour, _font(13), "lm")

    def _draw_grid(self, canvas: ImageDraw, cells: Cells, vertex: int, last: Step | None) -> None:
        """The cells, what the map shows in them, and where the run stands."""
        rows, columns = cells.shape
        component = self._model.names.components[self._model.tables.vertex_component[vertex]]
        letters = map_letters(self._maps, component)
        seen = cells.seen()
        side = min((WIDTH - _STACK - 2 * _EDGE) / columns, (HEIGHT - _HEAD - _FOOT - 8) / rows, 110)
        left = _STACK + (WIDTH - _STACK - side * columns) / 2
        top = _HEAD + (HEIGHT - _HEAD - _FOOT - side * rows) / 2

        def box(place: Place) -> tuple[float, float, float, float]:
            x, y = left + side * place[1], top + side * place[0]
            return x, y, x + side, y + side

        for row in range(rows):
            for column in range(columns):
                letter = letters.get((row, column), "." if (row, column) in seen else WALL)
                fill = SOFT if letter == WALL else WASH
                canvas.rectangle(box((row, column)), fill, LINE)
                if letter not in (WALL, ".", "o"):
                    x, y, *_ = box((row, column))
                    canvas.text((x + 5, y + 4), letter, SOFT, _font(18), "la")
        for name, place in cells.marks(vertex).items():
            x, _, _, bottom = box(place)
            canvas.text((x + 5, bottom - 4), name, SOFT, _font(13), "ls")
        self._draw_agent(canvas, cells, vertex, last, box)

    def _draw_agent(
        self, canvas: ImageDraw, cells: Cells, vertex: int, last: Step | None, box: Any
    ) -> None:
        """A disc where the run stands, with a pointer if it has just moved."""
        place = cells.place(vertex)
        assert place is not None
        x, y, right, bottom = box(place)
        inset = (right - x) * 0.3
        canvas.ellipse((x + inset, y + inset, right - inset, bottom - inset), MARK, PAPER, 2)
        action = "" if last is None else self._model.action_names(last.vertex)[last.action]
        down, across = DIRECTIONS.get(action, (0, 0))
        if down or across:
            middle, reach = ((x + right) / 2, (y + bottom) / 2), (right - x) * 0.42
            tip = middle[0] + across * reach, middle[1] + down * reach
            canvas.line([middle, tip], INK, 3)

    def _draw_component(self, image: Image, canvas: ImageDraw, vertex: int) -> None:
        shown = self._component(vertex)
        left = _STACK + (WIDTH - _STACK - shown.image.width) // 2
        top = _HEAD + (HEIGHT - _HEAD - _FOOT - shown.image.height) // 2
        image.paste(shown.image, (left, top))
        if vertex in shown.spots:
            x, y, width, height = shown.spots[vertex]
            box = left + x - 3, top + y - 3, left + x + width + 3, top + y + height + 3
            canvas.rounded_rectangle(box, 9, None, MARK, 3)

    def _component(self, vertex: int) -> _Shown:
        """The component of a vertex as an image, or the part of it around the vertex."""
        component = int(self._model.tables.vertex_component[vertex])
        if component not in self._wholes:
            self._wholes[component] = self._whole(component)
        whole = self._wholes[component]
        if whole is not None:
            return whole
        if vertex not in self._parts:
            if len(self._parts) >= _KEPT:
                self._parts.clear()
            chart = component_chart(self._model, component, {}, _PART, [vertex])
            self._parts[vertex] = _shown(chart, picture([chart]))
        return self._parts[vertex]

    def _whole(self, component: int) -> _Shown | None:
        """A whole component as an image; None if it is too large."""
        if not fits(self._model, component, _WHOLE):
            return None
        chart = component_chart(self._model, component, {}, _WHOLE)
        drawn = picture([chart])
        return _shown(chart, drawn) if _scale(drawn) >= _SMALLEST else None


def _shown(chart: Chart, drawn: Picture) -> _Shown:
    return _Shown(_rasterised(drawn, _scale(drawn)), _spots(chart, drawn))


def _scale(drawn: Picture) -> float:
    room = WIDTH - _STACK - 8, HEIGHT - _HEAD - _FOOT
    return min(1.25, room[0] / drawn.size.width, room[1] / drawn.size.height)


def _spots(chart: Chart, drawn: Picture) -> dict[int, tuple[float, float, float, float]]:
    """Where the vertices of a chart are in its image: left, top, width, height."""
    scale, boxes = _scale(drawn), drawn.marks[chart.key]
    ports = {shape.title: shape for shape in drawn.shapes if isinstance(shape, Text)}
    spots = {}
    for vertex, (mark, title) in chart.vertices.items():
        box = boxes[mark]
        area = box.x, box.y, box.width, box.height
        if chart.marks[mark].kind == "box" and title in ports:
            y = ports[title].y
            area = box.x + box.width * 0.4, y - 11, box.width * 0.6, 14
        x, y, width, height = area
        spots[vertex] = x * scale, y * scale, width * scale, height * scale
    return spots


def _rasterised(drawn: Picture, scale: float) -> Image:
    """A picture as an image, drawn larger and reduced, which makes lines smooth."""
    from PIL import Image, ImageDraw

    zoom = scale * _SHARPNESS
    width, height = (round(side * zoom) for side in drawn.size)
    image = Image.new("RGB", (width, height), PAPER)
    canvas = ImageDraw.Draw(image)
    for shape in drawn.shapes:
        _draw_shape(canvas, shape, zoom)
    size = max(1, width // _SHARPNESS), max(1, height // _SHARPNESS)
    return image.resize(size, Image.Resampling.BOX)


def _draw_shape(canvas: ImageDraw, shape: Rectangle | Stroke | Text, zoom: float) -> None:
    if isinstance(shape, Rectangle):
        kind = shape.style.split()[0]
        box = (shape.x, shape.y, shape.x + shape.width, shape.y + shape.height)
        fill, stroke = _FILL.get(kind, PAPER), _STROKE.get(kind, LINE)
        radius = zoom * min(10.0, shape.height / 2)
        canvas.rounded_rectangle([zoom * v for v in box], radius, fill, stroke, round(zoom))
    elif isinstance(shape, Text):
        small = shape.style.split()[0] in ("pill", "label", "port", "note")
        anchor = {"start": "ls", "middle": "ms", "end": "rs"}[shape.anchor]
        font = _font(round(zoom * (10.5 if small else 12)))
        canvas.text((zoom * shape.x, zoom * shape.y), shape.text, INK, font, anchor)
    else:
        points = [p for curve in shape.curves for p in _points(curve)]
        canvas.line([(zoom * x, zoom * y) for x, y in points], LINE, round(zoom), "curve")
        (x, y) = shape.curves[-1][-1]
        head = [(x, y), (x - 7, y - 3), (x - 7, y + 3)]
        canvas.polygon([(zoom * a, zoom * b) for a, b in head], LINE)


def _points(curve: Any) -> list[tuple[float, float]]:
    """Points along a Bezier curve."""
    t = np.linspace(0, 1, 12)[:, None]
    a, b, c, d = (np.array(point) for point in curve)
    line = (1 - t) ** 3 * a + 3 * (1 - t) ** 2 * t * b + 3 * (1 - t) * t**2 * c + t**3 * d
    return [(float(x), float(y)) for x, y in line]


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


@lru_cache
def _font(size: int) -> FreeTypeFont:
    """The font that comes with matplotlib, found without importing it."""
    from PIL import ImageFont

    spec = find_spec("matplotlib")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    folder = Path(spec.submodule_search_locations[0])
    return ImageFont.truetype(folder / "mpl-data" / "fonts" / "ttf" / "DejaVuSans.ttf", size)
