"""What the effect computes, on numpy arrays alone: strokes in, labels out."""

import numpy as np

SEGMENT, GROWCUT = "segment", "growcut"
METHODS = {SEGMENT: "Clean masks", GROWCUT: "GrowCut"}


def grow(values, strokes, spacing, method=SEGMENT, mask=None, device="auto"):
    """Grow strokes over an image.

    values   (z, y, x), any kind of number
    strokes  the same shape: labels from 1, 0 is unknown
    spacing  mm along z, y, x
    method   "segment", which takes the strokes' appearance into account and cleans up, or "growcut"
    mask     the same shape; where it is 0 nothing grows. None: everywhere
    device   "auto", "cpu", "cuda"

    Returns labels of the strokes' shape and type; what is not reached is 0. Raises lobule.Error.
    """
    import lobule

    drawn = np.ascontiguousarray(strokes).astype(np.int32)
    if method == GROWCUT:
        allowed = {} if mask is None else {"mask": np.ascontiguousarray(mask)}
        labels = lobule.growcut(values, drawn, spacing=spacing, device=device, **allowed)
    else:
        told = {}
        labels = lobule.segment(values, drawn, spacing=spacing, device=device, report=told)
        labels = np.where(labels == 0, told["chosen"]["background"], labels)  # a segment as the others
        if mask is not None:
            labels = np.where(np.asarray(mask) == 0, drawn, labels)
    return labels.astype(strokes.dtype)
