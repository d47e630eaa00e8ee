"""Volumes that --max-memory does not hold are worked on some planes at a time: the bytes of all at once."""

import json

import numpy as np
import pytest
import zarr
from conftest import assert_one_line, good, load, lobule, save

# Lines with IMAGE and OUT, and bytes that they may take for a voxel of the image, beside 300 kB.
LINES = [
    ("threshold IMAGE -o OUT", 0.5),
    ("threshold IMAGE -o OUT --range 10,60 --mask mask.nii", 0),
    ("threshold IMAGE -o OUT --local 2vox --offset 1", 5),
    ("filter IMAGE -o OUT --gaussian 1.5vox --mask mask.nii", 7),
    ("filter IMAGE -o OUT --box 2 --gradient 1vox --edge mirror", 8),
    ("filter IMAGE -o OUT --window 10,60 --cast uint8", 3),
    ("convert IMAGE OUT --type float64", 0),
    ("stats IMAGE mask.nii --table OUT", 2),
    ("stats IMAGE mask.nii --table OUT --columns basic,shape", 4),
]


def noise(seed, shape):
    values = np.random.default_rng(seed).random(shape) * 100
    return (values + np.roll(values, 1, 2) + np.roll(values, 1, 1)) / 3


@pytest.mark.parametrize("line, each", LINES)
def test_the_bytes_are_those_of_all_at_once(tmp_path, line, each):
    for number in range(2):
        image = noise(number, (61, 57, 120)).astype((np.uint8, np.float32)[number % 2])
        if number % 2:
            image[3, 4, 100] = np.nan
        save(image, tmp_path / "image.nii.gz")
        save((noise(number + 9, image.shape) > 30).astype(np.uint8), tmp_path / "mask.nii")
        end = ".json" if "stats" in line else ".nii.gz"
        for out, more in (
            (f"whole{end}", []),
            (f"parts{end}", ["--max-memory", str(int(300e3 + each * image.size)), "--threads", "1", "--report", "r.json"]),
        ):
            good(*line.replace("IMAGE", "image.nii.gz").replace("OUT", out).split(), *more, "--force", cwd=tmp_path)
        assert 0 < json.loads((tmp_path / "r.json").read_text())["results"]["planes_at_a_time"] < 120
        assert (tmp_path / f"parts{end}").read_bytes() == (tmp_path / f"whole{end}").read_bytes()


def test_what_needs_the_whole_volume_says_so(tmp_path):
    save(noise(1, (80, 80, 100)).astype(np.float32), tmp_path / "image.nii")
    line = ("filter", "image.nii", "-o", "out.nii", "--window", "1%,99%", "--cast", "uint8")
    assert_one_line(lobule(*line, "--max-memory", "300KiB", cwd=tmp_path), 75, "--max-memory")
    assert_one_line(lobule(*line, "--plan", "4", cwd=tmp_path), 64, "whole volume", "one task")
    assert not (tmp_path / "out.nii").exists()
    for more in (line, ("filter", "image.nii", "-o", "out.nii", "--box", "2vox", "--edge", "wrap")):
        report = ("--report", "r.json", "--force", "--max-memory", 11 * 80 * 80 * 100)
        good(*more, *report, cwd=tmp_path)  # less than slabs would ask for, but all of it fits
        assert "planes_at_a_time" not in json.loads((tmp_path / "r.json").read_text())["results"]


def test_a_plan_says_what_tasks_would_do_and_does_nothing(tmp_path):
    save(noise(1, (10, 20, 30)).astype(np.float32), tmp_path / "image.nii")
    save(np.ones((10, 20, 30), np.uint8), tmp_path / "seeds.nii")
    plans = {}
    for line in ("filter image.nii -o image.nii --gaussian 1vox", "threshold image.nii -o out.nii", "convert image.nii out.nii", "stats image.nii image.nii", "components image.nii -o out.nii --equal", "growcut image.nii seeds.nii -o out.nii"):
        rows = [row.split() for row in good(*line.split(), "--plan", "4", cwd=tmp_path).stdout.splitlines()]
        plans[line.split()[0]] = {name: float(value) for name, value in rows}
    assert good("filter", "image.nii", "-o", "seeds.nii", "--gaussian", "1vox", "--plan=4", cwd=tmp_path).stdout  # it may exist
    assert sorted(path.name for path in tmp_path.iterdir()) == ["image.nii", "seeds.nii"]
    plane, smooth = 10 * 20 * 4, plans["filter"]
    assert (smooth["tasks"], smooth["planes"], smooth["planes_of_a_task"], smooth["planes_read"]) == (4, 30, 8, 8 + 2 * 4)
    assert smooth["bytes_read"] == 16 * plane and smooth["bytes_read_all"] == (30 + 6 * 4) * plane
    assert smooth["bytes_to_first"] == plans["convert"]["bytes_to_first"] == (30 - 8) * plane
    assert plans["threshold"]["bytes_written"] == 30 * 10 * 20 and plans["stats"]["bytes_to_first"] == 0
    pieces = plans["components"]  # labels of 4 bytes, and of each plane at a seam its labels and values
    assert pieces["bytes_to_first"] == (30 - 8) * plane and pieces["bytes_over_seams"] == 3 * 2 * plane
    grown, met = plans["growcut"], 152 * 100 * (4 * 4 - 1)  # a plane on each side, four keys of 8 bytes a voxel of a seam
    assert grown["planes_read"] == 10 and grown["bytes_over_seams"] == 3 * 200 * 32 + met and grown["bytes_to_first"] == (30 - 8) * 200
    assert grown["meetings"] == 100 and "meetings" not in pieces
    told = good("growcut", "image.nii", "seeds.nii", "-o", "out.nii", "--rule", "flood", "--plan", "4", cwd=tmp_path).stdout
    flood = {name: float(value) for name, value in (row.split() for row in told.splitlines())}  # and what came to each voxel
    queues = 2**16 * 16 + 8 * 200 * 368  # of all levels, and what waits on them
    assert flood["bytes_over_seams"] == grown["bytes_over_seams"] and flood["bytes_held"] == grown["bytes_held"] + 10 * 200 * 8 + 4 * 16 * 12 * 22 + queues
    assert pieces["bytes_held"] == 8 * (2 * plane + 10 * 20)
    assert smooth["bytes_held"] == 16 * (2 * plane + 10 * 20 * 8) and all(plan["seconds_computing"] >= 0 for plan in plans.values())
    for words in (("components", "image.nii", "--equal"), ("growcut", "image.nii", "seeds.nii"), ("filter", "image.nii", "--gaussian", "1vox")):
        for device in ("cuda", "cuda:0,1,2,3", "cuda:all"):  # which need not be here
            told = good(*words, "-o", "out.nii", "--plan", "4", "--device", device, cwd=tmp_path).stdout
            rows = {name: float(value) for name, value in (row.split() for row in told.splitlines())}
            assert all(rows[key] == plans[words[0]][key] for key in ("tasks", "planes_read", "bytes_over_seams", "bytes_to_first"))
    for gpus in ("cuda:0,1", "cuda:0,1,2,3,4"):
        line = ("components", "image.nii", "-o", "out.nii", "--plan", "4", "--device", gpus)
        assert_one_line(lobule(*line, cwd=tmp_path), 64, "--plan 4", f"{gpus.count(',') + 1} GPUs")
    for line in ("threshold image.nii -o out.nii --hysteresis 1,2", "components image.nii -o out.nii --fill-holes"):
        assert_one_line(lobule(*line.split(), "--plan", "2", cwd=tmp_path), 64, "whole volume")
    cut = "supervoxels image.nii -o out.nii --size 4vox --plan 2".split()  # what a GPU holds and sends depends on contacts
    assert "bytes_held" in good(*cut, cwd=tmp_path).stdout
    for device in ("cuda", "cuda:0,1"):
        assert_one_line(lobule(*cut, "--device", device, cwd=tmp_path), 64, "--plan", "leave --device cuda out")


def test_a_plan_counts_what_reading_keeps(tmp_path):
    """A layer of chunks, or all of a file that has no planes; of a plain .nii nothing."""
    image, mask = noise(1, (10, 20, 30)).astype(np.float32), np.ones((10, 20, 30), np.uint8)
    save(image, tmp_path / "image.nii")
    save(mask, tmp_path / "mask.nii")
    for name in ("image", "mask"):
        good("convert", f"{name}.nii", f"{name}.nrrd", cwd=tmp_path)
        array = zarr.create_array(tmp_path / f"{name}.zarr", shape=(30, 20, 10), dtype={"image": np.float32, "mask": np.uint8}[name], chunks=(7, 5, 5))
        array[:] = {"image": image, "mask": mask}[name].T

    def held(kind):
        told = good("threshold", f"image.{kind}", "-o", "out.nii", "--mask", f"mask.{kind}", "--plan", "4", cwd=tmp_path).stdout
        return float(dict(row.split() for row in told.splitlines())["bytes_held"])

    assert held("zarr") - held("nii") == 7 * 20 * 10 * (4 + 1)
    assert held("nrrd") - held("nii") == 30 * 20 * 10 * (4 + 1)


def test_a_plan_of_what_this_machine_does_not_hold(tmp_path):
    """35 TB, of which a ball is stored: a row of chunks has 64 GiB. What is made of one corner is right."""
    for name, chunk in (("huge", 64), ("other", 64), ("large", 512)):
        zarr.create_array(tmp_path / f"{name}.zarr", shape=(2**15,) * 3, dtype=np.uint8, chunks=(chunk,) * 3, shards=(512,) * 3)
    ball = (((np.indices((40,) * 3) - 20) ** 2).sum(0) < 300).astype(np.uint8) * 7
    zarr.open_array(tmp_path / "huge.zarr", mode="r+")[100:140, 200:240, 300:340] = ball
    for line in ("components IMAGE -o OUT", "threshold IMAGE -o OUT --above 3", "filter IMAGE -o OUT --gaussian 1vox", "distance IMAGE -o OUT",
                 "convert IMAGE OUT", "stats IMAGE other.zarr", "growcut IMAGE other.zarr -o OUT", "supervoxels IMAGE -o OUT --size 10vox"):
        words = line.replace("IMAGE", "huge.zarr").replace("OUT", "out.ome.zarr").split()
        rows = dict(row.split() for row in good(*words, "--plan", "64", cwd=tmp_path).stdout.splitlines())
        assert int(rows["planes_of_a_task"]) == 512 and float(rows["bytes_read_all"]) >= 2**45, rows
    of_large = "threshold large.zarr -o out.ome.zarr --above 3 --max-memory 100MiB".split()
    assert "planes_of_a_task" in good(*of_large, "--plan", "4", cwd=tmp_path).stdout
    assert_one_line(lobule("crop", "large.zarr", "-o", "part.nii", "--first", "0,0,0", "--size", "9,9,9", *of_large[-2:], cwd=tmp_path), 75, "large.zarr")
    assert_one_line(lobule("threshold", "huge.zarr", "-o", "out.ome.zarr", "--above", "3", "--max-memory", "60GiB", cwd=tmp_path), 75, "64.0 GiB")
    good("crop", "huge.zarr", "-o", "part.nii", "--first", "290,190,90", "--size", "64,60,56", cwd=tmp_path)
    part = load(tmp_path / "part.nii")
    assert np.array_equal(part[10:50, 10:50, 10:50], ball.T) and np.count_nonzero(part) == np.count_nonzero(ball)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["huge.zarr", "large.zarr", "other.zarr", "part.nii"]


def test_a_store_that_states_more_than_the_disk_holds_is_refused_before_work(tmp_path):
    """35 TB of blank chunks in a few hundred bytes."""
    grid = {"name": "regular", "configuration": {"chunk_shape": [64, 32, 32]}}
    keys = {"name": "default", "configuration": {"separator": "/"}}
    array = {"zarr_format": 3, "node_type": "array", "shape": [2**35, 32, 32], "data_type": "uint8", "chunk_grid": grid}
    array |= {"chunk_key_encoding": keys, "fill_value": 0, "codecs": [{"name": "bytes"}], "attributes": {}}
    (tmp_path / "huge.zarr").mkdir()
    (tmp_path / "huge.zarr" / "zarr.json").write_text(json.dumps(array))
    for line in ("convert huge.zarr out.nii", "convert huge.zarr out.nrrd", "filter huge.zarr -o out.nii --box 1"):
        done = lobule(*line.split(), "--max-memory", "64MiB", cwd=tmp_path, timeout=60)
        assert_one_line(done, 74, "TiB on the disk, more than the ", " free")
    assert [path.name for path in tmp_path.iterdir()] == ["huge.zarr"]
