"""Fixed points of maps between vectors, by Anderson acceleration.

The maps here are nearly linear with one or few slow modes (how many calls a call leads to), which
a handful of past differences takes out. Nothing rests on it: what comes of it is checked.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from recurl.model.tables import Floats

_MEMORY = 8
_PATIENCE = 25
_HOPELESS = 1e100


def fixed_point(
    step: Callable[[Floats], Floats], start: Floats, tolerance: float, limit: int = 500
) -> tuple[Floats, int]:
    """A vector x with step(x) close to x, and how often ``step`` was taken.

    Example:
        >>> fixed_point(lambda x: 0.999 * x + 1, np.zeros(1), 1e-9)[0].round(6)
        array([1000.])
    """
    x = start
    past: list[tuple[Floats, Floats]] = []
    best, least, since = x, np.inf, 0
    for count in range(1, limit + 1):
        new = step(x.reshape(start.shape))
        size = _distance(new, x.reshape(start.shape))
        since += 1
        if size < 0.9 * least:
            best, least, since = new, size, 0
        if size <= tolerance:
            return new, count
        if since > _PATIENCE or not size < _HOPELESS:
            break
        if size > 1e3 * least:
            past.clear()
            x = best.ravel()
            continue
        past.append((new.ravel(), new.ravel() - x.ravel()))
        del past[:-_MEMORY]
        x = _mix(past)
    return best, count


def plain_fixed_point(
    step: Callable[[Floats], Floats], start: Floats, tolerance: float, limit: int = 5000
) -> tuple[Floats, int]:
    """The same without acceleration: slow, but a monotone map from below does not run away.

    Example:
        >>> plain_fixed_point(lambda x: 0.5 * x + 1, np.zeros(1), 1e-9)[0].round(6)
        array([2.])
    """
    x = start
    for count in range(1, limit + 1):
        new = step(x)
        size = _distance(new, x)
        if size <= tolerance or not size < _HOPELESS:
            return new, count
        x = new
    return x, limit


def _distance(a: Floats, b: Floats) -> float:
    """The greatest difference; nan where a map that runs away gives inf - inf."""
    with np.errstate(invalid="ignore", over="ignore"):
        return float(np.abs(a - b).max(initial=0.0))


def _mix(past: list[tuple[Floats, Floats]]) -> Floats:
    """The affine combination of past images with the least combined residual."""
    image, residual = past[-1]
    if len(past) == 1:
        return image
    images = np.stack([image - g for g, _ in past[:-1]], axis=1)
    residuals = np.stack([residual - r for _, r in past[:-1]], axis=1)
    size = np.sqrt((residuals * residuals).sum(axis=0)) + 1e-300
    residuals /= size
    gram = residuals.T @ residuals
    gram[np.diag_indices_from(gram)] += 1e-13
    weights = np.linalg.solve(gram, residuals.T @ residual)
    mixed: Floats = image - images @ (weights / size)
    return mixed
