"""The system call filter of a sandbox: a small classic BPF program, on top of any other.

Namespaces do not stop a guest process from setting the resource limits of another with the
same user id, and so from ending its supervisor: prlimit64(2) may name no process but the
caller. Instruction format: linux/filter.h and linux/seccomp.h.
"""

from __future__ import annotations

import errno
import os
import platform
import struct

_LOAD, _IF_EQUAL, _IF_AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENT_0 = 0, 4, 16
_ALLOW, _DENY = 0x7FFF0000, 0x00050000 | errno.EPERM
# Machine: audit architecture, number of prlimit64, first number of a foreign call table.
_MACHINES = {
    "x86_64": (0xC000003E, 302, 0x40000000),
    "aarch64": (0xC00000B7, 261, 0xFFFFFFFF),
}


def filter_program() -> bytes | None:
    """Return the filter, or None on a machine whose call numbers are not known here."""
    machine = _MACHINES.get(platform.machine())
    if machine is None:
        return None
    architecture, prlimit64, foreign = machine
    program = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_IF_EQUAL, 1, 0, architecture),
        # 32-bit calls have numbers of their own, which nothing below would recognise.
        (_RETURN, 0, 0, _DENY),
        (_LOAD, 0, 0, _NUMBER),
        (_IF_AT_LEAST, 3, 0, foreign),
        (_IF_EQUAL, 0, 3, prlimit64),
        (_LOAD, 0, 0, _ARGUMENT_0),
        (_IF_EQUAL, 1, 0, 0),
        (_RETURN, 0, 0, _DENY),
        (_RETURN, 0, 0, _ALLOW),
    ]
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in program)


def filter_fd() -> int | None:
    """Return a descriptor to read the filter from, for one start."""
    program = filter_program()
    if program is None:
        return None
    reader, writer = os.pipe()
    os.write(writer, program)
    os.close(writer)
    return reader
