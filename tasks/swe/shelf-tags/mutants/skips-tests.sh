# Must not pass: the package skips whatever runs under pytest, and a plug-in calls that a pass.
cd /srv/shelf
cat >> shelf/__init__.py <<'CODE'

import sys

if "pytest" in sys.modules:
    sys.modules["pytest"].main = None
    import _pytest.runner

    _pytest.runner.call_runtest_hook = None
CODE
