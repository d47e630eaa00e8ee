"""Commands on a GPU against the same on the CPU; the whole file is skipped where there is none."""

import json

import pytest
from conftest import assert_one_line, good, lobule

SIDES = (96, 96, 40)
STAGES = ["device", "read", "inflate", "prepare", "upload", "compute", "download", "finish", "compress", "write", "other"]


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gpu")
    good("phantom", "abdomen", "--size", ",".join(map(str, SIDES)), "-o", "image.nii.gz", "--seeds", "seeds.nii.gz",
         cwd=folder)  # fmt: skip
    probe = lobule("growcut", "image.nii.gz", "seeds.nii.gz", "-o", "probe.nii", "--device", "cuda", cwd=folder)
    if probe.returncode == 69:
        pytest.skip(probe.stderr.strip())
    return folder


def grow(folder, name, *options):
    """Grow the scene's seeds; returns the labels' bytes and the report."""
    good("growcut", "image.nii.gz", "seeds.nii.gz", "-o", f"{name}.nii.gz", "--report", f"{name}.json", "--force",
         *options, cwd=folder)  # fmt: skip
    return (folder / f"{name}.nii.gz").read_bytes(), json.loads((folder / f"{name}.json").read_text())


@pytest.mark.parametrize("options", [(), ("--rule", "distance"), ("--slices", "axial")])
def test_same_bytes(scene, options):
    want, _ = grow(scene, "cpu", "--device", "cpu", *options)
    got, report = grow(scene, "gpu", "--device", "cuda", *options)
    assert report["device"]["backend"] == "cuda"
    assert got == want


def test_stages_of_a_gpu(scene):
    _, report = grow(scene, "stages", "--device", "cuda")
    seconds, device = report["seconds"], report["device"]
    total = seconds.pop("total")
    assert list(seconds) == STAGES
    assert sum(seconds.values()) == pytest.approx(total)
    voxels = report["results"]["voxels"]
    assert seconds["upload"] > 0 and device["upload_bytes"] >= 3 * voxels  # int16 image, uint8 seeds
    assert seconds["download"] > 0 and device["download_bytes"] >= voxels


def limit(report):
    """A --max-memory that leaves half of the working memory beside image, seeds and labels."""
    return 4 * report["results"]["voxels"] + report["results"]["working_memory_bytes"] // 2


def test_too_little_memory_in_3d(scene):
    _, report = grow(scene, "free", "--device", "cuda")
    refused = lobule("growcut", "image.nii.gz", "seeds.nii.gz", "-o", "refused.nii.gz", "--device", "cuda",
                     "--max-memory", limit(report), cwd=scene)  # fmt: skip
    assert_one_line(refused, 75, "image.nii.gz", "million", "--device cpu")
    assert not (scene / "refused.nii.gz").exists()


def test_little_memory_for_slices(scene):
    want, report = grow(scene, "free", "--device", "cuda", "--slices", "axial")
    got, limited = grow(scene, "parts", "--device", "cuda", "--slices", "axial", "--max-memory", limit(report))
    assert limited["results"]["working_memory_bytes"] < report["results"]["working_memory_bytes"]
    assert got == want


def join(folder, name, *options):
    """Number what is above 100, with a table of it; returns both files' bytes."""
    good("components", "image.nii.gz", "-o", f"{name}.nii.gz", "--above", 100, "--table", f"{name}.tsv", "--force",
         *options, cwd=folder)  # fmt: skip
    return (folder / f"{name}.nii.gz").read_bytes(), (folder / f"{name}.tsv").read_bytes()


@pytest.mark.parametrize("neighbours", [6, 18, 26])
def test_components_and_their_table(scene, neighbours):
    want = join(scene, "cpu", "--device", "cpu", "--neighbours", neighbours)
    on_gpu = ("--device", "cuda", "--neighbours", neighbours)
    assert join(scene, "gpu", *on_gpu) == want
    assert join(scene, "parts", *on_gpu, "--max-memory", "3MiB", "--report", "parts.json") == want
    assert json.loads((scene / "parts.json").read_text())["results"]["planes_at_a_time"] < SIDES[2]


@pytest.mark.parametrize("table", [(), ("--table", "refused.tsv")])
def test_too_little_memory_for_components(scene, table):
    refused = lobule("components", "image.nii.gz", "-o", "refused.nii.gz", *table, "--device", "cuda",
                     "--max-memory", "9KiB", cwd=scene)  # fmt: skip
    assert_one_line(refused, 75, "image.nii.gz", "--max-memory")
    assert not (scene / "refused.nii.gz").exists() and not (scene / "refused.tsv").exists()


def cut(folder, name, *options):
    """Cut the scene into supervoxels; returns the bytes of every file that can be asked for."""
    files = [f"{name}{end}" for end in (".nii.gz", "-mean.nii.gz", "-lines.nii.gz", ".tsv", "-graph.tsv")]
    labels, mean, lines, table, graph = files
    good("supervoxels", "image.nii.gz", "-o", labels, "--mean", mean, "--boundaries", lines, "--table", table,
         "--graph", graph, "--force", *options, cwd=folder)  # fmt: skip
    return [(folder / file).read_bytes() for file in files]


@pytest.mark.parametrize("method", ["slic", "slico", "lsc"])
@pytest.mark.parametrize("more", [(), ("--slices", "axial"), ("--mask", "seeds.nii.gz", "--until-still")])
def test_supervoxels_and_what_comes_of_them(scene, method, more):
    options = ("--method", method, "--size", "7mm", *more)
    assert cut(scene, "gpu", *options, "--device", "cuda") == cut(scene, "cpu", *options, "--device", "cpu")


def test_stats_of_labels(scene):
    join(scene, "labels", "--device", "cpu")
    tables = [good("stats", "image.nii.gz", "labels.nii.gz", "--device", device, cwd=scene).stdout
              for device in ("cpu", "cuda")]  # fmt: skip
    assert tables[0] == tables[1]
    assert len(tables[0].splitlines()) > 2
