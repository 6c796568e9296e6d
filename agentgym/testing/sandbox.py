"""The sandbox contract: what every SandboxProvider must do, as checks anybody can run.

Each check is a coroutine function taking a provider and a recipe; it raises AssertionError
where the contract is broken. With pytest::

    @pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
    async def test_contract(check):
        provider = MyProvider()
        try:
            await check(provider, Recipe("mine"))
        finally:
            await provider.close()

Checks that need a capability the provider does not declare pass by showing that asking for it
raises UnsupportedError.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeAlias

from agentgym.errors import GuestFileError, SandboxDiedError, SandboxError, UnsupportedError
from agentgym.protocols import Sandbox, SandboxProvider
from agentgym.records import Capability, ChangeKind, Recipe

Contract: TypeAlias = Callable[[SandboxProvider, Recipe], Awaitable[None]]
CHECKS: list[Contract] = []


def _check(function: Contract) -> Contract:
    CHECKS.append(function)
    return function


def _needs(capability: Capability) -> Callable[[Contract], Contract]:
    """Run a check only where a capability is declared; elsewhere asking must be refused."""

    def wrap(function: Contract) -> Contract:
        async def checked(provider: SandboxProvider, recipe: Recipe) -> None:
            if capability in provider.capabilities:
                await function(provider, recipe)
                return
            async with _running(provider, recipe) as box:
                try:
                    await _ask_for(box, capability)
                except UnsupportedError:
                    return
                raise AssertionError(f"{capability} is not declared, and asking for it works")

        checked.__name__ = function.__name__
        checked.__doc__ = function.__doc__
        return checked

    return wrap


async def _ask_for(box: Sandbox, capability: Capability) -> None:
    if capability is Capability.SNAPSHOT:
        await box.snapshot()
    elif capability is Capability.FORK:
        await (await box.fork()).close()
    elif capability is Capability.RESTORE:
        await box.restore(await box.snapshot())
    elif capability is Capability.CHANGES:
        await box.changes()
    else:
        raise UnsupportedError(f"{capability} is nothing to ask for")


@asynccontextmanager
async def _running(provider: SandboxProvider, recipe: Recipe):  # type: ignore[no-untyped-def]
    box = await provider.start(recipe)
    try:
        yield box
    finally:
        await box.close()


async def _output(box: Sandbox, script: str) -> str:
    result = await box.exec(["/bin/sh", "-c", script])
    assert result.exit_code == 0, f"{script!r} exited with {result.exit_code}: {result.stderr!r}"
    return result.stdout.decode()


# --- commands --------------------------------------------------------------------------------


@_check
async def exec_returns_code_and_streams(provider: SandboxProvider, recipe: Recipe) -> None:
    """Exit code, standard output and standard error are kept apart."""
    async with _running(provider, recipe) as box:
        result = await box.exec(["/bin/sh", "-c", "echo out; echo err >&2; exit 7"])
        assert (result.exit_code, result.stdout, result.stderr) == (7, b"out\n", b"err\n")
        assert not result.timed_out


@_check
async def exec_passes_stdin_env_and_cwd(provider: SandboxProvider, recipe: Recipe) -> None:
    """Standard input, environment and working directory reach the command."""
    async with _running(provider, recipe) as box:
        result = await box.exec(
            ["/bin/sh", "-c", 'cat; echo "$WORD"; pwd'],
            stdin=b"\x00\xffin\n",
            env={"WORD": "é"},
            cwd="/tmp",
        )
        assert result.stdout == b"\x00\xffin\n" + "é\n/tmp\n".encode()


@_check
async def exec_of_nothing_exits_127(provider: SandboxProvider, recipe: Recipe) -> None:
    """A command that cannot be found is a result, as in a shell."""
    async with _running(provider, recipe) as box:
        result = await box.exec(["no-such-program"])
        assert result.exit_code == 127 and b"no-such-program" in result.stderr


@_check
async def exec_reports_signals_as_a_shell_does(provider: SandboxProvider, recipe: Recipe) -> None:
    """A command ended by signal N reports 128 + N."""
    async with _running(provider, recipe) as box:
        assert (await box.exec(["/bin/sh", "-c", "kill -9 $$"])).exit_code == 137


@_check
async def exec_ends_at_its_deadline(provider: SandboxProvider, recipe: Recipe) -> None:
    """A command that ignores SIGTERM is ended, and the sandbox goes on."""
    async with _running(provider, recipe) as box:
        result = await box.exec(["/bin/sh", "-c", "trap '' TERM; sleep 60"], timeout_s=0.3)
        assert result.timed_out and result.exit_code != 0
        assert await _output(box, "echo on") == "on\n"


@_check
async def exec_caps_output(provider: SandboxProvider, recipe: Recipe) -> None:
    """Of too much output the head and the tail are kept and the rest is counted."""
    async with _running(provider, recipe) as box:
        script = "echo first; head -c 3000000 /dev/zero | tr '\\0' x; echo; echo last"
        result = await box.exec(["/bin/sh", "-c", script])
        assert result.stdout.startswith(b"first\n") and result.stdout.endswith(b"last\n")
        assert len(result.stdout) < recipe.limits.output_bytes + 200
        assert result.omitted_bytes > 2_000_000


@_check
async def exec_runs_side_by_side(provider: SandboxProvider, recipe: Recipe) -> None:
    """A waiting command delays no other."""
    async with _running(provider, recipe) as box:
        await box.exec(["mkfifo", "/tmp/pipe"])
        reader = asyncio.create_task(box.exec(["cat", "/tmp/pipe"]))
        await box.exec(["/bin/sh", "-c", "echo through > /tmp/pipe"])
        assert (await reader).stdout == b"through\n"


# --- shells ----------------------------------------------------------------------------------


@_check
async def shell_remembers(provider: SandboxProvider, recipe: Recipe) -> None:
    """Working directory, variables, functions and background jobs survive between calls."""
    async with _running(provider, recipe) as box:
        shell = await box.open_shell()
        await shell.run("cd /tmp; X=1; export Y=2; f() { echo $X$Y; }; sleep 60 &")
        result = await shell.run("f; pwd; jobs -r | wc -l")
        assert result.output.split() == [b"12", b"/tmp", b"1"], result.output
        assert (result.exit_code, result.cwd) == (0, "/tmp")


@_check
async def shell_survives_a_hanging_command(provider: SandboxProvider, recipe: Recipe) -> None:
    """A command over its deadline is interrupted; variables and background jobs stay."""
    async with _running(provider, recipe) as box:
        shell = await box.open_shell()
        await shell.run("X=kept; sleep 61 & ")
        for command in ("sleep 60; echo no", "while :; do :; done", "cat | sleep 60"):
            result = await shell.run(command, timeout_s=0.2)
            assert result.timed_out and not result.restarted, (command, result)
            assert b"no" not in result.output
        stubborn = await shell.run("(trap '' INT TERM; sleep 60; sleep 60)", timeout_s=0.2)
        assert stubborn.timed_out and not stubborn.restarted, stubborn
        assert (await shell.run("echo $X")).output == b"kept\n"
        assert any("61" in process.argv for process in await box.processes())


@_check
async def shell_never_waits_for_a_person(provider: SandboxProvider, recipe: Recipe) -> None:
    """Reading standard input ends at once, and nothing opens a terminal."""
    async with _running(provider, recipe) as box:
        shell = await box.open_shell()
        for command in ("cat", "read line", "bash -c 'read x < /dev/tty'", "less /etc/passwd"):
            result = await shell.run(command, timeout_s=10)
            assert not result.timed_out, command


@_check
async def shell_is_replaced_when_it_ends(provider: SandboxProvider, recipe: Recipe) -> None:
    """`exit` gives its code, and the next command runs in a new session at the same place."""
    async with _running(provider, recipe) as box:
        shell = await box.open_shell()
        await shell.run("cd /tmp")
        ended = await shell.run("echo bye; exit 3")
        assert (ended.exit_code, ended.restarted, ended.output) == (3, True, b"bye\n")
        again = await shell.run("pwd")
        assert (again.output, again.restarted) == (b"/tmp\n", False)


@_check
async def shell_takes_any_bytes(provider: SandboxProvider, recipe: Recipe) -> None:
    """Binary output, syntax errors, quotes and long commands do no harm."""
    async with _running(provider, recipe) as box:
        shell = await box.open_shell()
        assert (await shell.run("printf '\\377\\000\\376'")).output == b"\xff\x00\xfe"
        assert (await shell.run("if then 'oops")).exit_code != 0
        word = "x" * 200_000
        assert (await shell.run(f"echo '{word}' | wc -c")).output.strip() == b"200001"
        assert (await shell.run("echo 'a!b' \"c\\\\\" é")).output == "a!b c\\ é\n".encode()


@_check
async def shell_saves_what_a_fork_can_restore(provider: SandboxProvider, recipe: Recipe) -> None:
    """`save` names the working directory and the exported variables."""
    async with _running(provider, recipe) as box:
        shell = await box.open_shell(env={"GIVEN": "1"})
        await shell.run("cd /tmp; export MADE='a b'; hidden=1")
        state = await shell.save()
        assert state["cwd"] == "/tmp"
        environment = state["env"]
        assert isinstance(environment, dict)
        assert (environment["GIVEN"], environment["MADE"]) == ("1", "a b")
        assert "hidden" not in environment


# --- files -----------------------------------------------------------------------------------


@_check
async def files_round_trip(provider: SandboxProvider, recipe: Recipe) -> None:
    """Bytes and modes arrive as they were sent; parents are made; a mode is kept."""
    async with _running(provider, recipe) as box:
        data = bytes(range(256)) * 40_000
        await box.write_file("/srv/deep/er/file", data, mode=0o750)
        assert await box.read_file("/srv/deep/er/file") == data
        await box.write_file("/srv/deep/er/file", b"short")
        assert await _output(box, "stat -c '%a %s' /srv/deep/er/file") == "750 5\n"
        await box.write_file("/srv/empty", b"")
        assert await box.read_file("/srv/empty") == b""


@_check
async def files_refuse_clearly(provider: SandboxProvider, recipe: Recipe) -> None:
    """What is absent, no file, a FIFO or too large is a GuestFileError, and nothing hangs."""
    async with _running(provider, recipe) as box:
        await box.exec(["/bin/sh", "-c", "mkfifo /tmp/pipe; head -c 5000 /dev/zero > /tmp/big"])
        for path in ("/absent", "/tmp", "/tmp/pipe", "/etc/passwd/x"):
            try:
                await box.read_file(path)
            except GuestFileError as error:
                assert path in str(error)
            else:
                raise AssertionError(f"reading {path} should fail")
        try:
            await box.read_file("/tmp/big", max_bytes=4999)
        except GuestFileError:
            pass
        else:
            raise AssertionError("a file over max_bytes should be refused")


@_check
async def folders_travel_both_ways(provider: SandboxProvider, recipe: Recipe) -> None:
    """Upload and download carry folders with modes; links are never followed to the host."""
    with tempfile.TemporaryDirectory() as temporary:
        source, back = Path(temporary, "source"), Path(temporary, "back")
        (source / "sub").mkdir(parents=True)
        (source / "sub/run.sh").write_bytes(b"#!/bin/sh\n")
        (source / "sub/run.sh").chmod(0o755)
        (source / "naïve name").write_bytes(b"\xff")
        (source / "link").symlink_to("/etc/hostname")
        async with _running(provider, recipe) as box:
            await box.upload(source, "/srv/in")
            assert await _output(box, "readlink /srv/in/link") == "/etc/hostname\n"
            assert await _output(box, "stat -c %a /srv/in/sub/run.sh") == "755\n"
            await box.download("/srv/in", back)
        assert (back / "naïve name").read_bytes() == b"\xff"
        assert (back / "sub/run.sh").read_bytes() == b"#!/bin/sh\n"
        assert not (back / "link").exists()


# --- state -----------------------------------------------------------------------------------


@_check
@_needs(Capability.CHANGES)
async def changes_name_every_path(provider: SandboxProvider, recipe: Recipe) -> None:
    """Added, modified and deleted paths are listed; a file merely touched is not."""
    async with _running(provider, recipe) as box:
        assert list(await box.changes()) == []
        await _output(
            box,
            "echo a > /srv/new; echo b >> /etc/hosts; chmod 600 /etc/passwd; touch /etc/group;"
            "rm /etc/shells; mkdir /opt/d; echo c > /opt/d/f",
        )
        seen = {change.path: change.kind for change in await box.changes()}
        assert seen == {
            "/srv/new": ChangeKind.ADDED,
            "/etc/hosts": ChangeKind.MODIFIED,
            "/etc/passwd": ChangeKind.MODIFIED,
            "/etc/shells": ChangeKind.DELETED,
            "/opt/d": ChangeKind.ADDED,
            "/opt/d/f": ChangeKind.ADDED,
        }, seen


@_check
@_needs(Capability.SNAPSHOT)
async def snapshot_freezes_files_and_nothing_else(
    provider: SandboxProvider, recipe: Recipe
) -> None:
    """Later writes do not reach a snapshot; processes go on; deletions and modes are kept."""
    async with _running(provider, recipe) as box:
        await _output(
            box, "echo one > /srv/f; rm /etc/shells; mkdir -m 2775 /srv/d; ln -s f /srv/l"
        )
        shell = await box.open_shell()
        await shell.run("sleep 62 &")
        snapshot = await box.snapshot()
        await _output(box, "echo two > /srv/f")
        assert any("62" in process.argv for process in await box.processes())
        other = await provider.start(recipe, snapshot)
        assert await other.read_file("/srv/f") == b"one\n"
        assert await _output(other, "stat -c %a /srv/d; readlink /srv/l") == "2775\nf\n"
        assert (await other.exec(["test", "-e", "/etc/shells"])).exit_code == 1
        assert await box.read_file("/srv/f") == b"two\n"
        await other.close()
        await provider.discard(snapshot)


@_check
@_needs(Capability.FORK)
async def forks_do_not_see_each_other(provider: SandboxProvider, recipe: Recipe) -> None:
    """Parent and forks share the past and nothing later, also when the parent is gone."""
    async with _running(provider, recipe) as box:
        await box.write_file("/srv/f", b"past")
        forks = [await box.fork() for _ in range(3)]
        await box.write_file("/srv/f", b"parent")
        for index, fork in enumerate(forks):
            assert await fork.read_file("/srv/f") == b"past"
            await fork.write_file("/srv/f", b"%d" % index)
        grandchild = await forks[1].fork()
        await box.close()
        await forks[1].close()
        assert await grandchild.read_file("/srv/f") == b"1"
        assert await forks[2].read_file("/srv/f") == b"2"
        for fork in (*forks, grandchild):
            await fork.close()


@_check
@_needs(Capability.RESTORE)
async def restore_goes_back(provider: SandboxProvider, recipe: Recipe) -> None:
    """After restore the files are the snapshot's, old processes are gone, work goes on."""
    async with _running(provider, recipe) as box:
        await box.write_file("/srv/f", b"before")
        snapshot = await box.snapshot()
        shell = await box.open_shell()
        await shell.run("echo after > /srv/f; rm /etc/shells; sleep 63 &")
        await box.restore(snapshot)
        assert await box.read_file("/srv/f") == b"before"
        assert await _output(box, "test -e /etc/shells && echo there") == "there\n"
        assert not any("63" in process.argv for process in await box.processes())
        await provider.discard(snapshot)


@_check
@_needs(Capability.SNAPSHOT)
async def seal_keeps_the_files_and_closes(provider: SandboxProvider, recipe: Recipe) -> None:
    """Seal ends the sandbox; what it gives can be compared, read from outside and started."""
    base = await provider.start(recipe)
    before = await base.seal()
    box = await provider.start(recipe, before)
    await _output(box, "echo sealed > /srv/f; chmod 000 /srv/f; ln -s /srv /opt/s; rm /etc/shells")
    after = await box.seal()
    try:
        await box.read_file("/srv/f")
    except SandboxError:
        pass
    else:
        raise AssertionError("a sealed sandbox should be closed")
    changes = {change.path: change.kind for change in await provider.compare(before, after)}
    assert changes == {
        "/srv/f": ChangeKind.ADDED,
        "/opt/s": ChangeKind.ADDED,
        "/etc/shells": ChangeKind.DELETED,
    }
    tree = await provider.open_tree(after)
    assert tree.read("/opt/s/f") == b"sealed\n"
    stat = tree.stat("/srv/f")
    assert stat is not None and (stat.kind, stat.mode, stat.size) == ("file", 0, 7)
    assert tree.stat("/etc/shells") is None and "hosts" in tree.list("/etc")
    assert [path for path, _ in tree.walk("/srv")] == ["/srv/f"]
    again = await provider.start(recipe, after)
    assert await again.read_file("/srv/f") == b"sealed\n"
    await again.close()
    await provider.discard(after)
    await provider.discard(before)


@_check
@_needs(Capability.SNAPSHOT)
async def trees_stay_inside_the_guest(provider: SandboxProvider, recipe: Recipe) -> None:
    """A link that points out of the root leads to the guest's own files, or nowhere."""
    async with _running(provider, recipe) as box:
        await _output(
            box, "ln -s ../../../../../../etc/hostname /srv/up; ln -s /srv/loop /srv/loop"
        )
        snapshot = await box.snapshot()
        tree = await provider.open_tree(snapshot)
        assert tree.read("/srv/up") == await box.read_file("/etc/hostname")
        for path in ("/srv/loop", "/absent", "/etc"):
            try:
                tree.read(path)
            except GuestFileError:
                continue
            raise AssertionError(f"reading {path} should fail")
        await provider.discard(snapshot)


@_check
@_needs(Capability.SNAPSHOT)
async def kept_snapshots_are_found(provider: SandboxProvider, recipe: Recipe) -> None:
    """A kept snapshot is found under its key, the first keeper wins, others are not found."""
    box = await provider.start(recipe)
    await box.write_file("/srv/f", b"kept")
    key = f"contract {box.id}"
    assert await provider.find(key) is None
    kept = await provider.keep(key, await box.seal())
    found = await provider.find(key)
    assert found == kept
    other = await provider.start(recipe, found)
    assert await other.read_file("/srv/f") == b"kept"
    await other.close()


@_check
async def processes_and_ports_are_seen(provider: SandboxProvider, recipe: Recipe) -> None:
    """What listens is found with its port; the supervisor and idle shells are left out."""
    async with _running(provider, recipe) as box:
        shell = await box.open_shell()
        serve = "import socket as s, time; c=s.create_server(('127.0.0.1', 8123)); time.sleep(60)"
        await shell.run(f'python3 -c "{serve}" &')
        for _ in range(200):
            found = [p for p in await box.processes() if 8123 in p.tcp_ports]
            if found:
                break
            await shell.run("sleep 0.02")
        assert len(found) == 1 and "python3" in found[0].argv[0]
        assert all(p.pid != 1 for p in await box.processes())


@_check
async def usage_says_who_enforces(provider: SandboxProvider, recipe: Recipe) -> None:
    """Usage counts processes and written bytes, and names limits with their mechanism."""
    async with _running(provider, recipe) as box:
        await _output(box, "head -c 5000000 /dev/zero > /srv/five")
        usage = await box.usage()
        assert usage.processes >= 1
        assert 4.0 < usage.disk_mb < 7.0, usage.disk_mb
        assert "output_bytes" in usage.enforced


# --- isolation -------------------------------------------------------------------------------


@_check
async def nothing_of_the_host_is_visible(provider: SandboxProvider, recipe: Recipe) -> None:
    """No host home, secret, process, network or other sandbox; /usr cannot be written."""
    if Capability.ISOLATION not in provider.capabilities:
        return
    with tempfile.NamedTemporaryFile(prefix="agentgym-secret-") as secret:
        async with _running(provider, recipe) as box, _running(provider, recipe) as other:
            await other.write_file("/srv/private", b"x")
            assert (await box.exec(["test", "-e", secret.name])).exit_code == 1
            assert (await box.exec(["test", "-e", "/srv/private"])).exit_code == 1
            assert (await box.exec(["test", "-e", "/etc/shadow"])).exit_code == 1
            assert (await box.exec(["/bin/sh", "-c", "ls -A /root /home"])).stdout.split() == [
                b"/home:",
                b"/root:",
            ]
            assert (await box.exec(["touch", "/usr/bin/x"])).exit_code == 1
            assert await _output(box, "ls /proc | grep -c '^[0-9]*$'") in ("3\n", "4\n", "5\n")
            assert (await _output(box, "tail -n +3 /proc/net/dev")).split(":")[0].strip() == "lo"
            assert (
                await box.exec(["/bin/sh", "-c", "echo x > /proc/sys/kernel/hostname"])
            ).exit_code


@_check
async def the_supervisor_is_out_of_reach(provider: SandboxProvider, recipe: Recipe) -> None:
    """A guest cannot end, stop, trace or read PID 1."""
    if Capability.ISOLATION not in provider.capabilities:
        return
    async with _running(provider, recipe) as box:
        await box.exec(["/bin/sh", "-c", "kill -9 1; kill -STOP 1; kill -TERM 1; kill -INT 1"])
        assert await _output(box, "echo alive") == "alive\n"
        for attempt in (
            "cat /proc/1/environ",
            "head -c 1 /proc/1/mem",
            "ls /proc/1/root/",
            "readlink /proc/1/fd/* | grep .",
            "echo x > /proc/1/fd/100",
        ):
            assert (await box.exec(["/bin/sh", "-c", attempt])).exit_code != 0, attempt


@_check
async def a_killed_sandbox_is_reported(provider: SandboxProvider, recipe: Recipe) -> None:
    """After close every call fails at once with SandboxDiedError, and close may be repeated."""
    box = await provider.start(recipe)
    waiting = asyncio.create_task(box.exec(["sleep", "60"]))
    await box.exec(["true"])
    await box.close()
    await box.close()
    for call in (waiting, box.exec(["true"])):
        try:
            await call
        except SandboxDiedError:
            continue
        raise AssertionError("a closed sandbox should raise SandboxDiedError")
