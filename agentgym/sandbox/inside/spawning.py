"""Starts programs: as a user of the guest, in a session of their own, with pipes."""

from __future__ import annotations

import errno
import os
import stat

from agentgym.sandbox.inside.messages import OpError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
else:
    import _signal as signal


TABLE_BYTES = 1 << 20


def spawn(argv: list[str], cwd: str, env: dict[str, str], user: str, fds: dict[int, int]) -> int:
    """Start a program in its own session; `fds` maps its descriptors to ours.

    posix_spawn costs half as much as fork and exec from Python.
    """
    account = None if user == "root" else Account(user)
    if account is not None:
        env = {"HOME": account.home, "USER": account.name, "LOGNAME": account.name, **env}
    actions = [(os.POSIX_SPAWN_DUP2, source, target) for target, source in fds.items()]
    # Python ignores these two; a command expects the defaults.
    defaults = [signal.SIGPIPE, signal.SIGXFSZ]
    try:
        os.chdir(cwd)
    except OSError as error:
        raise OpError("file", f"{cwd}: {error.strerror}") from None
    try:
        program = find_program(argv[0], env)
        if account is None:
            pid = os.posix_spawn(
                program, argv, env, file_actions=actions, setsid=True, setsigdef=defaults
            )
        else:
            pid = account.spawn(program, argv, env, fds, defaults)
    except BlockingIOError:
        raise OpError("limit", "cannot start a process: the process limit is reached") from None
    finally:
        os.chdir("/")
    try:
        # If memory runs out, the kernel should kill a command and not the supervisor.
        with open(f"/proc/{pid}/oom_score_adj", "w") as file:
            file.write("500")
    except OSError:
        pass
    return pid


class Account:
    """The account of `user` or `user:group`, by name or number, in the guest's account files.

    As in image builds (`account` in build/copying.py), a number needs no entry.
    """

    def __init__(self, text: str) -> None:
        user, _, group = text.partition(":")
        found = find_entry(read_table("/etc/passwd", 7), user)
        if found is not None:
            self.name, self.home = found[0], found[5] or "/"
            self.uid, self.gid = int(found[2]), int(found[3])
        elif user.isdecimal():
            self.name, self.home = user, "/"
            self.uid, self.gid = int(user), 0
        else:
            raise OpError("op", f"there is no user {user!r} in the sandbox's /etc/passwd")
        groups = read_table("/etc/group", 4)
        if group:
            found = find_entry(groups, group)
            if found is None and not group.isdecimal():
                raise OpError("op", f"there is no group {group!r} in the sandbox's /etc/group")
            self.gid = int(found[2] if found else group)
        self.groups = [int(fields[2]) for fields in groups if self.name in fields[3].split(",")]

    def spawn(
        self,
        program: str,
        argv: list[str],
        env: dict[str, str],
        fds: dict[int, int],
        defaults: list[signal.Signals],
    ) -> int:
        """Start a program as this user, in its own session."""
        pid = os.fork()
        if pid:
            return pid
        try:
            os.setsid()
            for target, source in fds.items():
                os.dup2(source, target)
            for number in defaults:
                signal.signal(number, signal.SIG_DFL)
            os.setgroups([self.gid, *self.groups])
            os.setgid(self.gid)
            # Last, because it gives up every capability.
            os.setuid(self.uid)
            os.execve(program, argv, env)
        except OSError as error:
            os.write(2, f"{argv[0]}: {error.strerror}\n".encode("utf-8", "replace"))
        except OverflowError as error:
            # No user or group can have this number.
            os.write(2, f"{argv[0]}: {error}\n".encode("utf-8", "replace"))
        finally:
            os._exit(126)


def read_table(path: str, width: int) -> list[list[str]]:
    """Return the complete lines of a file like /etc/passwd, split; empty if it is absent.

    A guest may have put a FIFO there, on which a usual open would wait for ever, or gigabytes.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return []
    try:
        data = os.read(fd, TABLE_BYTES) if stat.S_ISREG(os.fstat(fd).st_mode) else b""
    except OSError:
        return []
    finally:
        os.close(fd)
    lines = [line.split(":") for line in os.fsdecode(data).split("\n")]
    return [line for line in lines if len(line) == width and line[2].isdecimal()]


def find_entry(lines: list[list[str]], wanted: str) -> list[str] | None:
    """Return the first line with the wanted name or number."""
    return next((line for line in lines if wanted in (line[0], line[2])), None)


def spawn_piped(
    argv: list[str],
    cwd: str,
    env: dict[str, str],
    user: str,
    first: tuple[int, ...],
    second: tuple[int, ...],
) -> tuple[int, int, int, int]:
    """Start a program with pipes; return its pid, the writing end and the two reading ends.

    `first` and `second` are the program's descriptors that lead to the two reading ends.
    """
    ends: list[int] = []
    try:
        for _ in range(3):
            ends += os.pipe()
        in_r, in_w, first_r, first_w, second_r, second_w = ends
        fds = {0: in_r}
        fds.update(dict.fromkeys(first, first_w))
        fds.update(dict.fromkeys(second, second_w))
        pid = spawn(argv, cwd, env, user, fds)
    except BaseException:
        for fd in ends:
            os.close(fd)
        raise
    for fd in (in_r, first_w, second_w):
        os.close(fd)
    os.set_blocking(in_w, False)
    return pid, in_w, first_r, second_r


def find_program(name: str, env: dict[str, str]) -> str:
    """Return the path of a program; a name with a slash is a path already."""
    if "/" in name:
        return name
    for folder in env.get("PATH", os.defpath).split(":"):
        path = os.path.join(folder, name)
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    raise FileNotFoundError(errno.ENOENT, "command not found")
