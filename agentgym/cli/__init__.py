"""The command line: one module for each command; this one turns errors into messages.

Exit codes: 0 success, 1 failure, 2 invalid arguments, 3 success but some episodes have no score,
130 interrupted (SIGINT), 143 terminated (SIGTERM).
"""

from __future__ import annotations

import errno
import io
import os
import signal
import sys
import traceback

from agentgym.cli import signs
from agentgym.errors import AgentGymError, ConfigError

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

UNSCORED = 3
"""Exit code of an evaluation in which some episodes have no score."""


def main() -> None:
    """Run the `agentgym` command."""
    from agentgym.cli.app import app

    _open_missing_streams()
    _end_with_the_terminal()
    signs.register()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # otherwise a caller has replaced the stream
            stream.reconfigure(errors=signs.HANDLER)
    try:
        app(prog_name="agentgym")
    except AgentGymError as error:
        if os.environ.get("AGENTGYM_DEBUG"):
            raise
        complain(error)
        sys.exit(2 if isinstance(error, ConfigError) else 1)
    except BrokenPipeError:
        _leave_quietly()
    except Exception as error:  # noqa: BLE001 - the boundary to the terminal
        told = _refusal_of_the_system(error)
        if told is None or os.environ.get("AGENTGYM_DEBUG"):
            _confess()
        else:
            complain(told)
        sys.exit(1)
    finally:
        _flush()


def _open_missing_streams() -> None:
    """Open the standard streams that the caller has closed.

    The next files, such as the record of a run, would have their descriptors otherwise.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            stream = open(os.devnull, mode, encoding="utf-8")  # noqa: SIM115 - stays open
            os.set_inheritable(stream.fileno(), True)
            setattr(sys, name, stream)


def _end_with_the_terminal() -> None:
    """Have SIGHUP do what SIGTERM does: let go of sandboxes. Under `nohup` it stays ignored."""
    if signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:
        signal.signal(signal.SIGHUP, lambda *_: os.kill(os.getpid(), signal.SIGTERM))


def _refusal_of_the_system(error: Exception) -> AgentGymError | None:
    """Return what the system says of a path (too long, not allowed, a loop) or of a full disk."""
    if not isinstance(error, OSError):
        return None
    said = error.strerror or str(error)
    if error.filename is not None:
        return AgentGymError(f"{error.filename!r:.300}: {said}")
    return AgentGymError(said) if error.errno in _FULL else None


def complain(error: AgentGymError) -> None:
    """Print an error on stderr, in red if that is a terminal."""
    from rich.text import Text

    from agentgym.cli.console import stderr_console

    stderr_console().print(Text(f"error: {error}", "red"), soft_wrap=True)


def _confess() -> None:
    """Print the traceback of a defect on stderr; its message may quote untrusted text."""
    from agentgym.eval.printable import clean

    sys.stderr.write(clean(traceback.format_exc()))


def _flush() -> None:
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _leave_quietly()


def _leave_quietly() -> None:
    # The reader of our output has ended, as `head` does. The rest of the buffer needs another
    # target, or the interpreter complains about it when it exits.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(1)
