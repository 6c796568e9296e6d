"""The guest supervisor: its pieces, on their own and against guests that fight it."""

import asyncio
import json
import math
import os
import platform
import shutil
import socket
import subprocess
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym.errors import GuestFileError, SandboxError, SandboxLimitError
from agentgym.sandbox import supervisor
from agentgym.sandbox.channel import Channel
from agentgym.sandbox.inside import files, listing, spawning
from agentgym.sandbox.inside.messages import to_json
from agentgym.sandbox.inside.output import Capture

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters()),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters()), inner),
)  # fmt: skip


@given(values)
def test_replies_are_json(value):
    # Compared as text: to Python 1 and True are equal.
    assert json.dumps(json.loads(to_json(value))) == json.dumps(value)


@given(st.lists(st.binary(max_size=300)), st.integers(2, 400))
def test_capture_keeps_head_and_tail_and_counts_the_rest(chunks, limit):
    capture = Capture(limit)
    for chunk in chunks:
        capture.add(chunk)
    whole = b"".join(chunks)
    text, omitted = capture.take()
    if len(whole) <= limit:
        assert (text, omitted) == (whole, 0)
    else:
        head, tail = limit - limit // 2, limit // 2
        assert text.startswith(whole[:head])
        assert text.endswith(whole[len(whole) - tail :] if tail else b"")
        assert omitted == len(whole) - limit
    assert capture.take() == (b"", 0)


def test_it_needs_only_the_standard_library_and_no_heavy_module(tmp_path):
    # Alone in a folder, as in the runtime: nothing else of agentgym can be imported.
    package = tmp_path / "agentgym/sandbox"
    shutil.copytree(Path(supervisor.__file__).parent / "inside", package / "inside")
    shutil.copy(supervisor.__file__, package)
    code = "import sys; sys.path.append(sys.argv[1]); import agentgym.sandbox.supervisor"
    modules = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"{code}; print(*sys.modules)", tmp_path],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert "agentgym.sandbox.inside.shell" in modules
    assert not {"ctypes", "json", "re", "enum", "_socket"} & set(modules)


# --- outside a sandbox: everything but freezing is safe here -------------------------------------


@asynccontextmanager
async def bare_supervisor(preparation):
    """A channel to a supervisor that runs on the host; `preparation` runs before it starts."""
    code = f"from agentgym.sandbox import supervisor; {preparation}"
    ours, theirs = socket.socketpair()
    process = subprocess.Popen([sys.executable, "-c", f"{code}; supervisor.main()"], stdin=theirs)
    theirs.close()
    channel = await Channel.open(ours, "bare")
    try:
        await channel.hello()
        yield channel
    finally:
        channel.close()
        assert await asyncio.to_thread(process.wait, 20) == 0


COMMAND = {"cwd": "/", "env": {"PATH": "/usr/bin:/bin"}, "limit": 1000, "deadline_s": 20}


async def test_refused_commands_leave_no_descriptor_open():
    limit = "import resource as r; r.setrlimit(r.RLIMIT_NOFILE, (256, 256))"
    async with bare_supervisor(limit) as channel:
        for wrong in ({"argv": ["/a\0b"]}, {"cwd": "/absent"}, {"cwd": "\0"}, {"env": {"a=": "b"}}):
            for _ in range(100):
                with pytest.raises(SandboxError):
                    fields = {"argv": ["/bin/true"], **COMMAND, **wrong}
                    await channel.request("exec", timeout_s=20, **fields)
        header, _ = await channel.request("exec", timeout_s=20, argv=["true"], **COMMAND)
        assert header["exit_code"] == 0


async def test_an_answer_over_the_frame_limit_is_refused_and_others_follow():
    async with bare_supervisor("supervisor.MAX_FRAME = 500") as channel:
        noise = {**COMMAND, "argv": ["head", "-c", "400", "/dev/zero"]}
        with pytest.raises(SandboxLimitError, match="over the 500"):
            await channel.request("exec", timeout_s=20, **noise)
        _, body = await channel.request("exec", timeout_s=20, **{**COMMAND, "argv": ["echo", "on"]})
        assert body == b"on\n"


async def test_sockets_travel_between_large_answers(tmp_path):
    (tmp_path / "large").write_bytes(bytes(3_000_000))

    async def who(reader, writer):
        writer.write(str(writer.get_extra_info("peername")[1]).encode())
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(who, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with bare_supervisor("pass") as channel:

        async def connect():
            fields = {"port": port, "deadline_s": 20}
            sock = await channel.request_socket("connect", timeout_s=20, **fields)
            own = sock.getsockname()[1]
            reader, writer = await asyncio.open_connection(sock=sock)
            assert int(await reader.read()) == own
            writer.close()
            await writer.wait_closed()

        async def read():
            fields = {"path": str(tmp_path / "large"), "offset": 0, "limit": 3_000_000}
            _, body = await channel.request("read", timeout_s=20, **fields)
            assert len(body) == 3_000_000

        await asyncio.gather(*(call() for _ in range(30) for call in (read, connect, connect)))
    server.close()
    await server.wait_closed()


async def test_passing_sockets_on_and_failing_to_leaves_no_descriptor_open():
    limit = "import resource as r; r.setrlimit(r.RLIMIT_NOFILE, (160, 160))"
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        closed, port = taken.getsockname()[1], server.getsockname()[1]
        async with bare_supervisor(limit) as channel:
            for _ in range(100):
                fields = {"port": port, "deadline_s": 20}
                (await channel.request_socket("connect", timeout_s=20, **fields)).close()
                server.accept()[0].close()
                with pytest.raises(SandboxError, match="Connection refused"):
                    await channel.request("connect", timeout_s=20, port=closed, deadline_s=20)
                with pytest.raises(SandboxError, match="Address already in use"):
                    await channel.request("listen", timeout_s=20, port=closed)
                (await channel.request_socket("listen", timeout_s=20, port=0)).close()
            header, _ = await channel.request("exec", timeout_s=20, argv=["true"], **COMMAND)
            assert header["exit_code"] == 0


async def test_a_socket_waits_for_a_channel_that_is_full():
    async with bare_supervisor("pass") as channel:
        # Nobody reads here, so answers pile up in the supervisor before and behind the socket.
        asyncio.get_running_loop().remove_reader(channel._sock)
        noise = {**COMMAND, "limit": 500_000, "argv": ["head", "-c", "400000", "/dev/zero"]}
        with socket.create_server(("127.0.0.1", 0)) as server:
            fields = {"port": server.getsockname()[1], "deadline_s": 20}
            calls = [
                asyncio.create_task(channel.request("exec", timeout_s=20, **noise)),
                asyncio.create_task(channel.request_socket("connect", timeout_s=20, **fields)),
                asyncio.create_task(channel.request("exec", timeout_s=20, **noise)),
            ]
            await asyncio.sleep(0)
            await asyncio.to_thread(lambda: server.accept()[0].close())
            asyncio.get_running_loop().add_reader(channel._sock, channel._receive)
            first, sock, last = await asyncio.gather(*calls)
            assert len(first[1]) == len(last[1]) == 400_000
            with sock:
                assert sock.getpeername() == server.getsockname()


def test_a_full_pipe_whose_reader_is_gone_does_not_keep_the_loop_busy():
    code = """
import os
from agentgym.sandbox.inside.loop import Loop
loop = Loop()
r, w = os.pipe()
os.set_blocking(w, False)
while True:
    try:
        os.write(w, bytes(65536))
    except BlockingIOError:
        break
loop.watch_write(w, lambda fd: os._exit(0))
loop.later(5, lambda: os._exit(1))
os.close(r)
loop.run()
"""
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0


# --- shells -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "spoil",
    [
        "IFS=0123456789",
        "printf() { :; }",
        "alias printf=true",
        "set -u; unset PWD",
        "cd /tmp; rm /run/agentgym/shell-1; mkfifo /run/agentgym/shell-1",
        "mv /run/agentgym /run/elsewhere",
        "for fd in {3..255}; do printf 'x\\0 y z\\0007 99999999 /\\0' >&$fd; done",
        "for fd in {10..14}; do head -c 1000000 /dev/zero | tr '\\0' x >&$fd; done",
    ],
)
async def test_a_session_survives_what_its_commands_do_to_it(provider, recipe, spoil):
    shell = await (await provider.start(recipe())).open_shell()
    await shell.run(f"{{ {spoil}; }} 2>/dev/null", timeout_s=20)
    result = await shell.run("false || echo on", timeout_s=20)
    assert (result.output, result.exit_code, result.restarted) == (b"on\n", 0, False)
    assert (await shell.run("(exit 10)", timeout_s=20)).exit_code == 10


async def test_a_session_whose_input_is_flooded_is_interrupted_all_the_same(provider, recipe):
    box = await provider.start(recipe())
    shell = await box.open_shell()
    # Descriptor 10 is where bash keeps its input while it runs a command.
    flood = "trap '' INT; yes '' | head -c 65536 > /proc/$$/fd/10; sleep 60"
    assert (await shell.run(flood, timeout_s=0.2)).timed_out
    assert (await box.exec(["echo", "on"])).stdout == b"on\n"
    assert (await shell.run("echo on", timeout_s=20)).output == b"on\n"


async def test_a_session_that_ended_between_commands_is_reported(provider, recipe):
    box = await provider.start(recipe())
    shell = await box.open_shell()
    bash = (await shell.run("X=1; echo $$")).output.decode().strip()
    await box.exec(["sh", "-c", f"kill -9 {bash}; while kill -0 {bash} 2>/dev/null; do :; done"])
    assert (await shell.run("echo $X")).restarted
    again = await shell.run("echo -$X-")
    assert (again.output, again.restarted) == (b"--\n", False)


async def test_closing_a_session_ends_its_foreground_command_only(provider, recipe):
    box = await provider.start(recipe())
    shell = await box.open_shell()
    await shell.run("sleep 61 &")
    running = asyncio.create_task(shell.run("sleep 62"))
    while ("sleep", "62") not in [process.argv for process in await box.processes()]:
        assert not running.done()
    await shell.close()
    assert (await running).exit_code == 137
    while ("sleep", "62") in (left := [process.argv for process in await box.processes()]):
        continue
    assert left == [("sleep", "61")]
    with pytest.raises(SandboxError, match="no shell session 1"):
        await shell.run("true")


# --- commands and processes ---------------------------------------------------------------------


@pytest.mark.parametrize("timeout_s", [1e9, math.inf])
async def test_a_deadline_may_be_far_away(provider, recipe, timeout_s):
    box = await provider.start(recipe())
    assert (await box.exec(["echo", "on"], timeout_s=timeout_s)).stdout == b"on\n"
    result = await (await box.open_shell()).run("echo on", timeout_s=timeout_s)
    assert result.output == b"on\n"


async def test_background_processes_outlive_the_pipe_they_write_to(provider, recipe):
    box = await provider.start(recipe())
    await box.exec(["mkfifo", "/tmp/go"])
    job = "(read x < /tmp/go; echo 1; echo 2; echo done > /tmp/{}) & "
    shell = await box.open_shell()
    for run in (
        lambda: box.exec(["sh", "-c", job.format("exec")]),
        lambda: shell.run(job.format("shell") + "exit"),
    ):
        await run()
        await box.exec(["sh", "-c", "echo go > /tmp/go"], timeout_s=20)
    wait = "until [ -e /tmp/exec ] && [ -e /tmp/shell ]; do sleep 0.01; done"
    assert (await box.exec(["sh", "-c", wait], timeout_s=20)).exit_code == 0


async def test_endless_argument_lists_are_cut(provider, recipe):
    box = await provider.start(recipe())
    argv = ["sh", "-c", "read x < /dev/zero", "sh", *["\udcff" * 100_000] * 10]
    running = asyncio.create_task(box.exec(argv))
    await asyncio.sleep(0)
    seen = (await box.processes())[0].argv
    assert seen[:4] == ("sh", "-c", "read x < /dev/zero", "sh")
    assert sum(map(len, seen)) <= listing.MAX_ARGV
    running.cancel()


def test_a_listing_passes_over_what_vanishes(tmp_path, monkeypatch):
    (tmp_path / "stays").write_bytes(b"x")
    monkeypatch.setattr(files.os, "listdir", lambda path: ["gone", "stays"])
    header, _ = files.op_list({"path": str(tmp_path)}, b"")
    assert list(header["entries"]) == ["stays"]


async def test_a_file_where_a_folder_should_be_is_named(provider, recipe):
    box = await provider.start(recipe())
    for path in ("/etc/passwd/x", "/etc/passwd/x/y"):
        with pytest.raises(GuestFileError, match=f"{path}: Not a directory"):
            await box.write_file(path, b"")


# --- freezing -----------------------------------------------------------------------------------


async def states(box, pid):
    """The state letter of every thread of a process."""
    listing, _ = await box._ask("list", path=f"/proc/{pid}/task")
    files = [await box.read_file(f"/proc/{pid}/task/{tid}/stat") for tid in listing["entries"]]
    return {file.rpartition(b")")[2].split()[0].decode() for file in files}


async def test_everything_rests_until_the_last_thaw(provider, recipe):
    box = await provider.start(recipe())
    await box.exec(["sh", "-c", "sleep 60 & sleep 61 & kill -STOP $!"])
    free, stopped = [process.pid for process in await box.processes()]
    # A signal is on its way until its process has had a turn.
    while await states(box, stopped) != {"T"}:
        pass
    for op, rests in (("freeze", True), ("freeze", True), ("thaw", True), ("thaw", False)):
        await box._ask(op)
        assert (await states(box, free) == {"T"}) is rests
        assert await states(box, stopped) == {"T"}
    await box._ask("thaw")


async def test_commands_and_writes_wait_for_the_thaw(provider, recipe):
    box = await provider.start(recipe())
    await box._ask("freeze")
    late = [
        asyncio.create_task(call)
        for call in (box.write_file("/tmp/late", b"x"), box.exec(["cat", "/tmp/late"]))
    ]
    await asyncio.sleep(0)
    # The supervisor takes requests in order, so it has seen those two when it answers this one.
    assert await box.processes() == []
    with pytest.raises(GuestFileError):
        await box.read_file("/tmp/late")
    await box._ask("thaw")
    assert (await asyncio.gather(*late))[1].stdout == b"x"


async def test_the_clock_of_a_deadline_rests_too(provider, recipe):
    box = await provider.start(recipe())
    shell = await box.open_shell()
    await shell.run("X=kept")
    running = asyncio.create_task(shell.run("sleep 60", timeout_s=0.2))
    while not (processes := await box.processes()):
        assert not running.done()
    await box._ask("freeze")
    # Past the deadline, as copying a large layer would be.
    await asyncio.sleep(0.5)
    assert await states(box, processes[0].pid) == {"T"}
    await box._ask("thaw")
    result = await running
    assert result.timed_out and not result.restarted
    assert (await shell.run("echo $X")).output == b"kept\n"


async def test_shells_with_job_control_do_not_notice(provider, recipe):
    shell = await (box := await provider.start(recipe())).open_shell()
    running = asyncio.create_task(shell.run("set -m; for i in 1 2 3; do sleep 0.2; done; jobs"))
    while not running.done():
        await box._ask("freeze")
        await box._ask("thaw")
    assert (await running).output == b""


async def test_a_process_that_waits_in_vfork_is_no_obstacle(provider, recipe):
    box = await provider.start(recipe())
    spawn = (
        "import os; os.mkfifo('/tmp/f'); os.posix_spawn('/bin/true', ['true'], {},"
        "file_actions=[(os.POSIX_SPAWN_OPEN, 0, '/tmp/f', os.O_RDONLY, 0)])"
    )
    running = asyncio.create_task(box.exec(["python3", "-c", spawn]))
    while len(await box.processes()) < 2:
        assert not running.done()
    await box._ask("freeze")
    await box._ask("thaw")
    await box.exec(["sh", "-c", "echo > /tmp/f"], timeout_s=20)
    assert (await running).exit_code == 0


async def test_a_process_whose_first_thread_ended_is_seen_and_frozen(provider, recipe):
    box = await provider.start(recipe())
    exit_thread = 60 if platform.machine() == "x86_64" else 93
    code = (
        "import ctypes, threading, time; threading.Thread(target=time.sleep, args=[60]).start();"
        f"ctypes.CDLL(None).syscall({exit_thread}, 0)"
    )
    running = asyncio.create_task(box.exec(["python3", "-c", code]))
    while not (found := await box.processes()) or "Z" not in await states(box, found[0].pid):
        assert not running.done()
    assert found[0].argv[:2] == ("python3", "-c")
    await box._ask("freeze")
    assert await states(box, found[0].pid) == {"Z", "T"}
    await box._ask("thaw")
    running.cancel()


@pytest.mark.parametrize("kind", ["a FIFO", "a device", "gigabytes"])
def test_account_files_of_a_guest_neither_block_nor_fill_the_memory(tmp_path, kind):
    table = tmp_path / "passwd"
    line = "daemon:x:1:1:d:/home:/bin/sh\n"
    if kind == "a FIFO":
        os.mkfifo(table)
    elif kind == "a device":
        table.symlink_to("/dev/zero")
    else:
        table.write_text(line)
        os.truncate(table, 8 << 30)
    found = spawning.read_table(str(table), 7)
    assert found == ([line.strip().split(":")] if kind == "gigabytes" else [])
