"""The Python package on arrays in a GPU's memory: the CPU's bytes, and nothing that travels.

Skipped without CuPy or a GPU. The package's other tests, test_python.py, have stand-ins for both.
"""

import gc
import json
import multiprocessing
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from conftest import PROGRAM, ROOT

try:
    import cupy
except ImportError as missing:
    pytest.skip(str(missing), allow_module_level=True)
try:
    cupy.cuda.runtime.getDeviceCount()
except cupy.cuda.runtime.CUDARuntimeError as none:
    pytest.skip(f"no GPU: {none}", allow_module_level=True)
if os.environ.get("LOBULE_SANITIZED"):
    pytest.skip("Python does not load a library with sanitizers", allow_module_level=True)
if not os.environ.get("LOBULE_WHEEL"):
    os.environ.setdefault("LOBULE_LIBRARY", str(Path(PROGRAM).parents[1] / "liblobule.so"))
    sys.path.insert(0, str(ROOT / "python"))
import lobule  # noqa: E402  found by the lines above
from lobule import _library  # noqa: E402

try:
    _library.backend("cuda")
except lobule.DeviceError as problem:
    pytest.skip(str(problem), allow_module_level=True)

FEW = 64 << 10  # bytes: counts, ranges, tables of levels; a volume of these tests is 15 times as large
# What takes more: a histogram of all levels, for percentiles; strengths, whose logarithms the host has.
MORE = {"filter, a chain": 1 << 20, "growcut, what it costs": 16 << 20, "growcut, soft seeds": 16 << 20}
SHAPE = (61, 127, 131)  # odd, so that rows begin anywhere
SPACING = (2.0, 1.5, 1.5)
IMAGE, TRUTH, SEEDS = lobule.phantom("abdomen", shape=SHAPE, spacing=SPACING, device="cpu")
COLOURS = np.random.default_rng(3).integers(0, 255, (3, 24, 40, 36), np.uint8)

# what it does: the call, of arrays that `take` makes of ours
CALLS = {
    "components, all neighbours": lambda take, to: lobule.components(take(IMAGE), above=900, dtype="int32", **to),
    "components, a mask of bool": lambda take, to: lobule.components(take(IMAGE > 900), neighbours=6, dtype="int32", **to),
    "components, of equal value": lambda take, to: lobule.components(
        take(TRUTH), equal=True, order="size", min_size="200mm3", spacing=SPACING, dtype="int32", **to
    ),
    "growcut": lambda take, to: lobule.growcut(take(IMAGE), take(SEEDS), spacing=SPACING, **to),
    "growcut, what it costs": lambda take, to: lobule.growcut(
        take(IMAGE), take(SEEDS), rule="distance", penalty=2, spacing=SPACING, mask=take(TRUTH > 0), full=True, **to
    ),
    "growcut, soft seeds": lambda take, to: lobule.growcut(
        take(IMAGE), take(SEEDS), seed_strength=take((SEEDS > 0) * np.float32(0.5)), **to
    ),
    "labels": lambda take, to: lobule.labels(take(TRUTH), drop=1, largest=1, smooth=3, spacing=SPACING, **to),
    "filter": lambda take, to: lobule.filter(take(IMAGE), gaussian=2, spacing=SPACING, **to),
    "filter, a chain": lambda take, to: lobule.filter(
        take(IMAGE), median=1, box="3vox", window=("1%", "99%"), mask=take(TRUTH), spacing=SPACING, **to
    ),
    "filter, colours to grey": lambda take, to: lobule.filter(take(COLOURS), gray=True, channel_axis=0, **to),
    "threshold": lambda take, to: lobule.threshold(take(IMAGE), otsu=3, **to),
    "distance": lambda take, to: lobule.distance(take(TRUTH), spacing=SPACING, **to),
    "distance, near a label": lambda take, to: lobule.distance(
        take(TRUTH), label=2, kind="signed", max=20, spacing=SPACING, **to
    ),
    "nearest": lambda take, to: lobule.nearest(take(SEEDS), spacing=SPACING, **to),
    "supervoxels": lambda take, to: lobule.slic(take(IMAGE), size=8, spacing=SPACING, **to),
    "one slice": lambda take, to: lobule.components(take(IMAGE[30]), above=900, dtype="int32", **to),
}  # fmt: skip


def parts(result):
    return list(result) if isinstance(result, tuple) else [result]


def bytes_of(result):
    """Bytes and shapes; labels of supervoxels are narrower where they come from the CPU."""
    arrays = [np.asarray(cupy.asnumpy(part)) for part in parts(result)]
    return [(a.astype(np.int32) if a.dtype.kind == "i" else a) for a in arrays]


def same(found, wanted):
    found, wanted = bytes_of(found), bytes_of(wanted)
    assert [(a.shape, a.dtype) for a in found] == [(a.shape, a.dtype) for a in wanted]
    return all(a.tobytes() == b.tobytes() for a, b in zip(found, wanted))


def travelled():
    traffic = _library.library.lob_device_traffic_here()
    return traffic.upload_bytes + traffic.download_bytes


@pytest.mark.parametrize("walls", [False, True])
@pytest.mark.parametrize("size", ["16vox", None])
def test_cells(walls, size):
    """Their maxima and basins are the CPU's; image and labels stay."""
    image = lobule.phantom("cells", shape=(31, 61, 53), cells=20)[0]
    report, wanted = {}, {}
    found = lobule.cells(cupy.asarray(image), size=size, walls=walls, report=report)
    assert isinstance(found, cupy.ndarray)
    assert same(found, lobule.cells(image, size=size, walls=walls, device="cpu", report=wanted))
    assert report["chosen"] == wanted["chosen"] and report["labels"] == wanted["labels"]


def test_scans_onto_scans():
    """Registration and what stands on it: the CPU's bytes, in arrays of the GPU but for the field."""
    moved, painted = np.roll(IMAGE, 5, 2), np.roll(TRUTH, 5, 2).astype(np.uint8)
    found = []
    for take, to in ((cupy.asarray, {}), (np.asarray, {"device": "cpu"})):
        image, mask = take(IMAGE), take((IMAGE > 0).astype(np.uint8))
        field = lobule.register(image, take(moved), mask=mask, spacing=SPACING, **to)
        onto = [
            lobule.warp(take(moved), field, image, spacing=SPACING, **to),
            lobule.warp(take(painted), field, image, labels=True, spacing=SPACING, **to),
        ]
        fused = lobule.fuse(image, [tuple(onto)], votes=True, spacing=SPACING, **to)
        carried = lobule.carry(image, [(take(moved), take(painted))], full=True, spacing=SPACING, **to)
        if take is np.asarray:  # whose channels come last
            fused, carried = ([np.moveaxis(a, -1, 0) if a.ndim == 4 else a for a in many] for many in (fused, carried))
        found.append((*onto, *fused, *carried))
        assert all(isinstance(part, cupy.ndarray) == (take is cupy.asarray) for part in found[-1])
        found[-1] += (field.array, field.matrix)
    assert same(*found)
    with pytest.raises(lobule.InputError, match="moving"):
        lobule.register(cupy.asarray(IMAGE), moved)


@pytest.mark.parametrize("name", CALLS)
def test_the_cpu_s_bytes_and_nothing_travels(name):
    call, taken = CALLS[name], []

    def take(array):
        taken.append(cupy.asarray(array))
        return taken[-1]

    before = travelled()
    found = call(take, {})
    assert travelled() - before < MORE.get(name, FEW)
    for part in parts(found):
        assert isinstance(part, cupy.ndarray)
        assert part.device == taken[0].device
    assert same(found, call(np.asarray, {"device": "cpu"}))


def copied_by_the_driver(work, folder):
    """Bytes of each copy between host and device that CUDA's own trace shows, with PyTorch's help."""
    import torch
    from torch.profiler import ProfilerActivity, profile

    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as seen:
        work()
        cupy.cuda.runtime.deviceSynchronize()
    seen.export_chrome_trace(str(folder / "trace.json"))
    events = json.loads((folder / "trace.json").read_text(encoding="utf-8"))["traceEvents"]
    copies = [e for e in events if e.get("cat") == "gpu_memcpy"]
    kernels = sum(e.get("cat") == "kernel" for e in events)
    across = [e["args"]["bytes"] for e in copies if "DtoD" not in e["name"] and "Device -> Device" not in e["name"]]
    return kernels, across


def look_at_the_profile(folder):
    calls = ("components, all neighbours", "growcut", "filter", "threshold", "distance")
    there = {id(a): cupy.asarray(a) for a in (IMAGE, TRUTH, SEEDS)}

    def work():
        for name in calls:
            CALLS[name](lambda array: there[id(array)], {})

    work()
    kernels, across = copied_by_the_driver(work, folder)
    assert kernels > 20, "the trace has the GPU's work"
    assert max(across, default=0) < FEW, across
    kernels, across = copied_by_the_driver(lambda: lobule.threshold(IMAGE, above=900, device="cuda"), folder)
    assert max(across) >= TRUTH.size, "of an array in ordinary memory it has the copies"
    os._exit(0)


def test_no_transfer_in_the_profile(tmp_path):
    """In a process of its own that ends at once.

    PyTorch's profiler hears of a device that is closed, and where that is after its own end it now and then frees
    memory twice: "free(): invalid pointer" as the interpreter ends.
    """
    if not pytest.importorskip("torch").cuda.is_available():
        pytest.skip("PyTorch sees no GPU")
    child = multiprocessing.get_context("spawn").Process(target=look_at_the_profile, args=(tmp_path,))
    child.start()
    child.join()
    assert child.exitcode == 0


@pytest.mark.parametrize("take", [cupy.asarray, np.asarray], ids=["array on the GPU", "in ordinary memory"])
def test_a_segmenter_s_answers_are_segment_s(take):
    """After each stroke, erasure and undo, of a scan that lies there and of one that travels."""
    slices = np.flatnonzero(SEEDS.any((1, 2)))[::3]
    steps = [(z, SEEDS[z]) for z in slices] + [(slices[0], 0), (slices[1], 0), (slices[0], SEEDS[slices[0]])]
    to = {} if take is cupy.asarray else {"device": "cuda"}
    with lobule.Segmenter(take(IMAGE), int(SEEDS.max()), suggest=2, spacing=SPACING, **to) as segmenter:
        for z, strokes in steps:
            segmenter.draw(z, strokes)
            report = {}
            wanted = lobule.segment(
                IMAGE, segmenter.strokes, full=True, suggest=2, spacing=SPACING, device="cpu", report=report
            )
            found, doubt = segmenter.labels, segmenter.doubt()
            assert isinstance(found, type(take(IMAGE)))
            assert same((found, doubt.uncertain), (wanted.labels, wanted.uncertain))
            assert doubt.suggested == report["suggested"]


def test_a_segmenter_learns_from_values_of_two_channels():
    """They are fetched from the GPU where slices have strokes of one label alone."""
    drawn = np.flatnonzero(SEEDS.any((1, 2)))
    strokes, image = SEEDS.copy(), np.stack([IMAGE, IMAGE.max() - IMAGE // 2])
    strokes[drawn[1] + 1, 60:64, 40:90] = 1
    to = {"channel_axis": 0, "spacing": SPACING}
    wanted = lobule.segment(image, strokes, device="cpu", **to)
    assert same(lobule.segment(cupy.asarray(image), cupy.asarray(strokes), **to), wanted)
    with lobule.Segmenter(cupy.asarray(image), int(SEEDS.max()), **to) as segmenter:
        for z in np.flatnonzero(strokes.any((1, 2))):
            segmenter.draw(z, strokes[z])
        assert same(segmenter.labels, wanted)


def test_work_of_another_stream_is_waited_for():
    """The image is written late, in a stream that does not wait for the default one."""
    wanted = lobule.components(IMAGE, above=900, dtype="int32", device="cpu")
    scan, slow = cupy.asarray(IMAGE), cupy.random.random((4096, 4096), cupy.float32)
    cupy.cuda.runtime.deviceSynchronize()
    for _ in range(5):
        image = cupy.zeros(SHAPE, IMAGE.dtype)
        with cupy.cuda.Stream(non_blocking=True):
            for _ in range(8):
                slow = (slow @ slow) % 1  # milliseconds of work before the image is there
            image[...] = scan
            found = lobule.components(image, above=900)
            assert (found == cupy.asarray(wanted)).all()


class Interface:
    """An array with __cuda_array_interface__ alone, as packages without DLPack have it."""

    def __init__(self, array, stream):
        self.array, self.device = array, array.device
        self.__cuda_array_interface__ = {**array.__cuda_array_interface__, "version": 3, "stream": stream}

    def __array_namespace__(self):
        return Package


class Package:
    """The package of Interface, by the standard of array packages."""

    uint8 = cupy.uint8

    @staticmethod
    def empty(shape, dtype, device):
        with device:
            return cupy.empty(shape, dtype)


def test_by_the_interface_too():
    wanted = lobule.threshold(IMAGE, otsu=3, device="cpu")
    late = cupy.cuda.Stream(non_blocking=True)
    for stream, named in ((late, late.ptr), (cupy.cuda.Stream.null, None)):
        with stream:
            slow = cupy.random.random((4096, 4096), cupy.float32)
            image = cupy.zeros(SHAPE, IMAGE.dtype)
            scan = cupy.asarray(IMAGE)
            for _ in range(8):
                slow = (slow @ slow) % 1
            image[...] = scan
        found = lobule.threshold(Interface(image, named), otsu=3)
        assert (cupy.asnumpy(found) == wanted).all()


def test_views():
    """What lies without gaps is taken wherever it begins; what does not is refused."""
    scan = cupy.asarray(IMAGE)
    for call in (
        lambda image, **to: lobule.gaussian(image, 3, spacing=SPACING, **to),
        lambda image, **to: lobule.components(image, above=900, dtype="int32", **to),
        lambda image, **to: lobule.threshold(image, otsu=2, **to),
        lambda image, **to: lobule.slic(image, size=8, spacing=SPACING, **to),
    ):
        for first in (1, 2, 3):
            assert same(call(scan[first:]), call(IMAGE[first:], device="cpu"))
    floats = cupy.zeros(40 * 64 * 64 + 8, cupy.float32)
    for skip in (1, 2, 4):
        view = floats[skip : skip + 40 * 64 * 64].reshape(40, 64, 64)
        view[...] = cupy.random.random(view.shape, cupy.float32)
        for chain in ({"gaussian": 2}, {"denoise": True}, {"median": 1}, {"box": 3}):
            assert same(lobule.filter(view, **chain), lobule.filter(cupy.asnumpy(view), **chain, device="cpu")), chain
    for gaps in (scan[::2], scan[:, :, :-1], scan.transpose(1, 0, 2)):
        with pytest.raises(lobule.InputError, match="order"):
            lobule.threshold(gaps, otsu=2)
    for gaps in (scan[::2], scan.transpose(2, 1, 0)):
        wanted = lobule.threshold(cupy.asnumpy(gaps), otsu=2, device="cpu")
        assert same(lobule.threshold(cupy.ascontiguousarray(gaps), otsu=2), wanted)
    turned = scan.transpose(2, 1, 0)  # (x, y, z), and Fortran's order
    found = lobule.components(turned, above=900, axes="xyz")
    assert found.flags.f_contiguous
    assert same(found, lobule.components(IMAGE, above=900, device="cpu").transpose(2, 1, 0))


def test_errors_leave_the_gpu_working():
    scan, seeds = cupy.asarray(IMAGE), cupy.asarray(SEEDS)
    for call, text in (
        (lambda: lobule.growcut(scan, seeds * 0), "seeds"),
        (lambda: lobule.growcut(scan, seeds.astype(cupy.int16) - 1), "-1 is no label"),
        (lambda: lobule.growcut(scan, SEEDS), "seeds: is in ordinary memory"),
        (lambda: lobule.threshold(scan, device="cpu"), "device"),
        (lambda: lobule.threshold(cupy.zeros((0, 3, 3), cupy.uint8)), "no voxels"),
        (lambda: lobule.threshold(scan.astype(cupy.complex64)), "complex64"),
        (lambda: lobule.distance(cupy.asarray(TRUTH), label=77), "label 77"),
    ):
        with pytest.raises((ValueError, TypeError), match=text):
            call()
    with pytest.raises(lobule.OutOfMemory):
        lobule.growcut(scan, seeds, max_memory=1000)

    def stop(done):
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        lobule.growcut(scan, seeds, progress=stop)
    test_the_cpu_s_bytes_and_nothing_travels("growcut")


def test_memory_is_given_back():
    """Nothing of a call is held when its result is gone: neither the arrays nor the library's memory."""
    scan, seeds = cupy.asarray(IMAGE), cupy.asarray(SEEDS)
    pool = cupy.get_default_memory_pool()

    def work():
        lobule.growcut(scan, seeds, full=True)
        lobule.components(scan, above=900)
        lobule.distance(seeds)

    work()
    gc.collect()  # what failed calls of other tests left
    held, free = pool.used_bytes(), cupy.cuda.runtime.memGetInfo()[0]
    for _ in range(20):
        work()
    assert pool.used_bytes() <= held
    assert cupy.cuda.runtime.memGetInfo()[0] >= free - (32 << 20)


def test_threads_at_once():
    """Each thread has a stream and memory of its own."""
    wanted = bytes_of(lobule.growcut(IMAGE, SEEDS, device="cpu"))
    wrong = []

    def work():
        for _ in range(4):
            found = lobule.growcut(cupy.asarray(IMAGE), cupy.asarray(SEEDS))
            if bytes_of(found)[0].tobytes() != wanted[0].tobytes():
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


# A forked process has no GPU that its parent has opened, CuPy's neither: arrays go there by spawn, or stay in threads.
LOADER = """
import concurrent.futures, multiprocessing, sys, numpy, cupy, lobule
scan = numpy.random.default_rng(0).integers(0, 200, (4, 12, 30, 30)).astype(numpy.int16)
def on_gpu(i):
    found = lobule.components(cupy.asarray(scan[i]), above=150)
    assert isinstance(found, cupy.ndarray)
    return cupy.asnumpy(found)
def on_cpu(i):
    return lobule.components(scan[i], above=150)
if __name__ == "__main__":
    wanted = [lobule.components(one, above=150, device="cpu") for one in scan]
    right = lambda found: all((there == one).all() for there, one in zip(found, wanted))
    assert right(map(on_gpu, range(len(scan))))
    for method, load in (("spawn", on_gpu), ("fork", on_cpu)):
        with multiprocessing.get_context(method).Pool(2) as pool:
            assert right(pool.map(load, range(len(scan)))), method
    with concurrent.futures.ThreadPoolExecutor(4) as threads:
        assert right(threads.map(on_gpu, range(len(scan))))
"""


def test_loaders_of_cupy_compute(tmp_path):
    (tmp_path / "loader.py").write_text(LOADER)
    places = {"PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "loader.py"], cwd=tmp_path, env={**os.environ, **places}, timeout=240, check=True)


def test_tensors_of_pytorch():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("PyTorch sees no GPU")
    image = torch.from_numpy(IMAGE.astype(np.int16)).cuda()
    before = travelled()
    found = lobule.components(image, above=900)
    far = lobule.distance(found, max=12, spacing=SPACING)
    assert travelled() - before < FEW
    assert found.is_cuda and far.is_cuda
    wanted = lobule.components(IMAGE, above=900, dtype="int32", device="cpu")
    assert np.array_equal(found.cpu().numpy(), wanted)
    assert far.cpu().numpy().tobytes() == lobule.distance(wanted, max=12, spacing=SPACING, device="cpu").tobytes()
    assert same_floats(lobule.gaussian(image.float()[1:], 3), lobule.gaussian(IMAGE[1:].astype(np.float32), 3, device="cpu"))


def same_floats(tensor, array):
    return tensor.cpu().numpy().tobytes() == array.tobytes()
