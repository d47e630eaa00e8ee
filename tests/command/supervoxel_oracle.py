"""What supervoxels must be, and what is measured of them, in numpy and scipy as the definitions say."""

import numpy as np
from scipy import ndimage
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components


def face_pairs(array, slice_axis=None):
    """For each axis, the two views of an array whose elements are neighbours through a face."""
    for axis in range(3):
        if axis != slice_axis and array.shape[axis] > 1:
            low = tuple(slice(None, -1) if a == axis else slice(None) for a in range(3))
            high = tuple(slice(1, None) if a == axis else slice(None) for a in range(3))
            yield axis, low, high


def assert_partition(labels, data, slice_axis=None):
    """Labels 1..K exactly where there is data, in raster order, each one piece. Returns K."""
    assert np.array_equal(labels != 0, data)
    flat = labels.ravel(order="F")
    found, first = np.unique(flat[flat != 0], return_index=True)
    assert np.array_equal(found, np.arange(1, len(found) + 1)), "labels have gaps"
    assert np.all(np.diff(first) > 0), "labels are not in raster order"
    number = np.arange(labels.size).reshape(labels.shape)
    edges = []
    for _, low, high in face_pairs(labels, slice_axis):
        joined = labels[low] == labels[high]
        edges.append((number[low][joined], number[high][joined]))
    rows, columns = (np.concatenate([e[k] for e in edges]) if edges else np.zeros(0, int) for k in (0, 1))
    graph = coo_matrix((np.ones(len(rows), np.int8), (rows, columns)), (labels.size,) * 2)
    _, piece = connected_components(graph, directed=False)
    pieces = len(np.unique(piece[labels.ravel() != 0]))
    assert pieces == len(found), f"{len(found)} supervoxels are {pieces} pieces"
    return len(found)


def boundaries(labels, measured=None, slice_axis=None):
    """Voxels with a face neighbour of another label, both of them measured."""
    measured = labels != 0 if measured is None else measured
    edge = np.zeros(labels.shape, bool)
    for _, low, high in face_pairs(labels, slice_axis):
        differ = (labels[low] != labels[high]) & measured[low] & measured[high]
        edge[low] |= differ
        edge[high] |= differ
    return edge


def contacts(labels, spacing, slice_axis=None):
    """{(a, b): (faces, mm2)} of labels a < b that share faces."""
    area = np.prod(spacing) / np.asarray(spacing, float)
    table = {}
    for axis, low, high in face_pairs(labels, slice_axis):
        a, b = labels[low].astype(np.int64), labels[high].astype(np.int64)
        meet = (a != b) & (a != 0) & (b != 0)
        pairs = np.stack([np.minimum(a, b)[meet], np.maximum(a, b)[meet]], -1)
        for pair, count in zip(*np.unique(pairs, axis=0, return_counts=True)):
            faces, mm2 = table.get(tuple(pair), (0, 0.0))
            table[tuple(pair)] = (faces + count, mm2 + count * area[axis])
    return table


def means(image, labels):
    """Mean of each supervoxel 1..K, a row each; image (x, y, z) or (x, y, z, channels)."""
    index = np.arange(1, labels.max() + 1)
    channels = image[..., None] if image.ndim == 3 else image
    return np.stack([ndimage.mean(channels[..., c].astype(float), labels, index)
                     for c in range(channels.shape[-1])], -1)  # fmt: skip


def compactness(labels, spacing, flat_axis):
    """Isoperimetric quotients over faces in mm, weighted by voxels."""
    axes = [a for a in range(3) if a != flat_axis]
    inside = np.bincount(labels.ravel())[1:].astype(float)
    around = np.zeros(len(inside))
    padded = np.pad(labels, 1)
    middle = (slice(1, -1),) * 3
    for axis in axes:
        face = np.prod([spacing[a] for a in axes if a != axis])
        for step in (-1, 1):
            outer = np.roll(padded, step, axis)[middle] != labels
            around += face * np.bincount(labels[outer], minlength=len(inside) + 1)[1:]
    size = inside * np.prod([spacing[a] for a in axes])
    with np.errstate(all="ignore"):
        quotient = 36 * np.pi * size**2 / around**3 if len(axes) == 3 else 4 * np.pi * size / around**2
    return np.nansum(quotient * inside) / inside.sum()


def measures(labels, truth, image, spacing, tolerance, in_voxels, slice_axis=None):
    """What `lobule compare --supervoxels` reports, as a dict of its names."""
    measured = labels != 0
    n = measured.sum()
    flat = slice_axis
    for axis in (2, 1, 0):
        if flat is None and labels.shape[axis] == 1:
            flat = axis
    _, s = np.unique(labels[measured], return_inverse=True)
    _, g = np.unique(truth[measured], return_inverse=True)
    table = np.zeros((s.max() + 1, g.max() + 1), np.int64)
    np.add.at(table, (s, g), 1)
    size = table.sum(1, keepdims=True)

    scale = np.ones(3) if in_voxels else np.asarray(spacing, float)
    if flat is not None:
        scale = np.where(np.arange(3) == flat, 1e9, scale)
    ours, theirs = boundaries(labels, measured, flat), boundaries(truth, measured, flat)
    away = ndimage.distance_transform_edt(~ours, sampling=scale) if ours.any() else np.full(labels.shape, np.inf)

    channels = image[..., None] if image.ndim == 3 else image
    finite = measured & np.isfinite(channels).all(-1)
    values = channels[finite].astype(float)
    parts = np.unique(labels[finite], return_inverse=True)[1]
    number = np.bincount(parts)
    middle = np.stack([np.bincount(parts, values[:, c]) / number for c in range(values.shape[1])], -1)
    between = (number[:, None] * (middle - values.mean(0)) ** 2).sum()
    return {
        "voxels": n,
        "supervoxels": len(size),
        "regions": table.shape[1],
        "boundary_recall": (away[theirs] <= tolerance + 1e-6).mean() if theirs.any() else None,
        "under_segmentation_error": (np.where(20 * table > size, size, 0).sum() - n) / n,
        "under_segmentation_error_neubert": np.minimum(table, size - table).sum() / n,
        "achievable_segmentation_accuracy": table.max(1).sum() / n,
        "explained_variation": between / ((values - values.mean(0)) ** 2).sum(),
        "compactness": compactness(labels, spacing, flat),
        "contour_density": ours.sum() / n,
    }
