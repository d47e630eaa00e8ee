"""Lobule: cut medical volumes (CT, MRI, microscopy) into labelled regions, on the CPU or a GPU.

Every function takes numpy arrays, images of nibabel and SimpleITK, and arrays on a GPU (CuPy,
PyTorch, ...), and gives back what came in, with its place in the world. Arrays are (z, y, x), the
last axis being the one that is next to each other in memory; axes="xyz" says that they are as
nibabel gives them. Results have the same bytes as the command `lobule`, on every machine.

What every function takes, besides its own arguments:

device        "auto" (the GPU with the most free memory, or the CPU), "cpu", "cuda", "cuda:N"
threads       CPU threads, 1 to 1024; results do not depend on it. A forked process whose parent has
              computed has one
max_memory    bytes of working memory that the call may take, or as "4GiB"; 0: no limit
progress      True: a bar, where tqdm is installed; or a function of the share done, 0 to 1
report        a dict that gets numbers about the call
spacing       of arrays: voxel sizes in mm, one or one for each axis of the array; None: 1
axes          of arrays: "zyx" or "xyz"
channel_axis  of arrays: which axis holds channels; None: no axis does

Ctrl-C stops a call. Other threads run on meanwhile. Errors are lobule.Error, and ValueError,
MemoryError, OSError or RuntimeError by their kind.
"""

from ._abi import VERSION as __version__
from ._carry import Carried, Voted, carry, fuse
from ._cells import Cells, cells
from ._errors import (
    Cancelled,
    DeviceError,
    Different,
    Error,
    FileError,
    InputError,
    InternalError,
    NoInputError,
    OutOfMemory,
    OutputExists,
    TryAgain,
)  # fmt: skip
from ._grow import GrowCut, components, growcut, lsc, slic, slico, supervoxels
from ._grower import Grower
from ._images import box, denoise, filter, gaussian, maxima, median, resample, threshold
from ._measure import compare, compare_supervoxels, contacts, distance, labels, means, nearest, phantom, stats
from ._program import command, program, run
from ._register import Field, register, warp
from ._segment import Segmented, segment
from ._segmenter import Doubt, Segmenter
from ._steps import appearance, crop, merge, preview, refine, seeds

__all__ = [
    "Cancelled", "Carried", "Cells", "DeviceError", "Different", "Doubt", "Error", "Field", "FileError", "GrowCut",
    "Grower", "InputError", "InternalError", "NoInputError", "OutOfMemory", "OutputExists", "Segmented", "Segmenter",
    "TryAgain", "Voted", "__version__", "appearance", "box", "carry", "cells", "command", "compare",
    "compare_supervoxels", "components", "contacts", "crop", "denoise", "distance", "filter", "fuse", "gaussian",
    "growcut", "labels", "lsc", "maxima", "means", "median", "merge", "nearest", "phantom", "preview", "program",
    "refine", "register", "resample", "run", "seeds", "segment", "slic", "slico", "stats", "supervoxels", "threshold",
    "warp",
]  # fmt: skip
