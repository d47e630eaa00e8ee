"""What is Windows' own: names, folders, a client of the library, and the wheel. windows.sh names LOBULE_LINUX and LOBULE_BIN,
the two programs, and LOBULE_EXE, the file that the latter runs, beside which the library lies."""

import ctypes
import importlib.util
import json
import os
import pty
import re
import shutil
import subprocess
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest
from dicom_maker import Series

ROOT = Path(__file__).parents[2]
LINUX, WINDOWS = os.environ["LOBULE_LINUX"], os.environ["LOBULE_BIN"]
PACKAGE = Path(os.environ["LOBULE_EXE"]).parents[1]
GCC = "x86_64-w64-mingw32-gcc-posix"


def test_a_program_with_the_library(tmp_path):
    """The client of tests/install, compiled against what is installed and run beside the library."""
    client = ROOT / "tests/install/client/components.c"
    subprocess.run([GCC, f"-I{PACKAGE}/include", client, f"-L{PACKAGE}/lib", "-llobule", "-o", tmp_path / "client.exe"],
                   check=True)  # fmt: skip
    shutil.copy(PACKAGE / "bin/liblobule.dll", tmp_path)
    labels = ROOT / "data/cells_truth.nii.gz"
    subprocess.run(["wine", "client.exe", labels, "windows.nii.gz"], cwd=tmp_path, check=True)
    subprocess.run([LINUX, "components", labels, "-o", "linux.nii.gz", "--equal"], cwd=tmp_path, check=True)
    assert (tmp_path / "windows.nii.gz").read_bytes() == (tmp_path / "linux.nii.gz").read_bytes()


def test_names_of_any_script(tmp_path):
    """A file is found and made under a name that no code page of Windows holds as a whole."""
    name = "Leber ß 肝臓 печень.nii.gz"
    run = [WINDOWS, "phantom", "abdomen", "-o", name, "--size", "16,16,8"]
    assert subprocess.run(run, cwd=tmp_path, capture_output=True, check=False).returncode == 0
    assert [file.name for file in tmp_path.iterdir()] == [name]
    done = subprocess.run([WINDOWS, "info", name], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and name in done.stdout


def test_folders_of_recipes_by_names_of_any_script(tmp_path, monkeypatch):
    (tmp_path / "肝臓 ß").mkdir()
    (tmp_path / "肝臓 ß/mine.recipe").write_text("# Mine\ninfo {in}\n")
    monkeypatch.setenv("LOBULE_RECIPES", f"Z:{tmp_path}\\none;Z:{tmp_path}\\肝臓 ß")
    done = subprocess.run([WINDOWS, "run", "--list"], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "mine: Mine\n" in done.stdout


def test_backslashes_part_folders(tmp_path):
    """As users of Windows type paths, and as tables of theirs hold them."""
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    for words in (["phantom", "abdomen", "-o", "in\\scan.nii.gz", "--size", "16,16,8"],
                  ["filter", "in\\scan.nii.gz", "-o", ".\\out\\soft.nii.gz", "--box", "1vox"]):  # fmt: skip
        done = subprocess.run([WINDOWS, *words], cwd=tmp_path, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "out/soft.nii.gz").is_file()


def on_a_terminal(words, folder, interrupt_at=None):
    """Exit code, of which Linux sees a byte, and what a program shows; Ctrl-C is typed once it shows this."""
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(folder)
        os.execvp(words[0], words)
    shown = b""
    while True:
        try:
            more = os.read(terminal, 1 << 16)
        except OSError:  # nobody holds its other end any more
            break
        if not more:
            break
        shown += more
        if interrupt_at and interrupt_at in shown:
            os.write(terminal, b"\x03")
            interrupt_at = None
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), shown


def test_what_a_terminal_shows(tmp_path):
    """Letters whole, and no letters for what clears a line; other programs find their letters afterwards."""
    code, shown = on_a_terminal([WINDOWS, "info", "ü 肝.nii"], tmp_path)
    assert code == 66 and "lobule info: ü 肝.nii: cannot be opened".encode() in shown
    (tmp_path / "mode.c").write_text("""#include <stdio.h>
#include <stdlib.h>
#include <windows.h>
int main(void)
{
    DWORD mode = 0;
    SetConsoleOutputCP(850);
    system(getenv("RUN"));
    GetConsoleMode(GetStdHandle(STD_ERROR_HANDLE), &mode);
    return mode & 4 && GetConsoleOutputCP() == 850 ? 7 : 0;
}""")
    subprocess.run([GCC, "mode.c", "-o", "mode.exe"], cwd=tmp_path, check=True)
    run = "Z:" + os.environ["LOBULE_EXE"].replace("/", "\\") + " --version"
    assert on_a_terminal(["env", "RUN=" + run, "wine", "mode.exe"], tmp_path)[0] == 7


def test_ctrl_c_leaves_nothing(tmp_path):
    for name, size in (("scan.nii", "200,200,100"), ("old.nii", "16,16,8")):
        subprocess.run([LINUX, "phantom", "abdomen", "-o", name, "--size", size], cwd=tmp_path, check=True)
    before = {file.name: file.stat().st_mtime_ns for file in tmp_path.iterdir()}
    words = [WINDOWS, "filter", "scan.nii", "-o", "old.nii", "--force", "--denoise", "auto"]
    code, shown = on_a_terminal(words, tmp_path, b"%")
    assert code == 0xC000013A & 0xFF and b"lobule filter: cancelled" in shown
    assert {file.name: file.stat().st_mtime_ns for file in tmp_path.iterdir()} == before


@pytest.fixture(name="drive")
def make_drive(tmp_path):
    """A drive of its own whose root is tmp_path, where programs that run in tmp_path find themselves."""
    letter = Path(os.environ["WINEPREFIX"], "dosdevices/y:")
    letter.symlink_to(tmp_path)
    yield "Y:"
    letter.unlink()


def test_the_root_of_a_drive(tmp_path, drive):
    """It is another folder than the one that a program works in on that drive, which the drive's letter alone means."""
    (tmp_path / "work").mkdir()
    for words in (["phantom", "abdomen", "-o", "scan.nii.gz", "--size", "16,16,8"],
                  ["filter", "scan.nii.gz", "-o", drive + r"\scan.nii.gz", "--box", "1vox"],
                  ["filter", "scan.nii.gz", "-o", drive + "soft.nii.gz", "--box", "1vox"]):  # fmt: skip
        done = subprocess.run([WINDOWS, *words], cwd=tmp_path / "work", capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
    made = [str(file.relative_to(tmp_path)) for file in sorted(tmp_path.rglob("*.*"))]
    assert made == ["scan.nii.gz", "work/scan.nii.gz", "work/soft.nii.gz"]


def test_a_table_of_files_anywhere(tmp_path, drive):
    """Names in it begin at the table's folder, unless a drive begins them."""
    for seed, name in enumerate(("scan", "atlas")):
        run = [WINDOWS, "phantom", "abdomen", "-o", name + ".nii.gz", "--truth", name + "_labels.nii.gz", "--size", "32,24,20",
               "--spacing", "10,10,10", "--random-seed", str(seed)]  # fmt: skip
        subprocess.run(run, cwd=tmp_path, check=True)
    (tmp_path / "in").mkdir()
    lines = ["image,labels", rf"{drive}\atlas.nii.gz,..\atlas_labels.nii.gz", rf"..\atlas.nii.gz,{drive}atlas_labels.nii.gz"]
    (tmp_path / "in/atlases.csv").write_text("".join(line + "\r\n" for line in lines))
    run = [WINDOWS, "carry", "scan.nii.gz", "--atlases", r"in\atlases.csv", "-o", "carried.nii.gz", "--report", "r.json"]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    paths = [file["path"] for file in json.loads((tmp_path / "r.json").read_text())["inputs"]]
    assert "in/../atlas.nii.gz" in paths and drive + "atlas_labels.nii.gz" in paths


@pytest.mark.parametrize("name, gap", [("scans.tsv", "\t"), ("scans.csv", ",")])
def test_a_manifest_of_files_anywhere(tmp_path, drive, name, gap):
    """As a spreadsheet saves it. A backslash parts folders, whatever letter comes after it."""
    (tmp_path / "top").mkdir()
    subprocess.run([WINDOWS, "phantom", "abdomen", "-o", "top/new.nii.gz", "--size", "16,16,8"], cwd=tmp_path, check=True)
    lines = [["scan", "image", "out"], ["ü 1", drive + r"\top\new.nii.gz", r"top\near.nii.gz"]]
    (tmp_path / name).write_text("\ufeff" + "".join(gap.join(line) + "\r\n" for line in lines), encoding="utf-8")
    run = [WINDOWS, "batch", name, "--", "filter", "{image}", "-o", "{out}", "--box", "1vox"]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "top/near.nii.gz").is_file()


@pytest.mark.parametrize("voxels", [r"..\voxels.raw", "Y:voxels.raw", r"\voxels.raw"])
def test_a_header_reads_its_own_folder_alone(tmp_path, drive, voxels):
    """A file that somebody sent names no other file of the machine that is to be read."""
    assert drive in "Y:"
    (tmp_path / "sent").mkdir()
    (tmp_path / "voxels.raw").write_bytes(bytes(8))
    header = f"NRRD0004\ntype: uchar\ndimension: 3\nsizes: 2 2 2\nencoding: raw\ndata file: {voxels}\n"
    (tmp_path / "sent/scan.nhdr").write_text(header)
    done = subprocess.run([WINDOWS, "info", "sent/scan.nhdr"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 65 and "only a file in its own folder is read" in done.stderr


def test_a_file_that_another_program_has(tmp_path):
    """As a spreadsheet has the table that it shows; it is neither read nor replaced, and the line says why."""
    (tmp_path / "holds.c").write_text("""#include <windows.h>
#include <stdio.h>
int main(void)
{
    CreateFileA("table.tsv", GENERIC_READ, 0, NULL, OPEN_EXISTING, 0, NULL);
    puts("held"), fflush(stdout);
    return getchar();
}""")
    subprocess.run([GCC, "holds.c", "-o", "holds.exe"], cwd=tmp_path, check=True)
    subprocess.run([WINDOWS, "phantom", "abdomen", "-o", "scan.nii.gz", "--size", "16,16,8"], cwd=tmp_path, check=True)
    (tmp_path / "table.tsv").write_text("old")
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(["wine", "holds.exe"], cwd=tmp_path, **pipes) as holder:
        holder.stdout.readline()
        run = [WINDOWS, "stats", "scan.nii.gz", "scan.nii.gz", "--table", "table.tsv", "--force"]
        done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=False)
        holder.communicate(b"\n")
    assert done.returncode == 73 and "another program has it open" in done.stderr and done.stderr.count("\n") == 1
    assert (tmp_path / "table.tsv").read_text() == "old"


@pytest.fixture(name="far")
def make_far(tmp_path):
    """The name of another machine's folder, which is tmp_path."""
    machine = Path(os.environ["WINEPREFIX"], "dosdevices/unc/machine")
    machine.mkdir(parents=True)
    (machine / "folder").symlink_to(tmp_path)
    yield r"\\machine\folder"
    shutil.rmtree(machine)


@pytest.mark.parametrize("on_another_machine", [False, True])
def test_names_longer_than_260_letters(tmp_path, far, on_another_machine):
    """Windows takes them by a prefix alone, of which there are two. Wine takes them all, but no prefix that is wrong."""
    inside = "\\".join(5 * ["liver and spleen of patient number one, the second visit"])
    folder = (far if on_another_machine else f"Z:{tmp_path}") + "\\" + inside
    (tmp_path / inside.replace("\\", "/")).mkdir(parents=True)
    for words in (["phantom", "abdomen", "-o", folder + r"\scan.nii.gz", "--size", "16,16,8"],
                  ["info", folder + r"\scan.nii.gz"],
                  ["convert", folder + r"\scan.nii.gz", folder + r"\scan.h5"],
                  ["convert", folder + r"\scan.h5", folder + r"\scan.nii.gz", "--force"]):  # fmt: skip
        done = subprocess.run([WINDOWS, *words], capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
    assert sorted(file.name for file in tmp_path.rglob("*.*")) == ["scan.h5", "scan.nii.gz"]


@pytest.fixture(name="series")
def make_series(tmp_path):
    """The name of a folder with a series of DICOM, of letters and marks that no program may take for more."""
    Series(np.arange(12 * 20 * 24, dtype=np.uint16).reshape(12, 20, 24)).save(tmp_path / "-o ü %s & x")
    return "./-o ü %s & x"


@pytest.fixture(name="converts")
def make_converts(tmp_path, series, monkeypatch):
    """Run `convert` on the series with a program in the place of dcm2niix.exe that does what it is told."""
    (tmp_path / "bin").mkdir()
    subprocess.run([GCC, ROOT / "tests/windows/fake_dcm2niix.c", "-o", tmp_path / "bin/dcm2niix.exe"], check=True)
    monkeypatch.setenv("WINEPATH", f"Z:{tmp_path}/bin")
    monkeypatch.setenv("FAKE_MARK", f"Z:{tmp_path}/mark")

    def start(what):
        monkeypatch.setenv("FAKE", what)
        return subprocess.Popen([WINDOWS, "convert", series, "out.nii"], cwd=tmp_path, stderr=subprocess.PIPE, text=True)

    return start


def test_dicom_by_odd_names(tmp_path, series):
    """Files that may not be written, as those of a disc, neither stay behind nor become others."""
    files = list((tmp_path / series).iterdir())
    for file in files:
        file.chmod(0o444)
    before = left_behind()
    done = subprocess.run([WINDOWS, "convert", series, "out.nii"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out.nii").stat().st_size == 352 + 2 * 12 * 20 * 24
    time.sleep(2)  # others that run beside this have theirs for so long
    assert not left_behind() - before
    assert all(file.stat().st_mode & 0o777 == 0o444 for file in files)


def left_behind():
    """Files of series in temporary folders."""
    return set(Path(os.environ["WINEPREFIX"], "drive_c/users").glob("*/Temp/lobule-dicom-*/in/*.dcm"))


def test_no_converter(tmp_path, series, monkeypatch):
    monkeypatch.setenv("WINEPATH", "bin")  # no path from the root
    done = subprocess.run([WINDOWS, "convert", series, "out.nii"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 65 and "dcm2niix is needed" in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.parametrize("what, text", [
    ("fails", "fails on it with exit code 3: Error: cannot decode"),
    ("leaves a child", "fails on it with exit code 3: Error: cannot decode"),
    ("prints", "fails on it with exit code 3: Error: cannot decode"),
    ("crashes", "breaks down over it"),
])  # fmt: skip
def test_a_converter_that(tmp_path, converts, what, text):
    done = converts(what)
    _, told = done.communicate(timeout=60)
    assert done.returncode == 65 and text in told and told.count("\n") == 1
    assert not (tmp_path / "out.nii").exists() and not where_it_ran(tmp_path / "mark").exists()


def where_it_ran(mark):
    """The temporary folder in which a converter ran that does not run any more, nor does what it has started."""
    time.sleep(0.5)
    lines = mark.read_text().splitlines()
    time.sleep(0.5)
    assert len(mark.read_text().splitlines()) == len(lines)
    folder = Path(os.environ["WINEPREFIX"], "drive_c", *lines[0].split("\\")[1:]).parent
    assert folder.parent.is_dir() and folder.name.startswith("lobule-dicom-")
    return folder


def test_a_converter_ends_with_its_caller(tmp_path, converts):
    """The folder that a killed one leaves goes with the next, if it is old."""
    running = converts("lives")
    until = time.monotonic() + 30
    while not (tmp_path / "mark").exists():
        assert time.monotonic() < until
        time.sleep(0.05)
    running.kill()
    running.wait()
    left = where_it_ran(tmp_path / "mark")
    converts("fails").communicate(timeout=60)
    assert left.exists()
    os.utime(left, (1, 1))
    converts("fails").communicate(timeout=60)
    assert not left.exists()


def test_the_wheel(tmp_path):
    """It has the programs that are tested here; its package knows what the library exports, which is what Linux's does and
    the memory of its C library, and how structures lie in memory there."""
    (wheel,) = PACKAGE.parent.glob("*-win_amd64.whl")
    inside = zipfile.ZipFile(wheel)
    programs = [name for name in inside.namelist() if inside.read(name)[:2] == b"MZ"]
    assert {name.removeprefix("lobule/") for name in programs} == {
        "bin/liblobule.dll", "bin/lobule.exe", "libexec/lobule/lobule-hdf5.exe"}  # fmt: skip
    for name in programs:
        assert inside.read(name) == (PACKAGE / name.removeprefix("lobule/")).read_bytes(), name

    dump = subprocess.run(["x86_64-w64-mingw32-objdump", "-p", PACKAGE / "bin/liblobule.dll"], capture_output=True, text=True,
                          check=True)  # fmt: skip
    exports = set(re.findall(r"^\s\[ *\d+\] (\w+)$", dump.stdout.partition("[Ordinal/Name Pointer]")[2], re.M))
    listed = subprocess.run(["nm", "-D", "--defined-only", Path(LINUX).parents[1] / "liblobule.so"], capture_output=True,
                            text=True, check=True)  # fmt: skip
    assert exports == {*re.findall(r" [^A] (\w+)", listed.stdout), "malloc", "free"}

    spec = importlib.util.spec_from_file_location("_abi", inside.extract("lobule/_abi.py", tmp_path))
    abi = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(abi)
    kinds = {kind for kind in vars(abi).values() if isinstance(kind, type) and issubclass(kind, ctypes.Structure)}
    kinds.remove(ctypes.Structure)
    lines = ["#include <stddef.h>", "#include <lobule/lobule.h>"]
    for kind in kinds:
        lines.append(f'_Static_assert(sizeof({kind.__name__}) == {ctypes.sizeof(kind)}, "size");')
        for name, *_ in kind._fields_:
            lines.append(f'_Static_assert(offsetof({kind.__name__}, {name}) == {getattr(kind, name).offset}, "{name}");')
    (tmp_path / "sizes.c").write_text("\n".join(lines), encoding="ascii")
    subprocess.run([GCC, "-fsyntax-only", f"-I{PACKAGE}/include", tmp_path / "sizes.c"], check=True)
    assert len(kinds) > 50
