"""A plugin of pytest: what is known to fail on Windows, from exceptions.tsv, each with its reason.

A row names tests. One that passes all the same fails: its row has to go. So has a row that no test has any more. Behind
"never: " are tests that would take Wine's server down.
"""

from fnmatch import fnmatchcase
from pathlib import Path

import pytest

NEVER = "never: "
ROWS = [
    line.split("\t")
    for line in Path(__file__).with_name("exceptions.tsv").read_text(encoding="utf-8").splitlines()[1:]
]


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    used = set()
    for item in items:
        for pattern, reason in ROWS:
            name = pattern.removeprefix(NEVER).replace("[", "(")
            if fnmatchcase(item.nodeid.rpartition("/")[2].replace("[", "("), name):
                run = not pattern.startswith(NEVER)
                item.add_marker(pytest.mark.xfail(reason=reason, strict=True, run=run))
                used.add(pattern)
    unused = [
        pattern
        for pattern, _ in ROWS
        if pattern not in used and pattern.removeprefix(NEVER).partition("::")[0] in config.args and not (config.option.keyword or config.option.lf)
    ]
    if unused:
        raise pytest.UsageError("exceptions.tsv has rows that no test has: " + ", ".join(unused))
