"""What is ready to use in cluster/: a Slurm array on a Slurm that the test starts, and a Snakemake workflow."""

import ast
import os
import re
import shlex
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import PROGRAM, ROOT, contents, good, load, rows_of, save, scan_array

CLUSTER = ROOT / "cluster"
SHARDS = 8
RECIPE = "components {image} -o {out}.nii.gz --above 400 --table {out}.tsv\n"
SNAKEMAKE = next(filter(None, [shutil.which("snakemake", path=str(Path(sys.executable).parent)),
                               shutil.which("snakemake")]), None)


# What is tested here are files around the program: one build is enough.
pytestmark = pytest.mark.skipif("LOBULE_SANITIZED" in os.environ, reason="run in the optimised build")


@pytest.fixture
def study(tmp_path):
    """Twelve scans, a recipe, and what the batch makes of them without a cluster."""
    rows = ["scan\timage\tout"]
    for i in range(12):
        save(scan_array(seed=i), tmp_path / f"i{i}.nii.gz")
        rows.append(f"s{i}\ti{i}.nii.gz\to{i}")
    (tmp_path / "scans.tsv").write_text("\n".join(rows) + "\n")
    (tmp_path / "steps.recipe").write_text(RECIPE)
    good("batch", "steps.recipe", "scans.tsv", "--log", "alone", cwd=tmp_path)
    made = {k: v for k, v in contents(tmp_path).items() if re.match(r"o\d+\.", k)}
    assert len(made) == 24
    for name in made:
        (tmp_path / name).unlink()
    return tmp_path, made


# Ends with 75 where shard 3 is run for the first time, as where another job has the GPU.
BUSY_ONCE = """#!/bin/sh
if {is_third} && mkdir "{folder}/was_busy" 2>/dev/null; then exit 75; fi
exec "{program}" "$@"
"""


def busy_once(folder, is_third):
    program = folder / "lobule"
    program.write_text(BUSY_ONCE.format(is_third=is_third, folder=folder, program=Path(PROGRAM).resolve()))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return program


def assert_complete(folder, made):
    log = folder / "scans.batch"
    assert (folder / "was_busy").is_dir()
    assert [r["scan"] for r in rows_of(log / "status.tsv")] == [f"s{i}" for i in range(12)]
    assert {r["state"] for r in rows_of(log / "status.tsv")} == {"done"}
    assert {k: v for k, v in contents(folder).items() if re.match(r"o\d+\.", k)} == made
    assert (log / "regions.tsv").read_text() == (folder / "alone" / "regions.tsv").read_text()
    assert "<title>Batch" in (log / "page.html").read_text()


# ---- Slurm ----


def test_slurm_array_of_shards(study, slurm):
    folder, made = study
    third = '[ "${SLURM_ARRAY_TASK_ID:-}" = 3 ]'
    environment = {**slurm, "LOBULE": str(busy_once(folder, third))}
    submit = ["sbatch", "--parsable", "--wait", f"--array=1-{SHARDS}", "--cpus-per-task=1", "--mem=200M"]
    done = subprocess.run([*submit, CLUSTER / "slurm_array.sh", "steps.recipe", "scans.tsv"], cwd=folder,
                          env=environment, capture_output=True, encoding="utf-8", timeout=240, check=False)
    logs = {p.name: p.read_text() for p in folder.glob("lobule-*.log")}
    assert done.returncode == 0, (done.stderr, logs)
    assert len(logs) == SHARDS
    job = done.stdout.strip()
    told = subprocess.run(["scontrol", "show", "job", f"{job}_3"], env=slurm, capture_output=True, encoding="utf-8",
                          check=False).stdout
    assert "Restarts=1" in told and "JobState=COMPLETED" in told
    assert sorted(p.name for p in (folder / "scans.batch").glob("shard-*")) == \
        [f"shard-{i}-of-{SHARDS}" for i in range(1, SHARDS + 1)]
    good("batch", "--merge", "scans.batch", cwd=folder)
    assert_complete(folder, made)


@pytest.mark.parametrize("array, job", [({}, "9"), ({"SLURM_ARRAY_JOB_ID": "7", "SLURM_ARRAY_TASK_ID": "3"}, "7_3")])
def test_a_job_is_put_back_with_and_without_an_array(tmp_path, array, job):
    """The requeue is refused here, which the true one is not: it would end the job."""
    for name, does in (("lobule", "exit 75"), ("scontrol", 'echo "$@" > called; exit 1')):
        (tmp_path / name).write_text(f"#!/bin/sh\n{does}\n")
        (tmp_path / name).chmod(0o755)
    environment = {k: v for k, v in os.environ.items() if not k.startswith("SLURM_")}
    environment |= {"PATH": f"{tmp_path}:{environment['PATH']}", "SLURM_JOB_ID": "9", **array}
    done = subprocess.run(["bash", CLUSTER / "slurm_array.sh", "a.recipe", "a.tsv"], cwd=tmp_path, env=environment,
                          capture_output=True, encoding="utf-8", check=False)
    assert (done.returncode, done.stderr) == (75, "")
    assert (tmp_path / "called").read_text() == f"requeue {job}\n"


# ---- what the workflows take for the end ----


def snakemake_shell(rule):
    """The words of a rule's shell, with what Snakemake puts in their places."""
    rules = (CLUSTER / "Snakefile").read_text()
    text = re.search(rf"^rule {rule}:.*?    shell:\n(.*?)(?:\n\n|\Z)", rules, re.M | re.S)[1]
    places = {"lobule": "./lobule", "recipe": "a.recipe", "manifest": "a.tsv", "folder": "a b", "options": "",
              "threads": "1", "wildcards.i": "1", "wildcards.n": "2", "output.page": "a b/page.html"}  # fmt: skip
    joined = "".join(ast.literal_eval(line.strip()) for line in text.splitlines())
    return re.sub(r"\{([\w.]+)(?::q)?\}",
                  lambda m: shlex.quote(places[m[1]]) if m[0].endswith(":q}") else places[m[1]], joined)


def nextflow_script(process, folder):
    script = re.search(rf'^process {process} .*?"""\n(.*?)"""', (CLUSTER / "lobule.nf").read_text(), re.M | re.S)[1]
    places = {"workflow.launchDir": str(folder), "params.recipe": "a.recipe", "params.manifest": "a.tsv",
              "params.log": "a b", "shard": "1", "params.shards": "2", "task.cpus": "1", "params.options": "",
              "task.memory.toMega() * 9 / 10 as int": "900"}  # fmt: skip
    filled = re.sub(r"(?<!\\)\$\{([^}]+)\}", lambda m: places[m[1]], script)
    return filled.replace("\\$", "$").replace("\\\\", "\\")


ENDS = {
    "killed": ("touch 'a b/shard-1-of-2/status.tsv'; kill -9 $$", False, None),
    "scans failed": ("touch 'a b/shard-1-of-2/summary.json' 'a b/page.html'; exit 66", True, True),
    "done": ("touch 'a b/shard-1-of-2/summary.json' 'a b/page.html'", True, True),
    "to be tried again": ("touch 'a b/shard-1-of-2/summary.json' 'a b/page.html'; exit 75", False, False),
    "no page": ("exit 66", False, False),
}


@pytest.mark.parametrize("does, shard_ends, page_ends", ENDS.values(), ids=ENDS.keys())
def test_what_counts_as_the_end(tmp_path, does, shard_ends, page_ends):
    """Of files that an earlier run has left, too."""
    (tmp_path / "a b/shard-1-of-2").mkdir(parents=True)
    (tmp_path / "lobule").write_text(f"#!/bin/sh\n{does}\n")
    (tmp_path / "lobule").chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    for shell, ends in ((snakemake_shell("shard"), shard_ends), (nextflow_script("SHARD", tmp_path), shard_ends),
                        (snakemake_shell("page"), page_ends), (nextflow_script("PAGE", tmp_path), page_ends)):  # fmt: skip
        for name in ("shard-1-of-2/summary.json", "page.html", "status.tsv"):
            (tmp_path / "a b" / name).touch()
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", shell], cwd=tmp_path, env=environment,
                              capture_output=True, encoding="utf-8", check=False)
        assert ends is None or (done.returncode == 0) == ends, (shell, done)


# ---- Snakemake ----


@pytest.mark.skipif(not SNAKEMAKE, reason="no Snakemake: LOBULE_CLUSTER=yes ./run test installs it")
def test_snakemake_workflow(study):
    folder, made = study
    lobule = busy_once(folder, 'case "$*" in *--shard\\ 3/4*) true ;; *) false ;; esac')
    done = subprocess.run([SNAKEMAKE, "--snakefile", CLUSTER / "Snakefile", "--cores", "2", "--quiet", "all",
                           "--directory", folder, "--config", f"lobule={lobule}", "recipe=steps.recipe",
                           "manifest=scans.tsv", "shards=4", "options=--max-memory 1GiB"], cwd=folder,
                          env={**os.environ, "XDG_CACHE_HOME": str(folder / "cache")}, capture_output=True,
                          encoding="utf-8", timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    assert_complete(folder, made)
    assert np.all([r["exit_code"] == "0" for r in rows_of(folder / "scans.batch" / "status.tsv")])


# ---- Nextflow ----


def options_of(command):
    return set(re.findall(r"--([\w-]+)", good(command, "--help").stdout))


def test_every_option_that_cluster_files_use_exists():
    """What cannot be run here, the Nextflow workflow, names no option that its command does not have."""
    named = r"(?<![\w-])--([\w-]+)"
    for name in ("Snakefile", "lobule.nf", "slurm_array.sh", "slurm_ranks.sh"):
        text = re.sub(r"^\s*(#|//).*", "", (CLUSTER / name).read_text(), flags=re.MULTILINE).replace("\\\n", " ")
        calls = re.findall(r'(?:\blobule|lobule:q\}|\$lobule") (batch) ([^\n]*(?:\n {8,}"?--[^\n]*)*)', text)
        calls += re.findall(r"^share (\w+) (.*)", text, flags=re.MULTILINE)
        assert calls, name
        for command, call in calls:
            assert set(re.findall(named, call)) <= options_of(command), (name, call)
        for kept in re.findall(r"^.*\boptions\+?=\(.*", text, flags=re.MULTILINE):  # an array of the shell
            for command in {command for command, _ in calls}:
                assert set(re.findall(named, kept)) <= options_of(command), (name, kept)


# ---- one volume, many tasks ----


def test_a_folder_of_tiffs_becomes_an_array(tmp_path):
    tifffile = pytest.importorskip("tifffile")
    pytest.importorskip("zarr")
    array = np.arange(40 * 7 * 5, dtype=np.uint16).reshape(40, 7, 5)
    (tmp_path / "planes").mkdir()
    for z, plane in enumerate(array):
        tifffile.imwrite(tmp_path / f"planes/p{z}.tif", plane)
    subprocess.run([sys.executable, CLUSTER / "tiffs_to_zarr.py", "planes", "planes.zarr"], cwd=tmp_path, check=True)
    done = good("convert", "planes.zarr", "scan.nii", "--spacing", "0.002,0.002,0.005", cwd=tmp_path)
    assert "how large its voxels are" not in done.stderr
    assert (load(tmp_path / "scan.nii") == array.transpose(2, 1, 0)).all()


BAD_PLANES = {
    "other sides": (lambda tifffile, path: tifffile.imwrite(path, np.zeros((7, 6), np.uint16)), "has other sides"),
    "damaged": (lambda tifffile, path: path.write_bytes(b"no TIFF"), "cannot be read"),
    "cut off": (lambda tifffile, path: path.write_bytes(path.read_bytes()[:-20]), "cannot be read"),
}


@pytest.mark.parametrize("spoil, says", BAD_PLANES.values(), ids=BAD_PLANES.keys())
def test_a_bad_plane_leaves_no_array(tmp_path, spoil, says):
    """The last of them, when the first ones have been written; and what a killed run has left is no part of the next."""
    tifffile = pytest.importorskip("tifffile")
    pytest.importorskip("zarr")
    (tmp_path / "planes").mkdir()
    for z in range(40):
        tifffile.imwrite(tmp_path / f"planes/p{z}.tif", np.full((7, 5), z + 1, np.uint16))
    spoil(tifffile, tmp_path / "planes/p39.tif")
    (tmp_path / "planes.zarr.part").mkdir()
    (tmp_path / "planes.zarr.part/zarr.json").write_text("left")
    command = [sys.executable, CLUSTER / "tiffs_to_zarr.py", "planes", "planes.zarr"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, encoding="utf-8", check=False)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
    assert "p39.tif" in done.stderr and says in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["planes"]
    tifffile.imwrite(tmp_path / "planes/p39.tif", np.full((7, 5), 40, np.uint16))
    subprocess.run(command, cwd=tmp_path, check=True)
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, encoding="utf-8", check=False)
    assert (done.returncode, done.stderr) == (1, "planes.zarr: is there already\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["planes", "planes.zarr"]


def test_srun_is_told_of_the_cores(tmp_path):
    launcher = tmp_path / "launch"
    launcher.write_text('#!/bin/sh\necho "$SRUN_CPUS_PER_TASK"\n')
    launcher.chmod(0o755)
    done = subprocess.run([CLUSTER / "slurm_ranks.sh", "scan.nii", "pieces.ome.zarr"], cwd=tmp_path, check=True,
                          env=os.environ | {"SLURM_CPUS_PER_TASK": "8", "LOBULE_LAUNCH": str(launcher)},
                          capture_output=True, encoding="utf-8")
    assert done.stdout == 3 * "8\n"


def test_the_script_of_ranks_gives_what_one_task_gives(tmp_path):
    """Of two scans in one folder, too."""
    launchers = {"alone": ""}
    if shutil.which("mpirun.openmpi") and (Path(PROGRAM).parent / "liblobule_mpi_openmpi.so").exists():
        launchers["together"] = "mpirun.openmpi -n 2"
    save(scan_array(), tmp_path / "scan.nii")
    save(scan_array(seed=2)[::-1].copy(), tmp_path / "other.nii")
    allow = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}

    def run(folder, launcher, scan, pieces):
        (tmp_path / folder).mkdir(exist_ok=True)
        subprocess.run([CLUSTER / "slurm_ranks.sh", f"../{scan}", pieces], cwd=tmp_path / folder, check=True, timeout=120,
                       env=os.environ | allow | {"LOBULE": PROGRAM, "LOBULE_LAUNCH": launcher})

    def files(folder):
        return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    run("fresh", "", "other.nii", "other.ome.zarr")
    made = {}
    for name, launcher in launchers.items():
        for _ in range(2):  # the second time there is nothing to do
            run(name, launcher, "scan.nii", "pieces.ome.zarr")
        run(name, launcher, "other.nii", "other.ome.zarr")
        made[name] = files(tmp_path / name)
        assert len((tmp_path / name / "pieces.tsv").read_text().splitlines()) > 1
        first, second = (files(tmp_path / name / f"{x}.ome.zarr") for x in ("pieces", "other"))
        assert second == files(tmp_path / "fresh/other.ome.zarr") != first
    assert len(set(map(str, made.values()))) == 1
