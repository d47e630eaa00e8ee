"""What is Windows' own: names, folders, and a client of the library. windows.sh names LOBULE_LINUX and LOBULE_BIN, the two
programs, and LOBULE_EXE, the file that the latter runs, beside which the library lies."""

import os
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
LINUX, WINDOWS = os.environ["LOBULE_LINUX"], os.environ["LOBULE_BIN"]


def test_a_program_with_the_library(tmp_path):
    """The client of tests/install, compiled against what is installed and run beside the library."""
    package, client = Path(os.environ["LOBULE_EXE"]).parents[1], ROOT / "tests/install/client/components.c"
    subprocess.run(["x86_64-w64-mingw32-gcc-posix", f"-I{package}/include", client, f"-L{package}/lib", "-llobule", "-o",
                    tmp_path / "client.exe"], check=True)  # fmt: skip
    shutil.copy(package / "bin/liblobule.dll", tmp_path)
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


def test_backslashes_part_folders(tmp_path):
    """As users of Windows type paths, and as tables of theirs hold them."""
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    for words in (["phantom", "abdomen", "-o", "in\\scan.nii.gz", "--size", "16,16,8"],
                  ["filter", "in\\scan.nii.gz", "-o", ".\\out\\soft.nii.gz", "--box", "1vox"]):  # fmt: skip
        done = subprocess.run([WINDOWS, *words], cwd=tmp_path, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "out/soft.nii.gz").is_file()
