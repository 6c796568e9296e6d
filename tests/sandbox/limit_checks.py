"""Each limit with a guest that runs into it, for any provider and any user."""

import contextlib

from agentgym.errors import SandboxEndedError, SandboxError, SandboxLimitError
from agentgym.records import Limits, Recipe, Service

MB = 2**20
CHECKS = []


def check(function):
    CHECKS.append(function)
    return function


def whole(usage, limit):
    """Whether a limit is one of the whole sandbox."""
    return "each process" not in usage.enforced[limit]


@contextlib.contextmanager
def ended_by(reason):
    """Expect that a limit ends the sandbox, with this in its reason."""
    try:
        yield
    except SandboxEndedError as error:
        assert reason in str(error)
    else:
        raise AssertionError(f"nothing ended the sandbox; expected: {reason}")


async def python(box, code, **more):
    return await box.exec(["python3", "-c", code], **more)


@check
async def one_over_eater_is_ended(provider):
    box = await provider.start(Recipe("host", limits=Limits(memory_mb=150)))
    done = await python(box, "x = []\nwhile True: x.append(bytearray(10_000_000))")
    assert done.exit_code != 0 and not done.timed_out
    assert (await box.exec(["echo", "alive"])).stdout == b"alive\n"
    killed = (await box.audit()).killed_for_memory
    if whole(await box.usage(), "memory_mb"):
        assert done.exit_code == 137 and killed == 1
    else:
        # It is refused memory, and nobody counts.
        assert b"MemoryError" in done.stderr and killed is None


@check
async def many_small_eaters_are_one_large_one(provider):
    box = await provider.start(Recipe("host", limits=Limits(memory_mb=150)))
    if not whole(await box.usage(), "memory_mb"):
        return
    # Each is far below the limit, and none goes before another had to.
    code = """
import os
reader, writer = os.pipe()
kids = []
for _ in range(6):
    kid = os.fork()
    if not kid:
        os.close(writer)
        block = bytearray(60_000_000)
        os.read(reader, 1)
        os._exit(0)
    kids.append(kid)
deaths = [os.wait()[1]]
os.close(writer)
deaths += [os.wait()[1] for _ in range(5)]
print(deaths.count(9))
"""
    done = await python(box, code)
    killed = (await box.audit()).killed_for_memory
    assert done.exit_code == 0 and 0 < int(done.stdout) == killed


@check
async def memory_file_systems_are_memory(provider):
    box = await provider.start(Recipe("host", limits=Limits(memory_mb=100)))
    script = "for f in /dev/shm/a /run/a; do head -c 300000000 /dev/zero > $f; done; stat -c %b $@"
    done = await box.exec(["sh", "-c", script, "sh", "/dev/shm/a", "/run/a"])
    sizes = [int(blocks) * 512 for blocks in done.stdout.split()]
    assert sizes == [25 * MB, 25 * MB]
    if whole(await box.usage(), "memory_mb"):
        # What they hold is gone from what there is.
        assert (await python(box, "x = bytearray(70_000_000)")).exit_code == 137
        await box.exec(["rm", "/dev/shm/a", "/run/a"])
        assert (await python(box, "x = bytearray(70_000_000)")).exit_code == 0


@check
async def a_fork_bomb_fills_its_own_room_only(provider):
    box = await provider.start(Recipe("host", limits=Limits(pids=40)))
    code = """
import os, time
kids = []
try:
    while len(kids) < 100:
        kid = os.fork()
        if not kid:
            time.sleep(100)
        kids.append(kid)
except OSError as error:
    print(error.errno)
print(len(kids), flush=True)
time.sleep(100)
"""
    await box.exec(["sh", "-c", f': > /srv/out; python3 -c "{code}" > /srv/out 2>&1 &'])
    while len((await box.read_file("/srv/out")).split()) < 2:
        pass
    errno, kids = (int(word) for word in (await box.read_file("/srv/out")).split())
    assert errno == 11 and 20 < kids < 40
    assert (await box.usage()).processes <= 40
    other = await provider.start(Recipe("host", limits=Limits(pids=40)))
    assert (await other.exec(["echo", "room"])).stdout == b"room\n"


@check
async def processors_are_shared(provider):
    box = await provider.start(Recipe("host", limits=Limits(cpus=0.2)))
    usage = await box.usage()
    if "cpus" not in usage.enforced:
        # Only a control group can, and there is none: it is not claimed.
        return
    before = usage.cpu_s
    code = "import os; os.fork(); [None for _ in iter(int, 1)]"
    spin = await box.exec(["timeout", "-s", "KILL", "3", "python3", "-c", code], timeout_s=60)
    used = (await box.usage()).cpu_s - before
    # More load makes both smaller; half again for what a period may be over.
    assert 0 < used < spin.duration_s * 0.2 * 1.5 + 0.2


@check
async def a_large_file_is_refused_and_many_end_the_sandbox(provider):
    box = await provider.start(Recipe("host", limits=Limits(disk_mb=30)))
    done = await box.exec(["sh", "-c", "head -c 100000000 /dev/zero > /srv/big"])
    assert done.exit_code != 0
    assert int((await box.exec(["stat", "-c", "%s", "/srv/big"])).stdout) <= 30 * MB
    with ended_by("disk limit of 30 MB"):
        script = "for i in $(seq 100); do head -c 5000000 /dev/zero > /srv/$i; done; sleep 60"
        await box.exec(["sh", "-c", script])
    after = await box.seal()
    tree = await provider.open_tree(after)
    assert tree.stat("/srv/big") is not None


@check
async def small_files_count_as_what_they_take(provider):
    box = await provider.start(Recipe("host", limits=Limits(disk_mb=8)))
    code = "for n in range(10**6): open(f'/srv/{n}', 'w').write('x')"
    with ended_by("disk limit of 8 MB"):
        await python(box, code)


@check
async def holes_count_where_a_snapshot_would_fill_them(provider):
    box = await provider.start(Recipe("host", limits=Limits(disk_mb=20)))
    done = await box.exec(["truncate", "-s", "30M", "/srv/more"])
    assert done.exit_code != 0, "one file over the limit is refused, hole or not"
    fill = "for i in 1 2 3 4 5 6; do truncate -s 19M /srv/$i; done"
    if provider.name == "docker":
        with ended_by("disk limit of 20 MB"):
            await box.exec(["sh", "-c", f"rm /srv/more; {fill}; sleep 60"])
        return
    assert (await box.exec(["sh", "-c", fill])).exit_code == 0
    assert (await box.usage()).disk_mb < 2
    assert (await box.exec(["echo", "alive"])).stdout == b"alive\n"


@check
async def links_to_a_file_are_not_files(provider):
    box = await provider.start(Recipe("host", limits=Limits(disk_mb=20)))
    script = "head -c 6000000 /dev/urandom > /srv/f; for i in 1 2 3 4; do ln /srv/f /srv/$i; done"
    await box.exec(["sh", "-c", script])
    assert 5 < (await box.usage()).disk_mb < 8


@check
async def files_that_are_deleted_and_open_count(provider):
    box = await provider.start(Recipe("host", limits=Limits(disk_mb=30)))
    code = """
import os, time
held = []
for n in range(100):
    held.append(open('/srv/f', 'wb'))
    os.unlink('/srv/f')
    held[-1].write(bytes(5_000_000))
    held[-1].flush()
time.sleep(60)
"""
    with ended_by("disk limit of 30 MB"):
        await python(box, code)


@check
async def wall_time_counts_from_when_it_is_handed_out(provider):
    box = await provider.start(Recipe("host", limits=Limits(wall_s=1.5)))
    first = await box.exec(["sleep", "1"])
    assert first.exit_code == 0
    box.begin()
    assert (await box.exec(["sleep", "1"])).exit_code == 0
    with ended_by("wall time of 1.5 s"):
        await box.exec(["sleep", "60"])


@check
async def services_are_watched_for_what_they_write(provider):
    script = "for i in $(seq 100); do head -c 5000000 /dev/zero > /srv/$i; done; sleep 60"
    writer = Service("writer", script, "false", timeout_s=20)
    try:
        await provider.start(Recipe("host", limits=Limits(disk_mb=8), services=(writer,)))
        raise AssertionError("it was handed out")
    except SandboxError as error:
        # A failed start, and no sandbox to be judged as it is.
        assert not isinstance(error, SandboxEndedError)
        assert "did not start" in str(error) and "disk limit of 8 MB" in str(error)


@check
async def services_take_their_time(provider):
    slow = Service("slow", "sleep 2; : > /srv/up; sleep 60", "[ -e /srv/up ]")
    box = await provider.start(Recipe("host", limits=Limits(wall_s=1.5), services=(slow,)))
    assert (await box.exec(["echo", "alive"])).stdout == b"alive\n"
    with ended_by("wall time of 1.5 s"):
        await box.exec(["sleep", "60"])


@check
async def what_ended_it_is_forgotten_when_it_is_restored(provider):
    box = await provider.start(Recipe("host", limits=Limits(wall_s=1)))
    before = await box.snapshot()
    with contextlib.suppress(SandboxEndedError):
        done = await box.exec(["sleep", "60"])
        raise AssertionError(done)
    await box.restore(before)
    assert (await box.exec(["echo", "alive"])).stdout == b"alive\n"


@check
async def output_keeps_its_head_and_its_tail(provider):
    box = await provider.start(Recipe("host", limits=Limits(output_bytes=1000)))
    done = await box.exec(["sh", "-c", "echo head; head -c 5000000 /dev/zero; echo tail"])
    assert done.stdout.startswith(b"head\n") and done.stdout.endswith(b"tail\n")
    assert len(done.stdout) < 1100 and done.omitted_bytes > 4_900_000


@check
async def what_is_not_limited_is_not_claimed(provider):
    none = Limits(memory_mb=None, pids=None, disk_mb=None, wall_s=None)
    box = await provider.start(Recipe("host", limits=none))
    assert set((await box.usage()).enforced) == {"output_bytes"}
    with contextlib.suppress(SandboxLimitError, SandboxError):
        await box.close()
