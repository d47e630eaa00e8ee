"""What pip shows as the project's home page: the HOMEPAGE_URL of CMakeLists.txt, nothing where that is empty."""

import re
from pathlib import Path


def dynamic_metadata(_field, _settings):
    text = Path("CMakeLists.txt").read_text(encoding="utf-8")
    home = re.search(r'^ *HOMEPAGE_URL "(.*)"', text, re.M)[1]
    return {"Homepage": home} if home else {}
