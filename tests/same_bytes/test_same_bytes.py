"""A program for another system or processor, which LOBULE_BIN names, gives the bytes of this machine's: LOBULE_LINUX."""

import hashlib
import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DATA = ROOT / "data"
PROGRAMS = {"here": os.environ["LOBULE_LINUX"], "there": os.environ["LOBULE_BIN"]}

# What is made by these lines, in this order, in a folder of its own; a "-" at a line's start takes its standard output too.
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
refine grown.nii.gz scan.nii.gz seeds.nii.gz -o refined.nii.gz
appearance scan.nii.gz seeds.nii.gz -o shares.nii.gz
seeds scan.nii.gz -o shells.nii.gz --labels grown.nii.gz --shell 8mm
merge pieces.nii.gz scan.nii.gz -o merged.nii.gz --height 200
-compare truth.nii.gz grown.nii.gz
-stats scan.nii.gz truth.nii.gz
-check scan.nii.gz
preview scan.nii.gz truth.nii.gz -o preview.png
""".strip().splitlines()  # fmt: skip


def suffixes(program):
    """Of every format that is written: the program lists them where it knows none."""
    done = subprocess.run([program, "convert", "scan.nii.gz", "as.none"], capture_output=True, text=True, check=False)
    return [*done.stderr.partition("known are ")[2].split(), ".ome.tif", ".seg.nrrd"]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """What both programs make: {system: {line or suffix: sha256 of its files, in the order of their names, and output}}."""
    sums = {}
    for system, program in PROGRAMS.items():
        folder = tmp_path_factory.mktemp(system)
        atlases = folder.with_name(f"{system}_atlases.tsv")
        atlases.write_text(f"image\tlabels\n{folder}/other.nii.gz\t{folder}/atlas.nii.gz\n", encoding="utf-8")
        lines = {line: line.lstrip("-").format(data=DATA, atlases=atlases) for line in LINES}
        for suffix in suffixes(program):
            what = {".seg.nrrd": "--labels truth.nii.gz", ".png": "slice.png"}.get(suffix, "scan.nii.gz")
            lines[suffix] = f"convert {what} {suffix[1:]}/as{suffix}"
            (folder / suffix[1:]).mkdir()
        sums[system], known = {}, set()
        for line, words in lines.items():
            done = subprocess.run([program, *words.split()], cwd=folder, capture_output=True, check=False)
            assert done.returncode == 0, (system, line, done.stderr)
            digest = hashlib.sha256(done.stdout if line.startswith("-") else b"")
            files = {file for file in folder.rglob("*") if file.is_file()} - known
            assert files or line.startswith("-"), (system, line)
            for file in sorted(files, key=lambda file: file.relative_to(folder).as_posix()):
                digest.update(file.relative_to(folder).as_posix().encode() + b"\0" + file.read_bytes())
            known |= files
            sums[system][line] = digest.hexdigest()
    return sums


def test_the_bytes_are_the_same(made):
    """Of the files of each line and format, their names, and what is printed."""
    for line, digest in made["there"].items():
        print(digest, line)
    assert len(made["here"]) > len(LINES) + 10
    assert made["there"] == made["here"]


def test_doctor(tmp_path):
    """Every algorithm passes its self-test."""
    done = subprocess.run([PROGRAMS["there"], "doctor"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
