"""A plugin of pytest: tests that are known to fail on Windows, from exceptions.tsv, each with its reason.

Who passes all the same fails: its row has to go. So does a row that no test has any more.
"""

from fnmatch import fnmatchcase
from pathlib import Path

import pytest

ROWS = [
    line.split("\t")
    for line in Path(__file__).with_name("exceptions.tsv").read_text(encoding="utf-8").splitlines()[1:]
]


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    used = set()
    for item in items:
        for pattern, reason in ROWS:
            if fnmatchcase(item.nodeid.replace("[", "("), pattern.replace("[", "(")):
                item.add_marker(pytest.mark.xfail(reason=reason, strict=True))
                used.add(pattern)
    narrowed = config.option.keyword or any("::" in argument for argument in config.args)
    unused = [pattern for pattern, _ in ROWS if pattern not in used]
    if unused and not narrowed:
        raise pytest.UsageError("exceptions.tsv has rows that no test has: " + ", ".join(unused))
