"""A picture as SVG, for light and dark surroundings."""

from __future__ import annotations

from html import escape

from recurl.model.drawing.picture import Picture, Rectangle, Stroke, Text

_STYLE = """
.recurl { --ink: #1b1f24; --soft: #57606a; --line: #8c959f; --paper: #ffffff; --panel: #f6f8fa;
  --edge: #d0d7de; --box: #0072b2; --boxfill: #e7f2f9; --entry: #e6f4ec; --exit: #fdeee4;
  --mark: #b84a00; --marktext: #ffffff;
  font-family: system-ui, "Segoe UI", "DejaVu Sans", sans-serif; }
@media (prefers-color-scheme: dark) { .recurl { --ink: #e6edf3; --soft: #9da7b1; --line: #768390;
  --paper: #0d1117; --panel: #161b22; --edge: #373e47; --box: #58a6d8; --boxfill: #12293a;
  --entry: #14301f; --exit: #3a2414; --mark: #f0883e; --marktext: #1b1005; } }
.recurl .sheet { fill: var(--paper); }
.recurl .panel { fill: var(--panel); stroke: var(--edge); }
.recurl .gap { fill: var(--panel); }
.recurl :is(.node, .entry, .exit, .action, .more) { fill: var(--paper); stroke: var(--line); }
.recurl .entry { fill: var(--entry); } .recurl .exit { fill: var(--exit); }
.recurl :is(.box, .component) { fill: var(--boxfill); stroke: var(--box); stroke-width: 1.4; }
.recurl .start { stroke: var(--ink); stroke-width: 2; }
.recurl .more { stroke-dasharray: 3 3; }
.recurl .action { stroke: var(--edge); }
.recurl rect.always { fill: var(--mark); stroke: var(--mark); }
.recurl rect.sometimes { stroke: var(--mark); stroke-width: 1.6; stroke-dasharray: 4 2; }
.recurl text { fill: var(--ink); font-size: 12px; }
.recurl text:is(.note, .label, .pill, .port) { font-size: 10.5px; }
.recurl text:is(.note, .caption) { fill: var(--soft); }
.recurl text.title { font-size: 14px; font-weight: 600; }
.recurl text.pill.always { fill: var(--marktext); font-weight: 600; }
.recurl path { fill: none; stroke: var(--line); stroke-width: 1.1; }
.recurl path.border { stroke: var(--soft); }
.recurl path:is(.always, .sometimes) { stroke: var(--mark); stroke-width: 1.8; }
.recurl path.sometimes { stroke-dasharray: 5 3; }
.recurl .head { fill: var(--line); stroke: none; } .recurl .head.taken { fill: var(--mark); }
"""
_ROUND = {"action": 9, "node": 11, "entry": 11, "exit": 11, "panel": 8, "box": 4, "component": 4}


def svg_text(picture: Picture, name: str) -> str:
    """The picture as the text of an SVG file; `name` is what screen readers call it."""
    width, height = picture.size
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="recurl" role="img" '
        f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'style="max-width: 100%; height: auto">',
        f"<title>{escape(name)}</title>",
        f"<style>{_STYLE}</style>",
        f"<defs>{_head('head', '')}{_head('taken', ' taken')}</defs>",
        f'<rect class="sheet" width="{width:.0f}" height="{height:.0f}"/>',
        *(_shape(shape) for shape in picture.shapes),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _head(name: str, style: str) -> str:
    return (
        f'<marker id="recurl-{name}" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" '
        f'markerHeight="7" markerUnits="userSpaceOnUse" orient="auto">'
        f'<path class="head{style}" d="M0,1 L10,5 L0,9 z"/></marker>'
    )


def _shape(shape: Rectangle | Stroke | Text) -> str:
    if isinstance(shape, Rectangle):
        return _rectangle(shape)
    return _line(shape) if isinstance(shape, Stroke) else _text(shape)


def _rectangle(shape: Rectangle) -> str:
    radius = _ROUND.get(shape.style.split()[0], 3)
    inside = f"<title>{escape(shape.title)}</title>" if shape.title else ""
    return (
        f'<rect class="{shape.style}" x="{shape.x:.1f}" y="{shape.y:.1f}" '
        f'width="{shape.width:.1f}" height="{shape.height:.1f}" rx="{radius}">{inside}</rect>'
    )


def _text(shape: Text) -> str:
    inside = f"<title>{escape(shape.title)}</title>" if shape.title else ""
    return (
        f'<text class="{shape.style}" x="{shape.x:.1f}" y="{shape.y:.1f}" '
        f'text-anchor="{shape.anchor}">{inside}{escape(shape.text)}</text>'
    )


def _line(shape: Stroke) -> str:
    if not shape.curves:
        return ""
    (x, y), *_ = shape.curves[0]
    parts = [f"M{x:.1f},{y:.1f}"]
    for _, b, c, d in shape.curves:
        parts.append(f"C{b[0]:.1f},{b[1]:.1f} {c[0]:.1f},{c[1]:.1f} {d[0]:.1f},{d[1]:.1f}")
    taken = "always" in shape.style or "sometimes" in shape.style
    head = f' marker-end="url(#recurl-{"taken" if taken else "head"})"' if shape.head else ""
    return f'<path class="{shape.style}" d="{" ".join(parts)}"{head}/>'
