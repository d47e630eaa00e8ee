"""lobule run: recipes are checked as a whole, and compose in memory to the same bytes as files."""

import json
import os
import re
import shlex
import signal
import subprocess
import time

import numpy as np
import pytest
from conftest import (
    PROGRAM,
    ROOT,
    SHAPE,
    assert_one_line,
    contents,
    good,
    load,
    lobule,
    save,
    scan_array,
    seeds_array,
)


def write(folder, *lines, name="steps.recipe"):
    path = folder / name
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def run(folder, *arguments, lines=(), **more):
    """Write the lines as a recipe and run it with the arguments."""
    write(folder, *lines)
    return lobule("run", "steps.recipe", *arguments, cwd=folder, **more)


def by_files(folder, lines):
    """The lines in a shell, every volume in memory as a file."""
    for line in lines:
        words = shlex.split(re.sub(r"@(\w+)", r"memory_\1.nii.gz", line))
        good(*words[words[0] == "lobule" :], cwd=folder)


# ---- the same bytes ----

# Chains of commands; OUT* are the files that are compared.
CHAINS = {
    "grow and keep": [
        "growcut image.nii.gz seeds.nii.gz -o @grown --strength @strength --tie @tie",
        "components @grown -o OUT1.nii.gz --equal --label-of input --table OUT1.tsv",
        "components @strength -o OUT2.nii.gz --above 0.5 --table OUT2.tsv --image @strength",
        "convert @tie OUT3.nii.gz",
        "convert @grown OUT4.nii",
        "convert @strength OUT5.h5",
    ],
    "types": [
        "convert image.nii.gz @real --type float64",
        "convert @real @small --type uint16",
        "convert @small @labels --labels",
        "convert @labels OUT1.nii.gz --type float32",
        "convert @labels OUT2.nii.gz",
        "convert @real OUT3.nii.gz",
        "stats @real @labels --table OUT4.tsv",
    ],
    "scaled": [
        "convert scaled.nii.gz @copy",
        "components @copy -o OUT1.nii.gz --above 1 --table OUT1.json --image @copy",
        "supervoxels @copy -o @cells --size 6mm --mean @mean --boundaries @edges",
        "convert @mean OUT2.nii.gz",
        "convert @edges OUT3.nii.gz",
        "growcut @mean seeds.nii.gz -o OUT4.nii.gz --mask @edges --trust-seeds",
        "convert @copy OUT5.nii",
        "convert @cells OUT6.hdr",
    ],
    "colours": [
        "convert colours.nii.gz @c",
        "convert @c @red --channel 0",
        "convert @red OUT1.nii.gz",
        "convert @c OUT2.nii.gz",
        "supervoxels @c -o OUT3.nii.gz --size 5mm --mean @m",
        "convert @m OUT4.nii.gz",
    ],
    "extensions": [
        "convert extended.nii.gz @e",
        "convert @e @bare --strip-extensions",
        "convert @e OUT1.nii",
        "convert @bare OUT2.nii",
    ],
    "grids": [
        "crop image.nii.gz -o @box --around seeds.nii.gz --margin 2vox",
        "crop seeds.nii.gz -o @seeds --around seeds.nii.gz --margin 2vox",
        "growcut @box @seeds -o @grown",
        "resample @grown -o OUT1.nii.gz --like image.nii.gz --labels",
        "resample @box -o @fine --spacing 1,1,1",
        "resample @grown -o OUT2.nii.gz --like @fine --labels",
        "crop @grown -o OUT3.nii.gz --around @grown",
    ],
    "turned": [
        "convert turned.nii.gz @t",
        "growcut image.nii.gz @t -o OUT1.nii.gz",
        "components image.nii.gz -o OUT2.nii.gz --mask @t --above 300",
    ],
    "frames": ["convert frames.nii.gz @one --frame 1", "convert @one @two --frame 0", "convert @two OUT1.nii"],
    "all frames": [
        "filter frames.nii.gz -o @smooth --gaussian 1vox",
        "filter @smooth -o @again --median 1vox",
        "convert @smooth OUT1.nii --frame 2",
        "components @again -o OUT2.nii.gz --above 40 --frame 1",
        "filter @again -o OUT3.nii.gz --median 1vox",
    ],
    "distances": [
        "filter image.nii.gz -o @smooth --gaussian 1vox",
        "threshold @smooth -o @inside --above 450",
        "distance @inside -o @deep --signed --feature @nearest",
        "maxima @deep -o @peaks --table OUT1.tsv",
        "convert @peaks OUT2.nii.gz",
        "convert @nearest OUT3.nii.gz",
        "convert @deep OUT4.nii.gz",
    ],
    "made": [
        "phantom abdomen -o @scan --truth @truth --seeds @seeds --size 40,30,20 --spacing 9,9,16",
        "growcut @scan @seeds -o OUT1.nii.gz",
        "compare @truth OUT1.nii.gz",
        "convert @scan OUT4.nii.gz",
        "preview OUT4.nii.gz @truth -o OUT2.png",  # it names the scan
        "convert @scan OUT3.h5",
    ],
    "recipes inside": [  # segment and cells make recipes of their own
        "filter frames.nii.gz -o @series --gaussian 1vox",
        "convert seeds.nii.gz @seeds --labels",
        "segment @series @seeds -o @mask --frame 1 --strength @strength --uncertain @doubt",
        "segment image.nii.gz @seeds -o OUT1.nii.gz --previous @mask --reach 2vox",
        "convert @strength OUT2.nii.gz",
        "convert @doubt OUT3.nii.gz",
        "convert @mask OUT4.nii",
        "cells image.nii.gz -o @cells --size 12vox --table OUT5.tsv",
        "convert @cells OUT6.nii.gz",
        "convert image.nii.gz @image",
        "cells @image -o OUT7.nii.gz --size 12vox",
    ],
    "files read again": [
        "growcut extended.nii.gz seeds.nii.gz -o OUT1.nii.gz",
        "growcut extended.nii.gz seeds.nii.gz -o OUT2.nii.gz --rule distance",
        "stats extended.nii.gz OUT1.nii.gz --table OUT3.tsv",
        "stats scaled.nii.gz seeds.nii.gz --table OUT4.tsv",
        "components scaled.nii.gz -o OUT5.nii.gz --above 1 --image scaled.nii.gz --table OUT0.tsv",
        "convert scaled.nii.gz OUT6.nii.gz",
        "convert colours.nii.gz OUT7.nii.gz --channel 1",
        "convert colours.nii.gz OUT8.h5",
        "convert extended.nii.gz OUT9.nii",
    ],
    "hdf5": ["convert image.nii.gz made.h5", "convert made.h5 @h", "convert @h OUT1.nii.gz", "convert @h OUT2.h5"],
}


@pytest.fixture
def inputs(folder):
    """Beside image and seeds: a scale, colours, extensions, turned seeds, several frames."""
    import nibabel

    rng = np.random.default_rng(4)
    save(scan_array(), folder / "scaled.nii.gz", scale=(0.0125, -3.5))
    colours = np.zeros(SHAPE, [("R", "u1"), ("G", "u1"), ("B", "u1")])
    for c in "RGB":
        colours[c] = rng.integers(0, 256, SHAPE)
    nibabel.save(nibabel.Nifti1Image(colours, np.eye(4)), folder / "colours.nii.gz")
    extended = nibabel.load(folder / "image.nii.gz")
    extended.header.extensions.append(nibabel.nifti1.Nifti1Extension("comment", b"a note of 21 bytes"))
    nibabel.save(extended, folder / "extended.nii.gz")
    seeds = nibabel.load(folder / "seeds.nii.gz")
    nibabel.save(seeds.as_reoriented(np.array([[1, 1], [0, -1], [2, 1]])), folder / "turned.nii.gz")
    save(rng.integers(0, 99, (*SHAPE, 3)).astype(np.int16), folder / "frames.nii.gz")
    return folder


@pytest.mark.parametrize("chain", CHAINS)
def test_memory_is_as_good_as_files(inputs, chain):
    lines = CHAINS[chain]
    by_files(inputs, lines)
    made = {k: v for k, v in contents(inputs).items() if k.startswith("OUT")}
    assert made
    for name in [*made, "made.h5"]:
        (inputs / name).unlink(missing_ok=True)
    for name in ("memory_", "OUT"):
        for path in inputs.glob(name + "*"):
            path.unlink()
    before = set(contents(inputs))
    done = run(inputs, lines=lines)
    assert done.returncode == 0, done.stderr
    again = {k: v for k, v in contents(inputs).items() if k.startswith("OUT")}
    assert again.keys() == made.keys()
    assert [k for k in made if made[k] != again[k]] == []
    assert set(contents(inputs)) - before - set(made) <= {"steps.recipe", "made.h5"}


@pytest.mark.parametrize("options", [["--threads", "1"], ["--threads", "3"], ["--max-memory", "4MiB"]])
def test_options_of_run_hold_for_all_lines(inputs, options):
    lines = CHAINS["grow and keep"]
    assert run(inputs, lines=lines).returncode == 0
    first = {k: v for k, v in contents(inputs).items() if k.startswith("OUT")}
    done = run(inputs, *options, "--force", lines=lines)
    assert done.returncode == 0, done.stderr
    assert {k: v for k, v in contents(inputs).items() if k.startswith("OUT")} == first


# ---- text ----


def test_text_of_a_recipe(folder):
    """Quotes, backslashes, comments, joined lines, the program's name, values with blanks."""
    (folder / "image.nii.gz").rename(folder / "a scan#1.nii.gz")
    lines = [
        "# A summary",
        "",
        "   lobule   convert  {image}\t'@first'   # a comment",
        "convert @first \\",
        '    "{out} {{}"'.replace("{{}", "{n=1}") + "\\ x'{n}'#.nii.gz",
    ]
    done = run(folder, "image=a scan#1.nii.gz", "out=my $out", lines=lines)
    assert done.returncode == 0, done.stderr
    made = folder / "my $out 1 x{n}#.nii.gz"
    assert np.array_equal(load(made), scan_array())


def test_lines_may_end_as_windows_has_it(folder):
    (folder / "steps.recipe").write_bytes(b"convert image.nii.gz @a\r\nconvert @a \\\r\n out.nii\r\n")
    good("run", "steps.recipe", cwd=folder)
    assert np.array_equal(load(folder / "out.nii"), scan_array())


def test_dry_run_prints_lines_that_a_shell_takes(folder):
    lines = ["convert {image} {out} --type float32", "stats {out} {out} --name {name=a b} --table '{n}.tsv'"]
    given = ["image=image.nii", "out=it's.nii"]
    done = run(folder, *given, "--dry-run", lines=lines)
    assert done.returncode == 0 and done.stderr == ""
    want = ["image.nii", "it's.nii", "--type", "float32"]
    printed = [shlex.split(line) for line in done.stdout.splitlines()]
    assert printed[0] == ["lobule", "convert", *want]
    assert printed[1] == "lobule stats it's.nii it's.nii --name".split() + ["a b", "--table", "{n}.tsv"]
    assert sorted(contents(folder)) == sorted(["image.nii", "image.nii.gz", "seeds.nii", "seeds.nii.gz", "steps.recipe"])


def test_dry_run_checks(folder):
    done = run(folder, "--dry-run", lines=["convert nowhere.nii @a", "convert @a out.nii"])
    assert_one_line(done, 66, "steps.recipe:1: convert: nowhere.nii")
    assert done.stdout.splitlines()[1] == "lobule convert @a out.nii"


# ---- what is refused ----

SMALL = "image.nii.gz"
REFUSED = [
    ("value that is missing", ["convert {image} o.nii"], [], 64, ["{image}", "image=VALUE"]),
    ("value that nobody asks for", ["convert {image} o.nii"], ["imgae=x"], 64, ["imgae", "did you mean image"]),
    ("value given twice", ["convert {image} o.nii"], ["image=a", "image=b"], 64, ["twice"]),
    ("word that is no value", ["convert {image} o.nii"], ["image"], 64, ["NAME=VALUE"]),
    ("value in memory", ["convert {image} o.nii"], ["image=@x"], 64, ["./@x"]),
    ("two lines make one file", [f"convert {SMALL} o.nii", f"convert {SMALL} ./o.nii"], [], 64, [":2:", ":1 writes"]),
    ("the same by force", [f"convert {SMALL} o.nii", f"convert {SMALL} o.nii --force"], [], 64, [":2:", ":1 writes"]),
    ("halves of one pair", [f"convert {SMALL} o.hdr", f"convert {SMALL} o.img"], [], 64, [":1 writes"]),
    ("two lines make one name", [f"convert {SMALL} @x", f"convert {SMALL} @x"], [], 64, ["@x", ":1 makes it"]),
    ("a name that nobody makes", ["convert @x o.nii"], [], 64, ["@x", "no line makes it"]),
    ("a name that is made later", ["convert @x o.nii", f"convert {SMALL} @x"], [], 64, ["@x", "before", ":2"]),
    ("a name that is read and made", ["convert @x @x"], [], 64, ["@x"]),
    ("one name twice in a line", [f"growcut {SMALL} seeds.nii.gz -o @x --strength @x"], [], 64, ["@x"]),
    ("a recipe in a recipe", ["run steps.recipe"], [], 64, ["steps.recipe:1: run: a recipe calls no other"]),
    ("unknown command", ["convrt a b"], [], 64, [":1:", "did you mean convert?"]),
    ("unknown option", [f"convert {SMALL} o.nii", f"convert {SMALL} --tpe u"], [], 64, [":2: convert", "--type"]),
    ("options that exclude each other", [f"components {SMALL} -o @x --above 1 --range 1,2"], [], 64, ["exclude"]),
    ("a list of labels", ["compare seeds.nii seeds.nii --labels 1,x"], [], 64, ["--labels"]),
    ("input that is not there", [f"convert {SMALL} o.nii", "convert no.nii p.nii"], [], 66, [":2:", "no.nii"]),
    ("input that is no volume", [f"convert {SMALL} o.nii", "convert steps.recipe p.nii"], [], 65, [":2:"]),
    ("output that is there", [f"convert {SMALL} o.nii", f"convert {SMALL} seeds.nii"], [], 72, [":2:", "seeds.nii"]),
    ("output without a folder", [f"convert {SMALL} o.nii", f"convert {SMALL} no/p.nii"], [], 73, [":2:", "no"]),
    ("output that a line has read", [f"convert {SMALL} o.nii", f"convert o.nii {SMALL} --force"], [], 64, [":1 reads"]),
    ("output over the recipe", [f"convert {SMALL} o.nii --force --report steps.recipe"], [], 64, ["is the recipe"]),
    ("format of an output", [f"convert {SMALL} o.xyz"], [], 64, ["o.xyz"]),
    ("a table in memory", [f"stats {SMALL} seeds.nii --table @t"], [], 64, ["--table", "only volumes"]),
    ("a picture in memory", [f"preview {SMALL} -o @p"], [], 64, ["only volumes"]),
    ("a name with a dot", [f"convert {SMALL} @a.nii"], [], 64, ["@a.nii", "./@a.nii"]),
    ("--skip-existing for memory", [f"convert {SMALL} @a --skip-existing"], [], 64, ["--skip-existing"]),
    ("options of segment", [f"convert {SMALL} o.nii", f"segment {SMALL} seeds.nii -o p.nii --reach 3"], [], 64, [":2: segment"]),
    ("help in a recipe", ["convert --help"], [], 64, [":1: convert"]),
    ("device that is not built in", [f"growcut {SMALL} seeds.nii -o o.nii --device gpu"], [], 64, ["gpu"]),
    ("pipe", ["convert a b | cat"], [], 65, [":1:", "'|'"]),
    ("variable", ['convert "$a" b'], [], 65, [":1:", "'$'"]),
    ("pattern", ["convert *.nii b"], [], 65, ["'*'"]),
    ("home", ["convert ~/a b"], [], 65, ["'~'"]),
    ("open quote", ["convert 'a b"], [], 65, ["not closed"]),
    ("open brace", ["convert {a b"], [], 65, ["{name}"]),
    ("braces of a shell", ["convert {a,b} c"], [], 65, ["{name}"]),
    ("two defaults", ["convert {a=1} {b}", "convert {a=2} c"], [], 65, [":2:", "'2'", "'1'"]),
    ("command in braces", ["{command} a b"], ["command=info"], 65, ["command"]),
    ("nothing", ["# nothing"], [], 65, ["no command"]),
    ("the program alone", ["lobule"], [], 65, ["without a command"]),
]


@pytest.mark.parametrize("lines, given, code, parts", [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_refused_before_any_work(folder, lines, given, code, parts):
    write(folder, *lines)
    before = contents(folder)
    done = run(folder, *given, "--report", "report.json", lines=lines)
    assert_one_line(done, code, "lobule run: ", *parts)
    after = contents(folder)
    report = json.loads(after.pop("report.json"))
    assert after == before
    assert report["outcome"]["exit_code"] == code and report["outputs"] == []


def test_usage(folder):
    write(folder, f"convert {SMALL} o.nii")
    assert_one_line(lobule("run", cwd=folder), 64, "RECIPE")
    assert_one_line(lobule("run", "nosuch", cwd=folder), 66, "nosuch", "--list")
    assert_one_line(lobule("run", "no/such", cwd=folder), 66, "no/such")
    assert_one_line(lobule("run", "--list", "steps.recipe", cwd=folder), 64, "--list")
    assert_one_line(lobule("run", "steps.recipe", *["a=1"] * 65, cwd=folder), 64, "too many")
    done = lobule("run", "steps.recipe", "--report", "o.nii", cwd=folder)
    assert_one_line(done, 64, "o.nii", "report")
    (folder / "long.recipe").write_bytes(b"#" * (1 << 20) + b"\ninfo a")
    assert_one_line(lobule("run", "long.recipe", cwd=folder), 65, "1 MiB")
    (folder / "bytes.recipe").write_bytes(b"convert a\0b c\n")
    assert_one_line(lobule("run", "bytes.recipe", cwd=folder), 65, "bytes.recipe:1", "text")


# ---- while it runs ----


def test_a_line_that_fails_names_itself_and_leaves_nothing(folder):
    lines = ["convert image.nii.gz one.nii --report own.json", "# in between", "convert one.nii two.nii --type uint8"]
    before = {**contents(folder), "steps.recipe": ("\n".join(lines) + "\n").encode()}
    done = run(folder, "--report", "report.json", lines=lines)
    assert_one_line(done, 65, "lobule run: steps.recipe:3: convert: one.nii: voxel")
    after = contents(folder)
    report = json.loads(after.pop("report.json"))
    assert after == before
    assert report["outputs"] == [] and report["outcome"]["exit_code"] == 65
    first, second = report["results"]["lines"]
    assert (first["place"], first["outcome"]["exit_code"]) == ("steps.recipe:1", 0)
    assert (second["place"], second["outcome"]["exit_code"]) == ("steps.recipe:3", 65)


def test_what_was_replaced_stays_replaced(folder):
    save(np.zeros(SHAPE, np.uint8), folder / "one.nii")
    done = run(folder, "--force", lines=["convert image.nii.gz one.nii", "convert one.nii two.nii --type uint8"])
    assert_one_line(done, 65, ":2: convert")
    assert np.array_equal(load(folder / "one.nii"), scan_array())


def test_report_holds_every_line(folder):
    lines = ["convert {image} @real --type float32", "growcut @real {seeds} -o @g", "components @g -o {out} --equal"]
    done = run(
        folder, "image=image.nii.gz", "seeds=seeds.nii.gz", "out=o.nii.gz", "--report", "r.json", "--threads", 2, lines=lines
    )
    assert done.returncode == 0 and done.stderr == ""
    report = json.loads((folder / "r.json").read_text())
    assert report["results"]["values"] == {"image": "image.nii.gz", "seeds": "seeds.nii.gz", "out": "o.nii.gz"}
    assert [(x["path"], x["role"]) for x in report["inputs"]] == [
        ("steps.recipe", "RECIPE"),
        ("image.nii.gz", "IN"),
        ("seeds.nii.gz", "SEEDS"),
    ]
    assert [x["path"] for x in report["outputs"]] == ["o.nii.gz"]
    assert all(len(x["sha256"]) == 64 for x in report["inputs"] + report["outputs"])
    inner = report["results"]["lines"]
    assert [x["command"] for x in inner] == ["convert", "growcut", "components"]
    assert [x["place"] for x in inner] == [f"steps.recipe:{n}" for n in (1, 2, 3)]
    assert inner[1]["arguments"] == ["@real", "seeds.nii.gz", "-o", "@g"]
    assert inner[1]["inputs"][0]["format"] == "memory" and inner[1]["inputs"][0]["type"] == "float32"
    assert inner[1]["outputs"][0]["path"] == "@g" and inner[1]["outputs"][0]["type"] == "uint8"
    assert inner[2]["results"]["components"] == 2
    assert all(x["device"]["threads"] == 2 for x in inner)
    total = sum(x["seconds"]["total"] for x in inner)
    assert 0 < total <= report["seconds"]["total"]


def test_differing_volumes_do_not_end_a_run(folder):
    lines = ["compare image.nii seeds.nii --values --strict", "convert image.nii out.nii"]
    done = run(folder, lines=lines)
    assert done.returncode == 1 and done.stderr == ""
    assert (folder / "out.nii").exists() and "different" in done.stdout


def test_notes_come_with_their_lines(folder):
    lines = ["components image.nii -o out.nii --above 9999", "convert out.nii @unread", "convert out.nii @_quiet"]
    done = run(folder, lines=lines)
    assert done.returncode == 0
    assert done.stderr.splitlines() == [
        "lobule run: note: steps.recipe:2: makes @unread, which no line reads",
        "lobule run: note: steps.recipe:1: components: image.nii: has no foreground, so there is no component",
    ]
    assert run(folder, "--force", "--quiet", lines=lines).stderr == ""


def test_verbose_says_each_line(folder):
    done = run(folder, "--verbose", lines=["convert image.nii @a", "convert @a 'b c.nii'"])
    assert "lobule run: steps.recipe:2: convert @a 'b c.nii'" in done.stderr.splitlines()
    assert "lobule run: steps.recipe:2: convert: total" in done.stderr


def test_skip_existing(folder):
    lines = ["convert image.nii @a", "convert @a one.nii", "convert @a two.nii"]
    assert run(folder, "--skip-existing", lines=lines).returncode == 0
    before = contents(folder)
    os.utime(folder / "one.nii", (1, 1))
    done = run(folder, "--skip-existing", lines=lines)
    assert done.returncode == 0 and "nothing was done" in done.stderr
    assert contents(folder) == before and (folder / "one.nii").stat().st_mtime == 1
    (folder / "two.nii").unlink()
    assert_one_line(run(folder, "--skip-existing", lines=lines), 72, "one.nii", "two.nii")


def test_a_line_has_options_of_its_own(folder):
    save(np.zeros(SHAPE, np.uint8), folder / "old.nii")
    lines = ["convert image.nii old.nii --force --report own.json", "convert old.nii new.nii"]
    assert run(folder, lines=lines).returncode == 0
    assert json.loads((folder / "own.json").read_text())["outputs"][0]["path"] == "old.nii"
    assert_one_line(run(folder, lines=lines[1:]), 72, "new.nii")


def test_memory_of_stored_volumes_counts(folder):
    """Two volumes of 4 MB in memory leave no room for a third within 10 MB; one alone does."""
    save(np.zeros((100, 100, 100), np.float32), folder / "big.nii")
    held = ["convert big.nii @a", "convert big.nii @b", "convert big.nii @c", "convert @a x.nii", "convert @b y.nii", "convert @c z.nii"]
    done = run(folder, "--max-memory", "10MB", lines=held)
    assert_one_line(done, 75, ":3: convert: @c", "--max-memory")
    freed = ["convert big.nii @a", "convert @a @b", "convert @b @c", "convert @c z.nii"]
    done = run(folder, "--max-memory", "6MB", lines=freed)
    assert done.returncode == 0, done.stderr


def test_segment_is_a_line_like_others(folder):
    """What it reports is that of the command alone."""
    strokes = np.zeros(SHAPE, np.uint8)
    strokes[8:14, 9, 5] = 1
    strokes[2:20, 2, 5] = strokes[2:20, 16, 5] = strokes[2, 2:16, 5] = 2
    save(strokes, folder / "strokes.nii.gz")
    data = ["image.nii.gz", "strokes.nii.gz"]
    good("segment", *data, "-o", "alone.nii.gz", "--report", "alone.json", "--threads", 1, cwd=folder)
    lines = ["segment {image} {strokes} -o {out}", "stats {image} {out} --table {out}.tsv"]
    values = [f"image={data[0]}", f"strokes={data[1]}", "out=mask.nii.gz"]
    done = run(folder, *values, "--report", "all.json", "--threads", "1", lines=lines)
    assert done.returncode == 0, done.stderr
    assert (folder / "mask.nii.gz").read_bytes() == (folder / "alone.nii.gz").read_bytes()
    alone = json.loads((folder / "alone.json").read_text())
    mine = json.loads((folder / "all.json").read_text())["results"]["lines"][0]
    assert mine["results"]["labels"] == alone["results"]["labels"]
    assert mine["results"]["chosen"] == alone["results"]["chosen"]
    printed = ["convert {image} @i", "segment @i strokes.nii.gz -o x.nii.gz --print-recipe"]
    assert_one_line(run(folder, values[0], lines=printed), 64, "steps.recipe:2: segment: @i", "in memory")
    done = run(folder, values[0], lines=["segment {image} {image} -o x.nii.gz"])
    assert done.returncode == 64 and "steps.recipe:1: segment" in done.stderr


def without_times(report):
    """What a line's report says about its inputs and results."""
    return report["inputs"], report["results"], report["notes"], report["outcome"]


def test_a_file_that_several_lines_read_is_read_once(folder):
    lines = [
        "growcut image.nii.gz seeds.nii.gz -o one.nii.gz",
        "growcut image.nii.gz seeds.nii.gz -o two.nii.gz --rule distance",
        "stats image.nii.gz two.nii.gz --table two.tsv",
    ]
    alone = []
    for i, line in enumerate(lines):
        good(*line.split(), "--report", f"r{i}.json", cwd=folder)
        alone.append(json.loads((folder / f"r{i}.json").read_text()))
    done = run(folder, "--force", "--report", "all.json", lines=lines)
    assert done.returncode == 0, done.stderr
    together = json.loads((folder / "all.json").read_text())["results"]["lines"]
    assert [without_times(r) for r in together] == [without_times(r) for r in alone]
    # two.nii.gz is all that is left to inflate for the last line
    assert ["inflate" in r["seconds"] for r in together] == [True, False, True]


def test_what_is_kept_gives_way_where_memory_is_scarce(folder):
    """The least memory in which a line runs alone is enough where others read its input too."""
    save(np.random.default_rng(2).integers(0, 99, (40, 40, 40)).astype(np.uint8), folder / "big.nii.gz")
    alone = ["supervoxels", "big.nii.gz", "-o", "cells.nii.gz", "--size", "8vox", "--force", "--threads", "1", "--max-memory"]
    low, high = 1 << 18, 1 << 22
    while high - low > 1 << 15:
        middle = (low + high) // 2
        fits = lobule(*alone, middle, cwd=folder).returncode == 0
        low, high = (low, middle) if fits else (middle, high)
    good(*alone, high, cwd=folder)
    cells = (folder / "cells.nii.gz").read_bytes()
    others = ["components big.nii.gz -o {} --above 50 --force".format(name) for name in ("a.nii", "b.nii")]
    lines = [others[0], " ".join(alone[:-1]), others[1]]
    for limit, tries in ((high, 2), (2 * high, 1)):
        done = run(folder, "--verbose", "--max-memory", limit, lines=lines)
        assert done.returncode == 0, done.stderr
        assert done.stderr.count("steps.recipe:2: supervoxels big.nii.gz") == tries
        assert (folder / "cells.nii.gz").read_bytes() == cells


def test_components_by_planes_from_memory_and_to_it(folder):
    rng = np.random.default_rng(2)
    save((rng.random((64, 64, 64)) < 0.3).astype(np.uint8), folder / "dots.nii")
    lines = ["convert dots.nii @d", "components @d -o @c --neighbours 6 --table t.tsv", "convert @c out.nii"]
    done = run(folder, "--report", "r.json", lines=lines)
    assert done.returncode == 0, done.stderr
    whole = contents(folder)
    for name in ("out.nii", "t.tsv"):
        (folder / name).unlink()
    done = run(folder, "--max-memory", "3MB", "--report", "r.json", lines=lines)
    assert done.returncode == 0, done.stderr
    inner = json.loads((folder / "r.json").read_text())["results"]["lines"][1]
    assert inner["results"]["planes_at_a_time"] < 64
    after = contents(folder)
    assert all(after[name] == whole[name] for name in ("out.nii", "t.tsv"))


def test_interrupt_leaves_nothing(folder):
    lines = [
        "phantom abdomen -o one.nii.gz --size 64,64,64",
        "phantom abdomen -o @big --size 400,400,200",
        "convert @big two.nii.gz",
    ]
    write(folder, *lines)
    before = contents(folder)
    process = subprocess.Popen([PROGRAM, "run", "steps.recipe"], cwd=folder, stderr=subprocess.PIPE, text=True)
    end = time.time() + 60
    while not (folder / "one.nii.gz").exists() and time.time() < end:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=60)[1]
    assert process.returncode == -signal.SIGINT
    assert re.fullmatch(r"lobule run: steps.recipe:[12]: phantom: .*cancelled\n", said)
    assert contents(folder) == before


# ---- recipes by name ----


def test_recipes_are_found_by_name(folder, tmp_path_factory):
    mine, yours = tmp_path_factory.mktemp("mine"), tmp_path_factory.mktemp("yours")
    write(mine, "# Mine", "convert {in} {out=o.nii}", name="copy.recipe")
    write(yours, "# Yours", "info {in}", name="copy.recipe")
    write(yours, "# Broken", "convert 'a", name="broken.recipe")
    environment = {**os.environ, "LOBULE_RECIPES": f"{mine}:{yours}:/nowhere", "HOME": str(folder)}
    listed = good("run", "--list", env=environment).stdout
    assert "copy: Mine\n    lobule run copy in=... [out=o.nii]\n" in listed and "Yours" not in listed
    assert "broken: cannot be used" in listed
    good("run", "copy", "in=image.nii", cwd=folder, env=environment)
    assert np.array_equal(load(folder / "o.nii"), scan_array())
    environment = {**os.environ, "XDG_DATA_HOME": str(folder / "data"), "LOBULE_RECIPES": ""}
    (folder / "data/lobule/recipes").mkdir(parents=True)
    write(folder / "data/lobule/recipes", "info {in}", name="tell.recipe")
    assert "dims" in good("run", "tell", "in=image.nii", cwd=folder, env=environment).stdout


INSTALLED = sorted(path.stem for path in (ROOT / "recipes").glob("*.recipe"))


def test_what_comes_with_the_program_is_listed():
    environment = {**os.environ, "XDG_DATA_HOME": "/nowhere", "LOBULE_RECIPES": ""}
    listed = good("run", "--list", env=environment).stdout
    assert re.findall(r"^([\w-]+): \w", listed, re.M) == INSTALLED


VALUES = {
    "bright-pieces": ["image=image.nii", "above=450"],
    "label-pieces": ["image=image.nii", "labels=seeds.nii"],
    "strokes": ["image=image.nii", "seeds=seeds.nii", "least=0"],
}


@pytest.mark.parametrize("name", INSTALLED)
def test_recipes_that_come_with_the_program_run(folder, name):
    done = good("run", name, *VALUES[name], "out=done", cwd=folder)
    assert done.stderr == ""
    labels, table = load(folder / "done.nii.gz"), (folder / "done.tsv").read_text().splitlines()
    values, counts = np.unique(labels[labels > 0], return_counts=True)
    assert [(int(row.split()[0]), int(row.split()[1 if name != "label-pieces" else 2])) for row in table[1:]] == list(
        zip(values.tolist(), counts.tolist())
    )


def test_readme_shows_the_recipe_that_is_installed():
    shown = re.search(r"^```\n(.+?)^```$", (ROOT / "docs/commands.md").read_text(encoding="utf-8"), re.M | re.S)[1]
    assert shown == (ROOT / "recipes/strokes.recipe").read_text(encoding="utf-8")


@pytest.mark.parametrize("frame, parts", [([], ["3 frames", "--frame N"]), (["--frame", "3"], ["no frame 3"])])
def test_frames_in_memory_are_chosen_as_in_a_file(inputs, frame, parts):
    lines = ["filter frames.nii.gz -o @f --median 1vox", "components @f -o x.nii " + " ".join(frame)]
    assert_one_line(run(inputs, lines=lines), 65, "steps.recipe:2: components: @f", *parts)
    assert not (inputs / "x.nii").exists()


# ---- values that look like options ----


def test_a_value_is_no_option(tmp_path):
    """Files of such names are read and written, and what the report says can be repeated."""
    save(scan_array(), tmp_path / "--force.nii.gz")
    save(seeds_array(), tmp_path / "-q.nii.gz")
    values = ["image=--force.nii.gz", "seeds=-q.nii.gz", "out=--report=made.nii.gz"]
    lines = ["growcut {image} {seeds} -o {out}", "components {out} --output {table}2.nii --equal --table={table}"]
    assert run(tmp_path, *values, "table=-t.tsv", "--dry-run", lines=lines).returncode == 0
    result = run(tmp_path, *values, "table=-t.tsv", "--report", "r.json", lines=lines)
    assert result.returncode == 0, result.stderr
    assert set(contents(tmp_path)) >= {"--report=made.nii.gz", "-t.tsv2.nii", "-t.tsv"}
    good("repeat", "r.json", cwd=tmp_path)
    typed = run(tmp_path, *values, "table=-t.tsv", "--dry-run", "--force").stdout.splitlines()
    for line in typed:  # as it is printed, it can be typed
        good(*shlex.split(line)[1:], "--force", cwd=tmp_path)


@pytest.mark.parametrize("cell", ["--force", "-q", "--help", "--report=x", "--html=../x.html", "--"])
def test_a_value_gives_no_option(tmp_path, cell):
    save(scan_array(), tmp_path / "image.nii.gz")
    (tmp_path / "out.nii.gz").write_bytes(b"kept")
    before = contents(tmp_path)
    result = run(tmp_path, f"x={cell}", lines=["convert {x} image.nii.gz out.nii.gz"])
    assert_one_line(result, 64)
    assert "one operand too many" in result.stderr
    (tmp_path / "steps.recipe").unlink()
    assert contents(tmp_path) == before
    typed = run(tmp_path, f"x={cell}", lines=["convert image.nii.gz out.nii.gz {x}"])
    assert_one_line(typed, 64)
    assert (tmp_path / "out.nii.gz").read_bytes() == b"kept"


# ---- long recipes ----


def long_recipe(folder, lines):
    save(scan_array(), folder / "i.nii")
    write(folder, *(f"threshold i.nii -o o{i}.nii --otsu 2" for i in range(lines)))


def test_checking_takes_time_by_the_line(tmp_path):
    """Each pair of files was compared once: a minute for so many lines."""
    long_recipe(tmp_path, 5000)
    start = time.monotonic()
    good("run", "steps.recipe", "--dry-run", cwd=tmp_path)
    assert time.monotonic() - start < 20


def test_a_signal_ends_the_check(tmp_path):
    long_recipe(tmp_path, 25000)
    with subprocess.Popen([PROGRAM, "run", "steps.recipe"], cwd=tmp_path, stderr=subprocess.DEVNULL) as process:
        time.sleep(0.3)
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == -signal.SIGTERM
    assert sorted(contents(tmp_path)) == ["i.nii", "steps.recipe"]
