"""What the effect computes, on numpy arrays alone: strokes in, labels out."""

import numpy as np

SEGMENT, GROWCUT = "segment", "growcut"
METHODS = {SEGMENT: "Clean masks", GROWCUT: "GrowCut, live"}


class Live:
    """Labels of strokes over an image, one preview after the other.

    GrowCut goes on from the last preview while image, mask, spacing and device stay: it takes the time
    of what has changed, and gives the labels of a fresh growth.
    """

    def __init__(self):
        self.grower, self.image, self.mask, self.about = None, None, None, None

    def forget(self):
        """Give back the memory."""
        if self.grower is not None:
            self.grower.close()
        self.__init__()

    def grow(self, values, strokes, spacing, method=SEGMENT, mask=None, device="auto"):
        """Grow strokes over an image.

        values   (z, y, x), any kind of number
        strokes  the same shape: labels from 1, 0 is unknown
        spacing  mm along z, y, x
        method   "segment", which takes the strokes' appearance into account and cleans up, or "growcut"
        mask     the same shape; where it is 0 nothing grows. None: everywhere
        device   "auto", "cpu", "cuda"

        Returns labels of the strokes' shape and type; what is not reached is 0. Raises lobule.Error.
        """
        mask = None if mask is None else np.asarray(mask) != 0
        if method == GROWCUT:
            labels = self._go_on(values, strokes, spacing, mask, device)
        else:
            self.forget()
            labels = segment(values, strokes, spacing, mask, device)
        return labels.astype(strokes.dtype)

    def _go_on(self, values, strokes, spacing, mask, device):
        import lobule

        about = (tuple(spacing), device, 255 if strokes.max() <= 255 else 32767)
        if not (about == self.about and same(values, self.image) and same(mask, self.mask)):
            self.forget()
            self.image, self.mask, self.about = np.array(values), mask, about
            self.grower = lobule.Grower(self.image, about[2], mask=mask, spacing=about[0], device=device)
        self.grower.seeds[:] = strokes
        return self.grower.grow()


def same(one, other):
    if one is None or other is None:
        return one is other
    return one.dtype == other.dtype and np.array_equal(one, other)


def segment(values, strokes, spacing, mask, device):
    """Clean masks, the background as a segment like the others."""
    import lobule

    told = {}
    drawn = np.ascontiguousarray(strokes).astype(np.int32)
    labels = lobule.segment(values, drawn, spacing=spacing, device=device, report=told)
    labels = np.where(labels == 0, told["chosen"]["background"], labels)
    return labels if mask is None else np.where(mask, labels, drawn)
