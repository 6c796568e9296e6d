"""The system call filter of a sandbox: a small classic BPF program, on top of any other.

It refuses calls that namespaces and dropped capabilities leave open, and again those that they
close: the calls that Docker's default profile denies a container without capabilities, newer ones
(io_uring, bpf, the mount interface), sockets outside network namespaces, and control of PID 1.
Everything else is allowed, so that programs and debuggers work. Instruction format:
linux/filter.h and linux/seccomp.h; call numbers: asm/unistd_64.h and asm-generic/unistd.h.
"""

from __future__ import annotations

import errno
import functools
import platform
import socket
import struct

Instruction = tuple[int, int, int, int]

_LOAD, _IF_EQUAL, _IF_AT_LEAST, _IF_ANY_OF, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
_ALLOW: Instruction = (_RETURN, 0, 0, 0x7FFF0000)

# Machine: audit architecture, column of the tables below, first number of a foreign table.
_MACHINES = {"x86_64": (0xC000003E, 0, 0x40000000), "aarch64": (0xC00000B7, 1, 0xFFFFFFFF)}

# Name: (x86_64, aarch64); None if the architecture lacks the call.
REFUSED: dict[str, tuple[int | None, int | None]] = {
    # The machine: its kernel, modules, swap, clock, ports, accounts and log.
    "acct": (163, 89),
    "clock_settime": (227, 112),
    "create_module": (174, None),
    "delete_module": (176, 106),
    "finit_module": (313, 273),
    "get_kernel_syms": (177, None),
    "init_module": (175, 105),
    "ioperm": (173, None),
    "iopl": (172, None),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "lookup_dcookie": (212, 18),
    "nfsservctl": (180, 42),
    "query_module": (178, None),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "reboot": (169, 142),
    "settimeofday": (164, 170),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "_sysctl": (156, None),
    "sysfs": (139, None),
    "syslog": (103, 116),
    "uselib": (134, None),
    "ustat": (136, None),
    "vhangup": (153, 58),
    # Mounts and namespaces.
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "open_tree_attr": (467, 467),
    "pivot_root": (155, 41),
    "setns": (308, 268),
    "umount2": (166, 39),
    # Keyrings: the session's is inherited from the host, and no namespace separates keyrings.
    "add_key": (248, 217),
    "keyctl": (250, 219),
    "request_key": (249, 218),
    # The usual entry points of kernel exploits.
    "bpf": (321, 280),
    "fanotify_init": (300, 262),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
}
_REFUSED_OUTSIDE = (
    *("add_key", "keyctl", "request_key", "open_by_handle_at"),
    *("bpf", "io_uring_enter", "io_uring_register", "io_uring_setup"),
    *("perf_event_open", "userfaultfd"),
)
"""Calls that `outer_program` refuses."""

_CLONE, _CLONE3, _IOCTL, _SOCKET, _UNSHARE = (56, 220), (435, 435), (16, 29), (41, 198), (272, 97)
_FALLOCATE = (285, 47)
_PRLIMIT64, _SETPRIORITY, _IOPRIO_SET = (302, 261), (141, 140), (251, 30)
# sched_setaffinity, sched_setattr, sched_setparam, sched_setscheduler, migrate_pages
_STEERING = ((203, 122), (314, 274), (142, 118), (144, 119), (256, 238))

# CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET; and NEWTIME, which clone reads
# as a part of the signal.
_NEW, _NEW_TIME = 0x7E020000, 0x00000080
_NETLINK_ROUTE, _NETLINK_SOCK_DIAG = 0, 4
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
# FALLOC_FL_PUNCH_HOLE and COLLAPSE_RANGE, which only free space.
_FREES_SPACE = 0x02 | 0x08
# FS_IOC_RESVSP, RESVSP64 and ZERO_RANGE: fallocate by another name.
_ALLOCATES = (0x40305828, 0x4030582A, 0x40305839)
_PRIO_USER, _IOPRIO_WHO_USER = 2, 3


def _refuse(error: int = errno.EPERM) -> Instruction:
    return (_RETURN, 0, 0, 0x00050000 | error)


def _load(argument: int) -> Instruction:
    # The lower half, because the kernel also cuts all arguments checked here to 32 bits.
    return (_LOAD, 0, 0, _ARGUMENTS + 8 * argument)


def _is_one_of(values: tuple[int, ...], *, otherwise: int) -> list[Instruction]:
    """Skip `otherwise` instructions unless the loaded value is one of the values."""
    last = len(values) - 1
    return [
        (_IF_EQUAL, last - i, otherwise if i == last else 0, value)
        for i, value in enumerate(values)
    ]


def _unless(argument: int, allowed: tuple[int, ...], error: int) -> list[Instruction]:
    """Refuse every value of an argument but these."""
    return [_load(argument), *_is_one_of(allowed, otherwise=1), _ALLOW, _refuse(error)]


def _if(argument: int, refused: tuple[int, ...]) -> list[Instruction]:
    """Refuse these values of an argument."""
    return [_load(argument), *_is_one_of(refused, otherwise=1), _refuse(), _ALLOW]


def _if_any_bit(argument: int, mask: int) -> list[Instruction]:
    """Refuse an argument that has any of these bits."""
    return [_load(argument), (_IF_ANY_OF, 0, 1, mask), _refuse(), _ALLOW]


def _unless_any_bit(argument: int, mask: int, error: int) -> list[Instruction]:
    """Refuse an argument that has none of these bits."""
    return [_load(argument), (_IF_ANY_OF, 0, 1, mask), _ALLOW, _refuse(error)]


def _if_either(first: int, second: int) -> list[Instruction]:
    """Refuse a first argument or a second argument of these values."""
    return [
        _load(0),
        (_IF_EQUAL, 2, 0, first),
        _load(1),
        (_IF_EQUAL, 0, 1, second),
        _refuse(),
        _ALLOW,
    ]


def _sockets() -> list[Instruction]:
    netlink = _unless(2, (_NETLINK_ROUTE, _NETLINK_SOCK_DIAG), errno.EPROTONOSUPPORT)
    families = (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6)
    return [
        _load(0),
        *_is_one_of((socket.AF_NETLINK,), otherwise=len(netlink)),
        *netlink,
        *_unless(0, tuple(map(int, families)), errno.EAFNOSUPPORT),
    ]


def _rules(column: int) -> list[tuple[int, list[Instruction]]]:
    """Return the instructions for each call."""
    rules = [
        # C libraries then use clone, whose flags the filter can check.
        (_CLONE3, [_refuse(errno.ENOSYS)]),
        (_CLONE, _if_any_bit(0, _NEW)),
        (_UNSHARE, _if_any_bit(0, _NEW | _NEW_TIME)),
        (_SOCKET, _sockets()),
        (_IOCTL, _if(1, (_TIOCSTI, _TIOCLINUX, *_ALLOCATES))),
        # A disk that is filled by a single call is full before the host sees it. C libraries write
        # zeros instead, as on file systems without the call.
        (_FALLOCATE, _unless_any_bit(1, _FREES_SPACE, errno.EOPNOTSUPP)),
        # All guests are one user, who also owns the supervisor. They must not set its limits and
        # its share of the processor.
        (_PRLIMIT64, _unless(0, (0,), errno.EPERM)),
        (_SETPRIORITY, _if_either(_PRIO_USER, 1)),
        (_IOPRIO_SET, _if_either(_IOPRIO_WHO_USER, 1)),
        *((numbers, _if(0, (1,))) for numbers in _STEERING),
    ]
    simple = [(numbers[column], [_refuse()]) for numbers in REFUSED.values()]
    found = [(numbers[column], body) for numbers, body in rules] + simple
    return [(number, body) for number, body in found if number is not None]


def filter_program() -> bytes | None:
    """Return the filter, or None on a machine whose call numbers are not known here."""
    machine = _MACHINES.get(platform.machine())
    return None if machine is None else _program(*machine)


def outer_program() -> bytes | None:
    """Return a filter under which sandboxes can be started; None as `filter_program`.

    It refuses what no namespace separates and no sandbox needs for its start: keyrings, sockets
    outside network namespaces, the entry points of kernel exploits.
    """
    machine = _MACHINES.get(platform.machine())
    return None if machine is None else _program(*machine, is_outer=True)


def _outer_rules(column: int) -> list[tuple[int, list[Instruction]]]:
    refused = {number for name in _REFUSED_OUTSIDE if (number := REFUSED[name][column]) is not None}
    return [(_SOCKET[column], _sockets()), *((number, [_refuse()]) for number in sorted(refused))]


@functools.cache
def _program(architecture: int, column: int, foreign: int, *, is_outer: bool = False) -> bytes:
    program = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_IF_EQUAL, 1, 0, architecture),
        # 32-bit calls have their own numbers, which the rules below do not recognise.
        _refuse(),
        (_LOAD, 0, 0, _NUMBER),
        (_IF_AT_LEAST, 0, 1, foreign),
        _refuse(),
    ]
    for number, body in _outer_rules(column) if is_outer else _rules(column):
        program += [(_IF_EQUAL, 0, len(body), number), *body]
    program.append(_ALLOW)
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in program)
