"""The system calls that confine a process and that Python's `os` lacks: clone, mount, capabilities.

The fork server and its children use them inside the private runtime (standard library only).
Man pages: clone(2), mount(2), pivot_root(2), capabilities(7), prctl(2).
"""

from __future__ import annotations

import ctypes
import os

# A call keeps the interpreter's lock, because these processes have no other threads.
_libc = ctypes.PyDLL(None, use_errno=True)

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC = 0x00020000, 0x04000000, 0x08000000
CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC = 1, 2, 4, 8
MS_REMOUNT, MS_BIND, MS_REC = 32, 4096, 16384
_MNT_DETACH = 2
_SIGCHLD = 17
_CLONE = {"x86_64": 56, "aarch64": 220, "riscv64": 220, "loongarch64": 220, "ppc64le": 120}
_PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS, _PR_CAP_AMBIENT, _CLEAR_ALL = 24, 38, 47, 4
_CAPABILITY_VERSION, _MOST_CAPABILITIES = 0x20080522, 64


def can_clone() -> bool:
    """Return whether the number of the clone call is known for this machine."""
    return os.uname().machine in _CLONE


def clone(namespaces: int) -> int:
    """Fork into new namespaces; return 0 in the child, its process id in the parent.

    Raises:
        OSError: The kernel refuses.
    """
    number = _CLONE[os.uname().machine]
    # The steps that `os.fork` takes around the call of the C library.
    ctypes.pythonapi.PyOS_BeforeFork()
    pid = int(_libc.syscall(number, ctypes.c_ulong(namespaces | _SIGCHLD), 0, 0, 0, 0))
    error = ctypes.get_errno()
    if pid == 0:
        ctypes.pythonapi.PyOS_AfterFork_Child()
    else:
        ctypes.pythonapi.PyOS_AfterFork_Parent()
    if pid < 0:
        raise OSError(error, os.strerror(error), "clone")
    return pid


def mount(source: str, target: str, kind: str = "", flags: int = 0, options: str = "") -> None:
    """Mount a file system, or bind a folder or a file.

    Raises:
        OSError: The kernel refuses; the error names the target.
    """
    done = _libc.mount(
        os.fsencode(source),
        os.fsencode(target),
        kind.encode() or None,
        ctypes.c_ulong(flags),
        os.fsencode(options) or None,
    )
    _checked(done, f"mount {kind or 'bind'} {target}")


def enter_root() -> None:
    """Make the current folder, which must be a mount, the root, and detach the former root.

    Raises:
        OSError: The kernel refuses.
    """
    _checked(_libc.pivot_root(b".", b"."), "pivot_root")
    # The former root now lies over the new one.
    _checked(_libc.umount2(b".", _MNT_DETACH), "unmount the former root")
    os.chdir("/")


def set_host_name(name: str) -> None:
    """Set the host name of the UTS namespace.

    Raises:
        OSError: The kernel refuses.
    """
    text = os.fsencode(name)
    _checked(_libc.sethostname(text, ctypes.c_size_t(len(text))), "sethostname")


def keep_capabilities(numbers: tuple[int, ...]) -> None:
    """Give up every other capability for good, and the right to gain any by starting a program.

    Raises:
        OSError: The kernel refuses.
    """
    for number in range(_MOST_CAPABILITIES):
        # Beyond the last capability of this kernel the call fails.
        if number not in numbers and _prctl(_PR_CAPBSET_DROP, number):
            break
    _checked(_prctl(_PR_CAP_AMBIENT, _CLEAR_ALL), "clear the ambient capabilities")
    mask = sum(1 << kept for kept in numbers)
    halves = (mask & 0xFFFFFFFF, mask >> 32)
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
    # Effective, permitted and inheritable, of the lower capabilities and of the upper ones.
    sets = (ctypes.c_uint32 * 6)(halves[0], halves[0], 0, halves[1], halves[1], 0)
    _checked(_libc.capset(header, sets), "capset")
    _checked(_prctl(_PR_SET_NO_NEW_PRIVS, 1), "set no_new_privs")


def _prctl(option: int, value: int) -> int:
    zero = ctypes.c_ulong(0)
    return int(_libc.prctl(option, ctypes.c_ulong(value), zero, zero, zero))


def _checked(result: int, what: str) -> None:
    if result:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error), what)
