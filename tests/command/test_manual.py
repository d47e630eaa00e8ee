"""Man pages and completion, which the program prints about itself."""

import re
import shutil
import subprocess

import pytest
from conftest import assert_one_line, good, lobule

COMMANDS = re.findall(r"^  (\w+)  ", good("--help").stdout, re.M)
MACROS = {".TH", ".SH", ".SS", ".TP", ".PP", ".EX", ".EE", ".B", ".BR", ".br"}


def tool(*words, text):
    """Run a tool on a text: its exit code and what it prints. Skips where it is not installed."""
    if not shutil.which(words[0]):
        pytest.skip(f"{words[0]} is not installed")
    done = subprocess.run(words, input=text, capture_output=True, encoding="utf-8", check=False)
    return done.returncode, done.stdout + done.stderr


def plain(page):
    """What a page of roff reads like, its requests left out."""
    text = re.sub(r"\\f[BIR]|\\&", "", page).replace("\\-", "-").replace("\\e", "\\")
    return re.sub(r"\s+", " ", text)


@pytest.mark.parametrize("command", COMMANDS)
def test_man_page_says_what_help_says(command):
    page, shown = good("--man", command).stdout, good(command, "--help").stdout
    assert page == good(command, "--man").stdout
    assert page.startswith(f".TH LOBULE-{command.upper()} 1 ")
    sections = ["NAME", "SYNOPSIS", "DESCRIPTION", "OPERANDS", "OPTIONS", "COMMON OPTIONS", "EXAMPLES"]
    if "\nOperands:\n" not in shown:
        sections.remove("OPERANDS")
    assert re.findall(r"^\.SH (.+)$", page, re.M) == [*sections, "EXIT STATUS", "SEE ALSO"]
    words = re.sub(r"\s+", " ", shown)
    for part in re.findall(r"(?:-\w, )?--[\w-]+(?: \S+)?\s{2,}(?:\S+ ){3}", shown):
        assert re.sub(r"\s+", " ", part) in plain(page)
    description = re.search(r"\[OPTION\.\.\.\] (.+?) (?:Operands|Options):", words)[1]
    assert description in plain(page.replace(".PP\n", ""))


@pytest.mark.parametrize("command", [None, *COMMANDS])
def test_man_page_is_well_formed(command):
    page = good("--man", *([command] if command else [])).stdout
    for line in page.splitlines():
        assert line and (line[0] not in ".'" or line.split()[0] in MACROS), line
        assert not re.search(r"\\(?!f[BIR]|[-e&])", line), line
    assert page.count(".EX\n") == page.count(".EE\n")


@pytest.mark.parametrize("command", [None, *COMMANDS])
def test_man_page_pleases_mandoc(command):
    page = good("--man", *([command] if command else [])).stdout
    _, said = tool("mandoc", "-T", "lint", "-W", "warning", text=page)
    # A page has no date: the same version has the same bytes.
    assert not [line for line in said.splitlines() if "missing date" not in line], said


def test_page_of_the_program_names_all_commands():
    assert re.findall(r"\.TP\n\.BR lobule\\-(\w+) \(1\)\n", good("--man").stdout) == COMMANDS


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_the_shell_s_language(shell):
    code, said = tool(shell, "-n", text=good("--completion", shell).stdout)
    assert code == 0 and said == ""


BASH = [
    ("commands", ["gr"], {"growcut"}),
    ("commands to have help of", ["help", "st"], {"stats"}),
    ("options of the program", ["--"], {"--help", "--version"}),
    ("options of a command", ["growcut", "--ma"], {"--mask", "--max-cost", "--max-mm", "--max-memory"}),
    ("options after operands", ["growcut", "a", "b", "--rul"], {"--rule"}),
    ("words of an option", ["growcut", "--rule", ""], {"strength", "distance", "flood", "value", "square"}),
    ("words after =", ["growcut", "--rule", "=", "st"], {"strength"}),
    ("all words after =", ["growcut", "--rule", "="], {"strength", "distance", "flood", "value", "square"}),
    ("numbers that are words", ["components", "--neighbours", "1"], {"18"}),
    ("nothing for a number", ["growcut", "--penalty", ""], set()),
    ("devices", ["growcut", "--device", "c"], {"cpu", "cuda"}),
    ("files for an operand", ["growcut", "sc"], {"scan one.nii.gz", "scan.h5"}),
    ("files for a short option", ["growcut", "-o", "se"], {"seeds.nii.gz"}),
    ("files after a flag", ["growcut", "--quiet", "se"], {"seeds.nii.gz"}),
    ("words for an operand", ["phantom", "ab"], {"abdomen"}),
]


@pytest.mark.parametrize("what, words, want", BASH, ids=[row[0] for row in BASH])
def test_bash_completes(tmp_path, what, words, want):
    for name in ("scan one.nii.gz", "scan.h5", "seeds.nii.gz"):
        (tmp_path / name).touch()
    script = good("--completion", "bash").stdout
    script += 'COMP_WORDS=(lobule "$@") COMP_CWORD=$#; _lobule; printf "%s\\n" "${COMPREPLY[@]}"'
    done = subprocess.run(
        ["bash", "--norc", "-c", script, "bash", *words],
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    assert set(filter(None, done.stdout.splitlines())) == want, what
    assert done.stderr == ""


def test_fish_completes():
    script = good("--completion", "fish").stdout
    line = "complete -C 'lobule growcut --rule '; complete -C 'lobule phantom ab'; complete -C 'lobule inf'"
    _, said = tool("fish", "--no-config", text=script + line)
    assert [row.split("\t")[0] for row in said.splitlines()] == ["distance", "strength", "abdomen", "info"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_every_option(shell):
    script = good("--completion", shell).stdout
    for command in COMMANDS:
        for name in re.findall(r"^ +(?:-\w, )?--([\w-]+)", good(command, "--help").stdout, re.M):
            assert re.search(rf"(--|-l ){name}\b", script), f"{command} --{name}"


@pytest.mark.parametrize("arguments", [["--completion"], ["--completion", "tcsh"]])
def test_shell_that_is_not_known(arguments):
    assert_one_line(lobule(*arguments), 64, "bash, zsh or fish")


def test_page_of_no_command():
    assert_one_line(lobule("--man", "grwocut"), 64, "did you mean growcut?")
