"""Files of /proc, /sys and /dev through which a guest could steer or read the host."""

from __future__ import annotations

import fcntl
import glob
import os
import pty
import stat
import termios

from agentgym.testing.attacks.probing import attempt, effective, open_for, program

_CONTROLS = (
    *("/proc/sysrq-trigger", "/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe"),
    *("/proc/sys/kernel/hostname", "/proc/sys/kernel/randomize_va_space"),
    *("/proc/sys/vm/drop_caches", "/proc/sys/vm/overcommit_memory"),
    *("/proc/sys/user/max_user_namespaces", "/proc/sys/fs/binfmt_misc/register"),
    *("/proc/sys/fs/suid_dumpable", "/proc/irq/default_smp_affinity", "/proc/mtrr"),
    *("/sys/kernel/uevent_helper", "/sys/power/state", "/sys/kernel/mm/ksm/run"),
    *("/sys/module/overlay/parameters/redirect_dir", "/sys/kernel/profiling"),
)
_SECRETS = (
    *("/proc/kcore", "/proc/kmsg", "/proc/vmallocinfo", "/proc/kpagecount", "/proc/timer_list"),
    *("/proc/sched_debug", "/proc/slabinfo", "/proc/kpageflags", "/sys/firmware/dmi/tables/DMI"),
    *("/sys/kernel/debug/sched", "/sys/kernel/tracing/trace"),
)
_DEVICES = (
    *("/dev/mem", "/dev/kmem", "/dev/port", "/dev/kmsg", "/dev/fuse", "/dev/kvm", "/dev/vsock"),
    *("/dev/net/tun", "/dev/loop-control", "/dev/mapper/control", "/dev/console", "/dev/tty"),
    *("/dev/uinput", "/dev/input/event0", "/dev/hwrng", "/dev/ttyS0", "/dev/userfaultfd"),
)


@program("user namespace or read-only mounts; nothing of /sys")
def kernel_controls() -> None:
    """Open for writing what sets the kernel's behaviour: sysrq, core_pattern, uevent_helper."""
    for path in _CONTROLS:
        attempt(path, open_for, path, os.O_WRONLY)


@program("user namespace or read-only mounts; nothing of /sys")
def control_groups() -> None:
    """Open for writing a control group's release_agent, device list or members."""
    names = ("release_agent", "cgroup.procs", "devices.allow", "notify_on_release")
    found = [
        path
        for name in names
        for path in glob.glob(f"/sys/fs/cgroup/**/{name}", recursive=True)[:20]
    ]
    for path in found or ["/sys/fs/cgroup/cgroup.procs"]:
        attempt(path, open_for, path, os.O_WRONLY)


@program("user namespace or masked files; capabilities")
def kernel_secrets() -> None:
    """Read the kernel's memory, log, addresses and tables."""
    for path in _SECRETS:
        attempt(path, _read_some, path)
    attempt("/proc/kallsyms", _addresses, "/proc/kallsyms", " ")
    attempt("/proc/iomem", _addresses, "/proc/iomem", "-")


def _read_some(path: str) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    if stat.S_ISCHR(os.fstat(fd).st_mode) or not os.read(fd, 16):
        effective(False, "masked")


def _addresses(path: str, end: str) -> None:
    with open(path) as file:
        shown = any(int(line.partition(end)[0], 16) for line in file)
    effective(shown, "no addresses")


@program("no such devices; control group of devices or capabilities")
def devices() -> None:
    """Open a device of the host, or make one."""
    for path in (*_DEVICES, *_disks()):
        attempt(path, open_for, path, os.O_RDONLY)
    for name, kind, numbers in (
        ("memory", stat.S_IFCHR, (1, 1)),
        ("kernel log", stat.S_IFCHR, (1, 11)),
        ("disk", stat.S_IFBLK, _first_disk()),
        ("loop device", stat.S_IFBLK, (7, 0)),
    ):
        attempt(f"make {name}", _make_device, f"/tmp/{name}", kind, numbers)


def _disks() -> list[str]:
    with open("/proc/partitions") as file:
        return [f"/dev/{line.split()[3]}" for line in file.readlines()[2:]][:4]


def _first_disk() -> tuple[int, int]:
    with open("/proc/partitions") as file:
        lines = file.readlines()[2:]
    major, minor = lines[0].split()[:2] if lines else ("8", "0")
    return int(major), int(minor)


def _make_device(path: str, kind: int, numbers: tuple[int, int]) -> None:
    os.mknod(path, kind | 0o600, os.makedev(*numbers))
    try:
        open_for(path, os.O_RDONLY)
    finally:
        os.unlink(path)


@program("system call filter; no terminal of the host")
def terminals() -> None:
    """Push input into a terminal (TIOCSTI), or steer the console."""
    attempt("TIOCSTI", _push_input)
    attempt("TIOCLINUX", _select_console)


def _push_input() -> None:
    _, slave = pty.openpty()
    os.setsid()
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    fcntl.ioctl(slave, termios.TIOCSTI, b"x")


def _select_console() -> None:
    _, slave = pty.openpty()
    # TIOCL_GETSHIFTSTATE; a terminal that is no console answers ENOTTY.
    fcntl.ioctl(slave, 0x541C, bytearray(b"\x06"))
