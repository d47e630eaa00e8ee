"""A program for another system or processor, which LOBULE_BIN names, gives the bytes of this machine's: LOBULE_LINUX."""

import hashlib
import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DATA = ROOT / "data"
PROGRAMS = {"here": os.environ["LOBULE_LINUX"], "there": os.environ["LOBULE_BIN"]}

# What is made by these lines, in this order, in a folder of its own; a "-" at a line's start keeps its standard output.
LINES = """
phantom abdomen -o scan.nii.gz --size 64,48,40 --truth truth.nii.gz --seeds seeds.nii.gz --random-seed 7
growcut scan.nii.gz seeds.nii.gz -o grown.nii.gz --strength strength.nii.gz
growcut scan.nii.gz seeds.nii.gz -o flooded.nii.gz --rule distance --neighbours 6 --max-mm 30
components scan.nii.gz -o pieces.nii.gz --above 200 --table pieces.tsv --image scan.nii.gz
components scan.nii.gz -o like.nii.gz --tolerance 3 --neighbours 18 --order size
supervoxels scan.nii.gz -o slic.nii.gz --size 8mm
supervoxels scan.nii.gz -o lsc.nii.gz --method lsc --count 300 --mean mean.nii.gz
supervoxels scan.nii.gz -o slico.nii.gz --method slico --size 10mm --slices axial
filter scan.nii.gz -o smooth.nii.gz --median 1vox --gaussian 2mm
filter scan.nii.gz -o edges.nii.gz --window -160,240 --gradient 2mm
threshold scan.nii.gz -o otsu.nii.gz --otsu 4
distance truth.nii.gz -o mm.nii.gz --feature nearest.nii.gz --max 20mm
maxima mm.nii.gz -o peaks.nii.gz --height 1 --above 2
labels truth.nii.gz -o clean.nii.gz --fill-holes --smooth 2mm --sequential
resample scan.nii.gz -o even.nii.gz --spacing 2,2,2
crop scan.nii.gz -o box.nii.gz --first 10,10,5 --size 30,30,20
crop scan.nii.gz -o slice.nii.gz --first 0,0,5 --size 64,48,1
filter slice.nii.gz -o slice.png --window 0,2000 --cast uint8
segment scan.nii.gz seeds.nii.gz -o mask.nii.gz --suggest 2 --sheet sheet.png
cells {data}/cells.nii.gz -o cells.nii.gz --table cells.tsv
phantom abdomen -o other.nii.gz --size 64,48,40 --truth atlas.nii.gz --random-seed 8
register scan.nii.gz other.nii.gz -o field.nii.gz --moved moved.nii.gz
warp atlas.nii.gz field.nii.gz -o warped.nii.gz --labels --like scan.nii.gz
fuse scan.nii.gz -o fused.nii.gz --atlas moved.nii.gz,warped.nii.gz --votes votes.nii.gz
carry scan.nii.gz --atlases {atlases} -o carried.nii.gz --doubt doubt.nii.gz
-compare truth.nii.gz grown.nii.gz
-stats scan.nii.gz truth.nii.gz
preview scan.nii.gz truth.nii.gz -o preview.png
""".strip().splitlines()  # fmt: skip

# Every format that is written.
FORMATS = ["nii", "nii.gz", "hdr", "img", "nrrd", "seg.nrrd", "mha", "mhd", "tif", "ome.tif", "h5", "ome.zarr"]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """What both programs make: {system: {file or line: sha256 of its bytes}}."""
    sums = {}
    for system, program in PROGRAMS.items():
        folder = tmp_path_factory.mktemp(system)
        sums[system] = {}
        atlases = folder.with_name(f"{system}_atlases.tsv")
        atlases.write_text(f"image\tlabels\n{folder}/other.nii.gz\t{folder}/atlas.nii.gz\n", encoding="utf-8")
        for line in LINES:
            words = [word.format(data=DATA, atlases=atlases) for word in line.lstrip("-").split()]
            done = subprocess.run([program, *words], cwd=folder, capture_output=True, check=False)
            assert done.returncode == 0, (system, line, done.stderr)
            if line.startswith("-"):
                sums[system][line] = hashlib.sha256(done.stdout).hexdigest()
        for suffix in FORMATS:
            labels = ["--labels", "truth.nii.gz"] if suffix == "seg.nrrd" else ["scan.nii.gz"]
            run = [program, "convert", *labels, f"as.{suffix}", "--force"]
            done = subprocess.run(run, cwd=folder, capture_output=True, check=False)
            assert done.returncode == 0, (system, suffix, done.stderr)
        for file in sorted(folder.rglob("*")):
            if file.is_file():
                sums[system][file.relative_to(folder).as_posix()] = hashlib.sha256(file.read_bytes()).hexdigest()
    return sums


def test_all_files_are_there(made):
    """The same names, and as many as the lines make."""
    assert made["there"].keys() == made["here"].keys()
    assert len(made["here"]) > len(LINES) + len(FORMATS)


def test_the_bytes_are_the_same(made):
    """Of every file, and of what is printed."""
    assert [name for name, sum in made["here"].items() if made["there"].get(name) != sum] == []


def test_doctor(tmp_path):
    """Every algorithm passes its self-test."""
    done = subprocess.run([PROGRAMS["there"], "doctor"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
