"""lobule repeat: what a report says is done again, from the same inputs, and compared byte by byte."""

import hashlib
import json
import os
import re

import numpy as np
import pytest
from conftest import assert_one_line, contents, good, load, lobule, refused, save, scan_array
from test_cells import UM, nuclei
from test_segment import bodies, strokes

RECIPE = """growcut {image} {seeds} -o @grown
labels @grown -o {out}.nii.gz --keep 2
stats {image} {out}.nii.gz --table {out}.tsv
convert {out}.nii.gz {out}.hdr
"""

# Commands whose report is repeated; several kinds of outputs, names written in every way.
COMMANDS = {
    "growcut": ["growcut", "image.nii.gz", "seeds.nii.gz", "-o", "out.nii.gz", "--strength=out.strength.nii.gz"],
    "joined letter": ["growcut", "image.nii.gz", "./seeds.nii.gz", "-oout.nii.gz", "--force", "--tie", "tie.nii.gz"],
    "two files": ["convert", "image.nii.gz", "out.hdr"],
    "inside a file": ["components", "image.nii.gz", "-o", "out.h5", "--above", "400", "--table", "out.tsv"],
    "a picture": ["preview", "image.nii.gz", "seeds.nii.gz", "-o", "out.png"],
    "a page": ["preview", "image.nii.gz", "seeds.nii.gz", "--html", "out.html"],
    "no input": ["phantom", "abdomen", "-o", "out.nii.gz", "--seeds", "s.nii.gz", "--size", "20,20,20"],
    "a recipe of its own": ["segment", "scan.nii.gz", "strokes.nii.gz", "-o", "out.nii.gz", "--strength", "s.nii.gz"],
    "more than that recipe": ["segment", "scan.nii.gz", "strokes.nii.gz", "-o", "out.nii.gz", "--uncertain",
                              "u.nii.gz", "--sheet", "out.png"],
    "cells": ["cells", "nuclei.nii.gz", "-o", "out.nii.gz", "--size", "8um", "--table", "out.tsv"],
    "one name": ["growcut", "image.nii.gz", "seeds.nii.gz", "-o", "a/out.nii.gz", "--tie", "b/out.nii.gz"],
}


def add_inputs(folder, command):
    """The inputs of a command that the folder's would not do for."""
    if command == "segment":
        image, truth = bodies()
        save(image, folder / "scan.nii.gz")
        save(strokes(truth, (3, 6, 8)), folder / "strokes.nii.gz")
    if command == "cells":
        save(nuclei()[0], folder / "nuclei.nii.gz", UM)


@pytest.fixture
def reported(folder):
    """report.json of a recipe."""
    (folder / "steps.recipe").write_text(RECIPE)
    good("run", "steps.recipe", "image=image.nii.gz", "seeds=seeds.nii.gz", "out=out", "--report", "report.json",
         cwd=folder)
    return folder


def outputs(report):
    return [x["path"] for x in json.loads(report.read_text())["outputs"]]


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_repeated(folder, name):
    for sub in "ab":
        (folder / sub).mkdir()
    add_inputs(folder, COMMANDS[name][0])
    good(*COMMANDS[name], "--report", "report.json", cwd=folder)
    before = contents(folder)
    done = good("repeat", "report.json", cwd=folder)
    made = outputs(folder / "report.json")
    assert done.stdout.splitlines()[-len(made):] == [f"equal    {path}" for path in made]
    assert contents(folder) == before and list(folder.glob("lobule-repeat*")) == []


def test_a_recipe_is_repeated_from_anywhere_without_its_file(reported, tmp_path_factory):
    (reported / "steps.recipe").unlink()
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    before = contents(reported)
    done = good("repeat", reported / "report.json", "--out", "again", "--report", "new.json", cwd=elsewhere)
    assert done.stdout == "equal    out.nii.gz\nequal    out.tsv\nequal    out.hdr\n"
    assert contents(reported) == before
    kept = {k[6:]: v for k, v in contents(elsewhere).items() if k.startswith("again/")}
    assert kept == {k: v for k, v in before.items() if k.startswith("out.")} and len(kept) == 4
    report = json.loads((elsewhere / "new.json").read_text())
    assert report["results"]["different"] == 0
    for row in report["results"]["compared"]:
        assert row["equal"] and row["sha256"] == row["expected"]
        assert row["sha256"] == hashlib.sha256((elsewhere / "again" / row["path"]).read_bytes()).hexdigest()
    assert contents(elsewhere).keys() == {"new.json", *("again/" + k for k in kept)}


def test_outputs_are_kept_only_where_asked(reported):
    good("repeat", "report.json", "--out", "again", cwd=reported)
    before = contents(reported)
    done = lobule("repeat", "report.json", "--out", "again", cwd=reported)
    assert_one_line(done, 72, "again/out.nii.gz", "--force")
    assert_one_line(lobule("repeat", "report.json", "--out", ".", cwd=reported), 72, "out.nii.gz")
    assert contents(reported) == before
    good("repeat", "report.json", "--out", "again", "--force", cwd=reported)
    assert contents(reported) == before


def test_force_of_the_command_itself_replaces_nothing(folder):
    words = ["convert", "image.nii.gz", "out.nii.gz", "--report", "report.json", "--force"]
    good(*words, cwd=folder)
    save(scan_array(seed=5), folder / "out.nii.gz")
    before = contents(folder)
    assert_one_line(lobule("repeat", "report.json", "--out", ".", cwd=folder), 72, "out.nii.gz")
    assert good("repeat", "report.json", cwd=folder).stdout == "equal    out.nii.gz\n"
    assert contents(folder) == before


def patch(path, change):
    report = json.loads(path.read_text())
    change(report)
    path.write_text(json.dumps(report))


PROVENANCE = ["growcut", "more than that recipe", "inside a file", "cells", "two files"]


@pytest.mark.parametrize("name", PROVENANCE)
def test_provenance_is_the_same_again(folder, name):
    """It names command line and outputs, which are others in a repetition."""
    add_inputs(folder, COMMANDS[name][0])
    good(*COMMANDS[name], "--provenance", "--report", "report.json", cwd=folder)
    done = good("repeat", "report.json", "--out", "again", cwd=folder)
    assert done.stdout.splitlines()[-len(outputs(folder / "report.json")):] == [
        f"equal    {path}" for path in outputs(folder / "report.json")]


def test_provenance_of_a_recipe(folder):
    """What one line wrote is read by the next, whose output tells of both; by planes, too."""
    (folder / "p.recipe").write_text("filter {image} -o @a --median 1\nconvert @a a.nii\n"
                                     "components a.nii -o out.nii --above 400 --max-memory 60KiB\n")
    good("run", "p.recipe", "image=image.nii.gz", "--provenance", "--report", "report.json", cwd=folder)
    assert good("repeat", "report.json", cwd=folder).stdout == "equal    a.nii\nequal    out.nii\n"
    assert good("repeat", "report.json", "--out", "again", "--provenance", "--report", "new.json", cwd=folder)
    for out in ("a.nii", "out.nii"):
        assert (folder / out).read_bytes() == (folder / "again" / out).read_bytes()
        assert b"lobule run p.recipe" in (folder / out).read_bytes()
    texts = [[x["provenance"] for x in json.loads((folder / n).read_text())["outputs"]]
             for n in ("report.json", "new.json")]
    assert texts[0] == texts[1]
    patch(folder / "report.json", lambda r: r["outputs"][0].update(provenance=texts[0][0] + "more"))
    done = lobule("repeat", "report.json", cwd=folder)
    assert done.returncode == 1 and done.stdout.startswith("differs  a.nii: ")


def test_an_output_that_differs(reported):
    def other(report):
        report["outputs"][1]["sha256"] = "0" * 64
        del report["outputs"][0]["sha256"]

    patch(reported / "report.json", other)
    done = lobule("repeat", "report.json", "--report", "new.json", cwd=reported)
    assert done.returncode == 1 and done.stderr == ""
    assert re.fullmatch(r"unknown  out.nii.gz: .*\ndiffers  out.tsv: its SHA-256 is [0-9a-f]{16}\.\.\., and was "
                        r"0{16}\.\.\.\nequal    out.hdr\n", done.stdout)
    report = json.loads((reported / "new.json").read_text())
    assert report["results"]["different"] == 1 and report["outcome"]["exit_code"] == 1
    assert report["outputs"] == []  # they are gone


def test_the_second_file_of_a_pair_counts(folder):
    good("convert", "image.nii.gz", "out.hdr", "--report", "report.json", cwd=folder)
    patch(folder / "report.json", lambda r: r["outputs"][0]["second_file"].update(sha256="1" * 64))
    done = lobule("repeat", "report.json", cwd=folder)
    assert done.returncode == 1 and done.stdout.startswith("differs  out.hdr: ")


def test_an_input_that_changed_or_is_gone(reported):
    before = contents(reported)
    save(scan_array(seed=9), reported / "image.nii.gz")
    now = hashlib.sha256((reported / "image.nii.gz").read_bytes()).hexdigest()
    assert_one_line(lobule("repeat", "report.json", cwd=reported), 65, "image.nii.gz: has changed", now[:16])
    (reported / "image.nii.gz").unlink()
    assert_one_line(lobule("repeat", "report.json", cwd=reported), 66, "image.nii.gz: cannot be read", "--from")
    del before["image.nii.gz"]
    assert contents(reported) == before


def test_a_study_that_moved(reported, tmp_path_factory):
    moved = tmp_path_factory.mktemp("moved") / "study"
    reported.rename(moved)
    assert_one_line(lobule("repeat", moved / "report.json"), 66, str(reported), "--from")
    done = good("repeat", moved / "report.json", "--from", moved)
    assert done.stdout.count("equal") == 3


def test_another_version(reported):
    version = good("--version").stdout.split()[1]
    patch(reported / "report.json", lambda r: r.update(version="0.0.9"))
    assert_one_line(lobule("repeat", "report.json", cwd=reported), 65, "0.0.9", version, "--any-version")
    assert good("repeat", "report.json", "--any-version", cwd=reported).stdout.count("equal") == 3


def drop(*path):
    def change(report):
        for name in path[:-1]:
            report = report[name]
        del report[path[-1]]

    return change


BAD = [
    (drop("tool"), 65, "no report"),
    (drop("version"), 65, "'version'"),
    (drop("command"), 65, "'command'"),
    (drop("inputs"), 65, "'inputs'"),
    (drop("outputs"), 65, "'outputs'"),
    (drop("outcome"), 65, "exit_code"),
    (drop("outcome", "message"), 65, "message"),
    (drop("results"), 65, "results.lines"),
    (drop("results", "lines", 0, "arguments"), 65, "'arguments'"),
    (drop("results", "lines", 0, "options"), 65, "'options'"),
    (drop("inputs", 0, "path"), 65, "'inputs'"),
    (lambda r: r["results"].update(lines=[]), 65, "results.lines"),
    (lambda r: r["results"]["lines"][1]["arguments"].append(3), 65, "'arguments'"),
    (lambda r: r["results"]["lines"][1]["arguments"].append("--nonsense"), 65, "--nonsense"),
    (lambda r: r["results"]["lines"][1]["arguments"].append("a\nb"), 65, "control character"),
    (lambda r: r["results"]["lines"][1].update(command="conquer"), 65, "conquer"),
    (lambda r: r["results"]["lines"][1].update(command="run"), 65, "no other recipe"),
    (lambda r: r.update(command="repeat"), 65, "not repeated itself"),
    (lambda r: r["outcome"].update(exit_code=65, message="it was bad"), 65, "it was bad"),
    (lambda r: r.update(outputs=[]), 65, "nothing to compare"),
    (lambda r: r.update(folder="/no/such/place"), 66, "/no/such/place"),
]


@pytest.mark.parametrize("row", range(len(BAD)))
def test_a_report_that_cannot_be_repeated(reported, row):
    change, code, part = BAD[row]
    patch(reported / "report.json", change)
    refused(reported, ["repeat", "report.json"], code, "report.json", part)


@pytest.mark.parametrize("text", ["", "[]", "{", "{} x", '"', "\x00", "[" * 5000, '{"tool":"lobule"}'])
def test_what_is_no_report(folder, text):
    (folder / "report.json").write_text(text)
    assert_one_line(lobule("repeat", "report.json", cwd=folder), 65, "report.json: ")
    assert_one_line(lobule("repeat", "missing.json", cwd=folder), 66, "missing.json")


def test_usage(reported):
    assert_one_line(lobule("repeat", cwd=reported), 64, "REPORT")
    assert_one_line(lobule("repeat", "report.json", "--methods", "--dry-run", cwd=reported), 64, "--methods")
    assert_one_line(lobule("repeat", "report.json", "--out", "no/such", cwd=reported), 73, "no/such")
    assert_one_line(lobule("repeat", "report.json", cwd=reported, env={**os.environ, "TMPDIR": "/no/such"}), 73,
                    "/no/such", "TMPDIR")


def test_a_hostile_report_writes_nowhere_else(reported):
    """Whatever arguments it names, outputs go to the folder for them, and nothing is replaced."""
    def other(report):
        lines = report["results"]["lines"]
        lines[3]["arguments"] = ["image.nii.gz", str(reported / "victim.nii.gz"), "--force", "--report", "image.json"]
        lines[1]["arguments"] += ["--report=../victim.json"]

    for name in ("victim.nii.gz", "victim.json", "image.json"):
        (reported / name).write_text("{\n\t\"tool\":\t\"lobule\"")
    patch(reported / "report.json", other)
    before = contents(reported)
    done = lobule("repeat", "report.json", cwd=reported)
    assert done.returncode == 1 and done.stdout.splitlines()[-1] == "missing  out.hdr: was not made again"
    assert contents(reported) == before


def test_dry_run_prints_what_was_typed(reported):
    before = contents(reported)
    done = good("repeat", "report.json", "--dry-run", cwd=reported)
    assert done.stdout == ("lobule growcut image.nii.gz seeds.nii.gz -o @grown\nlobule labels @grown -o out.nii.gz "
                           "--keep 2\nlobule stats image.nii.gz out.nii.gz --table out.tsv\nlobule convert "
                           "out.nii.gz out.hdr\n")
    assert contents(reported) == before


def test_names_that_are_no_text(folder):
    name = os.fsdecode(b"sc\xe4n \xf0\x9f\x98\x80.nii.gz")
    (folder / "image.nii.gz").rename(folder / name)
    good("convert", name, name + ".nrrd", "--report", "report.json", cwd=folder)
    assert good("repeat", "report.json", cwd=folder).stdout.startswith("equal    sc")


# ---- methods ----

METHODS = [
    (["growcut", "image.nii.gz", "seeds.nii.gz", "-o", "o.nii.gz", "--rule", "distance", "--max-mm=30"],
     ["Labels were grown from seeds by GrowCut", "[1, 2, 3]", "at most 30mm from the nearest seed",
      "the distance rule", "26 neighbours", "[1] Vezhnevets", "[2] Kauffmann", "[3] Zhu"]),
    (["growcut", "image.nii.gz", "seeds.nii.gz", "-o", "o.nii.gz", "--rule", "flood", "--neighbours", "6"],
     ["a watershed by flooding", "[1, 2]", "6 neighbours", "[1] Meyer F.", "[2] Lotufo R"]),
    (["growcut", "image.nii.gz", "seeds.nii.gz", "-o", "o.nii.gz", "--rule=value", "--penalty", "2"],
     ["on which the sum of values is least (the value rule, a penalty of 2 per mm"]),
    (["growcut", "image.nii.gz", "seeds.nii.gz", "-o", "o.nii.gz", "--rule=square"], ["sum of squared values"]),
    (["merge", "seeds.nii.gz", "image.nii.gz", "-o", "o.nii.gz", "--height", "12"],
     ["Basins of a flood were joined", "height 12", "[1] Grimaud M."]),
    (["cells", "nuclei.nii.gz", "-o", "o.nii.gz", "--size", "8um"],
     ["valleys of the Laplacian", "size 0.008mm", "[1] Lindeberg T", "[2] Meyer F.", "[4] Grimaud"]),
    (["cells", "nuclei.nii.gz", "-o", "o.nii.gz", "--size", "8um", "--walls"], ["between walls", "[1] Meyer F."]),
    (["segment", "scan.nii.gz", "strokes.nii.gz", "-o", "o.nii.gz"], ["from brush strokes", "[1] Vezhnevets"]),
    (["threshold", "image.nii.gz", "-o", "o.nii.gz", "--otsu", "3"], ["3 classes", "[1] Otsu N."]),
    (["threshold", "image.nii.gz", "-o", "o.nii.gz", "--above", "3"], ["values above 3"]),
    (["supervoxels", "image.nii.gz", "-o", "o.nii.gz", "--method", "lsc", "--size", "5mm"],
     ["method lsc", "size 5mm", "[1] Li Z", "[2] Ban Z"]),
    (["filter", "image.nii.gz", "-o", "o.nii.gz", "--median", "1", "--gaussian", "2mm", "--median=2vox"],
     ["(median of radius 1, Gaussian of standard deviation 2mm, median of radius 2vox)"]),
    (["labels", "seeds.nii.gz", "-o", "o.nii.gz", "--dilate", "3", "--fill-holes", "--keep", "1,2"],
     ["(dilate 3, fill holes, keep 1,2)", "Felzenszwalb"]),
    (["components", "image.nii.gz", "-o", "o.nii.gz", "--mask", "seeds.nii.gz", "--table", "t.tsv"],
     ["inside a mask", "numbered by raster", "Rosenfeld"]),
]


@pytest.mark.parametrize("row", range(len(METHODS)))
def test_methods(folder, row):
    command, parts = METHODS[row]
    add_inputs(folder, command[0])
    good(*command, "--report", "report.json", cwd=folder)
    before = contents(folder)
    text = good("repeat", "report.json", "--methods", cwd=folder).stdout
    for part in ["Lobule " + good("--version").stdout.split()[1], *parts]:
        assert part in text, f"'{part}' is not in: {text}"
    assert ".nii" not in text and ".tsv" not in text
    assert ("GrowCut" in text) == ("Vezhnevets" in parts[-1] or "Zhu" in parts[-1])
    cited = {int(n) for group in re.findall(r"\[([\d, ]+)\]", text.split("References")[0]) for n in group.split(",")}
    assert cited == {int(n) for n in re.findall(r"^\[(\d+)\]", text, re.M)} == set(range(1, len(cited) + 1))
    assert contents(folder) == before


def test_methods_know_every_command(reported):
    commands = re.findall(r"^  (\w+)  ", good("--help").stdout, re.M)
    patch(reported / "report.json", lambda r: r["results"].update(
        lines=[{"command": command, "arguments": [], "options": {}} for command in commands]))
    text = good("repeat", "report.json", "--methods", cwd=reported).stdout
    unknown = re.findall(r"The command (\w+) was run", text)
    assert sorted(unknown) == ["batch", "bids", "doctor", "repeat", "run"] and len(commands) > 20


def test_methods_of_a_recipe_name_every_step(reported):
    text = good("repeat", "report.json", "--methods", cwd=reported).stdout
    steps = ["grown from seeds", "cleaned", "measured", "converted"]
    assert [text.find(step) for step in steps] == sorted(text.find(step) for step in steps)
    assert all(step in text for step in steps)


# ---- a scan of a batch ----


def test_a_scan_of_a_batch(reported):
    """A status table as batch writes it leads to the report of a scan."""
    columns = ("scan state exit_code message started total_s wait_s read_s inflate_s upload_s compute_s download_s "
               "compress_s write_s checksum_s other_s voxels labels device memory outputs inputs key report").split()
    rows = [{"scan": "s 1", "state": "done", "exit_code": "0", "report": "reports/s%201.json"},
            {"scan": "s2", "state": "failed", "exit_code": "65", "message": "bad", "report": ""}]
    batch = reported / "log"
    (batch / "reports").mkdir(parents=True)
    (reported / "report.json").rename(batch / "reports/s%201.json")
    empty = dict.fromkeys(columns, "n/a") | {"message": "", "started": "2026-03-01T12:00:00Z", "outputs": "",
                                             "inputs": "", "device": "cpu", "key": "0" * 64}
    empty |= {c: "0.5" for c in columns if c.endswith("_s")}
    (batch / "status.tsv").write_text("\n".join("\t".join(line) for line in
                                                [columns, *([(empty | r)[c] for c in columns] for r in rows)]) + "\n")
    for name in (batch, batch / "status.tsv"):
        assert good("repeat", name, "--scan", "s 1").stdout.count("equal") == 3
    assert_one_line(lobule("repeat", batch, "--scan", "s2"), 65, "s2", "failed")
    assert_one_line(lobule("repeat", batch, "--scan", "s3"), 64, "s3")
    assert_one_line(lobule("repeat", batch), 66, "log")
    assert np.count_nonzero(load(reported / "out.nii.gz")) > 0
