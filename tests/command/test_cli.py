"""How the program talks: exit codes, help, silence, the report, signals."""

import json
import os
import pty
import re
import signal
import stat
import subprocess
import time
import zlib

import nibabel
import numpy as np
import pytest
from conftest import PROGRAM, assert_one_line, contents, good, load, lobule, save, scan_array

COMMANDS = re.findall(r"^  (\w+)  ", lobule("--help").stdout, re.M)
GROW = ("growcut", "image.nii.gz", "seeds.nii.gz", "-o", "labels.nii.gz")


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
    assert "growcut" in names["Segment"] and "stats" in names["Measure"] and "info" in names["Files"]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_each_command(command):
    done = good(command, "--help")
    assert done.stderr == ""
    assert done.stdout == good("help", command).stdout
    for part in (f"Usage: lobule {command}", "--device", "--report", "Examples:", "Exit codes:"):
        assert part in done.stdout
    assert ("the volumes differ" in done.stdout) == (command == "compare")
    for line in done.stdout.split("Examples:")[0].splitlines():
        assert len(line) <= 80, line


@pytest.mark.parametrize("command", COMMANDS)
def test_help_names_each_option_once(command):
    names = re.findall(r"^ +(?:-\w, )?--([\w-]+)", good(command, "--help").stdout, re.M)
    assert len(names) == len(set(names)) and len(names) >= 9


@pytest.mark.parametrize("command", COMMANDS)
def test_help_wins_over_wrong_arguments(command):
    assert good(command, "--no-such-option", "--help").stdout.startswith(f"lobule {command}:")


@pytest.mark.parametrize("arguments", [["--version"]] + [[c, "--version"] for c in COMMANDS])
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
    before = contents(folder)
    assert_one_line(lobule(*arguments, cwd=folder), 64, part)
    assert contents(folder) == before


def test_info_counts_extensions_alone(folder):
    assert json.loads(good("info", "image.nii", "--json", cwd=folder).stdout)["extension_bytes"] == 0
    volume = nibabel.load(folder / "image.nii")
    volume.header.extensions.append(nibabel.nifti1.Nifti1Extension("comment", b"with a word"))
    nibabel.save(volume, folder / "more.nii")
    assert json.loads(good("info", "more.nii", "--json", cwd=folder).stdout)["extension_bytes"] == 32


MEMORY = [
    ("an image", ["convert", "image.nii", "o.nii"], "1KiB", ["image.nii: needs 9.4 KiB", "1.0 KiB are allowed"]),
    ("seeds after the image", list(GROW), "10KiB", ["seeds.nii.gz: needs 4.7 KiB", "626 bytes are allowed"]),
    ("labels after both", list(GROW), "16KiB", ["labels.nii.gz: needs 4.7 KiB"]),
    ("the work after all three", list(GROW), "64KiB", ["image.nii.gz with seeds.nii.gz", "GrowCut's tiles need", "is 64.0 KiB,"]),
    ("another type", ["convert", "image.nii", "o.nii", "--type", "float64"], "20KiB", ["o.nii: needs 37.6 KiB"]),
    ("copies", ["compare", "seeds.nii", "seeds.nii.gz"], "12KiB", ["seeds.nii.gz: needs 9.4 KiB"]),
    ("a picture", ["preview", "image.nii", "-o", "p.png"], "100KiB", ["p.png: needs"]),
    ("a phantom", ["phantom", "abdomen", "-o", "p.nii"], "9MiB", ["p.nii: needs 20.0 MiB"]),
]


@pytest.mark.parametrize("what, arguments, limit, parts", MEMORY, ids=[row[0] for row in MEMORY])
def test_memory_limit(folder, what, arguments, limit, parts):
    before = contents(folder)
    assert_one_line(lobule(*arguments, "--max-memory", limit, cwd=folder), 75, *parts)
    assert contents(folder) == before


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


def test_existing_output_is_73(folder):
    (folder / "labels.nii.gz").write_bytes(b"old")
    assert_one_line(lobule(*GROW, cwd=folder), 73, "labels.nii.gz", "--force")
    assert (folder / "labels.nii.gz").read_bytes() == b"old"


def test_force_replaces(folder):
    (folder / "labels.nii.gz").write_bytes(b"old")
    good(*GROW, "--force", cwd=folder)
    assert load(folder / "labels.nii.gz").shape == (23, 19, 11)


FULL = [["info", "image.nii"], ["--help"], ["--version"], ["info", "-h"], ["--man"], ["--completion", "zsh"]]


@pytest.mark.parametrize("arguments", FULL)
def test_full_standard_output_is_74(folder, arguments):
    with open("/dev/full", "w") as full:
        assert_one_line(lobule(*arguments, cwd=folder, stdout=full), 74, "standard output")


def test_closed_standard_output_is_74(folder):
    reader, writer = os.pipe()
    os.close(reader)
    done = lobule("info", "image.nii", cwd=folder, stdout=writer)
    os.close(writer)
    assert_one_line(done, 74, "standard output")


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
    try:
        master, slave = pty.openpty()
    except OSError as error:
        pytest.skip(f"no terminal to be had: {error}")
    child = subprocess.Popen([PROGRAM, *slow_case(folder)], cwd=folder, stderr=slave)
    os.close(slave)
    seen = b""
    while True:
        try:
            block = os.read(master, 65536)
        except OSError:
            break
        if not block:
            break
        seen += block
    os.close(master)
    assert child.wait(60) == 0
    assert b"growing [" in seen and seen.endswith(b"\r\x1b[K")
    assert b"\n" not in seen


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
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


def test_ignored_interrupt_stays_ignored(folder):
    """What nohup and a shell's & ask for."""
    child = subprocess.Popen(
        [PROGRAM, *slow_case(folder)],
        cwd=folder,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    )
    time.sleep(0.3)
    child.send_signal(signal.SIGINT)
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
        assert entry["crc32"] == f"{zlib.crc32(stored):08x}"
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


def test_report_of_a_failure(folder):
    done = lobule("info", "nothing.nii", "--report", "report.json", cwd=folder)
    assert done.returncode == 66
    outcome = json.loads((folder / "report.json").read_text())["outcome"]
    assert outcome["exit_code"] == 66 and "nothing.nii" in outcome["message"]


def test_report_of_a_name_that_is_not_utf8(folder):
    name = os.fsdecode(b"sc\xffn.nii")
    os.rename(folder / "image.nii", folder / name)
    good("info", name, "--report", "report.json", cwd=folder)
    assert json.loads((folder / "report.json").read_text())["inputs"][0]["path"] == "sc?n.nii"


def test_report_is_not_replaced(folder):
    (folder / "report.json").write_text("old")
    assert_one_line(lobule(*GROW, "--report", "report.json", cwd=folder), 73, "report.json")
    assert (folder / "report.json").read_text() == "old"
    assert not (folder / "labels.nii.gz").exists()


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
