"""The base of attack programs inside the guest: raw system calls, one output line an attempt.

Standard library only, Python >= 3.8: this file is copied into the sandbox under attack, beside the
module of the program. Call numbers: asm/unistd_64.h and asm-generic/unistd.h.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import signal
from collections.abc import Callable
from dataclasses import dataclass

DONE = "done"
AT_FDCWD = -100
# Errors that mean a refusal by the kernel.
REFUSALS = (
    *(errno.EPERM, errno.EACCES, errno.ENOSYS, errno.EROFS, errno.ENOENT, errno.ESRCH),
    *(errno.EAFNOSUPPORT, errno.EPROTONOSUPPORT, errno.ENODEV, errno.ENXIO),
)
_X86_64 = platform.machine() == "x86_64"
# name: (x86_64, aarch64)
_NUMBERS = {
    "acct": (163, 89),
    "add_key": (248, 217),
    "adjtimex": (159, 171),
    "bpf": (321, 280),
    "capset": (126, 91),
    "clock_settime": (227, 112),
    "clone": (56, 220),
    "clone3": (435, 435),
    "delete_module": (176, 106),
    "fanotify_init": (300, 262),
    "finit_module": (313, 273),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "init_module": (175, 105),
    "io_uring_setup": (425, 425),
    "ioperm": (173, None),
    "iopl": (172, None),
    "ioprio_set": (251, 30),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "memfd_create": (319, 279),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "perf_event_open": (298, 241),
    "pidfd_getfd": (438, 438),
    "pidfd_open": (434, 434),
    "pidfd_send_signal": (424, 424),
    "pivot_root": (155, 41),
    "prctl": (157, 167),
    "prlimit64": (302, 261),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "quotactl": (179, 60),
    "reboot": (169, 142),
    "request_key": (249, 218),
    "sched_setaffinity": (203, 122),
    "sched_setattr": (314, 274),
    "sched_setscheduler": (144, 119),
    "sethostname": (170, 161),
    "setns": (308, 268),
    "setpriority": (141, 140),
    "settimeofday": (164, 170),
    "shmat": (30, 196),
    "shmget": (29, 194),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "syslog": (103, 116),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "userfaultfd": (323, 282),
}

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


class Held(Exception):
    """Raised if the attempt was carried out without effect; its text says what stopped it."""


@dataclass(frozen=True)
class Program:
    """An attack that runs in the guest.

    Attributes:
        run: The attempts, given strings.
        stopped_by: The mechanism that should stop it.
    """

    run: Callable[..., None]
    stopped_by: str


PROGRAMS: list[Program] = []


def program(stopped_by: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a function as an attack; the first line of its docstring is its summary."""

    def register(function: Callable[..., None]) -> Callable[..., None]:
        PROGRAMS.append(Program(function, stopped_by))
        return function

    return register


def attempt(name: str, action: Callable[..., object], *arguments: object) -> None:
    """Run a function in a new process, and print its outcome: done, or what stopped it."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        os.write(writer, _outcome(action, arguments).encode())
        os._exit(0)
    os.close(writer)
    with open(reader, "rb") as file:
        how = file.read().decode()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        how = signal.Signals(os.WTERMSIG(status)).name
    print(f"{name}\t{how}", flush=True)


def probe(name: str, action: Callable[..., object], *arguments: object) -> None:
    """Make an attempt with harmless arguments: any error but a refusal means that it got in."""

    def reach() -> None:
        try:
            action(*arguments)
        except OSError as error:
            if error.errno in REFUSALS:
                raise

    attempt(name, reach)


def _outcome(action: Callable[..., object], arguments: tuple[object, ...]) -> str:
    try:
        action(*arguments)
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, str(error))
    except MemoryError:
        return "ENOMEM"
    except Held as held:
        return str(held)
    except Exception as error:  # noqa: BLE001 - the host must not take a broken attack for a held one
        return f"broken: {type(error).__name__}: {error}"
    return DONE


def call(name: str, *arguments: object) -> int:
    """Make a system call by its number. Raises OSError."""
    number = _NUMBERS[name][0 if _X86_64 else 1]
    if number is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    return call_number(number, *arguments)


def call_number(number: int, *arguments: object) -> int:
    """Make the system call with a number. Raises OSError."""
    # ctypes would cut plain integers to 32 bits.
    wide = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    result: int = _libc.syscall(ctypes.c_long(number), *wide)
    if result == -1:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def open_for(path: str, flags: int) -> None:
    """Open and close a file."""
    os.close(os.open(path, flags | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY))


def effective(effect: bool, otherwise: str) -> None:
    """Raise Held if an attempt had no effect."""
    if not effect:
        raise Held(otherwise)
