"""The guest supervisor's pieces that can be tried outside a sandbox."""

import json
import subprocess
import sys
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from agentgym.sandbox import supervisor
from agentgym.sandbox.supervisor import Capture, to_json

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters()),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters()), inner),
)  # fmt: skip


@given(values)
def test_replies_are_json(value):
    # Compared as text: to Python 1 and True are equal.
    assert json.dumps(json.loads(to_json(value))) == json.dumps(value)


@given(st.lists(st.binary(max_size=300)), st.integers(2, 400))
def test_capture_keeps_head_and_tail_and_counts_the_rest(chunks, limit):
    capture = Capture(limit)
    for chunk in chunks:
        capture.add(chunk)
    whole = b"".join(chunks)
    text, omitted = capture.take()
    if len(whole) <= limit:
        assert (text, omitted) == (whole, 0)
    else:
        head, tail = limit - limit // 2, limit // 2
        assert text.startswith(whole[:head])
        assert text.endswith(whole[len(whole) - tail :] if tail else b"")
        assert omitted == len(whole) - limit
    assert capture.take() == (b"", 0)


def test_it_needs_only_the_standard_library_and_no_heavy_module():
    code = "import sys, runpy; runpy.run_path(sys.argv[1]); print(*sys.modules)"
    modules = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, supervisor.__file__],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    source = Path(supervisor.__file__).read_text()
    assert "agentgym" not in [
        line.split()[1] for line in source.splitlines() if line[:7] == "import "
    ]
    assert "ctypes" not in modules
