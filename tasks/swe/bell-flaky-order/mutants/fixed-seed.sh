# Must not pass: the seed of hashes is pinned for the tests, and nothing else changes.
cd /srv/bell
cat > conftest.py <<'CODE'
import os
import sys

if os.environ.get("PYTHONHASHSEED") != "0":
    os.environ["PYTHONHASHSEED"] = "0"
    os.execv(sys.executable, [sys.executable, "-m", "pytest", *sys.argv[1:]])
CODE
