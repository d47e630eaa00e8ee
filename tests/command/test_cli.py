"""How the program talks: exit codes, help, silence, the report, signals."""

import hashlib
import json
import os
import re
import signal
import stat
import subprocess
import time

import nibabel
import numpy as np
import pytest
from conftest import AFFINE, PROGRAM, assert_one_line, contents, good, load, lobule, on_a_terminal, refused, save, scan_array

COMMANDS = re.findall(r"^  (\w+)  ", lobule("--help").stdout, re.M)
GROW = ("growcut", "image.nii.gz", "seeds.nii.gz", "-o", "labels.nii.gz")


@pytest.mark.parametrize("given", ["", "GOMP_SPINCOUNT", "OMP_WAIT_POLICY"])
def test_threads_sleep_at_barriers(given):
    """The program starts a second time with a short spin, but where the environment says how long."""
    env = {k: v for k, v in os.environ.items() if k not in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")}
    env |= {"LD_DEBUG": "statistics"} | ({given: "1"} if given else {})
    done = subprocess.run([PROGRAM, "phantom", "--xml"], env=env, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith("<?xml")
    assert done.stderr.count("total startup time") == (1 if given else 2)


def test_there_are_commands():
    assert {"growcut", "info", "convert"} <= set(COMMANDS)


@pytest.mark.parametrize("ask", [["--help"], ["-h"], ["help"]])
def test_help_lists_the_commands(ask):
    done = good(*ask)
    assert "Usage: lobule COMMAND" in done.stdout and done.stderr == ""


def test_help_groups_the_commands_by_task():
    tasks = dict(re.findall(r"^(\w[\w ]*):\n((?:  .+\n)+)", good("--help").stdout, re.M))
    names = {task: re.findall(r"^  (\w+)  ", rows, re.M) for task, rows in tasks.items()}
    assert len(names) >= 4 and sum(names.values(), []) == COMMANDS
    assert "growcut" in names["Regions"] and "stats" in names["Labels"] and "info" in names["Files"]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_each_command(command):
    done = good(command, "--help")
    assert done.stderr == ""
    assert done.stdout == good("help", command).stdout
    for part in (f"Usage: lobule {command}", "--device", "--report", "Examples:", "Exit codes:"):
        assert part in done.stdout
    assert ("the volumes differ" in done.stdout) == (command in ("batch", "compare", "repeat", "run"))
    for line in done.stdout.split("Examples:")[0].splitlines():
        assert len(line) <= 80, line


@pytest.mark.parametrize("command", COMMANDS)
def test_help_names_each_option_once(command):
    names = re.findall(r"^ {2,6}(?:-\w, )?--([\w-]+)", good(command, "--help").stdout, re.M)
    assert len(names) == len(set(names)) and len(names) >= 9


@pytest.mark.parametrize("command", COMMANDS)
def test_help_wins_over_wrong_arguments(command):
    assert good(command, "--no-such-option", "--help").stdout.startswith(f"lobule {command}:")


@pytest.mark.parametrize("arguments", [[*c, v] for c in ([], *([c] for c in COMMANDS)) for v in ("--version", "-V")])
def test_version(arguments):
    done = good(*arguments)
    assert re.fullmatch(r"lobule \d+\.\d+\.\d+\n", done.stdout) and done.stderr == ""


def test_help_shows_defaults():
    text = good("growcut", "--help").stdout
    assert "(default: strength)" in text.replace("\n" + " " * 26, " ")
    assert "(default: auto)" in text


USAGE = [
    ("no command at all", [], "--help lists"),
    ("a command that does not exist", ["frobnicate"], "unknown command 'frobnicate'"),
    ("a command with a slip", ["grwocut"], "did you mean growcut?"),
    ("help for no such command", ["help", "inof"], "did you mean info?"),
    ("no operands", ["growcut"], "IMAGE is missing"),
    ("no output", ["growcut", "a", "b"], "--output FILE is missing"),
    ("an operand too many", ["info", "a", "b"], "'b' is one operand too many"),
    (
        "an output as an operand",
        ["segment", "a", "b", "out.nii"],
        "'out.nii' is one operand too many; an output's name comes behind -o",
    ),
    ("an option for an operand", ["convert", "a", "-o", "out.nii"], "unknown option -o; OUT stands by itself"),
    ("the same in full", ["convert", "a", "--output=out.nii"], "unknown option --output; OUT stands by itself"),
    ("an unknown option", ["info", "a", "--jason"], "did you mean --json?"),
    ("an option of another command", ["info", "a", "--slices", "x"], "unknown option --slices"),
    ("a word that is no choice", [*GROW, "--rule", "fast"], "is not one of strength|distance"),
    ("an option without its value", ["growcut", "a", "b", "-o"], "--output needs a value"),
    ("a number out of range", [*GROW, "--min-strength", "2"], "must be at most 1"),
    ("no threads", [*GROW, "--threads", "0"], "must be at least 1"),
    ("neighbours of a slice in 3D", [*GROW, "--neighbours", "8"], "add --slices"),
    ("neighbours of 3D in slices", [*GROW, "--slices", "z", "--neighbours", "26"], "4 or 8"),
    ("a penalty without its rule", [*GROW, "--penalty", "2"], "--rule distance"),
    ("no growth at all", [*GROW, "--max-mm", "0"], "must be above 0"),
    ("a suffix that no format has", ["convert", "image.nii.gz", "out.docx"], "out.docx"),
    ("--labels with --type", ["convert", "seeds.nii", "x.nii", "--labels", "--type", "uint8"], "leave"),
    ("--lossy without --type", ["convert", "seeds.nii", "x.nii", "--lossy"], "not given"),
]


@pytest.mark.parametrize("what, arguments, part", USAGE, ids=[row[0] for row in USAGE])
def test_bad_usage_is_64(folder, what, arguments, part):
    refused(folder, arguments, 64, part)


def test_info_counts_extensions_alone(folder):
    assert json.loads(good("info", "image.nii", "--json", cwd=folder).stdout)["extension_bytes"] == 0
    volume = nibabel.load(folder / "image.nii")
    volume.header.extensions.append(nibabel.nifti1.Nifti1Extension("comment", b"with a word"))
    nibabel.save(volume, folder / "more.nii")
    assert json.loads(good("info", "more.nii", "--json", cwd=folder).stdout)["extension_bytes"] == 32


MEMORY = [
    ("a byte", ["distance", "image.nii", "-o", "o.nii"], "1", ["needs 9.4 KiB of memory, more than the 1 byte allowed"]),
    ("an image", ["distance", "image.nii", "-o", "o.nii"], "1KiB", ["image.nii: needs 9.4 KiB", "more than the 1.0 KiB allowed"]),
    ("seeds after the image", list(GROW), "10KiB", ["seeds.nii.gz: needs 4.7 KiB", "626 bytes allowed"]),
    ("labels after both", list(GROW), "16KiB", ["labels.nii.gz: needs 4.7 KiB"]),
    ("the work after all three", list(GROW), "64KiB", ["image.nii.gz with seeds.nii.gz", "GrowCut's tiles: working memory of ", "is 64.0 KiB,"]),
    ("another type", ["distance", "image.nii", "-o", "o.nii"], "20KiB", ["image.nii: needs 18.8 KiB"]),
    ("copies", ["compare", "seeds.nii", "seeds.nii.gz"], "12KiB", ["seeds.nii.gz: needs 9.4 KiB"]),
    ("a picture", ["preview", "image.nii", "-o", "p.png"], "100KiB", ["p.png: needs"]),
    ("a phantom", ["phantom", "abdomen", "-o", "p.nii"], "9MiB", ["p.nii: needs 20.0 MiB"]),
]


@pytest.mark.parametrize("what, arguments, limit, parts", MEMORY, ids=[row[0] for row in MEMORY])
def test_memory_limit(folder, what, arguments, limit, parts):
    refused(folder, [*arguments, "--max-memory", limit], 75, *parts)


def test_memory_that_is_almost_enough_looks_less(folder):
    """9614 bytes are needed, for 23 x 19 x 11 voxels of int16."""
    for limit, parts in ((9613, ["needs 9.389 KiB", "9.388 KiB allowed"]), (9500, ["needs 9.4 KiB", "9.3 KiB allowed"])):
        assert_one_line(lobule("distance", "image.nii", "-o", "o.nii", "--max-memory", limit, cwd=folder), 75, *parts)
    done = lobule("distance", "image.nii", "-o", "o.nii", "--max-memory", 4807 + 19227, cwd=folder)
    assert_one_line(done, 75, "needs 18.777 KiB of memory, and --max-memory leaves 18.776 KiB")


@pytest.mark.skipif("LOBULE_SANITIZED" in os.environ, reason="sanitizers take memory of their own")
def test_memory_stays_near_its_limit(folder):
    """One limit for all that is held: a command that accepts it stays near it, another says no."""
    good("phantom", "abdomen", "-o", "scan.nii.gz", "--seeds", "marks.nii.gz", "--size", "128,128,128", cwd=folder)
    codes = set()
    for mib in (4, 8, 16, 24, 32, 40, 64):
        done = lobule("growcut", "scan.nii.gz", "marks.nii.gz", "-o", "o.nii.gz", "--strength", "s.nii", "--force",
                      "--report", "r.json", "--threads", 1, "--max-memory", f"{mib}MiB", cwd=folder)  # fmt: skip
        peak = json.loads((folder / "r.json").read_text())["peak_memory_bytes"]
        assert done.returncode in (0, 75), done.stderr
        assert peak < (mib + 24) * 2**20, f"{mib} MiB allowed, {peak / 2**20:.1f} MiB taken"
        codes.add(done.returncode)
    assert codes == {0, 75}


def test_letters_of_flags_stand_together(folder):
    done = good(*GROW[:3], "-vqolabels.nii.gz", cwd=folder)
    assert done.stderr == "" and (folder / "labels.nii.gz").exists()
    assert good("growcut", "-qh").stdout == good("growcut", "--help").stdout
    assert_one_line(lobule("info", "-qx", "image.nii", cwd=folder), 64, "unknown option -qx")


def test_unknown_input_is_66(folder):
    assert_one_line(lobule("info", "nothing.nii", cwd=folder), 66, "nothing.nii")


def test_device_that_is_not_there_is_69(folder):
    built_for = lobule(*GROW, "--device", "cuda:999", cwd=folder)
    assert_one_line(built_for, 69, "--device cpu")
    assert not (folder / "labels.nii.gz").exists()


def test_existing_output_is_72(folder):
    (folder / "labels.nii.gz").write_bytes(b"old")
    assert_one_line(lobule(*GROW, cwd=folder), 72, "labels.nii.gz", "--force", "--skip-existing")
    assert (folder / "labels.nii.gz").read_bytes() == b"old"


def test_skip_existing(folder):
    """Nothing is done, and said to be; without the file it is made."""
    skip = [*GROW, "--skip-existing", "--report", "report.json"]
    good(*skip, cwd=folder)
    before = contents(folder)
    done = lobule(*skip, cwd=folder)
    assert_one_line(done, 0, "labels.nii.gz: exists; nothing was done")
    assert done.stdout == "" and good(*skip, "--quiet", cwd=folder).stderr == ""
    assert contents(folder) == before
    (folder / "image.nii.gz").unlink()  # nothing is read either
    assert lobule(*skip, cwd=folder).returncode == 0
    assert_one_line(lobule(*skip, "--force", cwd=folder), 64, "--skip-existing", "--force")


SKIPS = [
    ("components", ["components", "image.nii", "-o", "o.nii", "--table", "t.tsv"]),
    ("supervoxels", ["supervoxels", "image.nii", "-o", "o.hdr", "--size", "8vox"]),
    ("threshold", ["threshold", "image.nii", "-o", "o.nii", "--above", "500"]),
    ("a table alone", ["stats", "image.nii", "seeds.nii", "--table", "t.tsv"]),
    ("convert", ["convert", "image.nii", "o.h5"]),
    ("preview", ["preview", "image.nii", "-o", "o.png"]),
    ("phantom", ["phantom", "abdomen", "-o", "o.nii", "--truth", "t.nii", "--size", "9,9,9"]),
]


@pytest.mark.parametrize("what, arguments", SKIPS, ids=[row[0] for row in SKIPS])
def test_every_command_that_writes_skips(folder, what, arguments):
    made = good(*arguments, "--skip-existing", cwd=folder)
    assert "nothing" not in made.stderr
    before = contents(folder)
    assert_one_line(lobule(*arguments, "--skip-existing", cwd=folder), 0, "exists; nothing was done")
    assert contents(folder) == before


def test_skip_existing_needs_all_outputs(folder):
    more = [*GROW, "--strength", "s.nii", "--tie", "t.nii", "--skip-existing"]
    (folder / "s.nii").write_text("old")
    refused(folder, more, 72, "s.nii: exists, but labels.nii.gz does not", "--force")
    good("phantom", "abdomen", "-o", "pair.hdr", "--size", "9,9,9", cwd=folder)
    (folder / "pair.hdr").unlink()
    done = lobule("convert", "image.nii", "pair.hdr", "--skip-existing", cwd=folder)
    assert_one_line(done, 72, "pair.img: exists")


def test_force_replaces(folder):
    (folder / "labels.nii.gz").write_bytes(b"old")
    good(*GROW, "--force", cwd=folder)
    assert load(folder / "labels.nii.gz").shape == (23, 19, 11)


FULL = [["info", "image.nii"], ["--help"], ["--version"], ["info", "-h"], ["--man"], ["--completion", "zsh"]]


@pytest.mark.parametrize("arguments", FULL)
def test_full_standard_output_is_74(folder, arguments):
    with open("/dev/full", "w") as full:
        assert_one_line(lobule(*arguments, cwd=folder, stdout=full), 74, "standard output")


READ_BY_NOBODY = [["--help"], ["--version"], ["info", "-h"], ["info", "image.nii"], ["compare", "seeds.nii", "seeds.nii"],
                  ["compare", "seeds.nii", "seeds.nii", "--json"], ["stats", "image.nii", "seeds.nii"],
                  ["components", "image.nii", "-o", "o.nii", "--equal", "--table", "-"]]  # fmt: skip


@pytest.mark.parametrize("arguments", READ_BY_NOBODY, ids=" ".join)
def test_a_closed_pipe_is_no_error(folder, arguments):
    """As after `| head`: what is printed for nobody is lost, all else is done."""
    reader, writer = os.pipe()
    os.close(reader)
    done = lobule(*arguments, cwd=folder, stdout=writer)
    os.close(writer)
    assert done.returncode == 0 and done.stderr == ""
    assert (folder / "o.nii").exists() == ("-o" in arguments)


def test_a_pipe_closed_midway_is_no_error(folder):
    """The table is larger than a pipe holds."""
    save(np.random.default_rng(1).integers(0, 9999, (40, 40, 40)).astype(np.int16), folder / "noise.nii")
    child = subprocess.Popen([PROGRAM, "components", "noise.nii", "-o", "o.nii", "--equal", "--table", "-"], cwd=folder,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip
    assert child.stdout.readline().startswith(b"label\t")
    child.stdout.close()
    assert child.stderr.read() == b"" and child.wait(60) == 0
    child.stderr.close()
    assert (folder / "o.nii").exists()


def test_too_little_memory_is_75(folder):
    assert_one_line(lobule(*GROW, "--max-memory", "1KiB", cwd=folder), 75, "image.nii.gz")


def test_quiet_is_silent(folder):
    image = scan_array().astype(np.float32)
    image[0, 0, 0] = np.nan
    save(image, folder / "nan.nii")
    done = good("growcut", "nan.nii", "seeds.nii", "-o", "out.nii", "--quiet", cwd=folder)
    assert done.stderr == "" and done.stdout == ""
    loud = good("growcut", "nan.nii", "seeds.nii", "-o", "out.nii", "--force", cwd=folder)
    assert "NaN or infinite voxels: 1;" in loud.stderr


def test_verbose_tells_times(folder):
    done = good(*GROW, "--verbose", cwd=folder)
    assert "compute" in done.stderr and done.stdout == ""


def test_nobody_who_asked_for_no_gpu_hears_of_one(folder):
    """The report alone says why the CPU was taken."""
    done = good(*GROW, "--verbose", "--report", "r.json", cwd=folder)
    assert not re.search("GPU|CUDA|NVIDIA|driver", done.stderr)
    why = json.loads((folder / "r.json").read_text())["device"]["why"]
    assert why.startswith("auto: ") and "too old" not in why and "--device" not in why


def why_here(folder, *line):
    good(*line, "--threads", "1", "--report", "r.json", "--force", cwd=folder)
    return json.loads((folder / "r.json").read_text())["device"]["why"]


def test_small_work_opens_no_gpu(folder):
    """By voxels, what the command takes for each, and threads; a recipe's lines count together."""
    if "built without CUDA" in lobule(*GROW, "--device", "cuda", "--force", cwd=folder).stderr:
        pytest.skip("a build without CUDA")
    soon = "done sooner than a GPU is opened"
    n = load(folder / "image.nii").size
    assert f"{soon}: {n} voxels, each 300 ns of 1 threads" in why_here(folder, *GROW)
    save(np.random.default_rng(5).integers(0, 999, (96, 96, 80)).astype(np.int16), folder / "more.nii")
    cells = ("cells", "more.nii", "-o", "cells.nii", "--size", "8vox")
    assert soon not in why_here(folder, *cells)
    lines = ["filter more.nii -o @a --box 1", "filter @a -o @b --box 1", "filter @b -o @c --box 1",
             "threshold @c -o cut.nii"]  # fmt: skip
    (folder / "many.recipe").write_text("\n".join(lines))
    why_here(folder, "run", "many.recipe")
    each = [x["device"]["why"] for x in json.loads((folder / "r.json").read_text())["results"]["lines"]]
    assert [soon in why for why in each] == [True, True, False, False]


def test_redirected_progress_has_no_control_characters(folder):
    done = good(*GROW, "--verbose", cwd=folder)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", done.stderr)


def slow_case(folder):
    """A volume that keeps the program busy for a second or more."""
    noise = np.random.default_rng(3).integers(0, 4096, (160, 160, 160)).astype(np.int16)
    seeds = np.zeros(noise.shape, np.uint8)
    seeds[0, 0, 0], seeds[-1, -1, -1] = 1, 2
    save(noise, folder / "slow.nii")
    save(seeds, folder / "slow_seeds.nii")
    return ["growcut", "slow.nii", "slow_seeds.nii", "-o", "slow_labels.nii", "--threads", "1"]


def test_terminal_shows_a_bar_and_clears_it(folder):
    seen = on_a_terminal(folder, slow_case(folder))
    assert b"growing [" in seen and seen.count(b"\n") == 1
    assert re.search(rb"\r\x1b\[Klobule growcut: wrote slow_labels\.nii \(voxels labelled: 4096000\) in [\d.]+ s\r\n$", seen)


FINISHED = [
    ([*GROW, "--strength", "s.nii", "--tie", "t.nii"],
     r"growcut: wrote \S+, \S+ and labels.nii.gz \(voxels labelled: 4807\) in [\d.]+ s"),
    (["components", "image.nii", "-o", "o.nii", "--above", "500", "--table", "t.tsv", "--report", "r.json"],
     r"components: wrote \S+, \S+ and r.json \(components: 1\) in [\d.]+ s"),
    (["supervoxels", "image.nii", "-o", "o.nii", "--size", "8vox"],
     r"supervoxels: wrote o.nii \(supervoxels: \d+\) in [\d.]+ s"),
    (["threshold", "image.nii", "-o", "o.nii", "--above", "500"],
     r"threshold: wrote o.nii \(voxels labelled: \d+\) in [\d.]+ s"),
    (["stats", "image.nii", "seeds.nii", "--table", "t.tsv"], r"stats: wrote t.tsv \(labels measured: 2\) in [\d.]+ s"),
    (["convert", "image.nii", "o.h5"], r"convert: wrote o.h5 in [\d.]+ s"),
    (["preview", "image.nii", "-o", "p.png"], r"preview: wrote p.png in [\d.]+ s"),
]  # fmt: skip


@pytest.mark.parametrize("arguments, line", FINISHED, ids=[row[0][0] for row in FINISHED])
def test_a_finished_command_says_so_on_a_terminal(folder, arguments, line):
    last = on_a_terminal(folder, arguments).split(b"\x1b[K")[-1].decode()
    assert re.fullmatch("lobule " + line + "\r\n", last), last
    assert on_a_terminal(folder, [*arguments, "--force", "--quiet"]) == b""
    assert good(*arguments, "--force", cwd=folder).stderr == ""


@pytest.mark.parametrize("arguments", [["compare", "seeds.nii", "seeds.nii"], ["stats", "image.nii", "seeds.nii"]])
@pytest.mark.parametrize("columns", [80, 400])
def test_a_table_on_a_terminal_is_not_behind_a_bar(folder, arguments, columns):
    """And it is all that the command has to say, in another order perhaps; a narrow terminal shows some of the columns."""
    seen = on_a_terminal(folder, arguments, columns).decode().replace("\r\n", "\n")
    shown = [line.split() for line in re.sub("\r[^\n\r]*\r\x1b\\[K", "", seen).splitlines()]
    whole = [line.split() for line in good(*arguments, cwd=folder).stdout.splitlines()]
    left_out = next((line for line in shown if line[:3] == ["(columns", "left", "out:"]), None)
    assert (left_out is not None) == (columns == 80)
    if left_out:
        shown.remove(left_out)
        assert left_out[3] == f"{len(whole[1]) - len(shown[1])};"
    assert len(shown) == len(whole) and all(set(line) <= set(all_of) for line, all_of in zip(shown, whole))
    if columns == 400:
        assert [sorted(line) for line in shown] == [sorted(line) for line in whole]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signal_ends_without_a_trace(folder, number):
    arguments = slow_case(folder)
    before = contents(folder)
    child = subprocess.Popen(
        [PROGRAM, *arguments], cwd=folder, stderr=subprocess.PIPE, text=True
    )
    time.sleep(0.5)
    child.send_signal(number)
    _, errors = child.communicate(timeout=60)
    assert child.returncode == -number, f"{child.returncode}: {errors}"
    assert errors == "lobule growcut: cancelled\n"
    assert contents(folder) == before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_an_ignored_signal_stays_ignored(folder, number):
    """What a shell's & and nohup ask for."""
    child = subprocess.Popen(
        [PROGRAM, *slow_case(folder)],
        cwd=folder,
        preexec_fn=lambda: signal.signal(number, signal.SIG_IGN),
    )
    time.sleep(0.3)
    child.send_signal(number)
    assert child.wait(60) == 0


def test_underscore_is_a_dash(folder):
    good(*GROW, "--max-mm", "5", "--min-strength", "0.2", cwd=folder)
    first = (folder / "labels.nii.gz").read_bytes()
    good(*GROW, "--max_mm", "5", "--min_strength=0.2", "--force", cwd=folder)
    assert (folder / "labels.nii.gz").read_bytes() == first


def test_options_may_stand_anywhere(folder):
    good("growcut", "-olabels.nii.gz", "image.nii.gz", "--quiet", "--", "seeds.nii.gz", cwd=folder)
    assert (folder / "labels.nii.gz").exists()


def test_report(folder):
    good(*GROW, "--max-mm", "20vox", "--report", "report.json", "--threads", "2", cwd=folder)
    report = json.loads((folder / "report.json").read_text())
    labels = load(folder / "labels.nii.gz")

    assert report["tool"] == "lobule" and report["command"] == "growcut"
    assert report["version"] in good("--version").stdout
    assert report["arguments"][:2] == ["image.nii.gz", "seeds.nii.gz"]
    assert report["outcome"] == {"status": "done", "exit_code": 0, "message": ""}
    image, seeds = report["inputs"]
    assert (image["role"], seeds["role"]) == ("IMAGE", "SEEDS")
    for entry in (image, seeds):
        stored = (folder / entry["path"]).read_bytes()
        assert entry["bytes"] == len(stored)
        assert entry["sha256"] == hashlib.sha256(stored).hexdigest()
        assert entry["dims"] == [23, 19, 11] and entry["orientation"] == "RAS"
        assert entry["spacing_mm"] == pytest.approx([1.5, 1.5, 2.5])
    assert image["type"] == "int16" and image["format"] == "NIfTI-1"
    assert report["outputs"][0]["path"] == "labels.nii.gz"
    options = report["options"]
    assert options["rule"] == "strength" and options["max_mm"] == "20vox"
    assert options["mask"] is None and options["force"] is False and options["threads"] == 2
    assert report["device"]["backend"] in ("cpu", "cuda") and report["device"]["threads"] == 2
    results = report["results"]
    assert results["voxels"] == labels.size
    assert results["labelled_voxels"] == np.count_nonzero(labels)
    for entry in results["labels"]:
        count = np.count_nonzero(labels == entry["label"])
        assert entry["voxels"] == count and entry["seeds"] == 1
        assert entry["mm3"] == pytest.approx(count * 1.5 * 1.5 * 2.5)
    seconds = report["seconds"]
    total = seconds.pop("total")
    assert {"read", "inflate", "prepare", "compute", "finish", "compress", "write", "other"} <= set(seconds)
    assert ({"device", "upload", "download"} <= set(seconds)) == (report["device"]["backend"] == "cuda")
    assert all(value >= 0 for value in seconds.values())
    assert sum(seconds.values()) == pytest.approx(total)
    assert report["peak_memory_bytes"] > 1 << 20


def sha256_of(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


SUMS = [
    ("a pair read and written", ["convert", "image.hdr", "o.hdr.gz"], {"image.hdr", "image.img", "o.hdr.gz", "o.img.gz"}),
    ("a pair by its other half", ["convert", "image.img", "o.nii"], {"image.hdr", "image.img", "o.nii"}),
    ("HDF5", ["convert", "a.h5:/ITKImage/0/VoxelData", "o.h5"], {"a.h5", "o.h5"}),
    ("a header alone", ["info", "image.nii.gz"], {"image.nii.gz"}),
    ("a table and a picture", ["stats", "image.nii", "seeds.nii", "--table", "t.tsv"], {"image.nii", "seeds.nii", "t.tsv"}),
    ("a picture", ["preview", "image.nii", "-o", "p.png"], {"image.nii", "p.png"}),
    ("by planes", ["components", "image.nii", "-o", "o.nii", "--max-memory", "45KiB"], {"image.nii", "o.nii"}),
    ("one file twice", ["compare", "image.nii", "image.nii", "--values"], {"image.nii"}),
]


@pytest.mark.parametrize("what, arguments, files", SUMS, ids=[row[0] for row in SUMS])
def test_report_has_checksums(folder, what, arguments, files):
    """As sha256sum prints them, of each file that was read or written."""
    nibabel.save(nibabel.Nifti1Pair(scan_array(), AFFINE), folder / "image.hdr")
    good("convert", "image.nii", "a.h5", cwd=folder)
    good(*arguments, "--report", "r.json", cwd=folder)
    report = json.loads((folder / "r.json").read_text())
    seen = set()
    for entry in report["inputs"] + report["outputs"]:
        for one in [entry] + ([entry["second_file"]] if "second_file" in entry else []):
            path = one["path"].split(":")[0]
            assert one["sha256"] == sha256_of(folder / path), path
            seen.add(path)
    assert seen == files and report["seconds"]["checksum"] >= 0


def test_report_of_a_failure_has_checksums_of_what_was_read(folder):
    save(scan_array()[:-1], folder / "other.nii")
    assert lobule("compare", "image.nii", "other.nii", "--values", "--report", "r.json", cwd=folder).returncode == 65
    inputs = json.loads((folder / "r.json").read_text())["inputs"]
    assert [entry["sha256"] for entry in inputs] == [sha256_of(folder / name) for name in ("image.nii", "other.nii")]


def test_report_of_a_failure(folder):
    done = lobule("info", "nothing.nii", "--report", "report.json", cwd=folder)
    assert done.returncode == 66
    outcome = json.loads((folder / "report.json").read_text())["outcome"]
    assert outcome["exit_code"] == 66 and "nothing.nii" in outcome["message"]


def test_report_of_a_name_that_is_not_utf8(folder):
    """It is told back byte by byte, beside names that are UTF-8 and what is UTF-8 only nearly."""
    names = [b"sc\xffn \xc3\xa9.nii", b"\xed\xb3\xbf\xc0\xaf\xf4\x90\x80\x80\xe2\x82.nii", "L\u00f6we \U0001f981.nii".encode()]
    for i, name in enumerate(names):
        os.rename(folder / "image.nii" if i == 0 else os.fsencode(folder) + b"/" + names[i - 1],
                  os.fsencode(folder) + b"/" + name)  # fmt: skip
        good("info", os.fsdecode(name), "--report", "report.json", cwd=folder)
        report = json.loads((folder / "report.json").read_bytes().decode("utf-8"))
        assert os.fsencode(report["inputs"][0]["path"]) == name
        assert os.fsencode(report["arguments"][0]) == name
        assert report["inputs"][0]["sha256"] == hashlib.sha256((folder / os.fsdecode(name)).read_bytes()).hexdigest()


def test_a_report_never_blocks_another_try(folder):
    """Of a failed run, of one that worked, or an empty file as mktemp makes it."""
    grow = [*GROW, "--report", "report.json"]
    assert lobule(*grow, "--max-memory", "1KiB", cwd=folder).returncode == 75
    for before in (None, b""):
        if before is not None:
            (folder / "report.json").write_bytes(before)
            (folder / "labels.nii.gz").unlink()
        good(*grow, cwd=folder)
        assert json.loads((folder / "report.json").read_text())["outcome"]["exit_code"] == 0
    (folder / "labels.nii.gz").unlink()
    good(*grow, cwd=folder)
    told = (folder / "report.json").read_bytes()
    assert_one_line(lobule(*grow, cwd=folder), 72, "labels.nii.gz: exists")
    assert (folder / "report.json").read_bytes() == told  # the file that is there is the one it is about


def test_what_is_no_report_is_kept(folder):
    (folder / "report.json").write_text("old")
    done = lobule(*GROW, "--report", "report.json", cwd=folder)
    assert_one_line(done, 72, "report.json: exists and is no report of lobule; use --force to replace it")
    assert (folder / "report.json").read_text() == "old"
    assert not (folder / "labels.nii.gz").exists()
    good(*GROW, "--report", "report.json", "--force", cwd=folder)
    assert json.loads((folder / "report.json").read_text())["tool"] == "lobule"


def test_outputs_get_usual_permissions(folder):
    old = os.umask(0o027)
    try:
        good(*GROW, "--report", "report.json", cwd=folder)
    finally:
        os.umask(old)
    for name in ("labels.nii.gz", "report.json"):
        assert stat.S_IMODE((folder / name).stat().st_mode) == 0o640, name


@pytest.mark.parametrize("name", ["image.nii.gz", "seeds.nii"])
def test_info_text_and_json_agree(folder, name):
    text = good("info", name, cwd=folder).stdout
    about = json.loads(good("info", "--json", name, cwd=folder).stdout)
    assert about["dims"] == [23, 19, 11] and about["frames"] == 1 and about["channels"] == 1
    assert about["orientation"] == "RAS" and about["slope"] == 1 and about["inter"] == 0
    assert about["bounding_box_mm"][0] == pytest.approx([-20.75, -30.75, 38.75])
    assert about["bounding_box_mm"][1] == pytest.approx([13.75, -2.25, 66.25])
    assert about["affine"][2] == [0, 0, 2.5, 40]
    assert about["header"]["descrip"] == "made for a test"
    for key, value in about.items():
        if isinstance(value, str):
            assert re.search(rf"^{key} +{re.escape(value)}$", text, re.M), key
    assert re.search(r"^dims +23 19 11$", text, re.M)


def test_info_does_not_decode_voxels(folder):
    """Half of the voxels are missing, and info does not mind, for it does not look."""
    whole = (folder / "image.nii.gz").read_bytes()
    (folder / "half.nii.gz").write_bytes(whole[: len(whole) // 2])
    assert "dims" in good("info", "half.nii.gz", cwd=folder).stdout


def test_info_does_not_steer_the_terminal(folder):
    raw = bytearray((folder / "image.nii").read_bytes())
    raw[148:156] = b"\x1b[2Jhi\r\n"  # descrip
    (folder / "escape.nii").write_bytes(raw)
    text = good("info", "escape.nii", cwd=folder).stdout
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", text) and "?[2Jhi??" in text
