"""What the effect computes, on numpy arrays alone: strokes in, labels and doubts out."""

import numpy as np

SEGMENT, GROWCUT = "segment", "growcut"
METHODS = {SEGMENT: "Clean masks", GROWCUT: "GrowCut"}
SLICES = 5  # that are suggested for further strokes


class Live:
    """Labels of strokes, which follow them as they are painted, erased and undone.

    After follow, method "growcut" has its labels; it goes on from those before. Method "segment" computes in a
    thread of its own, first a preview, then the final labels, then what is uncertain; the next follow
    cancels what is on its way. Both give the labels of a fresh run from the strokes that are there.
    """

    def __init__(self):
        self.job = self.image = self.mask = self.version = self.about = self.box = self.taken = None

    def forget(self):
        """Cancel, and give back the memory."""
        if self.job is not None:
            self.job.close()
        self.__init__()

    def follow(self, image, strokes, corner, spacing, method=SEGMENT, mask=None, device="auto", version=None):
        """Tell the strokes that are there.

        image    (z, y, x), any kind of number
        strokes  of a box of it: labels from 1, 0 is unknown. Outside of the box there are none
        corner   z, y, x of the box's first voxel in the image
        spacing  mm along z, y, x
        method   "segment", which takes the strokes' appearance into account and cleans up, or "growcut"
        mask     of the strokes' shape; where it is 0 nothing grows. None: everywhere
        device   "auto", "cpu", "cuda"
        version  the same as at the last call says that the image is the same, too; else it is compared

        Raises lobule.Error.
        """
        mask = None if mask is None else np.asarray(mask) != 0
        about = (method, tuple(spacing), device, 255 if strokes.max() <= 255 else 32767)
        kept = about == self.about and (version is not None and version == self.version or same(image, self.image))
        if not kept or (method == GROWCUT and not same(mask, self.mask)):
            self.forget()
            self.image = np.array(image)
            self.job = self._opened(mask, *about)
            self.about = about
        box = tuple(slice(first, first + side) for first, side in zip(corner, strokes.shape))
        self.version, self.mask = version, mask
        if method == GROWCUT:
            self.job.seeds[:] = strokes
            self.job.grow()
        elif box != self.box:
            drawn = np.zeros(self.image.shape, strokes.dtype)
            drawn[box] = strokes
            self.job.draw(slice(None), drawn)
        elif not np.array_equal(strokes, self.job.strokes[box]):
            self.job.draw(box, strokes)
        self.box = box

    def _opened(self, mask, method, spacing, device, largest):
        import lobule

        if method == GROWCUT:
            return lobule.Grower(self.image, largest, mask=mask, spacing=spacing, device=device)
        suggest = SLICES if min(self.image.shape) > 1 else 0
        return lobule.Segmenter(self.image, largest, suggest=suggest, spacing=spacing, device=device)

    def wait(self, seconds=None):
        """Wait for the final labels of the strokes that were told; False: they are not there yet. Raises lobule.Error."""
        return self.job is None or self.about[0] == GROWCUT or self.job.wait(seconds)

    def news(self):
        """Labels of the box, 0 where nothing is known, if they are others than those taken last; else None."""
        came = self._came()
        if came is self.taken:
            return None
        self.taken = came
        return self.labels()

    def _came(self):
        if self.job is None:
            return None
        return self.job.labels if self.about[0] == GROWCUT else self.job.latest()[0]

    def labels(self):
        """The labels that have come, of the box; None: there are none."""
        came = self._came()
        if came is None or self.about[0] == GROWCUT:
            return came
        drawn = self.job.strokes[self.box]
        around = self.job.report.get("chosen", {}).get("background", 0)  # a segment as the others are
        labels = np.where(came[self.box] == 0, around, came[self.box])
        labels = np.where(labels == 0, drawn, labels)
        return labels if self.mask is None else np.where(self.mask, labels, drawn)

    def doubt(self, seconds=None):
        """What is uncertain in the final labels, waited for: voxels by label, and the z, y, x of places on slices
        where another stroke would help most, the best first. None: it is not there yet. Raises lobule.Error."""
        if self.job is None or self.about[0] == GROWCUT or min(self.image.shape) == 1:
            return {}, []
        found = self.job.doubt(seconds)
        if found is None:
            return None
        voxels = np.bincount(self.labels()[found.uncertain[self.box] != 0])
        places = [place(found.uncertain, 2 - each["axis"], each["slice"]) for each in found.suggested]
        return {label: int(count) for label, count in enumerate(voxels) if label and count}, places


def place(uncertain, axis, number):
    """The uncertain voxel of a slice that is nearest to their middle; without any, the slice's middle."""
    there = np.argwhere(np.take(uncertain, number, axis))
    middle = (np.array(uncertain.shape)[np.arange(3) != axis] - 1) / 2
    if len(there):
        middle = there[np.argmin(((there - there.mean(0)) ** 2).sum(1))]
    return [float(at) for at in np.insert(middle.astype(float), axis, number)]


def same(one, other):
    if one is None or other is None:
        return one is other
    return one.dtype == other.dtype and np.array_equal(one, other)
