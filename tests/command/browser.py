"""Pages in a real browser without a window: what a script sees and does there."""

import html
import json
import re
import shutil
import subprocess

import pytest

# Debian's chromium-headless-shell is the smallest that is packaged; a full browser does, too.
BROWSER = next(filter(None, map(shutil.which, ["chromium-headless-shell", "chromium", "chromium-browser",
                                               "google-chrome"])), None)
needs_browser = pytest.mark.skipif(not BROWSER, reason="no Chromium; on Debian: apt-get install chromium-headless-shell")

# No name is resolved, and what would be fetched all the same goes to a port where nobody listens.
OFFLINE = ("--host-resolver-rules=MAP * ~NOTFOUND", "--proxy-server=127.0.0.1:9", "--proxy-bypass-list=<-loopback>")


def run_browser(address, folder, *flags, attempt=0):
    return subprocess.run([BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1400,1000",
                           f"--user-data-dir={folder / f'profile{attempt}'}", *flags, address],
                          capture_output=True, encoding="utf-8", timeout=120, check=False)


def browse(page, script, tmp_path, clock="--virtual-time-budget=20000", flags=()):
    """What a script sees and does in the page, as it comes from a file; the script fills `out`. Time does not go on
    while something is awaited, unless the clock is another."""
    probe = ("<script>addEventListener('load', async () => { const out = {}; try {" + script +
             "} catch (e) { out.error = String(e); } const pre = document.createElement('pre'); pre.id = 'probe';"
             "pre.textContent = JSON.stringify(out); document.body.append(pre); });</script></body>")
    copy = tmp_path / "probe.html"
    copy.write_text(page.replace("</body>", probe), encoding="utf-8")
    for attempt in range(4):  # a busy machine may end the browser before the page has loaded
        done = run_browser(copy.as_uri(), tmp_path, clock, *flags, "--dump-dom", attempt=attempt)
        found = re.search(r'<pre id="probe">(.*?)</pre>', done.stdout, re.S)
        if found:
            break
    assert found, done.stderr[-2000:]
    out = json.loads(html.unescape(found[1]))
    assert "error" not in out, out["error"]
    return out
