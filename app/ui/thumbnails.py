"""Thumbnails: images whose grey values are drawn in the text colour of the page."""

from __future__ import annotations

import base64
import io

import numpy as np


def strip(pictures: np.ndarray) -> str:
    """Return images (n, height, width) with values in [0, 1], side by side, as HTML of the class ``ink``."""
    row = np.concatenate([np.pad(p, ((0, 0), (0, 1))) for p in pictures], axis=1)[:, :-1]
    size = f"width:{3 * row.shape[1]}px;height:{3 * row.shape[0]}px"
    return f'<div class="ink" style="{size};mask-image:url(data:image/png;base64,{_png(row)})"></div>'


def _png(values: np.ndarray) -> str:
    """Return a PNG image in base64 whose opacity is ``values`` in [0, 1]; the page gives it the
    text colour."""
    from PIL import Image

    alpha = (255 * np.clip(values, 0.0, 1.0)).astype(np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(np.stack([np.zeros_like(alpha), alpha], axis=-1), "LA").save(buffer, "PNG")
    return base64.b64encode(buffer.getvalue()).decode()
