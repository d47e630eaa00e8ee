"""The console script `lobule`: the package's program takes this process's place, and nothing else
of the package is loaded for it."""

import importlib.util
import os
import sys


def main() -> None:
    package = importlib.util.find_spec("lobule")
    if package is None or package.origin is None:
        sys.exit("lobule: the package lobule is not installed beside this script")
    program = os.path.join(os.path.dirname(package.origin), "bin", "lobule")
    # programs that it looks for, as dcm2niix, may have been installed beside this script
    beside = os.path.dirname(sys.executable)
    os.environ["PATH"] = os.pathsep.join(filter(None, [os.environ.get("PATH"), beside]))
    if sys.platform == "win32":  # where no process takes another's place, and Ctrl-C is for both
        import signal
        import subprocess

        signal.signal(signal.SIGINT, signal.SIG_IGN)
        sys.exit(subprocess.call([program + ".exe", *sys.argv[1:]]))
    os.execv(program, [program, *sys.argv[1:]])
