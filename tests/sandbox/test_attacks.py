"""The attack suite over every provider, and controls: where nothing stops them, attacks succeed."""

from __future__ import annotations

import fcntl
import inspect
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from agentgym.sandbox import launch, seccomp
from agentgym.sandbox.bubblewrap import BubblewrapProvider
from agentgym.testing.attacks import ATTACKS, devour, host_side, probing, reach, table
from agentgym.testing.attacks.attack import Outcome, command, run_inside
from agentgym.testing.attacks.probing import DONE

PROGRAMS = [attack for attack in ATTACKS if attack.program is not None]
# Of a sandbox as a whole, memory is limited by control groups alone.
WITHOUT_CONTROL_GROUPS = {"memory_elsewhere"}
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to be unconfined")


def every(attacks):
    return pytest.mark.parametrize("attack", attacks, ids=lambda attack: attack.name)


# --- the suite -------------------------------------------------------------------------------


@pytest.mark.parametrize("provider", ["bubblewrap"], indirect=True)
@every(ATTACKS)
async def test_an_attack_is_held(attack, provider, recipe):
    if os.geteuid() != 0 and attack.name in WITHOUT_CONTROL_GROUPS:
        pytest.xfail("an ordinary user has no control groups")
    outcome = await attack.run(provider, recipe())
    assert outcome.blocked, outcome.how


@pytest.mark.docker
@pytest.mark.sampled(2)
@pytest.mark.parametrize("provider", ["docker"], indirect=True)
@every(ATTACKS)
async def test_an_attack_on_docker_is_held(attack, provider, recipe):
    outcome = await attack.run(provider, recipe())
    assert outcome.blocked, outcome.how


@pytest.fixture(scope="module")
def unprivileged(session_folder, request):
    """Return the outcome of each attack on an ordinary user's sandbox by name, once a session."""
    if os.geteuid() != 0:
        pytest.skip("already run as an ordinary user by test_an_attack_is_held")
    lines = session_folder / "unprivileged-attacks.jsonl"
    with (session_folder / "unprivileged-attacks.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not lines.exists():
            lines.write_text(attacked_as_an_ordinary_user(selected(request.session.items)))
    told = [json.loads(line) for line in lines.read_text().splitlines()]
    return {line["attack"]: Outcome(line["attempts"]) for line in told}


def selected(items):
    """Return the names of the attacks that this session tries on an ordinary user's sandbox."""
    wanted = test_an_attack_on_an_ordinary_users_sandbox_is_held.__name__
    mine = [item for item in items if getattr(item, "originalname", "") == wanted]
    return [item.callspec.params["attack"].name for item in mine]


def attacked_as_an_ordinary_user(names):
    """Run `python -m agentgym.testing.attacks` and return what it printed, a line an attack."""
    home = Path(f"/var/tmp/agentgym-attacks-{os.getpid()}")
    home.mkdir()
    os.chown(home, launch.sandbox_owner(), launch.sandbox_owner())
    package = Path(launch.__file__).parents[2]
    paths = [str(package), *(path for path in sys.path if "site-packages" in path)]
    command = [*launch.as_owner(), "/usr/bin/python3", "-B", "-m", "agentgym.testing.attacks"]
    try:
        done = subprocess.run(
            [*command, "bubblewrap", *names, "--json"],
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(home),
                "AGENTGYM_CACHE": str(home / "cache"),
                "PYTHONPATH": ":".join(paths),
            },
            cwd="/",
            capture_output=True,
            text=True,
            timeout=280,
        )
    finally:
        subprocess.run(["rm", "-rf", str(home)], check=True)
    assert len(done.stdout.splitlines()) == len(names), done.stderr[-3000:]
    return done.stdout


@pytest.mark.sampled(3)
@every(ATTACKS)
def test_an_attack_on_an_ordinary_users_sandbox_is_held(attack, unprivileged, request):
    if attack.name in WITHOUT_CONTROL_GROUPS:
        request.applymarker(
            pytest.mark.xfail(strict=True, reason="an ordinary user has no control groups")
        )
    assert unprivileged[attack.name].blocked, unprivileged[attack.name].how


def test_an_attack_without_attempts_is_not_held():
    assert not Outcome({}).blocked
    assert not Outcome({"one": "EPERM", "two": DONE}).blocked
    assert Outcome({"one": "EPERM"}).how == "one: EPERM"


async def test_a_broken_attack_proves_nothing(provider, recipe):
    box = await provider.start(recipe())
    with pytest.raises(AssertionError, match="(?s)memory: 1: .*ValueError"):
        await run_inside(box, devour.memory, "heap", "much")


# --- controls: unconfined --------------------------------------------------------------------

# A kernel that is shared, a process namespace of its own so that nothing else is hit, and
# everything that attacks expect to find: mounts to take away, a process instead of PID 1.
UNCONFINED = """
set -e
mount -t tmpfs tmpfs /mnt
mkdir -p /mnt/agentgym/testing/attacks
cp "$1" "$2" /mnt/agentgym/testing/attacks
shift 2
cp /usr/bin/env /mnt/program
mount -t tmpfs tmpfs /tmp
for folder in /usr /usr/bin; do
    mount --bind $folder $folder
    mount -o remount,ro,bind $folder
done
ip link set lo up
sleep 60 & victim=$!
set +e
for word; do
    shift
    [ "$word" = VICTIM ] && word=$victim
    set -- "$@" "$word"
done
"$@"
kill -9 $victim 2>/dev/null || true
"""
ARGUMENTS = {
    "killing": ("VICTIM",),
    "reading_its_memory": ("VICTIM",),
    "starving": ("VICTIM",),
    "ways_out": ("127.0.0.1",),
    "writing_the_hosts_programs": ("/mnt/program",),
}
# What root itself may not where it has no CAP_SYS_RESOURCE, or disks are kept from it.
NOT_EVEN_ROOT = {
    *("never out of memory", "more open files", "/proc/sys/user/max_user_namespaces"),
    *("/dev/vda", "make disk"),
}


@needs_root
@every(PROGRAMS)
def test_an_attack_succeeds_where_nothing_stops_it(attack):
    program = attack.program.run
    namespaces = ["--mount", "--pid", "--ipc", "--uts", "--net", "--fork", "--mount-proc"]
    if attack.name == "its_channel":
        pytest.skip("sees the host's own sockets: test_a_socket_is_found")
    done = subprocess.run(
        [
            *("unshare", *namespaces, "--propagation", "private", "sh", "-c", UNCONFINED, "sh"),
            *(probing.__file__, inspect.getfile(program)),
            *command(program, *ARGUMENTS.get(attack.name, ()), folder="/mnt"),
        ],
        # The system's Python, wherever the tests were started from.
        env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"},
        cwd="/",
        # Its process group is a target too.
        start_new_session=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    *lines, end = done.stdout.splitlines() or [""]
    assert end == "end", done.stderr
    attempts = dict(line.split("\t") for line in lines)
    assert DONE in attempts.values(), attempts
    # A refusal here would mean that the sandbox is not what refuses there.
    refused = {name for name, how in attempts.items() if how in ("EPERM", "EACCES", "EROFS")}
    assert refused <= NOT_EVEN_ROOT


def on_host(program, *arguments):
    """Run a program of `reach` or `devour` outside of any sandbox."""
    start = f"from {program.__module__} import {program.__name__} as run; import sys;"
    done = subprocess.run(
        [sys.executable, "-c", f"{start} run(*sys.argv[1:])", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return dict(line.split("\t") for line in done.stdout.splitlines())


def test_the_hosts_files_are_there_to_be_read():
    with host_side.decoy() as (path, secret):
        attempts = on_host(reach.host_files, secret[::-1], str(path))
    assert attempts["by its name"] == attempts["beside it"] == DONE
    assert attempts["in the environment"] == DONE
    if os.geteuid() == 0:
        assert attempts["through other processes"] == DONE


def test_the_hosts_processes_are_there_to_be_hit():
    victim = subprocess.Popen(["sleep", "60"])
    try:
        assert set(on_host(reach.attack, str(victim.pid)).values()) == {DONE}
    finally:
        victim.kill()
        victim.wait()


async def test_a_socket_is_found(provider, recipe):
    box = await provider.start(recipe())
    listen = "import socket,time; s=socket.socket(socket.AF_UNIX); s.bind('/run/agentgym/entry2');"
    shell = await box.open_shell()
    await shell.run(f'python3 -c "{listen} s.listen(); time.sleep(60)" &')
    (attack,) = (attack for attack in PROGRAMS if attack.name == "its_channel")
    while (await box.exec(["test", "-e", "/run/agentgym/entry2"])).exit_code != 0:
        pass
    outcome = await run_inside(box, attack.program.run)
    assert outcome.attempts["connect to /run/agentgym/entry2"] == DONE


async def test_what_is_used_up_can_be_had_where_it_is_allowed(provider, recipe):
    box = await provider.start(recipe())
    for kind in ("heap", "memfd", "segment"):
        assert (await run_inside(box, devour.memory, kind, "320")).attempts == {kind: DONE}
    allowed = await run_inside(box, devour.processes, "192")
    assert allowed.attempts == {"processes": DONE, "threads": DONE}
    assert (await run_inside(box, devour.disk, "one_file", "96")).attempts == {"one_file": DONE}


# --- controls: one wall less -----------------------------------------------------------------


@needs_root
@pytest.mark.parametrize("provider", ["bubblewrap"], indirect=True)
@pytest.mark.parametrize(
    ("name", "attempts"),
    [
        ("starving", {"sched_setscheduler", "ioprio_set", "setpriority user"}),
        ("risky_calls", {"userfaultfd", "io_uring_setup"}),
        ("keyrings", {"add_key", "session keyring"}),
        ("odd_families", {"netlink audit", "netlink uevent"}),
        ("terminals", {"TIOCSTI"}),
        ("foreign_calls", {"i386 getpid"}),
    ],
)
async def test_without_the_filter_these_succeed(provider, recipe, name, attempts, monkeypatch):
    monkeypatch.setattr(launch, "filter_program", lambda: None)
    (attack,) = (attack for attack in PROGRAMS if attack.name == name)
    outcome = await attack.run(provider, recipe())
    done = {name for name, how in outcome.attempts.items() if how == DONE}
    assert attempts <= done, outcome.how


KEY = """
import asyncio, sys
from pathlib import Path
from agentgym.records import Recipe
from agentgym.sandbox import launch
from agentgym.sandbox.bubblewrap import BubblewrapProvider
from agentgym.testing.attacks import kernel_calls
from agentgym.testing.attacks.attack import run_inside
from agentgym.testing.attacks.probing import call

call("keyctl", 1, None)
call("add_key", b"user", b"agentgym-secret", b"of the host", 11, -3)
if sys.argv[2] == "open":
    launch.filter_program = lambda: None

async def main():
    provider = BubblewrapProvider(Path(sys.argv[1]))
    box = await provider.start(Recipe("host"))
    outcome = await run_inside(box, kernel_calls.keyrings, "agentgym-secret")
    print(outcome.attempts["the host's key"])
    await provider.close()

asyncio.run(main())
"""


@needs_root
@pytest.mark.parametrize(("wall", "expected"), [("open", DONE), ("filter", "EPERM")])
def test_a_key_of_the_hosts_session_is_out_of_reach(tmp_path, wall, expected):
    command = [sys.executable, "-c", KEY, str(tmp_path / "store"), wall]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == expected, done.stderr


@needs_root
async def test_links_that_guests_leave_do_lead_to_the_host(tmp_path, recipe):
    """A reader that trusted them would hand out the host's files."""
    provider = BubblewrapProvider(tmp_path / "store")
    with host_side.decoy() as (path, secret):
        box = await provider.start(recipe())
        await box.exec(["ln", "-s", str(path), "/srv/link"])
        (link,) = (tmp_path / "store/live").glob("*/*/u/srv/link")
        assert link.read_text() == secret
    await provider.close()


@pytest.mark.parametrize("provider", ["bubblewrap"], indirect=True)
async def test_a_disk_limit_that_is_not_reached_ends_nothing(provider, recipe):
    box = await provider.start(recipe(disk_mb=200))
    # Hard links to one file are one file, also to the watch.
    await box.exec(
        [
            "sh",
            "-c",
            "head -c 60000000 /dev/zero > /srv/f; for i in 1 2 3 4 5 6; do "
            "ln /srv/f /srv/$i; done; sleep 3",
        ]
    )
    assert (await box.exec(["echo", "on"])).stdout == b"on\n"
    assert 50 < (await box.usage()).disk_mb < 70


# --- the filter and the page -----------------------------------------------------------------


def numbers_of(header, prefix):
    text = Path(header).read_text()
    return {name: int(value) for name, value in re.findall(prefix + r"(\w+)\s+(\d+)\b", text)}


@pytest.mark.parametrize(
    ("column", "header", "prefix"),
    [
        (0, "/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "#define __NR_"),
        (1, "/usr/include/asm-generic/unistd.h", "#define __NR(?:3264)?_"),
    ],
)
def test_call_numbers_are_the_kernels(column, header, prefix):
    if not Path(header).exists():
        pytest.skip("no kernel headers (apt-get install -y linux-libc-dev)")
    known = numbers_of(header, prefix)
    tables = {**seccomp.REFUSED, **probing._NUMBERS}
    named = {name: numbers[column] for name, numbers in tables.items()}
    # Younger than the headers of some distributions.
    named = {name: number for name, number in named.items() if name in known or number is None}
    assert {name: number for name, number in named.items() if number is not None} == {
        name: known[name] for name, number in named.items() if number is not None
    }
    assert len(named) > 60


def test_the_page_lists_every_attack():
    page = Path(__file__).parents[2] / "docs/isolation.md"
    assert table() in page.read_text(), "put agentgym.testing.attacks.table() into the page"


@pytest.mark.parametrize(("provider", "name"), [("bubblewrap", "dsk"), ("bubblewrp", "disk")])
def test_an_unknown_name_is_an_error(provider, name):
    command = [sys.executable, "-m", "agentgym.testing.attacks", provider, name]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1
