"""Pages in a real browser without a window: what a script sees and does there.

The browser is driven over two pipes by the Chrome DevTools Protocol, messages of JSON that end in a zero byte
(https://chromedevtools.github.io/devtools-protocol): a script is waited for, however long a busy machine takes."""

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import time

import pytest

# Debian's chromium-headless-shell is the smallest that is packaged; a full browser does, too.
BROWSER = next(filter(None, map(shutil.which, ["chromium-headless-shell", "chromium", "chromium-browser",
                                               "google-chrome"])), None)
needs_browser = pytest.mark.skipif(not BROWSER, reason="no Chromium; on Debian: apt-get install chromium-headless-shell")

# No name is resolved, and what would be fetched all the same goes to a port where nobody listens.
OFFLINE = ("--host-resolver-rules=MAP * ~NOTFOUND", "--proxy-server=127.0.0.1:9", "--proxy-bypass-list=<-loopback>")

TIMEOUT = 120  # seconds that a page may take to load, or a script to end


def high(fd):
    """The same file at a number that is not in the way of 3 and 4, where the browser looks for its pipes."""
    copy = fcntl.fcntl(fd, fcntl.F_DUPFD, 10)
    os.close(fd)
    return copy


class Tab:
    """A page in a browser of its own, loaded from an address; a context manager that ends the browser."""

    def __init__(self, address, folder, flags=()):
        theirs_in, self.out = map(high, os.pipe())
        self.inp, theirs_out = map(high, os.pipe())
        self.errors = open(folder / "browser.log", "w+", encoding="utf-8", errors="replace")
        self.browser = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}', "browser", BROWSER, "--headless", "--no-sandbox",
             "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1400,1000", "--remote-debugging-pipe",
             f"--user-data-dir={folder / 'profile'}", *flags],
            pass_fds=(theirs_in, theirs_out), stdin=subprocess.DEVNULL, stdout=self.errors, stderr=self.errors)
        os.close(theirs_in)
        os.close(theirs_out)
        self.buffer, self.number, self.events, self.session = b"", 0, [], {}
        try:
            target = self.ask("Target.createTarget", url="about:blank")["targetId"]
            self.session = {"sessionId": self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]}
            self.ask("Page.enable")
            self.ask("Page.navigate", url=address)
            while "Page.loadEventFired" not in self.events:
                self.receive()
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.browser.kill()
        self.browser.wait()
        for fd in (self.inp, self.out):
            os.close(fd)
        self.errors.close()

    def receive(self):
        """The next message of the browser; events are noted by name."""
        end = time.monotonic() + TIMEOUT
        while b"\0" not in self.buffer:
            ready = select.select([self.inp], [], [], max(0, end - time.monotonic()))[0]
            part = os.read(self.inp, 1 << 20) if ready else b""
            if not part:
                self.errors.seek(0)
                raise AssertionError(("the browser ended: " if ready else "no answer: ") + self.errors.read()[-2000:])
            self.buffer += part
        line, self.buffer = self.buffer.split(b"\0", 1)
        message = json.loads(line)
        if "method" in message:
            self.events.append(message["method"])
        return message

    def ask(self, method, **parameters):
        """Send a command, wait for its result."""
        self.number += 1
        message = json.dumps({"id": self.number, "method": method, "params": parameters, **self.session}).encode() + b"\0"
        while message:
            message = message[os.write(self.out, message):]
        while (answer := self.receive()).get("id") != self.number:
            pass
        assert "error" not in answer, (method, answer["error"])
        return answer["result"]

    def run(self, script):
        """Run a script as the body of an async function; its value, or what it threw as an AssertionError."""
        done = self.ask("Runtime.evaluate", expression=f"(async () => {{ {script} }})()", awaitPromise=True,
                        returnByValue=True)
        assert "exceptionDetails" not in done, done["exceptionDetails"]
        return done["result"].get("value")

    def screenshot(self):
        """The window as the bytes of a PNG file."""
        return base64.b64decode(self.ask("Page.captureScreenshot", format="png")["data"])


def browse(page, script, tmp_path, flags=()):
    """What a script sees and does in the page, as it comes from a file; the script fills `out`."""
    copy = tmp_path / "probe.html"
    copy.write_text(page, encoding="utf-8")
    with Tab(copy.as_uri(), tmp_path, flags) as tab:
        return tab.run("const out = {};\n" + script + "\nreturn out;")
