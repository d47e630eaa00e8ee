#!/usr/bin/env python3
"""Colour scenes with exact truth, for where there are no photographs that people have segmented.

Shapes with wavy outlines lie on one another, each with a colour, a gradient of light and a texture
of its own; outlines are blurred as by a lens, and there is noise. They are easier than photographs:
what people outline there has no colour of its own as often as it has.

usage: colour_scenes.py FOLDER [--scenes N] [--size 481,321]

writes FOLDER/images/NAME.png and FOLDER/truth/NAME.nii.gz as supervoxel_quality.py reads them.
"""
import argparse
import warnings
from pathlib import Path

import numpy as np
from scipy.ndimage import gaussian_filter
from skimage import io as pictures
from skimage.color import lab2rgb

SHAPES, BLUR, NOISE = 32, 0.9, 0.022


def outline(rng, x, y, size):
    """True inside of a random closed curve."""
    cx, cy = rng.uniform(0, size[0]), rng.uniform(0, size[1])
    radius = np.exp(rng.uniform(np.log(14), np.log(110)))
    tilt, flat = rng.uniform(0, np.pi), rng.uniform(0.35, 1)
    u = (x - cx) * np.cos(tilt) + (y - cy) * np.sin(tilt)
    v = ((y - cy) * np.cos(tilt) - (x - cx) * np.sin(tilt)) / flat
    angle, wave = np.arctan2(v, u), 0
    for k in range(2, 9):
        wave = wave + rng.normal(0, 0.35 / k) * np.cos(k * angle + rng.uniform(0, 2 * np.pi))
    return np.hypot(u, v) < radius * (1 + wave)


def surface(rng, x, y, size):
    """CIELAB of a thing that fills the picture: colour, light, texture."""
    base = np.array([rng.uniform(28, 80), rng.normal(0, 11), rng.normal(0, 14)])
    slope = rng.uniform(0, 2 * np.pi)
    light = rng.uniform(0, 22) * (np.cos(slope) * (x / size[0] - 0.5) + np.sin(slope) * (y / size[1] - 0.5))
    sigma = np.exp(rng.uniform(np.log(0.7), np.log(4)))
    stretch = (sigma * rng.uniform(0.5, 3), sigma)
    grain = gaussian_filter(rng.standard_normal(x.shape), stretch)
    grain *= rng.gamma(1.5, 2.2) / grain.std()
    if rng.uniform() < 0.3:  # stripes
        pitch, turn = rng.uniform(5, 18), rng.uniform(0, np.pi)
        grain += rng.uniform(2, 9) * np.sin(2 * np.pi * (x * np.cos(turn) + y * np.sin(turn)) / pitch)
    tint = rng.normal(0, 0.25, 2)
    return np.stack([base[0] + light + grain, base[1] + tint[0] * grain, base[2] + tint[1] * grain], -1)


def scene(seed, size):
    """A picture (y, x, 3) of uint8, and its truth (y, x)."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:size[1], :size[0]].astype(float)
    labels, lab = np.ones(x.shape, np.int32), surface(rng, x, y, size)
    horizon = size[1] * rng.uniform(0.3, 0.7) + rng.normal(0, 12) * np.sin(x / 60 + rng.uniform(0, 6))
    for label in range(2, SHAPES + 2):
        inside = y > horizon if label == 2 else outline(rng, x, y, size)
        labels[inside] = label
        lab[inside] = surface(rng, x, y, size)[inside]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of colours that no screen has, which are cut
        rgb = lab2rgb(lab)
    rgb = np.stack([gaussian_filter(c, BLUR) for c in np.moveaxis(rgb, -1, 0)], -1)
    rgb = np.clip(rgb + rng.normal(0, NOISE, rgb.shape), 0, 1)
    return np.round(rgb * 255).astype(np.uint8), labels


def make(folder, scenes, size=(481, 321)):
    """Write scenes with the seeds from 1."""
    import nibabel

    for name in ("images", "truth"):
        Path(folder, name).mkdir(parents=True, exist_ok=True)
    for seed in range(1, scenes + 1):
        picture, labels = scene(seed, size)
        pictures.imsave(Path(folder, "images", f"scene{seed}.png"), picture, check_contrast=False)
        nibabel.save(nibabel.Nifti1Image(labels.T[:, :, None], np.eye(4)),
                     Path(folder, "truth", f"scene{seed}.nii.gz"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--scenes", type=int, default=12)
    parser.add_argument("--size", type=lambda text: tuple(map(int, text.split(","))), default=(481, 321))
    arguments = parser.parse_args()
    make(arguments.folder, arguments.scenes, arguments.size)


if __name__ == "__main__":
    main()
