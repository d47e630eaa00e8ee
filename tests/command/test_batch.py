"""lobule batch: many scans as single runs would do them, whatever happens on the way."""

import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import time

import nibabel
import numpy as np
import pytest
from conftest import (
    PROGRAM,
    SHAPE,
    assert_one_line,
    contents,
    good,
    judges,
    load,
    lobule,
    on_a_terminal,
    rows_of,
    save,
    scan_array,
    seeds_array,
)

RECIPE = """# Grow, number, measure.
growcut {image} {seeds} -o @grown --max-mm {reach=40}
components @grown -o {out} --equal --label-of input
stats {image} {out} --table -
"""


def status_of(folder):
    return {row["scan"]: row for row in rows_of(folder / "status.tsv")}


def files_in(cell):
    """path: (content, role, sha256, bytes) of a cell of files."""
    items = re.findall(r"((?:[^;\\]|\\.)+)", cell)
    return {words[5]: tuple(words[:4]) for words in (item.split(" ", 5) for item in items)}


def cohort(folder, count, **more):
    """So many scans with seeds, a recipe and a manifest."""
    (folder / "raw").mkdir(exist_ok=True)
    lines = ["scan\timage\tseeds\tout\tage"]
    for i in range(count):
        save(scan_array(seed=i), folder / f"raw/i{i}.nii.gz")
        save(seeds_array(), folder / f"raw/s{i}.nii.gz")
        lines.append(f"p{i}\traw/i{i}.nii.gz\traw/s{i}.nii.gz\tout{i}.nii.gz\t{30 + i}")
    (folder / "steps.recipe").write_text(RECIPE, encoding="utf-8")
    write_manifest(folder, lines)
    return lines


def write_manifest(folder, lines):
    (folder / "scans.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")


def batch(folder, *arguments, **more):
    return lobule("batch", *arguments, cwd=folder, **more)


def outputs(folder):
    return {k: v for k, v in contents(folder).items() if re.fullmatch(r"out\d+\.nii(\.gz)?", k)}


# ---- the same as single runs ----


@pytest.mark.parametrize("jobs", [1, 3])
def test_the_same_bytes_as_single_runs(tmp_path, jobs):
    count = 5
    cohort(tmp_path, count)
    alone = {}
    single = RECIPE.replace("--table -", "--table {out}.tsv")
    (tmp_path / "single.recipe").write_text(single, encoding="utf-8")
    for i in range(count):
        values = [f"image=raw/i{i}.nii.gz", f"seeds=raw/s{i}.nii.gz", f"out=out{i}.nii.gz"]
        good("run", "single.recipe", *values, "--report", "r.json", cwd=tmp_path)
        alone[f"p{i}"] = (
            (tmp_path / f"out{i}.nii.gz").read_bytes(),
            (tmp_path / f"out{i}.nii.gz.tsv").read_text(),
            json.loads((tmp_path / "r.json").read_text()),
        )
        (tmp_path / f"out{i}.nii.gz").unlink()
    done = batch(tmp_path, "steps.recipe", "scans.tsv", "--jobs", jobs)
    assert done.returncode == 0, done.stderr
    log = tmp_path / "scans.batch"
    rows = rows_of(log / "status.tsv")
    assert [row["scan"] for row in rows] == [f"p{i}" for i in range(count)]
    regions = []
    for i, row in enumerate(rows):
        data, table, report = alone[row["scan"]]
        out = f"out{i}.nii.gz"
        assert (tmp_path / out).read_bytes() == data
        assert (row["state"], row["exit_code"], row["message"]) == ("done", "0", "")
        assert (row["voxels"], row["labels"], row["device"]) == (str(np.prod(SHAPE)), "2", "cpu")
        mine = json.loads((log / row["report"]).read_text())
        for one, other in zip(mine["results"]["lines"][:2], report["results"]["lines"]):
            for results in (one["results"], other["results"]):
                results.pop("working_bytes", None)  # depends on threads
            assert one["results"] == other["results"]
        assert mine["inputs"][1:] == report["inputs"][1:]  # the first is the recipe
        sums = {entry["path"]: entry["sha256"] for entry in report["inputs"] + report["outputs"]}
        made = files_in(row["outputs"])
        assert made[out] == ("l", "2:--output", sums[out], str(len(data)))
        assert {p: v[2] for p, v in files_in(row["inputs"]).items()} == {
            p: sums[p] for p in (f"raw/i{i}.nii.gz", f"raw/s{i}.nii.gz")
        }
        stages = [float(v) for k, v in row.items() if k.endswith("_s") and k != "total_s"]
        assert sum(stages) == pytest.approx(float(row["total_s"]), abs=2e-2)
        names, *lines = table.splitlines()
        assert (log / f"tables/p{i}.3.tsv").read_text() == table
        regions += [f"p{i}\t3:--table\t" + line.replace("\t", "\tn/a\t", 1) for line in lines]
    merged = (log / "regions.tsv").read_text().splitlines()
    assert merged[0].split("\t")[:4] == ["scan", "table", "label", "name"]
    if "name" not in names.split("\t"):
        assert merged[1:] == regions
    summary = json.loads((log / "summary.json").read_text())
    assert (summary["scans"], summary["states"]["done"], summary["jobs"]) == (count, count, jobs)
    assert summary["peak_memory_bytes"] > 0 and summary["bottleneck"]


def test_options_for_outputs_hold_for_all_scans(tmp_path):
    cohort(tmp_path, 2)
    done = batch(tmp_path, "steps.recipe", "scans.tsv", "--provenance")
    assert done.returncode == 0, done.stderr
    for i in range(2):
        (text,) = [x.get_content() for x in nibabel.load(tmp_path / f"out{i}.nii.gz").header.extensions]
        assert b"--provenance" in bytes(text) and f"raw/i{i}.nii.gz".encode() in bytes(text)


def test_a_command_is_a_recipe_of_one_line(tmp_path):
    """Words keep blanks, quotes and dollars; only {name} is filled in."""
    save(scan_array(), tmp_path / "a $b.nii.gz")
    write_manifest(tmp_path, ["image\tout", "a $b.nii.gz\tout 'x'.nii.gz"])
    done = batch(tmp_path, "scans.tsv", "--", "components", "{image}", "-o", "{out}", "--above", "300")
    assert done.returncode == 0, done.stderr
    good("components", "a $b.nii.gz", "-o", "one.nii.gz", "--above", 300, cwd=tmp_path)
    assert (tmp_path / "out 'x'.nii.gz").read_bytes() == (tmp_path / "one.nii.gz").read_bytes()
    assert list(status_of(tmp_path / "scans.batch")) == ["a $b"]
    (tmp_path / "scans.csv").write_text('image,out\r\na $b.nii.gz,"o,u.nii"\r\n')
    assert batch(tmp_path, "scans.csv", "--log", "csv", "--", "convert", "{image}", "{out}").returncode == 0
    assert (tmp_path / "o,u.nii").exists()
    assert (tmp_path / "csv/recipe.txt").read_text() == "convert {image} {out}\n"
    for name, text in (
        ("plain.csv", "image,out\na $b.nii.gz,new\\no.nii\n"),
        ("semicolons.csv", 'image;out\na $b.nii.gz;"new\\no.nii"\n'),
        ("tabs.csv", "image\tout\tscan\na $b.nii.gz\tnew\\\\no.nii\ta,b\n"),
        ("empty_cells.csv", 'image,out\na $b.nii.gz,new\\no.nii\n,\n ,""\n'),  # below a table, as spreadsheets leave them
        ("of_R.tsv", '"image"\t"out"\r\n"a $b.nii.gz"\t"new\\\\no.nii"\r\n\t\r\n'),
    ):
        (tmp_path / name).write_text(text)
        assert batch(tmp_path, name, "--log", name[:-4], "--", "convert", "{image}", "{out}", "--force").returncode == 0
        (tmp_path / "new\\no.nii").unlink()
    for text, code, told in (
        ("image|out\na|b\n", 64, "{image} has no value: bad.csv, with commas between columns, has no such column"),
        ("image, out\na,b\n", 64, "{out} has no value: bad.csv, with commas between columns, has no such column"),
        ('image,"out\na,b\n', 65, "bad.csv:1: has a quote without its end"),
        ('image,out\na,"b\nc"\n', 65, "bad.csv:2: has a quote without its end"),
        ('"image"\t"out"\n"a"\t"b\n', 65, "bad.tsv:2: has a quote without its end"),
        ('"image"\t"out\n', 65, "bad.tsv:1: has a quote without its end"),
        ("image,out\na,b\nM\xfcller,c\n", 65, "bad.csv:3: holds letters that are no UTF-8; save it as CSV UTF-8"),
    ):
        name = "bad.tsv" if "bad.tsv" in told else "bad.csv"
        (tmp_path / name).write_text(text, encoding="latin-1")
        assert_one_line(batch(tmp_path, name, "--log", "bad", "--", "convert", "{image}", "{out}"), code, told)
    odd = batch(tmp_path, "scans.tsv", "--log", "odd", "--", "convert", 'a $b.nii.gz', 'q"$`\\.nii')
    assert odd.returncode == 0, odd.stderr
    assert (tmp_path / "odd/recipe.txt").read_text() == 'convert "a \\$b.nii.gz" "q\\"\\$\\`\\\\.nii"\n'
    assert (tmp_path / 'q"$`\\.nii').exists()
    default = batch(tmp_path, "scans.tsv", "--log", "default", "--", "convert", "{image}", '{name=a$"\\b}$.nii')
    assert default.returncode == 0, default.stderr
    assert (tmp_path / "default/recipe.txt").read_text() == 'convert {image} "{name=a$"\\b}\\$.nii"\n'
    assert (tmp_path / 'a$"\\b$.nii').exists()


WORDS = [
    ("~x.nii", "a tilde that begins it"),
    ("*?[a].nii", "patterns"),
    ("#! a.nii", "what begins a comment, or a history of a shell"),
    (" a  b .nii", "blanks"),
    ("é ☃.nii", "letters beyond ASCII"),
    ("a'b&c;(d)|<e>.nii", "what a shell parts words at"),
]


@pytest.mark.parametrize(("word", "what"), WORDS)
def test_words_come_back_from_the_recipe_of_one_line(tmp_path, word, what):
    save(scan_array(), tmp_path / "a.nii")
    write_manifest(tmp_path, ["image", "a.nii"])
    assert batch(tmp_path, "scans.tsv", "--", "convert", "a.nii", word).returncode == 0
    made = (tmp_path / word).read_bytes()
    (tmp_path / word).unlink()
    good("run", "scans.batch/recipe.txt", cwd=tmp_path)
    assert (tmp_path / word).read_bytes() == made


def test_words_that_are_empty_or_of_two_lines(tmp_path):
    save(scan_array(), tmp_path / "a.nii")
    write_manifest(tmp_path, ["image", "a.nii"])
    convert = ("scans.tsv", "--", "convert", "a.nii", "b.nii")
    assert_one_line(batch(tmp_path, *convert, ""), 64, "''")
    for word in ("c\nd", "c\rd"):
        assert_one_line(batch(tmp_path, *convert, word), 64, "'c...': a word behind -- goes over several lines")


def test_images_by_pattern(tmp_path):
    """Folders and names of BIDS are kept; other outputs by patterns with columns."""
    for name in ("sub-1/ses-a/anat/sub-1_ses-a_T1w", "sub-2/anat/sub-2_T1w", "sub-2/anat/sub-2_T2w"):
        (tmp_path / "raw" / name).parent.mkdir(parents=True, exist_ok=True)
        save(scan_array(), tmp_path / "raw" / f"{name}.nii.gz")
    (tmp_path / "liver.recipe").write_text(
        "components {image} -o {out} --above {least=300} --table {table}\n", encoding="utf-8"
    )
    given = ["--images", "raw/**/*_T1w.nii.gz", "--out", "made", "table={dir}/tables/{stem}.tsv", "least=400"]
    done = batch(tmp_path, "liver.recipe", *given)
    assert done.returncode == 0, done.stderr
    made = {k for k in contents(tmp_path / "made") if not k.startswith("batch/")}
    assert made == {
        "sub-1/ses-a/anat/sub-1_ses-a_desc-liver_dseg.nii.gz",
        "sub-2/anat/sub-2_desc-liver_dseg.nii.gz",
        "tables/sub-1_ses-a_T1w.tsv",
        "tables/sub-2_T1w.tsv",
    }
    rows = status_of(tmp_path / "made/batch")
    assert list(rows) == ["sub-1/ses-a/anat/sub-1_ses-a_T1w", "sub-2/anat/sub-2_T1w"]
    report = json.loads((tmp_path / "made/batch" / rows["sub-2/anat/sub-2_T1w"]["report"]).read_text())
    assert report["command"] == "run" and "least=400" in report["arguments"]
    both = batch(tmp_path, "liver.recipe", "--images", "raw/**/*.nii.gz", "--out", "both", "table={dir}/{stem}.tsv")
    assert both.returncode == 0, both.stderr
    assert {k for k in contents(tmp_path / "both") if k.endswith(".nii.gz")} == {
        "sub-1/ses-a/anat/sub-1_ses-a_desc-liver_dseg.nii.gz",
        "sub-2/anat/sub-2_mod-T1w_desc-liver_dseg.nii.gz",
        "sub-2/anat/sub-2_mod-T2w_desc-liver_dseg.nii.gz",
    }
    plain = batch(tmp_path, "--images", "raw/sub-2/*/*.nii.gz", "--out", "x", "out={dir}/{scan}.nii", "--", "convert",
                  "{image}", "{out}")  # fmt: skip
    assert plain.returncode == 0, plain.stderr
    assert {k for k in contents(tmp_path / "x") if k.endswith(".nii")} == {
        "anat/sub-2_T1w.nii",
        "anat/sub-2_T2w.nii",
    }


def test_hdf5_in_other_processes_beside_threads(tmp_path):
    """Reading and writing HDF5 starts processes, while other scans compute."""
    import h5py

    lines = ["image\tout"]
    for i in range(6):
        with h5py.File(tmp_path / f"i{i}.h5", "w") as file:
            file.create_dataset("raw", data=scan_array(seed=i).astype(np.uint16), chunks=True, compression="gzip")
        lines.append(f"i{i}.h5:/raw\tout{i}.h5")
    write_manifest(tmp_path, lines)
    done = batch(tmp_path, "scans.tsv", "--jobs", 4, "--", "components", "{image}", "-o", "{out}", "--above", "400")
    assert done.returncode == 0, done.stderr
    for i in range(6):
        good("components", f"i{i}.h5:/raw", "-o", "one.h5", "--above", 400, "--force", cwd=tmp_path)
        assert (tmp_path / f"out{i}.h5").read_bytes() == (tmp_path / "one.h5").read_bytes()


# ---- what goes wrong ----


def test_each_failure_is_its_row_and_the_rest_is_done(tmp_path):
    lines = cohort(tmp_path, 9)
    (tmp_path / "raw/i1.nii.gz").unlink()
    whole = (tmp_path / "raw/i2.nii.gz").read_bytes()
    (tmp_path / "raw/i2.nii.gz").write_bytes(whole[: len(whole) // 2])
    turned = np.array([[0.8, -0.6, 0, 0], [0.6, 0.8, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
    save(seeds_array(), tmp_path / "raw/s3.nii.gz", affine=turned)  # on no grid of the image's
    save(np.zeros(SHAPE, np.uint8), tmp_path / "out4.nii.gz")
    lines[6] = lines[6].replace("out5.nii.gz", "steps.recipe/out5.nii.gz")  # no folder can be made there
    lines[7] = lines[7].replace("out6.nii.gz", "out8.nii.gz").replace("raw/i6", "raw/i8")
    lines[1], lines[9] = lines[9], lines[1]  # the scan that writes out8.nii.gz comes first
    write_manifest(tmp_path, lines)
    before = (tmp_path / "out4.nii.gz").read_bytes()
    done = batch(tmp_path, "steps.recipe", "scans.tsv")
    rows = status_of(tmp_path / "scans.batch")
    want = {"p1": "66", "p2": "65", "p3": "65", "p4": "72", "p5": "73", "p6": "64"}
    assert {k: v["exit_code"] for k, v in rows.items() if v["state"] == "failed"} == want
    for scan, word in {"p1": "i1.nii.gz", "p2": "i2.nii.gz", "p3": "s3.nii.gz", "p6": "p8"}.items():
        assert word in rows[scan]["message"] and word in done.stderr
    assert {k for k, v in rows.items() if v["state"] == "done"} == {"p0", "p7", "p8"}
    assert set(outputs(tmp_path)) == {"out0.nii.gz", "out4.nii.gz", "out7.nii.gz", "out8.nii.gz"}
    assert (tmp_path / "out4.nii.gz").read_bytes() == before
    assert done.returncode == 66, done.stderr  # of the first in the manifest
    for row in rows.values():
        report = json.loads((tmp_path / "scans.batch" / row["report"]).read_text())
        assert str(report["outcome"]["exit_code"]) == row["exit_code"]
        if row["scan"] in ("p2", "p3"):  # wrong as it is read: it is given no device
            assert (row["device"], report["device"]["why"]) == ("", "no other was needed")
    regions = {row["scan"] for row in rows_of(tmp_path / "scans.batch/regions.tsv")}
    assert regions == {"p0", "p7", "p8"}


def test_a_recipe_that_is_wrong_for_all_scans_is_refused_first(tmp_path):
    """In its second line, too; what is wrong for some of them alone is in their rows."""
    save(scan_array(), tmp_path / "i.nii")
    (tmp_path / "steps.recipe").write_text("convert {image} {folder}/{out}\nstats {image} {folder}/{out} --{word} -\n")
    write_manifest(tmp_path, ["scan\timage\tfolder\tout\tword", *(f"s{i}\ti.nii\tno/such\to{i}.nii\ttabel" for i in range(3))])
    before = contents(tmp_path)
    for more in ([], ["--resume"], ["--shard", "1/2"]):
        assert_one_line(batch(tmp_path, "steps.recipe", "scans.tsv", *more), 64, "steps.recipe:2: stats", "--tabel")
    assert contents(tmp_path) == before and not (tmp_path / "scans.batch").exists()
    write_manifest(tmp_path, ["scan\timage\tfolder\tout\tword", "a\ti.nii\t.\ta.nii\ttabel", "b\ti.nii\t.\tb.nii\ttable"])
    assert batch(tmp_path, "steps.recipe", "scans.tsv").returncode == 64
    assert {k: v["exit_code"] for k, v in status_of(tmp_path / "scans.batch").items()} == {"a": "64", "b": "0"}


def test_a_file_belongs_to_one_scan_by_whatever_name(tmp_path):
    (tmp_path / "q").mkdir()
    (tmp_path / "linked").symlink_to("q")
    save(scan_array(), tmp_path / "i.nii")
    names = ["q/o.nii", "q//o.nii", "./q/../q/o.nii", "linked/o.nii", tmp_path / "q/o.nii", "q/p.nii"]
    write_manifest(tmp_path, ["scan\tout", *(f"s{i}\t{name}" for i, name in enumerate(names))])
    for more in ([], ["--force"]):
        done = batch(tmp_path, "scans.tsv", *more, "--", "convert", "i.nii", "{out}")
        assert done.returncode == 64, done.stderr
        rows = status_of(tmp_path / "scans.batch")
        assert [row["exit_code"] for row in rows.values()] == ["0", "64", "64", "64", "64", "0"]
        assert all("scan s0 writes it" in rows[f"s{i}"]["message"] for i in range(1, 5))


def test_no_scan_writes_what_another_reads(tmp_path):
    """Not with --force either, and wherever in the manifest the other stands."""
    (tmp_path / "linked").symlink_to(".")
    before = {}
    for i in range(4):
        save(scan_array(seed=i), tmp_path / f"i{i}.nii")
        before[i] = (tmp_path / f"i{i}.nii").read_bytes()
    write_manifest(tmp_path, ["scan\timage\tmask\tout", "a\ti0.nii\ti3.nii\tlinked/i2.nii",
                              "b\ti1.nii\ti3.nii\t./i3.nii", "c\ti2.nii\ti3.nii\to.nii",
                              "d\ti1.nii\ti3.nii\ti0.nii"])  # fmt: skip
    (tmp_path / "steps.recipe").write_text(
        "components {image} --mask={mask} -o @c\ncomponents @c -o {out} --equal\nstats {image} {out} --table -\n"
    )
    done = batch(tmp_path, "steps.recipe", "scans.tsv", "--force")
    assert done.returncode == 64, done.stderr
    rows = status_of(tmp_path / "scans.batch")
    assert {k: v["exit_code"] for k, v in rows.items()} == {"a": "64", "b": "64", "c": "0", "d": "64"}
    assert "scan c reads it" in rows["a"]["message"] and "scan a reads it" in rows["d"]["message"]
    for i, data in before.items():
        assert (tmp_path / f"i{i}.nii").read_bytes() == data


def test_scans_of_one_folder_that_is_not_there_yet(tmp_path):
    """A file that one scan reads and another would write is the same before its folder is made and after."""
    save(scan_array(), tmp_path / "x.nii")
    write_manifest(tmp_path, ["scan\timage\tout", "a\tout/b.nii\tout/a.nii", "b\tx.nii\tout/b.nii"])
    for more in ([], ["--resume"]):
        done = batch(tmp_path, "scans.tsv", *more, "--", "convert", "{image}", "{out}")
        rows = status_of(tmp_path / "scans.batch")
        assert done.returncode == 66, done.stderr
        assert rows["b"]["exit_code"] == "64" and "scan a reads it" in rows["b"]["message"]


def test_a_scan_with_a_conflict_has_none_of_its_outputs(tmp_path):
    """What it would write besides, another scan may; in a folder that is there already, too."""
    save(scan_array(), tmp_path / "x.nii")
    write_manifest(tmp_path, ["scan\tout\ttable", "a\tout/a.nii\ta.tsv", "b\tout/a.nii\tout/../b.tsv", "c\tout/c.nii\tb.tsv"])
    (tmp_path / "steps.recipe").write_text("convert x.nii {out}\nstats x.nii {out} --table {table}\n")
    for more in ([], ["--force"]):
        assert batch(tmp_path, "steps.recipe", "scans.tsv", *more).returncode == 64
        rows = status_of(tmp_path / "scans.batch")
        assert {k: v["exit_code"] for k, v in rows.items()} == {"a": "0", "b": "64", "c": "0"}
        assert "out/a.nii: scan a writes it" in rows["b"]["message"]


def test_a_store_and_what_lies_in_it_are_of_one_scan(tmp_path):
    """A store is written as a whole: labels that another scan puts in it, or reads there, would be lost."""
    save(scan_array(), tmp_path / "x.nii")
    for name in ("s", "t", "w"):
        good("convert", "x.nii", f"{name}.zarr", cwd=tmp_path)
    (tmp_path / "w.zarr").rename(tmp_path / "elsewhere")
    (tmp_path / "w.zarr").symlink_to("elsewhere")
    good("threshold", "x.nii", "-o", "s.zarr/labels/old", "--above", "1", cwd=tmp_path)
    write_manifest(tmp_path, ["scan\timage\tout", "a\tx.nii\ts.zarr/labels/a", "b\tx.nii\ts.zarr",
                              "c\tx.nii\t./s.zarr/labels/c", "d\ts.zarr/labels/old\td.nii", "e\tx.nii\tt.zarr",
                              "f\tx.nii\tt.zarr/labels/f", "g\tx.nii\tu.zarr/labels/g",
                              "h\tx.nii\tv.zarr", "i\tx.nii\tv.zarr/labels/i.nii",
                              "j\tx.nii\tw.zarr/labels/j", "k\tx.nii\tw.zarr",
                              "l\tt.zarr/../x.nii\tl.nii"])  # fmt: skip
    done = batch(tmp_path, "scans.tsv", "--force", "--", "threshold", "{image}", "-o", "{out}", "--above", "1")
    rows = status_of(tmp_path / "scans.batch")
    codes = {k: v["exit_code"] for k, v in rows.items()}
    assert codes == {"a": "0", "b": "64", "c": "0", "d": "0", "e": "0", "f": "64", "g": "66",
                     "h": "0", "i": "64", "j": "0", "k": "64", "l": "0"}, done.stderr
    assert "s.zarr: scan d uses what lies in it" in rows["b"]["message"]
    assert "t.zarr/labels/f: scan e writes the store" in rows["f"]["message"]
    assert "v.zarr/labels/i.nii: scan h writes the store" in rows["i"]["message"]  # whether it is there by then or not
    assert "w.zarr: scan j uses what lies in it" in rows["k"]["message"]
    assert sorted(os.listdir(tmp_path / "s.zarr/labels")) == ["a", "c", "old", "zarr.json"]
    assert not (tmp_path / "u.zarr").exists()


def test_folders_with_a_volumes_name_are_made(tmp_path):
    save(scan_array(), tmp_path / "x.nii")
    names = ["out/foo.nii/l.nii.gz", "out/foo.zarr/deep/l.nii"]
    write_manifest(tmp_path, ["scan\tout", *(f"s{i}\t{name}" for i, name in enumerate(names))])
    done = batch(tmp_path, "scans.tsv", "--", "threshold", "x.nii", "-o", "{out}", "--above", "1")
    assert done.returncode == 0 and all((tmp_path / name).is_file() for name in names), done.stderr


def test_a_scan_that_reads_its_own_output_claims_nothing(tmp_path):
    """Whose path leads to what it reads only once its folders are there."""
    save(scan_array(), tmp_path / "x.nii")
    write_manifest(tmp_path, ["scan\timage\tout", "a\tnew/deep/o.nii\tnew/x/../deep/o.nii", "b\tx.nii\tnew/deep/o.nii"])
    done = batch(tmp_path, "scans.tsv", "--", "convert", "{image}", "{out}")
    rows = status_of(tmp_path / "scans.batch")
    assert done.returncode == 64 and {k: v["exit_code"] for k, v in rows.items()} == {"a": "64", "b": "0"}, done.stderr


def test_an_input_by_a_path_through_folders_that_nobody_makes(tmp_path):
    save(scan_array(), tmp_path / "x.nii")
    write_manifest(tmp_path, ["scan\timage\tout", "a\tx.nii\tnew/o.nii", "b\tp/q/../../new/o.nii\tc.nii"])
    done = batch(tmp_path, "scans.tsv", "--", "convert", "{image}", "{out}")
    rows = status_of(tmp_path / "scans.batch")
    assert done.returncode == 64 and "scan b reads it" in rows["a"]["message"], done.stderr


def test_an_input_that_is_replaced_while_its_scan_runs(tmp_path):
    """By an older file, as mv and rsync bring it: the scan is done again."""
    for i in range(2):
        save(np.full((128, 128, 128), i, np.int16), tmp_path / f"i{i}.nii.gz")
    os.utime(tmp_path / "i1.nii.gz", (1e9, 1e9))
    write_manifest(tmp_path, ["image\tout", "i0.nii.gz\tout.nii"])
    words = ["batch", "scans.tsv", "--", "filter", "{image}", "-o", "{out}", "--gaussian", "5vox"]
    with subprocess.Popen([PROGRAM, *words], cwd=tmp_path, stderr=subprocess.DEVNULL) as child:
        table = tmp_path / "scans.batch/status.tsv"
        while not table.is_file() or "started" not in table.read_text():
            time.sleep(0.001)
        os.replace(tmp_path / "i1.nii.gz", tmp_path / "i0.nii.gz")
    good(*words[:2], "--resume", *words[2:], cwd=tmp_path)
    assert np.allclose(load(tmp_path / "out.nii"), 1)


def test_files_of_lines_whether_they_had_anything_to_do_or_not(tmp_path):
    """A line whose output is there has no report; its files and those of the others are in the row all the same."""
    save(scan_array(), tmp_path / "i.nii")
    save(seeds_array(), tmp_path / "m.nii")
    write_manifest(tmp_path, ["scan\timage\tmask\ttable", "a\ti.nii\tm.nii\tt.tsv"])
    (tmp_path / "steps.recipe").write_text(
        "threshold {image} -o {mask} --skip-existing\nstats {image} {mask} --table {table} --report r.json\n"
    )
    assert batch(tmp_path, "steps.recipe", "scans.tsv").returncode == 0
    row = status_of(tmp_path / "scans.batch")["a"]
    assert {k: v[:2] for k, v in files_in(row["inputs"]).items()} == {"i.nii": ("i", "1:IMAGE")}
    wanted = {"m.nii": ("l", "1:--output"), "t.tsv": ("t", "2:--table"), "r.json": ("o", "2:--report")}
    assert {k: v[:2] for k, v in files_in(row["outputs"]).items()} == wanted
    assert {r["label"] for r in rows_of(tmp_path / "scans.batch/regions.tsv")} == {"1", "2"}


def test_a_full_disk_is_a_row_too(tmp_path):
    """A limit on the size of files stands for it: one output is larger than that."""
    rng = np.random.default_rng(1)
    lines = ["image\tout"]
    for i, shape in enumerate([(8, 8, 8), (64, 64, 48), (8, 8, 9)]):
        save(rng.integers(0, 1 << 30, shape).astype(np.int32), tmp_path / f"i{i}.nii")
        lines.append(f"i{i}.nii\tout{i}.nii")
    write_manifest(tmp_path, lines)
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 18, 1 << 18))  # noqa: E731
    done = batch(tmp_path, "scans.tsv", "--", "convert", "{image}", "{out}", preexec_fn=limit)
    rows = status_of(tmp_path / "scans.batch")
    assert [row["exit_code"] for row in rows.values()] == ["0", "74", "0"]
    assert done.returncode == 74 and "out1.nii" in rows["i1"]["message"]
    assert set(outputs(tmp_path)) == {"out0.nii", "out2.nii"}


def test_a_table_on_a_full_disk_has_whole_rows(tmp_path):
    """What of a row fits on the disk is taken back, so that the next one does not go on behind it."""
    cohort(tmp_path, 12)
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (6000, 6000))  # noqa: E731
    done = batch(tmp_path, "steps.recipe", "scans.tsv", "--jobs", 1, preexec_fn=limit)
    assert done.returncode == 74 and "status.tsv" in done.stderr
    table = (tmp_path / "scans.batch/status.tsv").read_bytes()
    assert 3000 < len(table) < 6000 and table.endswith(b"\n")
    again = batch(tmp_path, "steps.recipe", "scans.tsv", "--resume")
    assert again.returncode == 0, again.stderr
    assert len(outputs(tmp_path)) == 12


def test_fail_fast_begins_no_more(tmp_path):
    cohort(tmp_path, 12)
    (tmp_path / "raw/i1.nii.gz").unlink()
    done = batch(tmp_path, "steps.recipe", "scans.tsv", "--fail-fast", "--jobs", 1)
    assert done.returncode == 66 and "not begun" in done.stderr
    assert list(status_of(tmp_path / "scans.batch")) == ["p0", "p1"]
    cohort(tmp_path, 12)
    again = batch(tmp_path, "steps.recipe", "scans.tsv", "--resume")
    assert again.returncode == 0, again.stderr
    assert len(outputs(tmp_path)) == 12


REFUSED = [
    ("no recipe", [], None, 64, ["RECIPE"]),
    ("no manifest", ["steps.recipe"], None, 64, ["MANIFEST", "--images"]),
    ("too many words", ["steps.recipe", "scans.tsv", "x"], None, 64, ["'x'"]),
    ("no such manifest", ["steps.recipe", "no.tsv"], None, 66, ["no.tsv"]),
    ("no such recipe", ["no.recipe", "scans.tsv"], None, 66, ["no.recipe"]),
    ("a value that nobody asks for", ["steps.recipe", "scans.tsv", "x=1"], None, 64, ["x=1", "{x}"]),
    ("a pattern without column", ["steps.recipe", "scans.tsv", "out={sex}.nii"], None, 64, ["{sex}"]),
    ("a missing column", ["steps.recipe", "scans.tsv"], ["image\tout", "a\tb"], 64, ["{seeds}", "scans.tsv"]),
    ("a cell too few", ["steps.recipe", "scans.tsv"], ["image\tseeds\tout", "a\tb"], 65, ["scans.tsv:2", "2 cells"]),
    ("an empty cell", ["steps.recipe", "scans.tsv"], ["image\tseeds\tout", "a\t\tb"], 65, ["scans.tsv:2", "seeds"]),
    ("a volume in memory", ["steps.recipe", "scans.tsv"], ["image\tseeds\tout", "@a\tb\tc"], 65, ["./@a"]),
    ("no lines", ["steps.recipe", "scans.tsv"], ["image\tseeds\tout"], 65, ["scans.tsv"]),
    ("a column twice", ["steps.recipe", "scans.tsv"], ["a\ta", "b\tc"], 65, ["scans.tsv:1", "column 2"]),
    ("one name for two", ["steps.recipe", "scans.tsv"],
     ["scan\timage\tseeds\tout", "p\ta\tb\tc", "p\ta\tb\td"], 65, ["scans.tsv:3", "p"]),
    ("no image", ["steps.recipe", "--images", "raw/*.xyz", "--out", "o", "seeds=s"], None, 66, ["raw/*.xyz"]),
    ("a shard", ["steps.recipe", "scans.tsv", "--shard", "3/2"], None, 64, ["--shard 3/2"]),
    ("a merge of nothing", ["--merge", "raw"], None, 66, ["raw"]),
    ("several devices without one", ["steps.recipe", "scans.tsv", "--device", "cuda:all"], None, 69, ["--device cpu"]),
]  # fmt: skip


@pytest.mark.parametrize("arguments, manifest, code, parts", [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED])
def test_refused_before_any_work(tmp_path, arguments, manifest, code, parts):
    cohort(tmp_path, 1)
    if manifest:
        write_manifest(tmp_path, manifest)
    done = batch(tmp_path, *arguments)
    if code == 69 and done.returncode != 69:
        pytest.skip("a GPU is here")
    assert_one_line(done, code, "lobule batch: ", *parts)
    assert outputs(tmp_path) == {} and not (tmp_path / "scans.batch/status.tsv").exists()


def test_a_line_opens_a_device_of_its_own_before_it_reads(tmp_path):
    path = save(scan_array(), tmp_path / "i.nii.gz")
    words = ["components", "i.nii.gz", "-o", "o.nii", "--above", 100, "--device", "cuda:0"]
    if lobule(*words, "--force", cwd=tmp_path).returncode != 69:
        pytest.skip("a GPU is here")
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    write_manifest(tmp_path, ["scan", "a"])
    assert batch(tmp_path, "scans.tsv", "--device", "cpu", "--", *words).returncode == 69


def test_several_devices_are_for_batches(folder):
    done = lobule("growcut", "image.nii", "seeds.nii", "-o", "o.nii", "--device", "all", cwd=folder)
    assert_one_line(done, 64, "lobule batch")
    cohort(folder, 2)
    assert batch(folder, "steps.recipe", "scans.tsv", "--device", "all").returncode == 0


def test_one_batch_at_a_time_in_a_folder(tmp_path):
    cohort(tmp_path, 1)
    assert batch(tmp_path, "steps.recipe", "scans.tsv").returncode == 0
    done = batch(tmp_path, "steps.recipe", "scans.tsv")
    assert_one_line(done, 72, "status.tsv", "--resume")
    import fcntl

    folder = os.open(tmp_path / "scans.batch", os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    done = batch(tmp_path, "steps.recipe", "scans.tsv", "--resume")
    os.close(folder)
    assert_one_line(done, 75, "scans.batch", "another")
    again = batch(tmp_path, "steps.recipe", "scans.tsv", "--force")
    assert again.returncode == 0 and "1 done" in again.stderr


def test_the_recipe_of_a_batch_is_kept_where_another_is_refused(tmp_path):
    cohort(tmp_path, 1)
    kept = tmp_path / "scans.batch/recipe.txt"
    assert batch(tmp_path, "steps.recipe", "scans.tsv").returncode == 0
    assert kept.read_text() == RECIPE
    other = ["--", "convert", "{image}", "{out}"]
    (tmp_path / "other.recipe").write_text("convert {image} {out}\n", encoding="utf-8")
    for words in (["scans.tsv", *other], ["other.recipe", "scans.tsv"], ["no.tsv", "--log", "scans.batch", *other]):
        assert batch(tmp_path, *words).returncode in (66, 72)
        assert kept.read_text() == RECIPE
    assert batch(tmp_path, "scans.tsv", "--force", *other).returncode == 0
    assert kept.read_text() != RECIPE


# ---- going on ----


def test_resume_does_what_has_changed(tmp_path):
    cohort(tmp_path, 6)
    log = tmp_path / "scans.batch"
    assert batch(tmp_path, "steps.recipe", "scans.tsv").returncode == 0
    first = {k: v["started"] for k, v in status_of(log).items()}
    made = outputs(tmp_path)
    stamps = {k: (tmp_path / k).stat().st_mtime_ns for k in made}
    time.sleep(1.1)  # `started` counts seconds
    (tmp_path / "out0.nii.gz").unlink()  # its output is gone
    save(scan_array(seed=50), tmp_path / "raw/i1.nii.gz")  # another image
    os.utime(tmp_path / "raw/i2.nii.gz", (1, 1))  # touched, with the same bytes
    done = batch(tmp_path, "steps.recipe", "scans.tsv", "--resume")
    assert done.returncode == 0, done.stderr
    rows = status_of(log)
    assert {k for k in rows if rows[k]["started"] != first[k]} == {"p0", "p1"}
    assert {k for k in made if (tmp_path / k).stat().st_mtime_ns != stamps[k]} == {"out0.nii.gz", "out1.nii.gz"}
    assert (tmp_path / "out0.nii.gz").read_bytes() == made["out0.nii.gz"]
    # another value for all scans: every one is done again, over what this batch has made
    done = batch(tmp_path, "steps.recipe", "scans.tsv", "reach=10", "--resume")
    assert done.returncode == 0 and "6 done" in done.stderr
    # but what somebody else has put there since stays
    save(np.zeros(SHAPE, np.uint8), tmp_path / "out3.nii.gz")
    done = batch(tmp_path, "steps.recipe", "scans.tsv", "reach=20", "--resume")
    rows = status_of(log)
    assert done.returncode == 72 and rows["p3"]["exit_code"] == "72"
    assert not load(tmp_path / "out3.nii.gz").any()


def test_a_shorter_manifest_drops_no_rows(tmp_path):
    lines = cohort(tmp_path, 5)
    log = tmp_path / "scans.batch"
    assert batch(tmp_path, "steps.recipe", "scans.tsv").returncode == 0
    before, regions = status_of(log), (log / "regions.tsv").read_text().splitlines()
    write_manifest(tmp_path, [lines[0], lines[4], lines[2]])
    done = batch(tmp_path, "steps.recipe", "scans.tsv", "--resume")
    assert done.returncode == 0 and "2 scans, 2 done before" in done.stderr
    assert list(status_of(log)) == ["p3", "p1", "p0", "p2", "p4"] and status_of(log) == before
    assert sorted((log / "regions.tsv").read_text().splitlines()) == sorted(regions)
    write_manifest(tmp_path, lines)
    done = batch(tmp_path, "steps.recipe", "scans.tsv", "--resume")
    assert done.returncode == 0 and "5 done before" in done.stderr


def test_scans_that_look_side_by_side_begin_in_order(tmp_path):
    lines = cohort(tmp_path, 12)
    log = tmp_path / "scans.batch"
    assert batch(tmp_path, "steps.recipe", "scans.tsv").returncode == 0
    for i in range(12):
        os.utime(tmp_path / f"raw/i{i}.nii.gz", (i + 1, 1))  # touched: their bytes are compared
    done = batch(tmp_path, "steps.recipe", "scans.tsv", "--resume", "--jobs", 5)
    assert done.returncode == 0 and "12 done before" in done.stderr
    write_manifest(tmp_path, [line.replace("out3.nii.gz", "out9.nii.gz") for line in lines])
    done = batch(tmp_path, "steps.recipe", "scans.tsv", "--resume", "--jobs", 5)
    rows = status_of(log)
    assert done.returncode == 64 and "10 done before" in done.stderr
    assert {k for k, v in rows.items() if v["state"] == "failed"} == {"p9"} and "p3" in rows["p9"]["message"]


def test_skip_existing_is_a_state(tmp_path):
    cohort(tmp_path, 2)
    good("run", "steps.recipe", "image=raw/i0.nii.gz", "seeds=raw/s0.nii.gz", "out=out0.nii.gz", cwd=tmp_path)
    done = batch(tmp_path, "steps.recipe", "scans.tsv", "--skip-existing", "--quiet")
    assert (done.returncode, done.stderr) == (0, "")
    assert [row["state"] for row in status_of(tmp_path / "scans.batch").values()] == ["skipped", "done"]


def is_whole(path):
    nibabel.load(path).get_fdata()
    return True


def test_killed_at_any_moment_it_goes_on(tmp_path):
    """Nothing is damaged, nothing is missing, and only scans in flight are done twice."""
    kills, count, jobs = int(os.environ.get("LOBULE_BATCH_KILLS", "4")), 40, 3
    cohort(tmp_path, count)
    log = tmp_path / "scans.batch"
    rng = random.Random(7)
    arguments = [PROGRAM, "batch", "steps.recipe", "scans.tsv", "--resume", "--jobs", str(jobs)]
    begun = {}
    for _ in range(kills):
        running = subprocess.Popen(arguments, cwd=tmp_path, stderr=subprocess.DEVNULL)
        time.sleep(rng.uniform(0.01, 0.25))
        running.kill()
        running.wait()
        if not (log / "status.tsv").exists():
            continue
        lines = (log / "status.tsv").read_text().split("\n")
        states = {}
        for line in lines[1:-1]:
            scan, state = line.split("\t")[:2]
            states.setdefault(scan, []).append(state)
        for scan, found in states.items():
            # done once is done for good
            assert found.count("done") <= 1 and (found[-1] == "done" or "done" not in found), (scan, found)
            begun[scan] = found
        for path in tmp_path.glob("out*.nii.gz"):
            assert is_whole(path)
    twice = sum(found.count("started") > 1 for found in begun.values())
    assert twice <= kills * jobs
    done = lobule(*arguments[1:], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert [row["state"] for row in rows_of(log / "status.tsv")] == ["done"] * count
    assert len(outputs(tmp_path)) == count
    alone = tmp_path / "alone"
    alone.mkdir()
    shutil.copytree(tmp_path / "raw", alone / "raw")
    for name in ("steps.recipe", "scans.tsv"):
        shutil.copy(tmp_path / name, alone)
    assert batch(alone, "steps.recipe", "scans.tsv").returncode == 0
    assert outputs(alone) == outputs(tmp_path)
    left = [k for k in contents(tmp_path) if not k.startswith(("raw/", "alone/", "scans.", "out", "steps"))]
    assert left == []  # no temporary file


def test_some_scans_again_in_the_same_log(tmp_path):
    """--resume keeps the rows of the others; --force says that they go."""
    cohort(tmp_path, 3)
    assert batch(tmp_path, "steps.recipe", "scans.tsv").returncode == 0
    (tmp_path / "redo.tsv").write_text("\n".join((tmp_path / "scans.tsv").read_text().splitlines()[:2]))
    again = ("steps.recipe", "redo.tsv", "--log", "scans.batch")
    done = batch(tmp_path, *again, "--resume")
    assert done.returncode == 0 and "note:" not in done.stderr
    assert list(status_of(tmp_path / "scans.batch")) == ["p0", "p1", "p2"]
    done = batch(tmp_path, *again, "--force")
    assert done.returncode == 0 and "the rows of 2 scans that the manifest does not have are gone" in done.stderr
    assert list(status_of(tmp_path / "scans.batch")) == ["p0"]


def test_an_unfinished_line_is_none(tmp_path):
    cohort(tmp_path, 3)
    log = tmp_path / "scans.batch"
    assert batch(tmp_path, "steps.recipe", "scans.tsv").returncode == 0
    whole = (log / "status.tsv").read_bytes()
    (log / "status.tsv").write_bytes(whole[:-40])
    done = batch(tmp_path, "steps.recipe", "scans.tsv", "--resume", "--force")
    assert done.returncode == 0 and "1 done, 2 done before" in done.stderr
    (log / "status.tsv").write_bytes(whole.replace(b"\tdone\t", b"\tdune\t", 1))
    done = batch(tmp_path, "steps.recipe", "scans.tsv", "--resume")
    assert_one_line(done, 65, "status.tsv", "damaged", "--log")
    (log / "status.tsv").write_bytes(whole.replace(b"scan\t", b"scon\t", 1))
    assert_one_line(batch(tmp_path, "steps.recipe", "scans.tsv", "--resume"), 65, "no status table", "--log")
    for other in (["repeat", log, "--scan", "p0"], ["batch", "--page", log]):  # they have no such option to choose
        done = lobule(*other, cwd=tmp_path)
        assert_one_line(done, 65, "no status table")
        assert "--log" not in done.stderr


def test_interrupt_leaves_a_table_to_go_on_from(tmp_path):
    cohort(tmp_path, 60)
    log = tmp_path / "scans.batch"
    running = subprocess.Popen([PROGRAM, "batch", "steps.recipe", "scans.tsv"], cwd=tmp_path, stderr=subprocess.PIPE)
    for _ in range(500):
        time.sleep(0.01)
        if (log / "status.tsv").exists() and (log / "status.tsv").read_text().count("\tdone\t") > 2:
            break
    running.send_signal(signal.SIGINT)
    _, stderr = running.communicate(timeout=60)
    assert running.returncode == -signal.SIGINT, stderr
    rows = status_of(log)
    done = {k for k, v in rows.items() if v["state"] == "done"}
    assert 2 < len(done) < 60
    assert {v["state"] for v in rows.values()} <= {"done", "cancelled"}
    assert len(outputs(tmp_path)) == len(done)
    assert (log / "summary.json").exists()
    again = batch(tmp_path, "steps.recipe", "scans.tsv", "--resume")
    assert again.returncode == 0 and f"{len(done)} done before" in again.stderr


def test_an_interrupt_before_the_first_scan_leaves_a_summary(tmp_path):
    rows = 20000
    save(scan_array(), tmp_path / "i.nii")
    write_manifest(tmp_path, ["scan\timage\tout", *(f"s{i}\ti.nii\tout/{i}.nii" for i in range(rows))])
    log = tmp_path / "scans.batch"
    with subprocess.Popen([PROGRAM, "batch", "scans.tsv", "-q", "--", "convert", "{image}", "{out}"], cwd=tmp_path) as running:
        while not (log / "recipe.txt").exists():
            time.sleep(0.001)
        running.send_signal(signal.SIGINT)
    assert running.returncode == -signal.SIGINT
    summary = json.loads((log / "summary.json").read_text())
    assert summary["scans"] == summary["left"] == rows and status_of(log) == {}
    assert not list(tmp_path.glob("out/*"))


# ---- shards ----


def test_shards_are_disjoint_cover_all_and_merge(tmp_path):
    lines = cohort(tmp_path, 11)
    for i in (4, 5):
        big = np.random.default_rng(i).integers(0, 999, (40, 40, 40)).astype(np.int16)
        save(big, tmp_path / f"raw/i{i}.nii.gz")
        seeds = np.zeros((40, 40, 40), np.uint8)
        seeds[5, 5, 5], seeds[30, 30, 30] = 1, 2
        save(seeds, tmp_path / f"raw/s{i}.nii.gz")
    log = tmp_path / "scans.batch"
    whole = tmp_path / "whole"
    assert batch(tmp_path, "steps.recipe", "scans.tsv", "--log", whole).returncode == 0
    want = outputs(tmp_path)
    for name in want:
        (tmp_path / name).unlink()
    slurm = {**os.environ, "SLURM_ARRAY_TASK_COUNT": "3", "SLURM_ARRAY_TASK_MIN": "5"}
    for i in (1, 2):
        assert batch(tmp_path, "steps.recipe", "scans.tsv", "--shard", f"{i}/3").returncode == 0
    assert_one_line(batch(tmp_path, "--merge", log), 66, "shard-3-of-3", "run this shard")
    done = batch(tmp_path, "steps.recipe", "scans.tsv", env={**slurm, "SLURM_ARRAY_TASK_ID": "7"})
    assert done.returncode == 0, done.stderr
    shards = [set(status_of(log / f"shard-{i}-of-3")) for i in (1, 2, 3)]
    assert sum(map(len, shards)) == 11 and set.union(*shards) == {f"p{i}" for i in range(11)}
    assert not any({"p4", "p5"} <= shard for shard in shards)  # the two large ones are apart
    division = {row["scan"]: (int(row["shard"]), int(row["bytes"])) for row in rows_of(log / "shards-of-3.tsv")}
    loads = [sum(b + 4096 for s, b in division.values() if s == i) for i in (1, 2, 3)]
    assert max(loads) - min(loads) <= max(b + 4096 for _, b in division.values())
    merged = batch(tmp_path, "--merge", log)
    assert merged.returncode == 0, merged.stderr
    assert outputs(tmp_path) == want
    stable = lambda row: {k: row[k] for k in ("scan", "state", "exit_code", "voxels", "labels", "key")}  # noqa: E731
    assert [stable(r) for r in rows_of(log / "status.tsv")] == [stable(r) for r in rows_of(whole / "status.tsv")]
    assert (log / "regions.tsv").read_text() == (whole / "regions.tsv").read_text()
    for row in rows_of(log / "status.tsv"):
        assert (log / row["report"]).exists()
    # a shard keeps to the division, whatever the files' sizes are by now, but not for other scans
    write_manifest(tmp_path, lines[:-1])
    done = batch(tmp_path, "steps.recipe", "scans.tsv", "--shard", "2/3", "--resume")
    assert_one_line(done, 65, "shards-of-3.tsv", "other scans")


def test_a_shard_gives_all_threads_and_memory_to_its_own_scans(tmp_path):
    """As many at a time as it has scans: one here, none in a shard too many."""
    cohort(tmp_path, 3)
    for i in (1, 4):
        done = batch(tmp_path, "steps.recipe", "scans.tsv", "--shard", f"{i}/4", "--threads", 2)
        assert done.returncode == 0, done.stderr
        summary = json.loads((tmp_path / f"scans.batch/shard-{i}-of-4/summary.json").read_text())
        assert (summary["jobs"], summary["scans"]) == (1, int(i < 4))
        for report in tmp_path.glob("scans.batch/reports/*.json"):
            assert json.loads(report.read_text())["device"]["threads"] == 2


def test_a_merge_says_what_failed_and_what_is_left(tmp_path):
    cohort(tmp_path, 4)
    (tmp_path / "raw/i2.nii.gz").unlink()
    codes = [batch(tmp_path, "steps.recipe", "scans.tsv", "--shard", f"{i}/2").returncode for i in (1, 2)]
    assert sorted(codes) == [0, 66]
    merged = batch(tmp_path, "--merge", "scans.batch")
    assert merged.returncode == 66 and "1 failed" in merged.stderr
    table = tmp_path / "scans.batch/shard-1-of-2/status.tsv"
    table.write_text("".join(table.read_text().splitlines(True)[:-1]))
    done = batch(tmp_path, "--merge", "scans.batch")
    assert done.returncode in (66, 75) and "not begun" in done.stderr


def test_gaps_in_an_array_are_refused(tmp_path):
    cohort(tmp_path, 2)
    env = {**os.environ, "SLURM_ARRAY_TASK_COUNT": "3", "SLURM_ARRAY_TASK_MIN": "1", "SLURM_ARRAY_TASK_ID": "7"}
    assert_one_line(batch(tmp_path, "steps.recipe", "scans.tsv", env=env), 64, "--array=1-3")


# ---- memory, many rows, what is said ----


@pytest.mark.skipif("LOBULE_SANITIZED" in os.environ, reason="sanitizers take memory of their own")
def test_memory_stays_below_its_limit(tmp_path):
    """Several at a time as long as they fit, fewer where they do not; large ones wait for others."""
    rng = np.random.default_rng(3)
    limit = 56 << 20
    lines = ["image\tout"]
    for i in range(8):
        side = 96 if i % 4 == 3 else 64
        save(rng.integers(0, 99, (side, side, side)).astype(np.int16), tmp_path / f"i{i}.nii.gz")
        lines.append(f"i{i}.nii.gz\tout{i}.nii.gz")
    write_manifest(tmp_path, lines)
    line = ["--", "supervoxels", "{image}", "-o", "{out}", "--size", "8vox", "--iterations", "1"]
    done = batch(tmp_path, "scans.tsv", "--max-memory", limit, "--jobs", 4, *line)
    assert done.returncode == 0, done.stderr
    summary = json.loads((tmp_path / "scans.batch/summary.json").read_text())
    assert summary["peak_memory_bytes"] <= limit
    assert summary["stage_s"]["wait"] > 0
    for i in (0, 3):
        words = [w.format(image=f"i{i}.nii.gz", out="one.nii.gz") for w in line[1:]]
        good(*words, "--force", cwd=tmp_path)
        assert (tmp_path / f"out{i}.nii.gz").read_bytes() == (tmp_path / "one.nii.gz").read_bytes()


@judges
def test_many_rows_cost_little(tmp_path):
    rows = int(os.environ.get("LOBULE_BATCH_ROWS", "20"))
    save(np.eye(8, dtype=np.uint8).reshape(8, 8, 1), tmp_path / "i.nii")
    write_manifest(tmp_path, ["scan\timage\tout", *(f"s{i}\ti.nii\tout{i}.nii" for i in range(rows))])
    start = time.monotonic()
    done = batch(tmp_path, "scans.tsv", "--", "components", "{image}", "-o", "{out}", timeout=600)
    each = (time.monotonic() - start) / rows
    assert done.returncode == 0, done.stderr
    assert len(rows_of(tmp_path / "scans.batch/status.tsv")) == rows
    assert len(outputs(tmp_path)) == rows
    print(f"{1000 * each:.2f} ms a scan")
    assert each < 1.0  # most of it is the page's pictures


def test_what_is_said(tmp_path):
    cohort(tmp_path, 3)
    done = batch(tmp_path, "steps.recipe", "scans.tsv")
    assert re.search(r"3 scans: 3 done; [\d.]+ s, \d+ an hour, at most [\d.]+ MiB of memory\n", done.stderr)
    assert re.search(r"busy: .*; the bottleneck is \w+\n", done.stderr) and done.stdout == ""
    done = batch(tmp_path, "steps.recipe", "scans.tsv", "--force", "--quiet")
    assert (done.stdout, done.stderr) == ("", "")
    arguments = ["batch", "steps.recipe", "scans.tsv", "--force"]
    shown = on_a_terminal(tmp_path, arguments, stdout=subprocess.DEVNULL)
    assert b"3 done" in shown


def test_differing_volumes_are_no_failure(tmp_path):
    cohort(tmp_path, 2)
    save(scan_array(seed=0), tmp_path / "same.nii")
    write_manifest(tmp_path, ["scan\ta", "x\traw/i0.nii.gz", "y\traw/i1.nii.gz"])
    done = batch(tmp_path, "scans.tsv", "--", "compare", "{a}", "same.nii", "--values", "--strict")
    assert done.returncode == 1, done.stderr
    assert [row["exit_code"] for row in rows_of(tmp_path / "scans.batch/status.tsv")] == ["0", "1"]
    assert done.stdout == ""
    line = ["--", "compare", "{a}", "same.nii", "--values", "--strict"]
    kept = batch(tmp_path, "scans.tsv", "--resume", *line)
    assert kept.returncode == 1 and "2 done before" in kept.stderr
    codes = [batch(tmp_path, "scans.tsv", "--log", "s", "--shard", f"{i}/2", *line).returncode for i in (1, 2)]
    assert sorted(codes) == [0, 1]
    assert batch(tmp_path, "--merge", "s").returncode == 1


@pytest.mark.parametrize("line, text", [
    (["components", "{image}", "-o", "{out}", "--bad"], "components: unknown option --bad; --help lists the options"),
    (["components", "{image}", "-o", "{out}", "--above"], "components: --above needs a value: --above T"),
    (["nope", "{image}"], "unknown command 'nope'; lobule --help lists them"),
    (["run", "{image}"], "run: a recipe calls no other recipe; write its lines here"),
    ([], "what follows -- has no command"),
    (["lobule"], "lobule without a command"),
    (["components", "{image}", "-o", "{no"], "'{' begins no {name} or {name=default}; a brace that stands for itself is '{', in single quotes"),
    (["components", "{image}", "-o", "{to}"], "{to} has no value: scans.tsv has no such column; add it, or to=PATTERN with {column} for what differs"),
])  # fmt: skip
def test_a_typed_command_has_no_place(line, text, tmp_path):
    (tmp_path / "scans.tsv").write_text("image\tout\na.nii\tb.nii\n")
    done = lobule("batch", "scans.tsv", "--", *line, cwd=tmp_path)
    assert done.returncode in (64, 65) and done.stderr == f"lobule batch: {text}\n"


def test_a_pattern_that_begins_with_a_dot(tmp_path):
    """Names are made of what is below the part without wildcards; hidden folders and links to folders are left out."""
    for path in ("raw/x.nii", "raw/a/b/z.nii", "raw/.hidden/h.nii", "raw/d[1]/q.nii"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        save(scan_array(), tmp_path / path)
    (tmp_path / "raw/link").symlink_to("a")
    for pattern, names in (("./raw/**/*.nii", ["a/b/z", "d[1]/q", "x"]), ("**/z.nii", ["raw/a/b/z"]), ("raw/**/b/**/*", ["a/b/z"]),
                           ("raw/.hidden/*", ["h"])):  # fmt: skip
        good("batch", "--images", pattern, "--log", "log", "--force", "--", "info", "{image}", cwd=tmp_path)
        assert [r.split("\t")[0] for r in (tmp_path / "log/status.tsv").read_text().splitlines()[1:]] == names


# ---- cells that look like options ----


@pytest.mark.parametrize("cell", ["--force", "-q", "--html=../../x.html", "--report=x"])
def test_a_cell_is_no_option(tmp_path, cell):
    """It names a file, and overwrites nothing that nobody gave up."""
    (tmp_path / "here/log").mkdir(parents=True)
    save(scan_array(), tmp_path / "here/i.nii.gz")
    (tmp_path / "here/out.png").write_bytes(b"kept")
    write_manifest(tmp_path / "here", ["image\tlabels\tout", f"i.nii.gz\t{cell}\tout.png"])
    before = contents(tmp_path)
    result = batch(tmp_path / "here", "scans.tsv", "--log", "log", "--", "preview", "{image}", "{labels}", "-o", "{out}")
    assert result.returncode != 0
    assert (tmp_path / "here/out.png").read_bytes() == b"kept"
    made = {name for name in contents(tmp_path) if name not in before}
    assert all(name.startswith("here/log/") for name in made), made


def test_images_that_look_like_options(tmp_path):
    save(scan_array(), tmp_path / "--force.nii.gz")
    save(scan_array(), tmp_path / "-q.nii.gz")
    line = ["--", "threshold", "{image}", "-o", "{out}", "--otsu", "2"]
    result = batch(tmp_path, "--images", "*.nii.gz", "--out", "made", *line)
    assert result.returncode == 0, result.stderr
    good("threshold", "./--force.nii.gz", "-o", "alone.nii.gz", "--otsu", "2", cwd=tmp_path)
    made = tmp_path / "made/--force_labels.nii.gz"
    assert made.read_bytes() == (tmp_path / "alone.nii.gz").read_bytes()
    assert set(status_of(tmp_path / "made/batch")) == {"--force", "-q"}
    good("repeat", "made/batch", "--scan=--force", cwd=tmp_path)
