"""Commands on a GPU against the same on the CPU; the whole file is skipped where there is none."""

import json

import pytest
from conftest import assert_one_line, good, lobule

SIDES = (96, 96, 40)
STAGES = "read inflate prepare device upload compute download finish compress write checksum other".split()


@pytest.fixture(scope="module")
def scan_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gpu")
    good("phantom", "abdomen", "--size", ",".join(map(str, SIDES)), "-o", "image.nii.gz", "--seeds", "seeds.nii.gz",
         cwd=folder)  # fmt: skip
    probe = lobule("growcut", "image.nii.gz", "seeds.nii.gz", "-o", "probe.nii", "--device", "cuda", cwd=folder)
    if probe.returncode == 69:
        pytest.skip(probe.stderr.strip())
    return folder


def grow(folder, name, *options):
    """Grow the scan_folder's seeds; returns the labels' bytes and the report."""
    good("growcut", "image.nii.gz", "seeds.nii.gz", "-o", f"{name}.nii.gz", "--report", f"{name}.json", "--force",
         *options, cwd=folder)  # fmt: skip
    return (folder / f"{name}.nii.gz").read_bytes(), json.loads((folder / f"{name}.json").read_text())


@pytest.mark.parametrize("options", [(), ("--rule", "distance"), ("--rule", "flood"), ("--slices", "axial")])
def test_same_bytes(scan_folder, options):
    want, _ = grow(scan_folder, "cpu", "--device", "cpu", *options)
    got, report = grow(scan_folder, "gpu", "--device", "cuda", *options)
    assert report["device"]["backend"] == "cuda"
    assert got == want


def test_auto_opens_the_gpu_for_much_work(scan_folder):
    """And where it is open, a recipe's small lines use it."""
    lines = "cells image.nii.gz -o @a --size 40 --threads 1", "threshold image.nii.gz -o cut.nii.gz"
    (scan_folder / "auto.recipe").write_text("\n".join(lines))
    good("run", "auto.recipe", "--report", "auto.json", cwd=scan_folder)
    report = json.loads((scan_folder / "auto.json").read_text())
    assert [x["device"]["backend"] for x in report["results"]["lines"]] == ["cuda", "cuda"]
    assert grow(scan_folder, "small", "--threads", "16")[1]["device"]["backend"] == "cpu"


def on_both(folder, command, *operands):
    """The labels that a command makes on the CPU and on a GPU."""
    made = []
    for device in ("cpu", "cuda"):
        good(command, *operands, "-o", "both.nii.gz", "--device", device, "--force", "--report", "both.json",
             cwd=folder)  # fmt: skip
        assert json.loads((folder / "both.json").read_text())["device"]["backend"] == device
        made.append((folder / "both.nii.gz").read_bytes())
    return made


@pytest.mark.parametrize("walls", [(), ("--walls",)])
def test_cells(scan_folder, walls):
    want, got = on_both(scan_folder, "cells", "image.nii.gz", "--size", "12vox", *walls)
    assert got == want


def test_merge_of_basins(scan_folder):
    good("maxima", "image.nii.gz", "-o", "peaks.nii.gz", "--distance", "4vox", "--force", cwd=scan_folder)
    good("growcut", "image.nii.gz", "peaks.nii.gz", "-o", "basins.nii.gz", "--rule", "flood", "--device", "cuda",
         "--force", cwd=scan_folder)  # fmt: skip
    want, got = on_both(scan_folder, "merge", "basins.nii.gz", "image.nii.gz", "--height", "5")
    assert got == want


def test_stages_of_a_gpu(scan_folder):
    _, report = grow(scan_folder, "stages", "--device", "cuda")
    seconds, device = report["seconds"], report["device"]
    total = seconds.pop("total")
    assert list(seconds) == STAGES
    assert sum(seconds.values()) == pytest.approx(total)
    voxels = report["results"]["voxels"]
    assert seconds["upload"] > 0 and device["upload_bytes"] >= 3 * voxels  # int16 image, uint8 seeds
    assert seconds["download"] > 0 and device["download_bytes"] >= voxels


def limit(report):
    """A --max-memory that leaves half of the working memory beside image, seeds and labels."""
    return 4 * report["results"]["voxels"] + report["results"]["working_bytes"] // 2


def test_too_little_memory_in_3d(scan_folder):
    _, report = grow(scan_folder, "free", "--device", "cuda")
    refused = lobule("growcut", "image.nii.gz", "seeds.nii.gz", "-o", "refused.nii.gz", "--device", "cuda",
                     "--max-memory", limit(report), cwd=scan_folder)  # fmt: skip
    assert_one_line(refused, 75, "image.nii.gz", "million", "--device cpu")
    assert not (scan_folder / "refused.nii.gz").exists()


def test_little_memory_for_slices(scan_folder):
    want, report = grow(scan_folder, "free", "--device", "cuda", "--slices", "axial")
    got, limited = grow(scan_folder, "parts", "--device", "cuda", "--slices", "axial", "--max-memory", limit(report))
    assert limited["results"]["working_bytes"] < report["results"]["working_bytes"]
    assert got == want


def join(folder, name, *options):
    """Number what is above 100, with a table of it; returns both files' bytes."""
    good("components", "image.nii.gz", "-o", f"{name}.nii.gz", "--above", 100, "--table", f"{name}.tsv", "--force",
         *options, cwd=folder)  # fmt: skip
    return (folder / f"{name}.nii.gz").read_bytes(), (folder / f"{name}.tsv").read_bytes()


@pytest.mark.parametrize("neighbours", [6, 18, 26])
def test_components_and_their_table(scan_folder, neighbours):
    want = join(scan_folder, "cpu", "--device", "cpu", "--neighbours", neighbours)
    on_gpu = ("--device", "cuda", "--neighbours", neighbours)
    assert join(scan_folder, "gpu", *on_gpu) == want
    assert join(scan_folder, "parts", *on_gpu, "--max-memory", "3MiB", "--report", "parts.json") == want
    assert json.loads((scan_folder / "parts.json").read_text())["results"]["planes_at_a_time"] < SIDES[2]


@pytest.mark.parametrize("table", [(), ("--table", "refused.tsv")])
def test_too_little_memory_for_components(scan_folder, table):
    refused = lobule("components", "image.nii.gz", "-o", "refused.nii.gz", *table, "--device", "cuda",
                     "--max-memory", "9KiB", cwd=scan_folder)  # fmt: skip
    assert_one_line(refused, 75, "image.nii.gz", "--max-memory")
    assert not (scan_folder / "refused.nii.gz").exists() and not (scan_folder / "refused.tsv").exists()


@pytest.mark.parametrize("way", [("--otsu", 3), ("--percentile", 70), ("--above", 100), ("--hysteresis", "50,120")])
def test_thresholds(scan_folder, way):
    for device in ("cpu", "cuda"):
        good("threshold", "image.nii.gz", "-o", f"{device}.nii.gz", *way, "--device", device, "--force", cwd=scan_folder)
    assert (scan_folder / "cpu.nii.gz").read_bytes() == (scan_folder / "cuda.nii.gz").read_bytes()


def cut(folder, name, *options):
    """Cut the scan_folder into supervoxels; returns the bytes of every file that can be asked for."""
    files = [f"{name}{end}" for end in (".nii.gz", "-mean.nii.gz", "-lines.nii.gz", ".tsv", "-graph.tsv")]
    labels, mean, lines, table, graph = files
    good("supervoxels", "image.nii.gz", "-o", labels, "--mean", mean, "--boundaries", lines, "--table", table,
         "--graph", graph, "--force", *options, cwd=folder)  # fmt: skip
    return [(folder / file).read_bytes() for file in files]


@pytest.mark.parametrize("method", ["slic", "slico", "lsc"])
@pytest.mark.parametrize("more", [(), ("--slices", "axial"), ("--mask", "seeds.nii.gz", "--until-still")])
def test_supervoxels_and_what_comes_of_them(scan_folder, method, more):
    options = ("--method", method, "--size", "7mm", *more)
    assert cut(scan_folder, "gpu", *options, "--device", "cuda") == cut(scan_folder, "cpu", *options, "--device", "cpu")


def test_stats_of_labels(scan_folder):
    join(scan_folder, "labels", "--device", "cpu")
    tables = [good("stats", "image.nii.gz", "labels.nii.gz", "--device", device, cwd=scan_folder).stdout
              for device in ("cpu", "cuda")]  # fmt: skip
    assert tables[0] == tables[1]
    assert len(tables[0].splitlines()) > 2


RECIPE = """
growcut {image} {seeds} -o @grown --strength @strength
components @strength -o @sure --above 0.2 --table {name}_sure.tsv --image {image}
supervoxels {image} -o {name}_cells.nii.gz --size 8vox --mask @sure --mean @mean
components @grown -o {name}.nii.gz --equal --label-of input --min-size 20vox
stats @mean {name}.nii.gz --table {name}.tsv
growcut @mean {seeds} -o {name}_again.nii.gz --device cpu
"""
MADE = ["{}.nii.gz", "{}.tsv", "{}_sure.tsv", "{}_cells.nii.gz", "{}_again.nii.gz"]


def test_recipe_opens_the_device_once(scan_folder):
    """All lines compute on one device, but the last, and make the bytes of the CPU."""
    (scan_folder / "steps.recipe").write_text(RECIPE)
    for name, device in ("cpu", "cpu"), ("cuda", "cuda"):
        good("run", "steps.recipe", "image=image.nii.gz", "seeds=seeds.nii.gz", f"name=run_{name}",
             "--device", device, "--report", f"{name}_run.json", cwd=scan_folder)  # fmt: skip
    for made in MADE:
        want, got = (scan_folder / made.format(f"run_{name}") for name in ("cpu", "cuda"))
        assert got.read_bytes() == want.read_bytes(), made
    report = json.loads((scan_folder / "cuda_run.json").read_text())
    lines = report["results"]["lines"]
    assert [x["device"]["backend"] for x in lines] == ["cuda"] * 5 + ["cpu"]
    assert report["seconds"]["device"] > 0 and not any("device" in x["seconds"] for x in lines)
    assert report["device"]["upload_bytes"] == sum(x["device"].get("upload_bytes", 0) for x in lines)


@pytest.mark.parametrize("devices", ["cuda:0,0", "cuda:0,0,0", "cuda:0,1", "cuda:all"])
@pytest.mark.parametrize(
    "line",
    [
        ("growcut", "image.nii.gz", "seeds.nii.gz"),
        ("growcut", "image.nii.gz", "seeds.nii.gz", "--rule", "distance", "--slices", "x"),
        ("components", "image.nii.gz", "--above", "300", "--table", "t.tsv"),
        ("components", "image.nii.gz", "--tolerance", "20", "--min-size", "9vox", "--order", "size"),
        ("components", "seeds.nii.gz", "--equal", "--label-of", "input"),
        ("filter", "image.nii.gz", "--gaussian", "2vox", "--median", "1"),
        ("supervoxels", "image.nii.gz", "--size", "5vox", "--table", "t.tsv", "--until-still"),
        ("supervoxels", "image.nii.gz", "--count", "90", "--method", "slico", "--smallest", "1"),
        ("supervoxels", "image.nii.gz", "--count", "40", "--method", "lsc", "--slices", "x"),
    ],
)
def test_a_volume_over_several_gpus(scan_folder, devices, line):
    """Each GPU has its planes, also where one stands for several; the bytes are those of one."""
    if "1" in devices and lobule("doctor", "--device", "cuda:1").returncode == 69:
        pytest.skip("there is one GPU")
    made = []
    for device in ("cuda", devices):
        good(*line, "-o", "over.nii.gz", "--device", device, "--force", "--report", "over.json", cwd=scan_folder)
        table = (scan_folder / "t.tsv").read_bytes() if "--table" in line else b""
        made.append((scan_folder / "over.nii.gz").read_bytes() + table)
    report = json.loads((scan_folder / "over.json").read_text())
    assert report["device"]["backend"] == "cuda"
    assert made[0] == made[1]
