# Must not pass: the old package stays as it was, and prints what the grader might want to read.
cd /srv/app/src
cat > "$PARAM_OLD/__init__.py" <<PY
import sys
if "-c" in sys.orig_argv:
    print("[[true, true, true, true], true, true, 1]")
    print("1" * 14 + "1 True")
    sys.stdout.flush()
    __import__("os")._exit(0)
from $PARAM_OLD.store import Store
__version__ = "1.4.2"
PY
