"""Holes in a guest's files cost nothing until Docker copies the files, so they are bounded."""

from __future__ import annotations

import asyncio
import io
import json
import os
import tarfile
import threading
import time

import docker
import pytest

from agentgym.errors import SandboxError
from agentgym.records import Limits, Recipe
from agentgym.sandbox.docker import guest
from agentgym.sandbox.docker.allowance import Allowance, Watched
from agentgym.sandbox.docker.layer import pack, write_image
from agentgym.sandbox.docker.provider import DockerProvider
from agentgym.sandbox.layers.size import size

MB = 1 << 20


def sparse(path, size):
    with path.open("wb") as file:
        file.truncate(size)


def packed(folder, allowance):
    allowance.measure(str(folder))
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        pack(str(folder), archive, allowance=allowance)
    buffer.seek(0)
    with tarfile.open(fileobj=buffer) as archive:
        return {member.name: member.size for member in archive}


def test_files_that_do_not_fit_are_empty_and_told(tmp_path):
    for number in range(4):
        sparse(tmp_path / f"f{number}", 3 * MB)
    (tmp_path / "small").write_text("kept")
    allowance = Allowance(10 * MB)
    assert packed(tmp_path, allowance) == {
        "f0": 3 * MB,
        "f1": 3 * MB,
        "f2": 3 * MB,
        "f3": 0,
        "small": 4,
    }
    assert allowance.left_out == ["f3"]


def test_the_largest_files_are_the_ones_that_do_not_fit(tmp_path):
    for name, megabytes in {"a": 9, "b": 5, "c/d": 6, "e": 5, "z/y": 1, "z/z": 4}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        sparse(tmp_path / name, megabytes * MB)
    os.link(tmp_path / "a", tmp_path / "second")
    allowance = Allowance(12 * MB)
    kept = packed(tmp_path, allowance)
    assert {name for name, size in kept.items() if size} == {"b", "z/y", "z/z"}
    assert sorted(allowance.left_out) == ["a", "c/d", "e"]


def test_a_file_with_two_names_counts_once(tmp_path):
    sparse(tmp_path / "a", 3 * MB)
    os.link(tmp_path / "a", tmp_path / "b")
    allowance = Allowance(4 * MB)
    assert packed(tmp_path, allowance)["a"] == 3 * MB
    assert allowance.left_out == []


def test_a_layer_for_which_nobody_waits_is_left(tmp_path):
    sparse(tmp_path / "a", 3 * MB)
    stopped = threading.Event()
    stopped.set()
    with pytest.raises(SandboxError, match="stopped"):
        packed(tmp_path, Allowance(10 * MB, stopped.is_set))


def test_the_measure_counts_holes_where_asked(tmp_path):
    sparse(tmp_path / "a", 50 * MB)
    assert size(str(tmp_path)) < MB
    assert 50 * MB <= size(str(tmp_path), apparent=True) < 51 * MB


def test_an_archive_that_waits_for_the_daemon_keeps_the_holes(tmp_path):
    from datetime import UTC, datetime

    source = tmp_path / "layer"
    source.mkdir()
    sparse(source / "a", 50 * MB)
    (source / "b").write_text("after the hole")
    with (tmp_path / "image.tar").open("w+b") as file:
        write_image(
            file, [], [lambda t: pack(str(source), t)], labels={}, created=datetime.now(UTC)
        )
        assert os.fstat(file.fileno()).st_blocks * 512 < 2 * MB
        with tarfile.open(fileobj=file) as image:
            layer = image.extractfile("layer-0.tar")
            assert layer is not None
            with tarfile.open(fileobj=layer) as inner:
                assert {one.name: one.size for one in inner} == {"a": 50 * MB, "b": 14}
            config = json.load(image.extractfile("config.json"))
    assert config["rootfs"]["diff_ids"][0].startswith("sha256:")


@pytest.mark.docker
async def test_a_seal_takes_no_more_than_the_disk_limit(docker_root, caplog):
    provider = DockerProvider(docker_root)
    try:
        box = await provider.start(Recipe("host", limits=Limits(disk_mb=32)))
        seen = docker.from_env().api.inspect_container(box._container)
        assert seen["HostConfig"]["LogConfig"]["Config"] == {"max-size": "1m", "max-file": "1"}
        # At once, before the watch over the disk looks.
        script = "echo x > /root/z; truncate -s 30M $(seq -f /root/f%g 1 60)"
        assert (await box.exec(["/bin/sh", "-c", script])).exit_code == 0
        snapshot = await box.seal()
        assert "59 of them are kept empty" in caplog.text
        tree = await provider.open_tree(snapshot)
        sizes = [tree.stat(f"/root/f{number}").size for number in range(1, 61)]
        assert sorted(set(sizes)) == [0, 30 * MB] and sizes.count(30 * MB) == 1
        assert tree.read("/root/z") == b"x\n"
        await provider.discard(snapshot)
    finally:
        await provider.close()


@pytest.mark.docker
@pytest.mark.parametrize("late", ["copying", "loading"])
async def test_a_seal_that_takes_too_long_keeps_the_small_files(
    docker_root, caplog, monkeypatch, late
):
    """Two agents that wrote gigabytes each had no score, because neither was sealed in time."""
    provider = DockerProvider(docker_root)
    read, waits = Watched.read, {"copying": 60 * MB, "loading": 64 << 10}

    def slowly(file, size=-1):
        found = read(file, size)
        if isinstance(file._file.name, int) is (late == "loading"):
            time.sleep(len(found) / waits[late])
        return found

    try:
        box = await provider.start(Recipe("host", limits=Limits(disk_mb=512)))
        script = "echo x > /root/z; head -c 200M /dev/zero > /root/large; echo y > /root/a"
        assert (await box.exec(["/bin/sh", "-c", script])).exit_code == 0
        monkeypatch.setattr(guest, "_WHOLE_S", 1.5)
        monkeypatch.setattr(guest, "_REDUCED_BYTES", MB)
        monkeypatch.setattr(Watched, "read", slowly)
        snapshot = await box.seal()
        assert "were not copied within 1.5 s" in caplog.text
        tree = await provider.open_tree(snapshot)
        assert tree.stat("/root/large").size == 0
        assert (tree.read("/root/z"), tree.read("/root/a")) == (b"x\n", b"y\n")
        await provider.discard(snapshot)
        label = f"agentgym.owner={provider._store.owner}"
        for _ in range(100):
            if not docker.from_env().api.images(filters={"label": label, "dangling": True}):
                break
            await asyncio.sleep(0.1)
        else:
            pytest.fail("the image of the copy that took too long is left")
    finally:
        await provider.close()
