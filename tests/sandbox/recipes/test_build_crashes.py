"""Builds that are killed, meet each other, run out of disk, or are done by an ordinary user."""

from __future__ import annotations

import asyncio
import os
import pwd
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tiny_images import content, files_of

from agentgym.errors import MissingExtraError, SandboxError
from agentgym.sandbox.build import worker
from agentgym.sandbox.build.builder import Builds, remove_leftovers, run_builds
from agentgym.sandbox.images import ImageLayout, find_image
from agentgym.sandbox.recipe import load_plan

BUILD = [sys.executable, "-c", "from agentgym.cli import main; main()", "sandbox", "build"]
STEPS = 'base = "tiny"\nrun = [\n' + "".join(
    f'  "echo {n} >> /log; head -c 3000000 /dev/zero > /big{n}",\n' for n in range(4)
)
STEPS += "]\n"


def start(*names: str, **options) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*BUILD, *names], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options
    )


def children_in(folder: Path) -> list[int]:
    """The processes whose working directory is below a folder."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if os.readlink(entry / "cwd").startswith(str(folder)):
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def wait_until_gone(folder: Path) -> None:
    deadline = time.monotonic() + 20
    while left := children_in(folder):
        assert time.monotonic() < deadline, left
        time.sleep(0.02)


def test_a_build_killed_at_any_moment_goes_on(tiny, built):
    tiny("long", STEPS)
    root = ImageLayout().root
    seed = random.randrange(2**32)
    print("seed", seed)
    moments = random.Random(seed)
    finished = set()
    for _ in range(6):
        process = start("long")
        time.sleep(moments.uniform(0.6, 2.2))
        process.kill()
        process.communicate(timeout=30)
        wait_until_gone(root)
        assert str(root) not in Path("/proc/self/mounts").read_text()
        steps = set(os.listdir(root / "steps")) if root.exists() else set()
        # What was finished stays finished, and is whole.
        assert finished <= steps
        finished = steps
        for step in steps:
            layers, _ = ImageLayout().layers_of(step.removesuffix(".json"))
            assert all(layer.path.stat().st_size for layer in layers)
    image = built("long")
    told = "\n".join(built.told)
    assert told.count("(cached)") == len(finished) or image.name and not built.told
    assert content(image, "log") == b"0\n1\n2\n3\n"
    if not built.told:  # The last one was killed after its image was complete, so no build swept.
        remove_leftovers(tell=print)


def test_what_a_killed_build_left_is_swept(tiny, built, tmp_path):
    tiny("slow", 'base = "tiny"\nrun = ["echo 1 > /one", "touch /begun; sleep 60"]\n')
    root = ImageLayout().root
    with start("slow") as process:
        deadline = time.monotonic() + 30
        while not list((root / "tmp").glob("build/u*/begun")):
            assert time.monotonic() < deadline and process.poll() is None
            time.sleep(0.02)
        process.kill()
        process.communicate(timeout=30)
    wait_until_gone(root)
    assert os.listdir(root / "tmp") == ["build"]
    assert str(root) not in Path("/proc/self/mounts").read_text()
    shutil.copytree(root / "tmp/build", tmp_path / "left")
    remove_leftovers(tell=print)
    assert os.listdir(root / "tmp") == []
    (tmp_path / "left").rename(root / "tmp/build")
    tiny("slow", 'base = "tiny"\nrun = ["echo 1 > /one", "echo 2 > /two"]\n')
    built("slow")
    assert sum("(cached)" in line for line in built.told) == 2


def test_an_interrupted_build_cleans_up_itself(tiny):
    tiny("slow", 'base = "tiny"\nrun = ["touch /begun; sleep 60"]\n')
    root = ImageLayout().root
    with start("slow", start_new_session=True) as process:
        deadline = time.monotonic() + 30
        while not list((root / "tmp").glob("build/u*/begun")):
            assert time.monotonic() < deadline and process.poll() is None
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGINT)
        process.communicate(timeout=30)
    assert process.returncode == 130
    assert os.listdir(root / "tmp") == []
    assert children_in(root) == []


def test_two_builders_at_once_build_once(tiny):
    recipe = 'base = "tiny"\nrun = ["sleep 1; cat /proc/sys/kernel/random/uuid > /id"]\n'
    tiny("both", recipe)
    with start("both") as one, start("both") as two:
        told = [one.communicate(timeout=60)[0], two.communicate(timeout=60)[0]]
    assert [one.returncode, two.returncode] == [0, 0], told
    assert sum("run sleep 1" in text and "(cached)" not in text for text in told) == 1
    assert sum("waiting for another build" in text for text in told) <= 1
    image = find_image(load_plan("both").name)
    assert image is not None and len(content(image, "id")) == 37
    assert len(list((ImageLayout().root / "steps").iterdir())) == 2


def test_a_full_disk_is_said_and_nothing_is_left(tiny, tmp_path):
    tiny("large", 'base = "tiny"\nrun = ["head -c 60000000 /dev/zero > /large"]\n')
    cache = tmp_path / "small"
    cache.mkdir()
    script = (
        'mount -t tmpfs -o size=40m tmpfs "$1" && shift && "$@"; status=$?; '
        'ls -A "$AGENTGYM_CACHE/images/tmp"; exit $status'
    )
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script, "sh", str(cache), *BUILD, "large"],
        env={**os.environ, "AGENTGYM_CACHE": str(cache)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert "No space left on device" in done.stderr
    assert "recipe.toml:4" in done.stderr
    assert done.stdout == ""


def test_a_step_that_takes_too_long_is_ended(tiny, built, monkeypatch):
    monkeypatch.setattr("agentgym.sandbox.build.builder.STEP_S", 1.0)
    tiny("hangs", 'base = "tiny"\nrun = ["echo going; sleep 600"]\n')
    with pytest.raises(SandboxError, match=r"took longer than 1 s\n    going"):
        built("hangs")
    assert children_in(ImageLayout().root) == []


def test_what_a_step_leaves_running_ends_with_it(tiny, built):
    tiny("daemon", 'base = "tiny"\nrun = ["sleep 600 > /dev/null 2>&1 & echo $! > /pid"]\n')
    built("daemon")
    assert children_in(ImageLayout().root) == []


# --- an ordinary user ------------------------------------------------------------------------


def test_without_a_range_of_ids_the_user_is_told_what_to_do(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 65534)
    monkeypatch.setattr(worker, "_has_range", lambda path, user: False)
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    name = pwd.getpwuid(65534).pw_name
    with pytest.raises(SandboxError, match=f"usermod --add-subuids .* {name}, or build as root"):
        worker.as_root()
    monkeypatch.setattr(os, "geteuid", lambda: 1_879_000_001)  # as in a container: no account
    with pytest.raises(SandboxError, match="user '1879000001' has no range"):
        worker.as_root()
    monkeypatch.setattr(shutil, "which", lambda name: None if name == "newuidmap" else name)
    with pytest.raises(MissingExtraError, match="apt-get install uidmap"):
        worker.as_root()


AS_NOBODY = """
mount --bind "$1" /etc/subuid && mount --bind "$1" /etc/subgid && shift &&
exec setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
"""


def python_for_everybody() -> str:
    """A Python of our version that user 65534 may run."""
    say = "import sys; print(sys.version_info[:2])"
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "sh", "-c"]
    for path in (sys.executable, "/usr/bin/python3"):
        command = [*nobody, f"exec {path} -c '{say}'"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.stdout.strip() == str(sys.version_info[:2]):
            return path
    pytest.skip(f"no Python {sys.version_info[:2]} that an ordinary user may run")


def test_an_ordinary_user_builds_the_same(tiny, built, tmp_path, tiny_archive):
    if os.geteuid() != 0:
        pytest.skip("the other tests already ran as an ordinary user")
    if shutil.which("newuidmap") is None:
        pytest.skip("newuidmap is not installed (apt-get install uidmap)")
    python = python_for_everybody()
    recipe = (
        'base = "tiny"\nrun = ["touch /own && chown app:extra /own", "rm -r /home; id > /id", '
        '"mkdir -m 700 /shut && touch /shut/in && chown app /shut"]\n'
    )
    tiny("plain", recipe)
    home = Path(f"/var/tmp/agentgym-builder-{os.getpid()}")
    shutil.copytree(tmp_path / "catalogue", home / "catalogue")
    ranges = home / "ranges"
    ranges.write_text(f"{pwd.getpwuid(65534).pw_name}:500000:65536\n")
    subprocess.run(["chown", "-R", "65534:65534", home / "catalogue", home], check=True)
    paths = [str(Path(worker.__file__).parents[3]), *(p for p in sys.path if "site-packages" in p)]
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "PYTHONPATH": ":".join(paths),
        "AGENTGYM_PATH": str(home / "catalogue"),
        "AGENTGYM_CACHE": str(home / "cache"),
    }
    try:
        done = subprocess.run(
            ["unshare", "-m", "sh", "-c", AS_NOBODY, "sh", ranges, python, *BUILD[1:], "plain"],
            env=env, cwd="/", capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        image = ImageLayout(home / "cache/images").find(load_plan("plain").name)
        assert image is not None
        files, expected = files_of(image, 1), files_of(built("plain"), 1)
        assert {n: (f.mode, f.uid, f.gid) for n, f in files.items()} == {
            n: (f.mode, f.uid, f.gid) for n, f in expected.items()
        }
        assert (files["own"].uid, files["own"].gid) == (1000, 2000)
        assert os.listdir(home / "cache/images/tmp") == []
    finally:
        subprocess.run(["rm", "-rf", str(home)], check=True)


async def test_a_cancelled_build_ends_its_step_and_goes_on_later(tiny, built):
    tiny("slow", 'base = "tiny"\nrun = ["touch /a", "touch /b; sleep 300"]\n')
    began, running = time.monotonic(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def work(builds: Builds) -> None:
        loop.call_soon_threadsafe(running.set)
        with pytest.raises(SandboxError, match="the build was stopped"):
            builds.build(load_plan("slow"))
        assert builds.stopped

    building = asyncio.create_task(run_builds(work))
    await running.wait()
    while not list(ImageLayout().root.glob("steps/*")):
        await asyncio.sleep(0.05)
    await asyncio.sleep(0.5)
    building.cancel()
    with pytest.raises(asyncio.CancelledError):
        await building
    assert time.monotonic() - began < 60
    assert not children_in(ImageLayout().root)
    assert os.listdir(ImageLayout().root / "tmp") == []
    tiny("slow", 'base = "tiny"\nrun = ["touch /a", "touch /b"]\n')
    assert "b" in files_of(built("slow"), 2)
