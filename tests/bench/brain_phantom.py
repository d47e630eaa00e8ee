"""A head as T1-weighted MRI shows it, with the true tissue of every voxel.

The cortex is folded by smooth noise, as thin as a few voxels, and its sulci hold fluid; brightness
drifts over the field, borders are blurred by partial volume, noise is Rician.
"""
import nibabel
import numpy as np
from scipy.ndimage import gaussian_filter

#          name            brightness of 1000
TISSUES = (("air", 15), ("scalp", 820), ("skull", 90), ("fluid", 210), ("grey matter", 520),
           ("white matter", 760), ("ventricles", 190), ("left thalamus", 630), ("right thalamus", 630),
           ("left putamen", 590), ("right putamen", 590), ("left caudate", 560), ("right caudate", 560),
           ("brain stem", 700), ("cerebellum", 560))
#          label, centre x, y, z, radii: of the head's half sides, x to the right, y forward, z up
DEEP = ((6, -0.11, 0.05, 0.12, 0.08, 0.36, 0.13), (6, 0.11, 0.05, 0.12, 0.08, 0.36, 0.13),
        (7, -0.12, -0.05, 0.0, 0.09, 0.13, 0.10), (8, 0.12, -0.05, 0.0, 0.09, 0.13, 0.10),
        (9, -0.30, 0.12, 0.0, 0.07, 0.19, 0.11), (10, 0.30, 0.12, 0.0, 0.07, 0.19, 0.11),
        (11, -0.17, 0.28, 0.10, 0.07, 0.15, 0.13), (12, 0.17, 0.28, 0.10, 0.07, 0.15, 0.13))


def ellipsoid(place, centre, radii):
    """1 on its surface, less inside."""
    return np.sqrt(sum(((p - c) / r) ** 2 for p, c, r in zip(place, centre, radii)))


def folds(rng, shape, sigma):
    """Smooth noise with a standard deviation of 1."""
    noise = gaussian_filter(rng.standard_normal(shape), sigma, mode="wrap")
    return noise / noise.std()


def tissues(rng, shape):
    place = np.meshgrid(*(np.linspace(-1, 1, n) for n in shape), indexing="ij", sparse=True)
    labels = np.zeros(shape, np.uint8)
    for label, radius in ((1, 0.94), (2, 0.88), (3, 0.81)):
        labels[ellipsoid(place, (0, 0, 0), (radius * 0.92, radius, radius)) < 1] = label
    brain = ellipsoid(place, (0, 0, 0.06), (0.70, 0.77, 0.69))
    wave = folds(rng, shape, min(shape) / 44) + 0.4 * folds(rng, shape, min(shape) / 16)
    cleft = np.exp(-(place[0] / 0.03) ** 2) * 0.15 * (brain > 0.55)
    labels[brain + 0.075 * wave + cleft < 1] = 4
    labels[brain + 0.095 * wave + cleft < 0.86] = 5
    labels[ellipsoid(place, (0, -0.12, -0.45), (0.12, 0.14, 0.36)) < 1] = 13
    lobes = ellipsoid(place, (0, -0.47, -0.48), (0.46, 0.27, 0.23))
    labels[lobes + 0.04 * wave < 1] = 14
    for label, *form in DEEP:
        labels[ellipsoid(place, form[:3], form[3:]) + 0.04 * wave < 1] = label
    return labels


def make(image, truth, shape=(80, 96, 80), spacing_mm=2.0, noise=0.03, drift=0.2, seed=1):
    """Write image (int16) and truth (uint8) of a head; noise and drift are shares of the brightest."""
    rng = np.random.default_rng(seed)
    labels = tissues(rng, shape)
    bright = np.array([value for _, value in TISSUES], float)[labels]
    field = folds(rng, shape, min(shape) / 4)
    bright = gaussian_filter(bright, 0.55) * (1 + drift / 2 * np.clip(field, -2, 2) / 2)
    real, imaginary = rng.standard_normal((2, *shape)) * noise * 1000
    magnitude = np.hypot(bright + real, imaginary)
    affine = np.diag([spacing_mm] * 3 + [1])
    for path, array in ((image, np.round(magnitude).astype(np.int16)), (truth, labels)):
        out = nibabel.Nifti1Image(array, affine)
        out.header.set_xyzt_units("mm")
        nibabel.save(out, path)
