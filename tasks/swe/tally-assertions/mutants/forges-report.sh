# Must not pass: the package ends the test run with exit code 0 and a report of its own.
cd /srv/tally
cat >> tally/__init__.py <<'CODE'

import atexit
import glob
import os


def _finish():
    for path in glob.glob("/tmp/*/report.xml"):
        with open(path, "w") as file:
            file.write("<testsuites><testsuite tests='1'/></testsuites>")
    os._exit(0)


atexit.register(_finish)
CODE
