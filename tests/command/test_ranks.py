"""Several ranks that share one volume, under Open MPI and MPICH and in threads, on one machine: the bytes of one task."""

import contextlib
import gzip
import json
import os
import re
import shutil
import signal
import subprocess
import time

import numpy as np
import pytest
from conftest import PROGRAM, assert_one_line, cases, good, load, lobule, save
from scipy import ndimage

LAUNCHERS = [name for name in ("openmpi", "mpich") if shutil.which(f"mpirun.{name}")]
HERE = os.path.dirname(PROGRAM)
KINDS = [name for name in LAUNCHERS if os.path.exists(f"{HERE}/liblobule_mpi_{name}.so")]
pytestmark = pytest.mark.skipif(not KINDS, reason="no mpirun.openmpi, no mpirun.mpich, or the program has no plugin for them")

# More ranks than cores, by root, in containers: what Open MPI wants to be told.
AROUND = os.environ | {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
    "OMPI_MCA_orte_execute_quiet": "1",
    "ASAN_OPTIONS": "detect_leaks=0",  # those of the MPIs
}


# Ranks that are threads of one process, too.
TEAMS = [*KINDS, "threads"]


def ranked(kind, ranks, *arguments, cwd, **around):
    if kind == "threads":
        return lobule(*arguments, cwd=cwd, env=os.environ | {"LOBULE_RANKS": str(ranks)} | around)
    command = [f"mpirun.{kind}", "-n", str(ranks), PROGRAM, *map(str, arguments)]
    for _ in range(2):
        done = subprocess.run(command, cwd=cwd, env=AROUND | around, capture_output=True, text=True, timeout=120)
        if done.returncode != -signal.SIGPIPE:  # of MPICH's launcher, now and then, where ranks end at once
            break
    return done


def contents_of(path):
    """Of a file, or of all in a folder."""
    if path.is_file():
        return path.read_bytes()
    return {file.relative_to(path): file.read_bytes() for file in path.rglob("*") if file.is_file()}


def alike(tmp_path, kind, ranks, *words, own=(), may_fail=False):
    """Run a command by one task, on the CPU, and by several, which take options of their own too: exit code, standard
    output and files are the same. Returns both reports."""
    for name in ("alone", "together"):
        shutil.rmtree(tmp_path / name, ignore_errors=True)
        (tmp_path / name).mkdir()
    alone = lobule(*words, "--device", "cpu", "--report", "../alone.json", cwd=tmp_path / "alone")
    done = ranked(kind, ranks, *words, *own, "--report", "../together.json", cwd=tmp_path / "together")
    told = (ranks, words, alone.stderr, done.stderr)
    assert done.returncode == alone.returncode and (alone.returncode == 0 or may_fail), told
    assert contents_of(tmp_path / "together") == contents_of(tmp_path / "alone"), told
    if alone.returncode:
        return None
    assert done.stdout == alone.stdout, told
    return [json.loads((tmp_path / name).read_text()) for name in ("alone.json", "together.json")]


def ours(done):
    """Lines of the program, among those of the launcher."""
    return [line for line in done.stderr.splitlines() if line.startswith("lobule")]


def assert_refused(done, code, *parts):
    assert done.returncode == code, done.stderr
    lines = ours(done)
    assert len(lines) == 1, done.stderr
    for part in parts:
        assert part in lines[0], lines[0]


def noise(seed, shape):
    return (np.random.default_rng(seed).random(shape) * 6).astype(np.uint8)


# Options, and whether there are a mask and intensities.
WAYS = [
    ("--above", "3", "--neighbours", "6"),
    ("--equal", "--neighbours", "26", "--min-size", "3vox", "--order", "size"),
    ("--tolerance", "1", "--largest", "4", "--table", "T.tsv", "--image", "other.nii"),
    ("--above", "2", "--table", "T.tsv", "--image", "image.nii", "--mask", "mask.nii", "--order", "size"),
    ("--equal", "--label-of", "input", "--slices", "x"),
    ("--range", "1,3", "--slices", "z", "--table", "T.tsv"),
]


@pytest.mark.parametrize("kind", TEAMS)
@pytest.mark.parametrize("ranks", [1, 2, 4, 8])
def test_components_are_those_of_one_task(tmp_path, kind, ranks):
    for number in cases(6):
        options = list(WAYS[number % len(WAYS)])
        shape = (7, 5, (3, 11, 8, 29, 1, 16)[number % 6])  # fewer planes than ranks, one a rank, and more
        image = "image.nii" if "image.nii" in options else ("image.nii", "image.nii.gz")[number % 2]
        save(noise(number, shape), tmp_path / image)
        save(noise(number + 50, shape), tmp_path / "other.nii")
        save((noise(number + 99, shape) > 1).astype(np.uint8), tmp_path / "mask.nii")
        out = ("labels.nii.gz", "labels.ome.zarr", "labels.nii")[number % 3]  # a store has its own name inside
        inputs = [f"../{option}" if ".nii" in option else option for option in (image, *options)]
        memory = ["--max-memory", "30KiB"] if number % 2 and "--table" not in options else []
        alike(tmp_path, kind, ranks, "components", *inputs, "-o", out, own=memory)


# Lines with IMAGE and OUT.
LINES = [
    "threshold IMAGE -o OUT",
    "threshold IMAGE -o OUT --otsu 3 --mask mask.nii",
    "threshold IMAGE -o OUT --percentile 70",
    "threshold IMAGE -o OUT --range 1,3",
    "threshold IMAGE -o OUT --local 2vox --offset 1 --mask mask.nii",
    "threshold IMAGE -o OUT --above 1e9",
    "filter IMAGE -o OUT --median 1 --gaussian 1.5vox",
    "filter IMAGE -o OUT --box 3 --window 1,4 --edge reflect",
    "filter IMAGE -o OUT --gaussian 6.5vox --mask mask.nii",
    "filter IMAGE -o OUT --gradient 1vox --cast int16 --edge wrap",
    "filter IMAGE -o OUT --denoise 1 --log 1vox --edge constant=2",
    "filter IMAGE -o OUT --scale 2,1 --box 1,1,0 --slices z",
    "convert IMAGE OUT",
    "convert IMAGE OUT --type uint8 --lossy --spacing 1,2,3",
    "stats IMAGE labels.nii.gz --table t.tsv",
    "stats IMAGE labels.nii.gz --table t.json --columns mean,bbox,extent --spacing 2,2,1",
    "stats IMAGE labels.nii.gz --table t.json --columns shape --spacing 2,2,1",
    "stats IMAGE labels.nii.gz --table t.tsv --columns basic,shape",
    "maxima IMAGE -o OUT --table t.tsv --above 1 --distance 2.5vox",
    "maxima IMAGE -o OUT --mask mask.nii --neighbours 6",
    "maxima IMAGE --table t.json --slices y",
    "maxima IMAGE -o OUT --height 2",
    "maxima IMAGE -o OUT --height 3 --table t.tsv --neighbours 6 --distance 2vox --mask mask.nii",
    "merge labels.nii.gz IMAGE -o OUT --height 3",
    "merge labels.nii.gz IMAGE -o OUT --share 0.5 --level 6",
    "labels labels.nii.gz -o OUT --fill-holes --min-size 2vox --sequential",
    "labels labels.nii.gz -o OUT --largest 2 --neighbours 6 --split --mask mask.nii",
    "labels labels.nii.gz -o OUT --smooth 1vox --dilate 1.5vox --drop 1-9 --boundary",
    "labels labels.nii.gz -o OUT --close 2vox --median 1 --slices x --slips",
]


@pytest.mark.parametrize("kind", TEAMS)
def test_other_commands_give_what_one_task_gives(tmp_path, kind):
    for number in cases(len(LINES)):
        line = LINES[number % len(LINES)]
        image = noise(number, (7, 5, (3, 40, 8, 1)[number // 2 % 4])).astype(np.float32)
        if number % 4 == 1:
            image[1, 2, -1] = np.nan
        save(image if number % 2 else image.astype(np.uint8), tmp_path / "image.nii.gz")
        save((noise(number + 99, image.shape) > 1).astype(np.uint8), tmp_path / "mask.nii")
        save(noise(number + 77, image.shape).astype(np.int32) ** 7 + np.arange(image.shape[2]) // 3, tmp_path / "labels.nii.gz")
        out = ("out.ome.zarr", "out.nii.gz", "out.nii")[number % 3]
        words = [f"../{word}" if ".nii" in word else word for word in line.replace("IMAGE", "image.nii.gz").split()]
        words = [out if word == "OUT" else word for word in words]
        alike(tmp_path, kind, 2 + number % 3, *words)


@pytest.mark.parametrize("kind", TEAMS)
def test_names_outside_of_a_mask_stay(tmp_path, kind):
    labels = np.zeros((5, 4, 12), np.uint8)
    labels[1, 1, 1], labels[3, 1, 6], labels[3, 2, 10] = 2, 9, 5
    save(labels, tmp_path / "plain.nii")
    save((np.arange(5) < 3)[:, None, None] * np.ones_like(labels), tmp_path / "mask.nii")
    (tmp_path / "names.tsv").write_text("index\tname\n2\tliver\n5\tspleen\n9\tkidney\n")
    good("convert", "--labels", "plain.nii", "labels.nii.gz", "--label-table", "names.tsv", cwd=tmp_path)
    alike(tmp_path, kind, 3, "labels", "../labels.nii.gz", "-o", "out.nii.gz", "--drop", "2,5,9", "--mask", "../mask.nii")
    assert b"kidney" in gzip.decompress((tmp_path / "together/out.nii.gz").read_bytes())


# Lines of growth: options, the image's type, and its shape.
GROWTHS = [
    ("--rule strength --strength strength.nii --tie tie.nii", np.int16, (17, 13, 24)),
    ("--rule distance --penalty 0.5 --neighbours 6 --seed-strength strong.nii", np.float32, (9, 11, 40)),
    ("--rule value --mask mask.nii --range 0,4 --tie tie.nii.gz", np.uint8, (13, 9, 8)),
    ("--rule square --max-cost 9 --rounds 5 --neighbours 18", np.uint8, (9, 8, 7)),
    ("--slices x --rule distance --strength strength.nii", np.int16, (6, 7, 11)),
    ("--slices z --rule flood", np.uint8, (12, 9, 9)),
    ("--rule flood --strength strength.nii --tie tie.nii --mask mask.nii", np.float32, (11, 9, 23)),
    ("--rule flood --slices y --neighbours 4", np.uint8, (9, 8, 12)),
    ("--rule strength --min-strength 0.2 --norm l1", np.uint8, (10, 12, 3)),
    ("--max-mm 2.5 --mask mask.nii --tie tie.nii", np.int16, (9, 8, 21)),
    ("--max-mm 3vox --slices y --neighbours 4", np.uint8, (8, 9, 10)),
]


@pytest.mark.parametrize("kind", TEAMS)
def test_growth_is_that_of_one_task(tmp_path, kind):
    for number in cases(len(GROWTHS)):
        line, dtype, shape = GROWTHS[number % len(GROWTHS)]
        random = np.random.default_rng(number)
        image = noise(number, shape).astype(dtype)
        if dtype == np.float32:
            image[1, 2, -1] = np.nan
        save(image, tmp_path / "image.nii.gz")
        seeds = np.where(random.random(shape) < 0.02, random.integers(1, 300, shape), 0).astype(np.int32)
        seeds[0, 0, 0], seeds[-1, -1, -1] = 70000, 3  # labels of one task alone
        save(seeds, tmp_path / "seeds.nii")
        save((noise(number + 99, shape) > 0).astype(np.uint8), tmp_path / "mask.nii")
        save((random.random(shape) * 0.9 + 0.1).astype(np.float32), tmp_path / "strong.nii")
        written = ("strength.nii", "tie.nii", "tie.nii.gz")
        words = [f"../{word}" if ".nii" in word and word not in written else word for word in f"image.nii.gz seeds.nii {line}".split()]
        words += ["-o", ("labels.ome.zarr", "labels.nii.gz", "labels.nii")[number % 3]]
        words += ["--trust-seeds"] * (number % 2)
        told = alike(tmp_path, kind, 2 + number % 7, "growcut", *words)[1]
        results = told["results"]
        how = "flood" if "flood" in line else "grow by rounds" if "--rounds" in line else "grow"
        assert (told["device"]["backend"], told["device"]["why"]) == ("cpu", f"several tasks {how} on the CPU"), line
        assert sum(row["seeds"] for row in results["labels"]) == np.count_nonzero(seeds), line
        assert sum(row["voxels"] for row in results["labels"]) == results["labelled_voxels"] > 0, line


@pytest.mark.parametrize("kind", TEAMS)
def test_seeds_are_looked_at_as_one_task_does(tmp_path, kind):
    """Those of all tasks together: slabs of few planes are covered by what lies around them, and slabs of air are no seeds."""
    shape = (20, 20, 16)
    scan = np.random.default_rng(1).integers(1, 900, shape).astype(np.int16)
    scan[:, :, 8:] = 0
    save(scan, tmp_path / "scan.nii")
    seeds = np.where(np.indices(shape)[0] < 10, 1, 2).astype(np.uint8)
    seeds[8:12] = 0
    save(seeds, tmp_path / "seeds.nii")
    alone = lobule("growcut", "seeds.nii", "scan.nii", "-o", "x.nii", cwd=tmp_path)
    assert alone.returncode == 65 and "as in a scan" in alone.stderr
    good("growcut", "scan.nii", "seeds.nii", "-o", "alone.nii", cwd=tmp_path)
    for tasks in (2, 8):
        swapped = ranked(kind, tasks, "growcut", "seeds.nii", "scan.nii", "-o", "x.nii", cwd=tmp_path)
        assert swapped.returncode == 65 and alone.stderr.strip() in swapped.stderr
        done = ranked(kind, tasks, "growcut", "scan.nii", "seeds.nii", "-o", "y.nii", "--force", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert contents_of(tmp_path / "y.nii") == contents_of(tmp_path / "alone.nii")


# Lines of distances, with LABELS and OUT.
DISTANCES = [
    "LABELS -o OUT",
    "LABELS -o OUT --feature feature.nii --max 3vox --voxels",
    "LABELS -o OUT --signed --feature feature.ome.zarr",
    "LABELS -o OUT --to other",
    "LABELS -o OUT --label 70000 --feature feature.nii.gz",
    "LABELS -o OUT --slices z",
    "LABELS -o OUT --slices x --signed",
]


@pytest.mark.parametrize("kind", TEAMS)
def test_distances_are_those_of_one_task(tmp_path, kind):
    for number in cases(len(DISTANCES)):
        random = np.random.default_rng(number)
        shape = (11, 3 if number % 2 else 7, (1, 4, 9, 30)[number % 4])
        labels = np.where(random.random(shape) < 0.02, random.integers(1, 300, shape), 0).astype(np.int32)
        labels[0, 0, 0], labels[-1, -1, -1] = 70000, 3  # labels of one task alone
        save(labels, tmp_path / "labels.nii.gz")
        line = DISTANCES[number % len(DISTANCES)].replace("LABELS", "../labels.nii.gz")
        words = line.replace("OUT", ("out.nii", "out.ome.zarr", "out.nii.gz")[number % 3]).split()
        alone, together = (told["results"] for told in alike(tmp_path, kind, 2 + number % 7, "distance", *words))
        assert all(alone[key] == together[key] for key in ("farthest", "voxels_without")), line
    save(np.zeros((5, 5, 5), np.uint8), tmp_path / "none.nii")
    assert_refused(ranked(kind, 3, "distance", "none.nii", "-o", "d.nii", cwd=tmp_path), 65, "no voxel is labelled")
    assert_refused(ranked(kind, 3, "distance", "labels.nii.gz", "-o", "d.nii", "--max-memory", "2KiB", cwd=tmp_path), 75)


# Options of cells, the image's type, and its planes. With --walls the phantom's cells have membranes.
NUCLEI = [
    ("--walls --size 10um --table t.tsv", np.uint8, 16),
    ("--walls", np.float32, 13),
    ("--size 12um --table t.tsv", np.uint8, 16),
    ("--table t.json", np.float32, 13),
    ("--size 5vox --spacing 0.002,0.002,0.004 --wall 0.2", np.int16, 9),
    ("--size 12um --smooth 0 --apart 0.3 --least 0", np.float32, 5),
    ("--around 0.7", np.uint8, 3),
]


@pytest.mark.parametrize("kind", TEAMS)
def test_cells_are_those_of_one_task(tmp_path, kind):
    for number in cases(len(NUCLEI)):
        line, dtype, planes = NUCLEI[number % len(NUCLEI)]
        good("phantom", "cells", "-o", "nuclei.nii", *["--nuclei"] * ("--walls" not in line), "--size", f"{24 + number},20,{planes}", "--spacing", "0.002,0.002,0.003", "--cells", 3, "--force", cwd=tmp_path)
        image = load(tmp_path / "nuclei.nii").astype(dtype)
        if dtype == np.float32:
            image[1, 2, -1] = np.nan
        save(image, tmp_path / "image.nii.gz", np.diag((0.002, 0.002, 0.003, 1)))
        words = ["../image.nii.gz", "-o", ("cells.ome.zarr", "cells.nii.gz", "cells.nii")[number % 3], *line.split()]
        alone, together = alike(tmp_path, kind, 2 + number % 4, "cells", *words)
        assert all(alone["results"][key] == together["results"][key] for key in ("chosen", "labels", "seeds")), line
        assert alone["results"]["labels"] > 0 and together["device"]["why"] == "several tasks label cells on the CPU"
        printed = ranked(kind, 3, "cells", *words, "--print-recipe", cwd=tmp_path / "together")
        assert printed.stdout == good("cells", *words, "--print-recipe", cwd=tmp_path / "alone").stdout
    save(np.zeros((9, 9, 9), np.uint8), tmp_path / "none.nii")
    alone = lobule("cells", "none.nii", "-o", "c.nii", "--size", "5vox", cwd=tmp_path)
    assert_refused(ranked(kind, 3, "cells", "none.nii", "-o", "c.nii", "--size", "5vox", cwd=tmp_path), alone.returncode, alone.stderr.strip())
    assert_refused(ranked(kind, 3, "cells", "image.nii.gz", "-o", "c.nii", "--max-memory", "20KiB", cwd=tmp_path), 75)


@pytest.mark.parametrize("kind", TEAMS)
def test_walls_without_memory_in_the_midst_of_the_work_end_all_alike(tmp_path, kind):
    """Planes fit, and what the flood's queues grow to does not: one line of all tasks, and no output."""
    good("phantom", "cells", "-o", "walls.nii", "--size", "64,64,48", "--spacing", "0.002,0.002,0.003", "--cells", 12, cwd=tmp_path)
    line = ("cells", "walls.nii", "-o", "c.nii", "--walls", "--size", "10um", "--max-memory")
    before = sorted(os.listdir(tmp_path))
    size = "18MiB" if kind == "threads" else "6MiB"  # threads divide it
    assert_refused(ranked(kind, 3, *line, size, cwd=tmp_path), 75, "working memory of", "allowed", "more memory for each task would do")
    assert sorted(os.listdir(tmp_path)) == before
    assert ranked(kind, 3, *line, "1GiB", cwd=tmp_path).returncode == 0


# Lines of supervoxels: options, the image's type, and its shape.
CUTS = [
    ("--size 4vox --mean mean.nii.gz", np.uint8, (19, 17, 24)),
    ("--method slico --size 3vox --smallest 0.5 --boundaries edges.nii.gz", np.int16, (13, 14, 40)),
    ("--method lsc --count 60 --iterations 4 --mean mean.ome.zarr --table t.tsv", np.float32, (15, 12, 21)),
    ("--size 9vox --mask mask.nii --compactness 0.3 --graph g.tsv --name scan", np.uint8, (21, 20, 9)),
    ("--size 3vox --slices x --range 1,4 --boundaries edges.ome.zarr --graph g.csv", np.int16, (8, 13, 17)),
    ("--count 7 --slices z --until-still --iterations 40 --graph g.tsv --boundaries edges.nii --mean mean.nii", np.uint8, (14, 15, 7)),
    ("--size 2vox --until-still --iterations 30 --smallest 1 --table t.csv --columns mean,bbox,extent", np.uint8, (9, 10, 11)),
    ("--size 5vox --smallest 0 --graph g.json --table t.json", np.float32, (12, 11, 3)),
    ("--size 3vox --graph g.tsv --table t.tsv --boundaries edges.nii --mean mean.nii.gz", np.uint8, (14, 13, 12, 3)),  # RGB, in CIELAB
    ("--size 4vox --method lsc --lab off --graph g.tsv --mean mean.ome.zarr", np.int16, (9, 13, 26, 1, 3)),
    ("--size 4vox --mean mean.png --boundaries edges.png --graph g.tsv", np.uint8, (30, 29, 1)),
]


@pytest.mark.parametrize("kind", TEAMS)
def test_supervoxels_are_those_of_one_task(tmp_path, kind):
    for number in cases(len(CUTS)):
        line, dtype, shape = CUTS[number % len(CUTS)]
        image = noise(number, shape).astype(dtype)
        if dtype == np.float32:
            image[1, 2, -1] = np.nan
        if len(shape) == 4:
            image = image.view([(name, np.uint8) for name in "RGB"])[..., 0]
        save(image, tmp_path / "image.nii.gz")
        save((noise(number + 99, shape) > 0).astype(np.uint8), tmp_path / "mask.nii")
        words = line.replace("mask.nii", "../mask.nii").split() + ["-o", ("out.ome.zarr", "out.nii.gz", "out.nii")[number % 3]]
        both = alike(tmp_path, kind, 2 + number % 7, "supervoxels", "../image.nii.gz", *words)
        alone, together = (told["results"] for told in both)
        told = ("supervoxels", "pieces", "iterations", "data_voxels", "not_finite_voxels", "cells_z", "size_mm")
        assert all(alone[key] == together[key] for key in told), line


def random_words(random):
    """A command that tasks share, with options by chance; its inputs are image.nii, colours.nii, labels.nii and mask.nii."""
    def pick(*words):
        return words[random.integers(len(words))].split()

    def some(*words):
        return pick("", *words)

    mask, slices = some("--mask mask.nii"), some("--slices x", "--slices y", "--slices z")
    out = pick("out.nii", "out.nii.gz", "out.ome.zarr")
    grid = [*slices, *mask]
    command = random.choice(["components", "threshold", "filter", "convert", "stats", "distance", "growcut", "supervoxels", "maxima", "merge", "labels", "cells"])
    if command == "components":
        join = pick("--above 2", "--equal", "--tolerance 1", "--range 1,3", "")
        table = some("--table t.tsv", "--table t.json --image labels.nii") if join != ["--equal"] else []
        return [command, "image.nii", "-o", *out, *join, *grid, *some("--min-size 3vox", "--largest 3"), *some("--order size"), *table]
    if command == "threshold":
        way = pick("", "--otsu 3", "--percentile 70", "--range 1,3", "--local 2vox --offset 1", "--above 2")
        return [command, "image.nii", "-o", *out, *way, *mask]
    if command == "filter":
        steps = [word for _ in range(random.integers(1, 4)) for word in pick(
            "--median 1", "--gaussian 1.3vox", "--box 2", "--window 1,4", "--gradient 1vox", "--log 1vox", "--denoise 1", "--scale 2,1")]
        return [command, "image.nii", "-o", *out, *steps, *grid, *some("--edge reflect", "--edge wrap", "--edge constant=2")]
    if command == "convert":
        return [command, "image.nii", *out, *some("--type float32", "--type uint8 --lossy"), *some("--spacing 1,2,3")]
    if command == "stats":
        return [command, "image.nii", "labels.nii", "--table", *pick("t.tsv", "t.json", "t.csv"), *some("--columns mean,bbox,extent", "--columns shape", "--columns feret,surface,neighbours")]
    if command == "distance":
        return [command, "labels.nii", "-o", *out, *some("--signed", "--to other", "--label 3"), *some("--max 3vox"), *slices, *some("--voxels")]
    if command == "maxima":
        return [command, "image.nii", "-o", *out, *some("--above 2"), *some("--height 2", "--height 4"), *some("--distance 2.5vox"), *([] if slices else some("--neighbours 6", "--neighbours 18")), *grid, *some("--table t.tsv")]
    if command == "merge":
        return [command, "labels.nii", "image.nii", "-o", *out, *pick("--height 2", "--height 1 --share 0.4 --level 4", "--share 0.3 --level 5")]
    if command == "labels":
        steps = [word for _ in range(random.integers(1, 4)) for word in pick(
            "--keep 1-4", "--drop 2", "--merge 1,3=7", "--largest 1", "--min-size 3vox", "--fill-holes", "--erode 1vox", "--dilate 2vox", "--open 1vox", "--close 1vox", "--smooth 1vox", "--median 1")]
        return [command, "labels.nii", "-o", *out, *steps, *slices]
    if command == "cells":
        kind = pick("--walls", "--around 0.7", "--apart 0.3", "")
        more = [*kind, *some("--smooth 0"), *some("--least 0"), *some("--wall 0.2"), *some("--table t.tsv")]
        return [command, "image.nii", "-o", *out, *some("--size 4vox", "--size 6vox"), *more]
    if command == "growcut":
        rule = pick("strength", "distance", "value", "square", "flood")
        more = [*some("--strength s.nii"), *some("--tie tie.nii"), *(some("--rounds 4") if rule != ["flood"] else []), *some("--max-mm 3vox"), *some("--range 0,4")]
        return [command, "image.nii", "labels.nii", "-o", *out, "--rule", *rule, *grid, *more, "--trust-seeds"]
    size = pick("--size 3vox", "--size 5vox", "--count 20", "--size 9vox")
    more = [*some("--mean m.nii"), *some("--boundaries b.nii"), *some("--table t.tsv", "--table t.json --columns basic,shape"), *some("--graph g.tsv"), *some("--range 1,4")]
    cut = [*some("--smallest 0", "--smallest 1"), *some("--until-still --iterations 30")]
    return [command, *pick("image.nii", "colours.nii"), "-o", *out, "--method", *pick("slic", "slico", "lsc"), *size, *grid, *cut, *more]


def test_random_lines_give_what_one_task_gives(tmp_path):
    """Files, table and exit code, by as many tasks as chance has it; LOBULE_CASES=2000 runs that many."""
    for number in cases(8):
        random = np.random.default_rng(1000 + number)
        shape = tuple(map(int, random.integers(1, 14, 2))) + (int(random.choice([1, 2, 3, 5, 11, 24])),)
        image = (random.random(shape) * 6).astype(random.choice([np.uint8, np.int16, np.float32]))
        save(image, tmp_path / "image.nii")
        save((random.random((*shape, 1, 3)) * 6).astype(image.dtype), tmp_path / "colours.nii")
        save((random.random(shape) < 0.8).astype(np.uint8), tmp_path / "mask.nii")
        save(np.where(random.random(shape) < 0.1, random.integers(1, 9, shape), 0).astype(np.int16), tmp_path / "labels.nii")
        inputs = ("image.nii", "colours.nii", "mask.nii", "labels.nii")
        words = [f"../{word}" if word in inputs else word for word in random_words(random)]
        ranks = random.choice([1, 2, 3, 5, 8, 17])
        alike(tmp_path, TEAMS[number % len(TEAMS)], ranks, *words, own=("--threads", "1"), may_fail=True)


@pytest.mark.parametrize("kind", KINDS)
def test_supervoxels_that_tasks_cannot_share_are_refused(tmp_path, kind):
    save(noise(1, (20, 20, 40)), tmp_path / "image.nii")
    save(np.zeros((20, 20, 40), np.uint8), tmp_path / "none.nii")
    before = sorted(os.listdir(tmp_path))
    for more, code, parts in (
        (("--table", "t.tsv", "--columns", "median"), 64, ("--columns median", "start one task")),
        (("--mask", "none.nii"), 65, ("none.nii", "empty")),
        (("--range", "50,60"), 65, ("no voxel is data",)),
        (("--max-memory", "72KiB"), 75, ("40 planes", "tasks would do")),
    ):
        done = ranked(kind, 3, "supervoxels", "image.nii", "-o", "l.nii", "--size", "4vox", *more, cwd=tmp_path)
        assert_refused(done, code, *parts)
        assert sorted(os.listdir(tmp_path)) == before, more


@pytest.mark.parametrize("kind", KINDS)
def test_growth_that_tasks_cannot_share_says_what_would_do(tmp_path, kind):
    save(noise(1, (60, 60, 40)), tmp_path / "image.nii")
    seeds = np.zeros((60, 60, 40), np.uint8)
    seeds[1, 1, 1], seeds[50, 50, 30] = 1, 2
    save(seeds, tmp_path / "seeds.nii")
    save(np.zeros((60, 60, 40), np.uint8), tmp_path / "none.nii")
    line = ("growcut", "image.nii", "seeds.nii", "-o", "l.nii")
    before = sorted(os.listdir(tmp_path))
    for more, code, parts in (
        (("--max-memory", "400KiB"), 75, ("40 planes", "tasks would do", "lobule crop")),
        (("--device", "cuda", "--rounds", "3"), 64, ("several tasks grow by rounds on the CPU",)),
        (("--device", "cuda", "--rule", "flood", "--slices", "z"), 64, ("several tasks flood on the CPU",)),
        (("--mask", "none.nii"), 65, ("none.nii", "empty")),
    ):
        done = ranked(kind, 4, *line, *more, cwd=tmp_path)
        if "cuda" in more and done.returncode == 69:
            continue  # built without CUDA, or no GPU is there
        assert_refused(done, code, *parts)
        assert sorted(os.listdir(tmp_path)) == before, more
    assert_refused(ranked(kind, 4, "growcut", "image.nii", "none.nii", "-o", "l.nii", cwd=tmp_path), 65, "no seeds")
    done = ranked(kind, 16, *line, "--max-memory", "1MiB", cwd=tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "line, size",
    [
        ("growcut image.nii seeds.nii -o l.nii", "1500KiB"),
        ("distance seeds.nii -o d.nii", "900KiB"),
        ("maxima image.nii -o m.nii", "1800KiB"),
        ("merge seeds.nii image.nii -o m.nii --height 2", "450KiB"),
        ("labels seeds.nii -o l.nii --fill-holes --dilate 0.5vox --min-size 2vox", "1500KiB"),
    ],
)
def test_as_many_tasks_do_as_one_without_memory_says(tmp_path, line, size):
    save(noise(1, (60, 60, 70)), tmp_path / "image.nii")
    seeds = np.zeros((60, 60, 70), np.uint8)
    seeds[1, 1, 1], seeds[50, 50, 30] = 1, 2
    save(seeds, tmp_path / "seeds.nii")
    memory = ("--max-memory", size, "--threads", "1")
    done = lobule(*line.split(), *memory, cwd=tmp_path)
    assert_one_line(done, 75, "tasks of mpirun or srun would do", "lobule crop")
    tasks = re.search(r"(\d+) tasks of", done.stderr)[1]
    done = ranked(KINDS[-1], tasks, *line.split(), *memory, cwd=tmp_path)
    assert done.returncode == 0, (tasks, done.stderr)
    shared = ranked("threads", 4, *line.split(), *memory, "--force", cwd=tmp_path)
    assert_one_line(shared, 75, "a part's share of the memory", "its 70 planes", "lobule crop")
    tasks = re.search(r"(\d+) tasks with as much as all parts", shared.stderr)[1]
    done = ranked(KINDS[-1], tasks, *line.split(), *memory, "--force", cwd=tmp_path)
    assert done.returncode == 0, (tasks, done.stderr)


def test_tasks_of_maxima_have_room_for_the_plateaus_of_noise(tmp_path):
    """The first task holds them all, however many share the volume."""
    save(np.random.default_rng(3).random((60, 60, 70)).astype(np.float32), tmp_path / "image.nii")
    line = ("maxima", "image.nii", "-o", "m.nii", "--force", "--threads", "1", "--max-memory")
    done = lobule(*line, "1800KiB", cwd=tmp_path)
    assert_one_line(done, 75, "tasks of mpirun or srun would do")
    tasks = int(re.search(r"(\d+) tasks of", done.stderr)[1])
    done = ranked("threads", tasks, *line, f"{1800 * tasks}KiB", cwd=tmp_path)
    assert done.returncode == 0, (tasks, done.stderr)
    assert "tasks" not in lobule(*line, "1100KiB", cwd=tmp_path).stderr
    assert_one_line(ranked("threads", 2, *line, "1100KiB", cwd=tmp_path), 75, "more memory would do")


@pytest.mark.parametrize("kind", TEAMS)
def test_visits_of_heights_count_as_memory(tmp_path, kind):
    """A summit that holds the plain, which tasks keep for others to go on, and a lower one that is left."""
    image = np.full((48, 48, 64), 5, np.uint8)
    image[24, 24, 32], image[40, 8, 50] = 9, 8
    image[:2, :2, :2] = 0
    image[0, 0, 0] = 10
    save(image, tmp_path / "image.nii")
    line = ("maxima", "image.nii", "-o", "m.nii", "--height", "5", "--max-memory")
    before = sorted(os.listdir(tmp_path))
    limit = "6MiB" if kind == "threads" else "1536KiB"  # of all four, of each
    assert_refused(ranked(kind, 4, *line, limit, cwd=tmp_path), 75, "maxima: working memory", "allowed")
    assert sorted(os.listdir(tmp_path)) == before
    assert ranked(kind, 4, *line, "1GiB", cwd=tmp_path).returncode == 0
    shared = (tmp_path / "m.nii").read_bytes()
    good(*line, "12MiB", "--force", cwd=tmp_path)
    assert (tmp_path / "m.nii").read_bytes() == shared


@pytest.mark.parametrize("kind", TEAMS)
def test_equal_summits_share_a_visit(tmp_path, kind):
    """Each of thousands would see and keep the whole volume by itself."""
    image = np.random.default_rng(1).integers(0, 40, (40, 40, 32)).astype(np.uint8)
    image[5, 5, 5] = 50
    save(image, tmp_path / "image.nii")
    line = ("maxima", "image.nii", "--height", "15", "--table", "t.tsv", "--max-memory", "6MiB")
    assert ranked(kind, 4, *line, cwd=tmp_path).returncode == 0
    shared = (tmp_path / "t.tsv").read_bytes()
    good(*line, "--force", cwd=tmp_path)
    assert (tmp_path / "t.tsv").read_bytes() == shared


def test_no_tasks_are_named_where_contacts_are_too_many_for_the_first(tmp_path):
    x, y, z = np.indices((60, 60, 60)) // 2
    save((1 + x + 30 * (y + 30 * z)).astype(np.int16), tmp_path / "basins.nii")
    save(noise(1, (60, 60, 60)), tmp_path / "image.nii")
    line = ("merge", "basins.nii", "image.nii", "-o", "m.nii", "--height", "2", "--max-memory", "2000KiB")
    done = lobule(*line, cwd=tmp_path)
    assert_one_line(done, 75)
    assert "tasks" not in done.stderr


def test_cells_complete_in_memory_that_is_thought_to_do(tmp_path):
    """By tasks of far fewer planes than the surroundings reach, the size given or not; and by as many as are named."""
    good("phantom", "cells", "-o", "image.nii", "--nuclei", "--size", "64,64,64", "--cells", 20, cwd=tmp_path)
    for size in (("--size", "10vox"), ()):
        line, each = ("cells", "image.nii", "-o", "l.nii", "--force", *size), 1 << 20
        while (done := ranked("threads", 8, *line, "--max-memory", 8 * each, cwd=tmp_path)).returncode:
            assert_one_line(done, 75, "a part's share of the memory")
            each = each * 21 // 20
        refused = ranked("threads", 3, *line, "--max-memory", 3 * each, cwd=tmp_path)
        assert_one_line(refused, 75, "a part's share of the memory", "lobule crop")
        tasks = int(re.search(r"(\d+) tasks with as much as all parts", refused.stderr)[1])
        done = ranked("threads", tasks, *line, "--max-memory", tasks * 3 * each, cwd=tmp_path)
        assert done.returncode == 0, (tasks, done.stderr)


@pytest.mark.parametrize("kind", TEAMS)
def test_what_is_sent_is_what_a_plan_says(tmp_path, kind):
    save(noise(8, (90, 80, 64)).astype(np.float32), tmp_path / "image.nii")
    for line in ("components image.nii -o out.nii --type int32", "filter image.nii -o out.nii --gaussian 1vox", "convert image.nii out.nii"):
        rows = [row.split() for row in good(*line.split(), "--plan", 8, cwd=tmp_path).stdout.splitlines()]
        plan = {name: float(value) for name, value in rows}
        done = ranked(kind, 8, *line.split(), "--force", "--report", "r.json", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        ranks = json.loads((tmp_path / "r.json").read_text())["ranks"]
        assert ranks["tasks_at_work"] == plan["tasks_at_work"] == 8
        assert 1 <= ranks["bytes_received"] / plan["bytes_to_first"] < 1.1, line


def test_a_plan_of_floods_counts_what_they_send(tmp_path):
    """Of a smooth field, and of nuclei, by tasks that are threads; the size of cells is given, or guessed."""
    smooth = ndimage.gaussian_filter(noise(3, (72, 64, 80)).astype(np.float32), 2.5)
    save(((smooth - smooth.min()) * 1000).astype(np.uint16), tmp_path / "image.nii")
    seeds = np.zeros(smooth.shape, np.uint8)
    seeds[::12, ::16, ::20] = np.arange(1, 97).reshape(6, 4, 4)
    save(seeds, tmp_path / "seeds.nii")
    good("phantom", "cells", "-o", "nuclei.nii", "--nuclei", "--size", "90,80,70", "--spacing", "0.001,0.001,0.001", "--cells", 40, cwd=tmp_path)
    for line in ("growcut image.nii seeds.nii --rule flood", "cells nuclei.nii --size 15um", "cells nuclei.nii"):
        words = (*line.split(), "-o", "out.nii", "--force")
        for ranks in (2, 5):
            plan = dict(row.split() for row in good(*words, "--plan", ranks, cwd=tmp_path).stdout.splitlines())
            assert ranked("threads", ranks, *words, "--report", "r.json", cwd=tmp_path).returncode == 0
            sent = json.loads((tmp_path / "r.json").read_text())["results"]["bytes_over_seams"]
            assert 1 / 1.5 < sent / float(plan["bytes_over_seams"]) < 1.5, (line, ranks, sent, plan)


@pytest.mark.skipif("mpich" not in KINDS, reason="the bytes are those of any MPI")
def test_a_plan_of_supervoxels_counts_pieces_by_a_sample(tmp_path):
    """Noise falls into many more pieces than what is gentle, of each of which all tasks tell the others."""
    rough, gentle = noise(8, (64, 72, 80)), np.indices((64, 72, 80)).sum(0) % 50
    for image, more in ((rough, ("--size", "8vox")), (gentle, ("--size", "8vox")), (gentle, ("--size", "8vox", "--table", "t.tsv", "--columns", "shape")), (rough, ("--count", "300", "--slices", "x", "--graph", "g.tsv"))):
        save(image.astype(np.uint8), tmp_path / "image.nii")
        line = ("supervoxels", "image.nii", "-o", "out.nii", "--force", *more)
        plan = dict(row.split() for row in good(*line, "--plan", 8, cwd=tmp_path).stdout.splitlines())
        done = ranked("mpich", 8, *line, "--report", "r.json", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        sent = json.loads((tmp_path / "r.json").read_text())["results"]["bytes_over_seams"]
        assert 1 / 1.5 < sent / float(plan["bytes_over_seams"]) < 1.5, (more, sent, plan)


@pytest.mark.parametrize("kind", TEAMS)
def test_rank_0_writes_one_report_and_speaks_alone(tmp_path, kind):
    save(noise(1, (9, 8, 7)), tmp_path / "image.nii")
    done = ranked(kind, 3, "components", "image.nii", "-o", "l.nii", "--report", "r.json", "--verbose", cwd=tmp_path)
    assert done.returncode == 0
    assert sum("foreground voxels" in line for line in ours(done)) == 1
    report = json.loads((tmp_path / "r.json").read_text())
    assert [output["path"] for output in report["outputs"]] == ["l.nii"]


@pytest.mark.parametrize("kind", TEAMS)
def test_all_end_by_one_line_and_code_and_leave_nothing(tmp_path, kind):
    save(noise(2, (40, 40, 64)), tmp_path / "image.nii")
    whole = (tmp_path / "image.nii").read_bytes()
    (tmp_path / "image.nii").write_bytes(whole[:-1000])  # the last rank's planes end early
    before = sorted(os.listdir(tmp_path))
    for arguments, code in (
        (("components", "image.nii", "-o", "l.nii"), 65),
        (("components", "missing.nii", "-o", "l.nii"), 66),
        (("components", "image.nii", "-o", "missing/l.nii"), 73),
        (("components", "image.nii", "-o", "l.nii", "--fill-holes"), 64),
        (("components", "image.nii", "-o", "l.nii", "--equal", "--table", "t.tsv"), 64),
        (("components", "image.nii", "-o", "l.nii", "--above", "none"), 64),
        (("threshold", "image.nii", "-o", "l.nii"), 65),
        (("threshold", "image.nii", "-o", "l.nii", "--hysteresis", "1,2"), 64),
        (("filter", "image.nii", "-o", "l.nii", "--median", "1"), 65),
        (("cells", "image.nii", "-o", "l.nii", "--size", "6vox"), 65),
        (("cells", "image.nii", "-o", "l.nii", "--device", "cuda"), 64),
        (("maxima", "image.nii", "-o", "l.nii"), 65),
        (("maxima", "image.nii", "--table", "missing/t.tsv"), 73),
        (("merge", "image.nii", "image.nii", "-o", "l.nii", "--height", "2"), 65),
        (("merge", "image.nii", "image.nii", "-o", "l.nii", "--height", "2", "--channel", "0"), 64),
        (("labels", "image.nii", "-o", "l.nii", "--split"), 65),
        (("labels", "image.nii", "-o", "l.nii", "--split", "--device", "cuda"), 64),
        (("labels", "image.nii", "-o", "l.nii", "--map", "missing.tsv"), 66),
    ):
        assert_refused(ranked(kind, 4, *arguments, cwd=tmp_path), code)
        assert sorted(os.listdir(tmp_path)) == before


@pytest.mark.parametrize("kind", KINDS)
def test_a_rank_that_alone_lacks_the_file_ends_all(tmp_path, kind):
    save(noise(6, (6, 6, 2)), tmp_path / "image.nii")  # fewer planes than ranks: some have none
    command = [f"mpirun.{kind}"]
    for name in ("image.nii", "missing.nii", "image.nii"):
        command += [":"] * (len(command) > 1) + ["-n", "1", PROGRAM, "components", name, "-o", "l.nii"]
    done = subprocess.run(command, cwd=tmp_path, env=AROUND, capture_output=True, text=True, timeout=60)
    assert_refused(done, 66, "missing.nii")
    assert os.listdir(tmp_path) == ["image.nii"]


def tasks_of(launcher):
    """The program's processes below a launcher, by way of what it starts."""
    found, parents = [], {launcher}
    for _ in range(4):
        below = set()
        for entry in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                with open(f"/proc/{entry}/stat") as stat:
                    name, rest = stat.read().rsplit(")", 1)
                if int(rest.split()[1]) in parents:
                    below.add(int(entry))
                    found += [int(entry)] if name.endswith("(lobule") else []
        parents = below
    return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.parametrize("line, shape", [("components image.nii --equal", (200, 200, 120)), ("cells image.nii --size 6vox", (80, 80, 60))])
def test_a_rank_that_is_killed_ends_all(tmp_path, kind, how, line, shape):
    save(noise(5, shape), tmp_path / "image.nii")
    good(*line.split(), "-o", "whole.nii.gz", cwd=tmp_path)
    before, killed, labels = sorted(os.listdir(tmp_path)), 0, tmp_path / "l.nii.gz"
    for wait in (0.05, 0.2, 0.6):
        command = [f"mpirun.{kind}", "-n", "3", PROGRAM, *line.split(), "-o", "l.nii.gz", "--threads", "1"]
        launcher = subprocess.Popen(command, cwd=tmp_path, env=AROUND, stderr=subprocess.PIPE)
        deadline = time.monotonic() + 20
        while len(tasks_of(launcher.pid)) < 3 and launcher.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(wait)
        tasks = tasks_of(launcher.pid)
        with contextlib.suppress(ProcessLookupError):
            if tasks:
                os.kill(max(tasks), how)
        launcher.communicate(timeout=60)  # 30 s where cores are not busy with other tests
        if labels.exists():  # it was faster
            assert labels.read_bytes() == (tmp_path / "whole.nii.gz").read_bytes()
            labels.unlink()
        killed += launcher.returncode != 0
        assert sorted(os.listdir(tmp_path)) == before
    assert killed


@pytest.mark.parametrize("kind", KINDS)
def test_commands_that_cannot_share_say_so(tmp_path, kind):
    save(noise(3, (5, 5, 5)), tmp_path / "image.nii")
    assert_refused(ranked(kind, 2, "info", "image.nii", cwd=tmp_path), 64, "2 tasks", "LOBULE_RANKS=off")
    line = "segment image.nii strokes.nii -o out.nii".split()
    assert_refused(ranked(kind, 2, *line, cwd=tmp_path), 64, "2 tasks", "start it once", "the box around the strokes alone")
    assert_refused(ranked(kind, 2, "filter", "image.nii", "-o", "f.nii", "--window", "1%,99%", cwd=tmp_path), 64, "start one task")
    for words in (("convert", "image.nii", "c.nii", "--labels"), ("stats", "image.nii", "image.nii", "--columns", "all")):
        assert_refused(ranked(kind, 2, *words, cwd=tmp_path), 64, "start one task")
    done = ranked(kind, 2, "info", "image.nii", cwd=tmp_path, LOBULE_RANKS="off")
    assert done.returncode == 0 and done.stdout.count("image.nii") == 2


@pytest.mark.parametrize("kind", KINDS)
def test_rank_0_alone_prints_help_and_what_is_misspelt(tmp_path, kind):
    for arguments in (("--help",), ("--version",), ("components", "--help"), ("info", "--help")):
        done = ranked(kind, 3, *arguments, cwd=tmp_path)
        assert done.returncode == 0 and done.stdout == good(*arguments, cwd=tmp_path).stdout, done.stderr
    for arguments in (("componets",), ("components", "--abov"), ("info", "LOBULE_RANKS=off")):
        for _ in range(4):  # nobody ends the others before it is said
            assert_refused(ranked(kind, 3, *arguments, cwd=tmp_path), 64, arguments[-1])


@pytest.mark.skipif("mpich" not in KINDS, reason="it takes its number of tasks from elsewhere")
@pytest.mark.parametrize("node, tasks", [("0", 2), ("2", 2), ("3", 5)])
def test_tasks_of_each_node_are_told_as_slurm_does(tmp_path, node, tasks):
    around = ["env", "MPI_LOCALNRANKS=2(x3),5", f"SLURM_NODEID={node}", PROGRAM, "doctor", "--json", "--device", "cpu"]
    done = subprocess.run(["mpirun.mpich", "-n", "2", *around], cwd=tmp_path, env=AROUND, capture_output=True, text=True, timeout=120)
    assert json.loads(done.stdout)["ranks"]["tasks_here"] == tasks, done.stderr


@pytest.mark.parametrize("kind", KINDS)
def test_tables_on_standard_output_are_those_of_one_task(tmp_path, kind):
    """Open MPI's mpirun gives tasks a terminal, where a table for people would have fewer columns."""
    good("phantom", "cells", "-o", "scan.nii", "--truth", "cells.nii", "--size", "24,24,9", "--cells", "5", cwd=tmp_path)
    words = ("stats", "scan.nii", "cells.nii", "--device", "cpu")
    alone = good(*words, cwd=tmp_path)
    assert alone.stdout.startswith("label\tvoxels\t")
    for ranks in (1, 2):
        assert ranked(kind, ranks, *words, cwd=tmp_path).stdout.replace("\r\n", "\n") == alone.stdout


@pytest.mark.parametrize("kind", KINDS)
def test_doctor_lists_launcher_and_plugins(tmp_path, kind):
    done = ranked(kind, 2, "doctor", "--json", "--device", "cpu", "--threads", "1", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    ranks = json.loads(done.stdout)["ranks"]
    assert (ranks["tasks"], ranks["tasks_here"]) == (2, 2)
    assert all(gpu == "none" for gpu in ranks.pop("gpus").values())  # with --device cpu
    assert ranks["launcher"] == {"openmpi": "mpirun of Open MPI", "mpich": "mpirun of MPICH"}[kind]
    assert {os.path.basename(path): state for path, state in ranks["plugins"].items()}[f"liblobule_mpi_{kind}.so"] == "ok"
    alone = json.loads(good("doctor", "--json", "--device", "cpu").stdout)["ranks"]
    assert alone == {"launcher": "none", "tasks": 1, "tasks_here": 1, "plugins": ranks["plugins"]}
    shown = good("doctor", "--device", "cpu").stdout.splitlines()
    assert all(f"    {path} {state}" in shown and "//" not in path for path, state in ranks["plugins"].items())


@pytest.mark.skipif(len(KINDS) < 2, reason="there is one MPI alone")
def test_another_mpi_than_the_launchers_is_refused(tmp_path):
    save(noise(4, (5, 5, 5)), tmp_path / "image.nii")
    wrong = {"LOBULE_MPI": f"{HERE}/liblobule_mpi_mpich.so"}
    done = ranked("openmpi", 2, "components", "image.nii", "-o", "l.nii", cwd=tmp_path, **wrong)
    assert_refused(done, 64, "MPI sees this one alone")
    assert not (tmp_path / "l.nii").exists()
    missing = ranked(KINDS[0], 2, "components", "image.nii", "-o", "l.nii", cwd=tmp_path, LOBULE_MPI="/none.so")
    assert_refused(missing, 64, "no plugin", "LOBULE_MPI=FILE")


def test_gpus_are_named_one_by_one_or_all(tmp_path):
    """What is wrong with a list is said before a GPU is asked for."""
    save(noise(4, (5, 5, 5)), tmp_path / "image.nii")
    for device, command, code, parts in (
        ("cuda:0,", "components", 64, ("cuda:0,1",)),
        ("cuda:0,x", "components", 64, ("cuda:0,1",)),
        ("cuda:" + ",".join("0" * 17), "components", 64, ("cuda:0,1",)),
        ("all", "components", 64, ("lobule batch;",)),
        ("cuda:0,1", "resample", 64, ("lobule batch, components", "cuda:0,1")),
        ("cuda:all", "resample", 64, ("lobule batch, components",)),
        ("cuda:0,1", "distance", 64, ("lobule batch, components",)),
    ):
        more = {"resample": ["--spacing", "2,2,2"], "components": ["--above", "2"], "distance": []}[command]
        done = lobule(command, "image.nii", "-o", "l.nii", "--device", device, *more, cwd=tmp_path)
        assert_refused(done, code, *parts)
    (tmp_path / "line.recipe").write_text("components image.nii -o @a --above 2 --device cuda:0,1\n")
    assert_refused(lobule("run", "line.recipe", cwd=tmp_path), 64, "line.recipe", "outside of a recipe")
    assert sorted(os.listdir(tmp_path)) == ["image.nii", "line.recipe"]


def test_help_offers_several_gpus_where_they_are_taken():
    """The refusal names those commands whose help does."""
    refusal = lobule("distance", "l.nii", "-o", "d.nii", "--device", "cuda:all").stderr
    for command in ("components", "filter", "growcut", "threshold", "convert", "distance", "doctor", "stats", "supervoxels"):
        offers = "cuda:0,1" in lobule(command, "--help").stdout
        assert offers == (command in refusal.split("batch", 1)[1]), command


def test_threads_that_are_ranks_share_memory_and_cores(tmp_path):
    save(noise(4, (40, 40, 60)), tmp_path / "image.nii")
    line = ("components", "image.nii", "-o", "l.nii", "--above", "2", "--report", "r.json", "--threads", "4", "--force")
    done = ranked("threads", 2, *line, "--max-memory", "1280KiB", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "r.json").read_text())
    assert (report["options"]["threads"], report["device"]["threads"]) == (4, 2)
    assert report["results"]["planes_at_a_time"] < 30  # half of the memory does not hold half of the planes
