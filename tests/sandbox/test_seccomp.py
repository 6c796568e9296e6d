"""The system call filter, run by an interpreter of our own for machines we may not be on."""

import errno
import platform
import struct

import pytest

from agentgym.sandbox import seccomp

X86_64, I386, AARCH64, ARM = 0xC000003E, 0x40000003, 0xC00000B7, 0x40000028
ALLOW, ERRNO = 0x7FFF0000, 0x00050000


def decide(program: bytes, architecture: int, number: int, *arguments: int) -> int | None:
    """Run a filter over a call; return the errno it answers, None where it allows.

    The instructions are those of linux/bpf_common.h; anything else is a mistake.
    """
    wide = [*arguments, *[0] * (6 - len(arguments))]
    data = struct.pack("<IIQ6Q", number, architecture, 0, *(a & (1 << 64) - 1 for a in wide))
    code = list(struct.iter_unpack("=HBBI", program))
    position = accumulator = 0
    while True:
        instruction, if_true, if_false, value = code[position]
        position += 1
        if instruction == 0x20:
            (accumulator,) = struct.unpack_from("<I", data, value)
        elif instruction == 0x06:
            assert value == ALLOW or value & 0xFFFF0000 == ERRNO
            return None if value == ALLOW else value & 0xFFFF
        else:
            tests = {
                0x15: accumulator == value,
                0x35: accumulator >= value,
                0x45: bool(accumulator & value),
            }
            position += if_true if tests[instruction] else if_false


@pytest.fixture(params=["x86_64", "aarch64"])
def judge(request, monkeypatch):
    """Return a function from a call's numbers (x86_64, aarch64) and arguments to a decision."""
    monkeypatch.setattr(platform, "machine", lambda: request.param)
    program = seccomp.filter_program()
    column, architecture = {"x86_64": (0, X86_64), "aarch64": (1, AARCH64)}[request.param]
    return lambda numbers, *arguments: decide(program, architecture, numbers[column], *arguments)


# asm/unistd_64.h, asm-generic/unistd.h
READ, OPENAT, EXECVE, PTRACE, FUTEX = (0, 63), (257, 56), (59, 221), (101, 117), (202, 98)
CLONE, CLONE3, UNSHARE, SOCKET, IOCTL = (56, 220), (435, 435), (272, 97), (41, 198), (16, 29)
PRLIMIT64, SETPRIORITY, AFFINITY, IOPRIO = (302, 261), (141, 140), (203, 122), (251, 30)
MOUNT, KEYCTL, IO_URING, SYSLOG = (165, 40), (250, 219), (425, 425), (103, 116)


@pytest.mark.parametrize("numbers", [READ, OPENAT, EXECVE, PTRACE, FUTEX])
def test_programs_and_debuggers_work(judge, numbers):
    assert judge(numbers, 1, 2, 3) is None


@pytest.mark.parametrize("numbers", [MOUNT, KEYCTL, IO_URING, SYSLOG])
def test_what_is_refused_is_refused_with_any_arguments(judge, numbers):
    assert judge(numbers) == judge(numbers, -1, -1, -1, -1, -1, -1) == errno.EPERM


def test_new_processes_are_allowed_and_new_namespaces_are_not(judge):
    # What glibc passes for a thread and for fork; CLONE_NEWUSER; CLONE_NEWPID with SIGCHLD.
    for flags in (0x3D0F00, 0x1200011, 17):
        assert judge(CLONE, flags) is None
    for flags in (0x10000000, 0x20000011, 0x00020000, 0x40000000, 0x02000000):
        assert judge(CLONE, flags) == judge(UNSHARE, flags) == errno.EPERM
    # CLONE_FILES and CLONE_FS; CLONE_NEWTIME.
    assert judge(UNSHARE, 0x400 | 0x200) is None
    assert judge(UNSHARE, 0x80) == errno.EPERM
    assert judge(CLONE3, 0, 88) == errno.ENOSYS


@pytest.mark.parametrize("family", [1, 2, 10])
def test_ordinary_sockets_are_allowed(judge, family):
    assert judge(SOCKET, family, 1, 6) is None


@pytest.mark.parametrize("family", [0, 3, 15, 17, 29, 31, 38, 40, 44])
def test_other_sockets_do_not_exist(judge, family):
    assert judge(SOCKET, family, 3, 0) == errno.EAFNOSUPPORT


def test_netlink_tells_of_addresses_and_sockets_only(judge):
    assert judge(SOCKET, 16, 3, 0) is judge(SOCKET, 16, 3, 4) is None
    for protocol in (6, 9, 11, 12, 15, 16, 21):
        assert judge(SOCKET, 16, 3, protocol) == errno.EPROTONOSUPPORT


def test_terminals_take_no_input_from_programs(judge):
    # TCGETS; TIOCSTI, also with bits that the kernel cuts off; TIOCLINUX.
    assert judge(IOCTL, 0, 0x5401) is None
    for command in (0x5412, 0xFFFFFFFF_00005412, 0x541C):
        assert judge(IOCTL, 0, command) == errno.EPERM


def test_the_first_process_cannot_be_steered(judge):
    assert judge(PRLIMIT64, 0, 7) is judge(AFFINITY, 0) is judge(AFFINITY, 57) is None
    assert judge(SETPRIORITY, 0, 57, 5) is judge(SETPRIORITY, 1, 0, 5) is None
    assert judge(IOPRIO, 1, 57) is None
    for which in (0, 1):
        assert judge(SETPRIORITY, which, 1, 5) == errno.EPERM
    assert judge(SETPRIORITY, 2, 0, 5) == judge(IOPRIO, 3, 0) == judge(IOPRIO, 1, 1) == errno.EPERM
    assert judge(AFFINITY, 1) == judge(PRLIMIT64, 1, 7) == judge(PRLIMIT64, 57, 7) == errno.EPERM


def test_calls_of_other_tables_are_refused(monkeypatch):
    for machine, own, foreign in (("x86_64", X86_64, I386), ("aarch64", AARCH64, ARM)):
        monkeypatch.setattr(platform, "machine", lambda machine=machine: machine)
        program = seccomp.filter_program()
        assert decide(program, own, 63) is None
        assert decide(program, foreign, 63) == errno.EPERM
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    # x32: getpid, and mount.
    for number in (0x40000000 | 39, 0x40000000 | 165):
        assert decide(seccomp.filter_program(), X86_64, number) == errno.EPERM


def test_a_machine_that_is_not_known_has_no_filter(monkeypatch):
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    assert seccomp.filter_program() is None


FALLOCATE = (285, 47)


def test_space_is_freed_but_not_taken_by_a_single_call(judge):
    for mode in (0, 1, 0x10, 0x11, 0x20):  # reserve, keep the size, zero a range, insert one
        assert judge(FALLOCATE, 3, mode, 0, 1 << 40) == errno.EOPNOTSUPP
    for mode in (3, 8):  # punch a hole, collapse a range
        assert judge(FALLOCATE, 3, mode, 0, 4096) is None
    for request in (0x40305828, 0x4030582A, 0x40305839):
        assert judge(IOCTL, 3, request) == errno.EPERM
