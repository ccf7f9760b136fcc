"""Pictures of models: charts of components and calls, laid out in layers, as SVG and as text."""

from __future__ import annotations

from recurl.model.drawing.drawing import Drawing, draw_model

__all__ = ["Drawing", "draw_model"]
