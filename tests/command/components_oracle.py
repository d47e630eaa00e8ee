"""Components and their table by the textbook, for the tests: slow, and sharing no idea with the program."""

import itertools

import numpy as np
from scipy import ndimage, sparse

SLICED = {4: 6, 8: 26}


def offsets(neighbours, axis=None):
    """Half of the steps to a voxel's neighbours; with an axis, those that stay in its slice."""
    reach = {6: 1, 18: 2, 26: 3}[SLICED.get(neighbours, neighbours)]
    steps = [s for s in itertools.product((-1, 0, 1), repeat=3) if 0 < sum(map(abs, s)) <= reach and s > (0, 0, 0)]
    return [s for s in steps if axis is None or s[axis] == 0]


def sides(shape, step):
    """Slices of an array whose elements are neighbours by this step."""
    here = tuple(slice(max(0, -d), n - max(0, d)) for d, n in zip(step, shape))
    there = tuple(slice(max(0, d), n - max(0, -d)) for d, n in zip(step, shape))
    return here, there


def renumber(pieces):
    """Positive numbers of any kind to 1, 2, ... in the order of a raster scan, x fastest."""
    flat = pieces.ravel(order="F")
    values, first = np.unique(flat, return_index=True)
    values, first = values[values > 0], first[values > 0]
    table = np.zeros(flat.max() + 1, np.int64)
    table[values[np.argsort(first)]] = np.arange(1, len(values) + 1)
    return table[pieces]


def components(image, neighbours=26, axis=None, joined="any", tolerance=0, foreground=None):
    """Labels of an image of shape (x, y, z) or (x, y, z, channels)."""
    image = image.astype(np.float64) if image.dtype.kind == "f" else image.astype(np.int64)
    planes = image if image.ndim == 4 else image[..., None]
    if foreground is None:
        foreground = (planes != 0).any(-1)
    foreground = foreground & np.isfinite(planes).all(-1)
    shape, number = foreground.shape, np.arange(foreground.size).reshape(foreground.shape)
    ends = []
    for step in offsets(neighbours, axis):
        here, there = sides(shape, step)
        with np.errstate(invalid="ignore"):
            apart = np.abs(planes[here] - planes[there]).sum(-1)
            near = {"any": True, "equal": (planes[here] == planes[there]).all(-1), "tolerance": apart <= tolerance}[joined]
        both = foreground[here] & foreground[there] & near
        ends.append((number[here][both], number[there][both]))
    a, b = (np.concatenate(side) for side in zip(*ends))
    graph = sparse.coo_array((np.ones(len(a), bool), (a, b)), shape=(number.size, number.size))
    pieces = sparse.csgraph.connected_components(graph, directed=False)[1].reshape(shape) + 1
    return renumber(np.where(foreground, pieces, 0))


def select(labels, smallest=0, largest=None, count=None, order="raster"):
    """Take components out by size and number what is left."""
    sizes = np.bincount(labels.ravel())
    kept = [k for k in range(1, len(sizes)) if sizes[k] >= smallest and (largest is None or sizes[k] <= largest)]
    by_size = sorted(kept, key=lambda k: (-sizes[k], k))
    if count is not None:
        kept = sorted(by_size[:count])
        by_size = by_size[:count]
    table = np.zeros(len(sizes), np.int64)
    table[by_size if order == "size" else kept] = np.arange(1, len(kept) + 1)
    return table[labels]


def fill_holes(labels, neighbours=26, axis=None):
    """What has no label and reaches no face, across more than one voxel, takes the label that most of its faces touch."""
    background = {26: 6, 18: 6, 6: 26, 8: 4, 4: 8}[neighbours]
    pieces = components((labels == 0).astype(np.uint8), background, axis)
    filled = labels.copy()
    outside = set()
    for a in range(3):
        if a != axis and labels.shape[a] > 1:
            outside |= set(np.unique(pieces.take([0, -1], a)))
    faces = [s for s in offsets(6) if axis is None or s[axis] == 0]
    for hole in set(range(1, pieces.max() + 1)) - outside:
        touched = np.zeros(labels.max() + 1, np.int64)
        for step in faces:
            for one, other in (sides(labels.shape, step), sides(labels.shape, step)[::-1]):
                touched += np.bincount(labels[other][pieces[one] == hole], minlength=len(touched))
        touched[0] = 0
        filled[pieces == hole] = touched.argmax()
    return filled


def table(labels, affine, intensities=None):
    """The rows of the program's table, by name."""
    rows = []
    for label, box in enumerate(ndimage.find_objects(labels), 1):
        if box is None:
            continue
        at = np.argwhere(labels == label)
        centre = at.mean(0)
        row = {"label": label, "voxels": len(at), "volume_mm3": len(at) * abs(np.linalg.det(affine[:3, :3]))}
        row["volume_ml"] = row["volume_mm3"] / 1000
        for a, name in enumerate("xyz"):
            row[f"bbox_{name}_min"], row[f"bbox_{name}_max"] = box[a].start, box[a].stop - 1
            row[f"centroid_{name}"] = centre[a]
            row[f"centroid_{name}_mm"] = affine[a, :3] @ centre + affine[a, 3]
        values = np.array([]) if intensities is None else intensities[labels == label].astype(np.float64)
        values = values[np.isfinite(values)]
        known = len(values) > 0
        row["min"], row["max"] = (values.min(), values.max()) if known else (None, None)
        row["mean"], row["sd"] = (values.mean(), values.std()) if known else (None, None)
        rows.append(row)
    return rows
