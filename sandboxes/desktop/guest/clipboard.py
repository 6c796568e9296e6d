"""The clipboard, through xclip: its owner may be slow or gone, so every call has a deadline."""

import subprocess

_DEADLINE_S = 2.0
_MOST_BYTES = 1_000_000
_COMMAND = ("xclip", "-selection", "clipboard")


def read_clipboard(environment):
    """Return the text on the clipboard; empty if there is no text."""
    try:
        done = subprocess.run(
            [*_COMMAND, "-out", "-target", "UTF8_STRING"],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=_DEADLINE_S,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout[:_MOST_BYTES].decode("utf-8", "replace") if done.returncode == 0 else ""
