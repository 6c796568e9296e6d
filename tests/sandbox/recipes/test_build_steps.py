"""Plans that are built for real, over a root of a few programs."""

from __future__ import annotations

import gzip
import json
import os
import tarfile

import pytest
from tiny_images import add, content, digest, files_of, tiny_tar, write_docker_save

from agentgym.errors import SandboxError
from agentgym.sandbox.build.builder import Builds
from agentgym.sandbox.build.worker import Worker
from agentgym.sandbox.images import ImageLayout, all_images, find_image, prune
from agentgym.sandbox.recipe import load_plan, load_recipe

TASK_DOCKERFILE = """\
# syntax=docker/dockerfile:1
FROM tiny
ARG VERSION=3
ENV APP_HOME=/srv/app \\
    # a comment between the lines
    PATH=/srv/bin:$PATH
WORKDIR $APP_HOME
RUN mkdir -p data && \\
    echo "version $VERSION in $PWD as $(id -un)" > built.txt

COPY --chown=app:app main.sh notes* ./
COPY tree /srv/tree
RUN ["/bin/sh", "-c", "echo exec $VERSION $FROM_BASE > /exec.txt"]
RUN <<END
echo "one $PATH" > /heredoc.txt
END
RUN cat > /more.txt <<END && chmod 600 /more.txt
body $VERSION
END
USER app
RUN echo "$(id -un) $(id -G) $HOME" > /home/app/who.txt
EXPOSE 8080
CMD ["sh", "main.sh"]
"""


FILE = '[[files]]\nsource = "{0}"\ntarget = "/{0}"\n'


def test_a_dockerfile_of_the_kind_that_tasks_have(tiny, built):
    folder = tiny("task", 'dockerfile = "Dockerfile"\n', Dockerfile=TASK_DOCKERFILE)
    (folder / "main.sh").write_text("echo hi\n")
    (folder / "main.sh").chmod(0o750)
    (folder / "notes.txt").write_text("n\n")
    (folder / "notes.bak").write_text("left out\n")
    (folder / ".dockerignore").write_text("*.bak\ntree/**/*.log\n!tree/a/kept.log\n")
    (folder / "tree/a").mkdir(parents=True)
    for name in ("a/kept.log", "a/other.log", "b.txt"):
        (folder / "tree" / name).write_text(name)
    (folder / "tree/link").symlink_to("b.txt")

    image = built("task")

    files = files_of(image, first=1)
    assert content(image, "srv/app/built.txt") == b"version 3 in /srv/app as root\n"
    assert content(image, "exec.txt") == b"exec 3 yes\n"
    assert content(image, "heredoc.txt") == b"one /srv/bin:/opt/bin:/usr/bin:/bin\n"
    assert content(image, "more.txt") == b"body 3\n"
    assert files["more.txt"].mode == 0o600
    assert content(image, "home/app/who.txt") == b"app 1000 2000 /home/app\n"
    main = files["srv/app/main.sh"]
    assert (main.mode, main.uid, main.gid) == (0o750, 1000, 1000)
    assert "srv/app/notes.txt" in files and "srv/app/notes.bak" not in files
    assert files["srv/tree/link"].linkname == "b.txt"
    assert "srv/tree/a/kept.log" in files and "srv/tree/a/other.log" not in files
    assert image.config["Env"] == [
        "PATH=/srv/bin:/opt/bin:/usr/bin:/bin",
        "FROM_BASE=yes",
        "APP_HOME=/srv/app",
    ]
    assert image.config["Cmd"] == ["sh", "main.sh"]
    recipe = load_recipe("task")
    assert (recipe.user, recipe.workdir, recipe.ports) == ("app", "/srv/app", (8080,))
    assert recipe.env["APP_HOME"] == "/srv/app"


def test_nothing_of_the_host_stays_in_a_layer(tiny, built):
    tiny("quiet", 'base = "tiny"\nrun = ["cat /etc/resolv.conf > /seen", "ls /run > /run.txt"]\n')
    image = built("quiet")
    with open("/etc/resolv.conf", "rb") as file:
        assert content(image, "seen") == file.read()
    own = files_of(image, first=1)
    assert {name for name, member in own.items() if not member.isdir()} == {"seen", "run.txt"}
    assert not {name for name in own if name.split("/")[0] in ("dev", "proc", "sys", "run")}
    assert content(image, "etc/resolv.conf") == b""


ATTEMPTS = (
    "echo 1 > /proc/sys/kernel/core_pattern",
    "echo h > /proc/sysrq-trigger",
    "ls /dev | grep -E '^(vd|sd|nvme|kmsg|mem)'",
    "test -e /run/docker.sock",
    "ls /proc/1/root/boot",
    "chmod 606 /dev/null",
    "mknod /dev/disk b 254 0",
    "mknod /disk b 254 0",
    "mount -t tmpfs x /root",
)


def test_a_step_may_not_touch_the_host(tiny, built):
    lines = [f"if ({each}) 2>&1; then echo '{each[:9]}' >> /done; fi" for each in ATTEMPTS]
    script = "\n".join(["touch /done", *lines, "echo ok > /dev/null"])
    folder = tiny("nosy", 'base = "tiny"\nrun = ["sh /nosy.sh"]\n' + FILE.format("nosy.sh"))
    (folder / "nosy.sh").write_text(script)
    before = os.stat("/dev/null").st_mode
    try:
        assert content(built("nosy"), "done") == b""
        assert os.stat("/dev/null").st_mode == before
    finally:
        os.chmod("/dev/null", 0o666)


def test_finished_steps_are_not_run_again(tiny, built):
    folder = tiny(
        "steps",
        'base = "tiny"\nrun = ["echo a > /a", "cat /in > /b"]\n'
        '[[files]]\nsource = "in"\ntarget = "/in"\nmode = "0640"\nowner = "app"\n',
    )
    (folder / "in").write_text("first")
    first = built("steps")
    assert not any("(cached)" in line for line in built.told if "steps" in line)
    assert built("steps") == first and built.told == []
    (folder / "in").write_text("second")
    second = built("steps")
    assert second.name != first.name
    assert [line.split()[-1] for line in built.told if line.startswith("[")] == [
        "(cached)",  # the archive
        "in",
        "/a",
        "/b",
    ]
    assert content(second, "b") == b"second"
    member = files_of(second)["in"]
    assert (member.mode, member.uid, member.gid) == (0o640, 1000, 1000)
    assert find_image(first.name) == first


def test_a_failed_step_says_where_and_what_it_printed(tiny, built):
    tiny(
        "broken", 'base = "tiny"\nrun = [\n  "true",\n  "echo before; ls /nowhere || exit 7",\n]\n'
    )
    with pytest.raises(SandboxError) as caught:
        built("broken")
    message = str(caught.value)
    assert message.startswith("catalogue/sandboxes/broken/recipe.toml:6: run echo before;")
    assert "exit code 7" in message and "before\n" in message and "/nowhere" in message
    assert all_images() == []
    # The step before it is not run again.
    tiny("broken", 'base = "tiny"\nrun = [\n  "true",\n  "echo mended",\n]\n')
    built("broken")
    assert [line for line in built.told if "(cached)" in line] == [
        "[1/3] archive tiny.tar  (cached)",
        "[2/3] run true  (cached)",
    ]


def test_deleted_and_replaced_files_are_gone(tiny, built):
    tiny(
        "less",
        'base = "tiny"\nrun = ["mkdir /d && touch /d/x /d/y && ln /d/x /d/z", '
        '"rm /d/x && rm -r /home && mkdir /home && touch /home/new", "ls /d /home > /left"]\n',
    )
    image = built("less")
    assert content(image, "left") == b"/d:\ny\nz\n\n/home:\nnew\n"
    names = set(files_of(image))
    assert "d/x" not in names and "home/app" not in names
    assert {"d/y", "d/z", "home/new"} <= names


def test_users_and_folders_of_a_recipe(tiny, built):
    tiny("who", 'base = "tiny"\nuser = "app"\nworkdir = "/srv/deep/er"\n[env]\nA = "$HOME \'x\'"\n')
    assert load_recipe("who").workdir == "/srv/deep/er"
    image = built("who")
    assert files_of(image)["srv/deep/er"].isdir()
    assert image.config["User"] == "app"
    assert "A=$HOME 'x'" in image.config["Env"]
    tiny("child", 'base = "who"\n')
    assert built("child") == image
    assert load_recipe("child").user == "app"


def test_an_account_that_is_not_there_is_named(tiny, built):
    folder = tiny(
        "owner", 'base = "tiny"\n[[files]]\nsource = "x"\ntarget = "/x"\nowner = "nobdy"\n'
    )
    (folder / "x").touch()
    with pytest.raises(SandboxError, match="no user 'nobdy' in the image's /etc/passwd"):
        built("owner")


def test_from_scratch_and_links_that_lead_out(tiny, built, tmp_path):
    victim = tmp_path / "victim"
    victim.mkdir()
    text = f"FROM scratch\nCOPY links/ /a/\nCOPY data /a/out/stolen\nCOPY data /a/up/\n# {victim}"
    folder = tiny("bare", 'dockerfile = "Dockerfile"\n', Dockerfile=text, data="mine")
    (folder / "links").mkdir()
    (folder / "links/out").symlink_to(victim)
    (folder / "links/up").symlink_to("../../../../../../../.." + str(victim))
    image = built("bare")
    assert list(victim.iterdir()) == []
    assert f"{str(victim).lstrip('/')}/stolen" in files_of(image)


def test_a_layer_of_somebody_else_cannot_lead_out(tiny, built, tmp_path):
    evil = tmp_path / "evil.tar"
    with tarfile.open(evil, "w") as archive:
        link = tarfile.TarInfo("way")
        link.type, link.linkname = tarfile.SYMTYPE, str(tmp_path)
        archive.addfile(link)
        add(archive, "way/planted", b"!")
        add(archive, "../../../../../../planted", b"!")
        add(archive, f"/{str(tmp_path).lstrip('/')}/planted2", b"!")
    folder = tiny("evil", 'archive = "image.tar"\nrun = ["true"]\n')
    write_docker_save(folder / "image.tar", [tiny_tar(), evil.read_bytes()], {})
    built("evil")
    assert not list(tmp_path.rglob("planted*"))


def test_images_are_removed_with_what_only_they_need(tiny, built):
    tiny("one", 'base = "tiny"\nrun = ["head -c 300000 /dev/zero > /one"]\n')
    tiny("two", 'base = "tiny"\nrun = ["echo two > /two"]\n')
    one, two = built("one"), built("two")
    assert {image.name for image in all_images()} == {one.name, two.name}
    assert prune([two.name]) > 300_000
    assert all_images() == [two] and all(layer.path.exists() for layer in two.layers)
    assert find_image(one.name) is None
    prune(())
    assert all_images() == [] and not list(two.layers[0].path.parent.iterdir())
    assert built("one").layers == one.layers[:1] + built("one").layers[1:]


def test_an_image_that_lost_a_layer_is_not_whole(tiny, built):
    tiny("lost", 'base = "tiny"\nrun = ["echo x > /x"]\n')
    image = built("lost")
    image.layers[-1].path.unlink()
    assert find_image(image.name) is None
    assert content(built("lost"), "x") == b"x\n"


def test_a_build_without_cache_runs_everything(tiny, built):
    tiny("again", 'base = "tiny"\nrun = ["echo x > /x"]\n')
    first = built("again")
    again = built("again", use_cache=False)
    assert again.name == first.name
    assert not any("cached" in line for line in built.told)


def test_docker_save_archives(tiny, built):
    root = tiny_tar()
    folder = tiny("saved", 'archive = "saved.tar"\nrun = ["cat /etc/passwd > /p"]\n')
    write_docker_save(folder / "saved.tar", [root], {"User": "app", "Env": ["X=1"]})
    image = built("saved")
    assert image.layers[0].diff_id == digest(root)
    assert load_recipe("saved").user == "app" and load_recipe("saved").env == {"X": "1"}


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda path: path.write_bytes(b"no tar at all"), "is not an image archive, or damaged"),
        (lambda path: _write_tar(path, {"hello": b"x"}), "has neither index.json nor manifest"),
        (lambda path: _write_tar(path, {"index.json": b'{"manifests": 3}'}), "or damaged"),
        (lambda path: _write_tar(path, {"index.json": b'{"manifests": ["x"]}'}), "or damaged"),
        (lambda path: _write_tar(path, {"index.json": b"[" * 100_000}), "or damaged"),
        (lambda path: _write_tar(path, {"index.json": b"[" + b"[]," * 900_000}), "more values"),
        (lambda path: path.write_bytes(_with_long_header(2 << 20)), "a header of 2097152 bytes"),
    ],
)
def test_archives_that_are_none(tiny, built, damage, said):
    folder = tiny("bad", 'archive = "bad.tar"\n')
    damage(folder / "bad.tar")
    with pytest.raises(SandboxError, match=said) as caught:
        built("bad")
    assert "sandboxes/bad/recipe.toml:3: " in str(caught.value)


def test_a_blob_that_is_not_what_its_name_says(tiny, built, tiny_archive):
    folder = tiny("forged", 'archive = "forged.tar"\n')
    with tarfile.open(tiny_archive) as source, tarfile.open(folder / "forged.tar", "w") as target:
        for member in source:
            data = source.extractfile(member).read()
            if member.size > 1_000_000:
                data = data[:-1] + b"\1"
            add(target, member.name, data)
    with pytest.raises(SandboxError, match="the content of sha256:[0-9a-f]+ is another"):
        built("forged")


def test_a_saved_image_takes_no_file_of_this_machine(tiny, built, tmp_path):
    other = tmp_path / "backup.tar.gz"
    other.write_bytes(gzip.compress(tiny_tar()))
    image = {"config": {}, "rootfs": {"type": "layers", "diff_ids": [digest(tiny_tar())]}}
    manifest = [{"Config": "c.json", "Layers": [str(other)]}]
    folder = tiny("thief", 'archive = "image.tar"\n')
    files = {"manifest.json": json.dumps(manifest), "c.json": json.dumps(image)}
    _write_tar(folder / "image.tar", {name: text.encode() for name, text in files.items()})
    with pytest.raises(SandboxError, match="backup.tar.gz is no file of the archive"):
        built("thief")


def _with_long_header(size):
    header = tarfile.TarInfo("long")
    header.type, header.size = tarfile.XHDTYPE, size
    return header.tobuf(tarfile.USTAR_FORMAT) + bytes(size + 1024)


def _write_tar(path, files):
    with tarfile.open(path, "w") as archive:
        for name, data in files.items():
            add(archive, name, data)


def test_a_plan_is_not_built_before_it_is_asked_for(tiny):
    tiny("lazy", 'base = "tiny"\nrun = ["true"]\n')
    recipe = load_recipe("lazy")
    assert recipe.image == load_plan("lazy").name
    assert find_image(recipe.image) is None


def test_steps_that_change_nothing_leave_no_layer(tiny, built):
    tiny("idle", 'base = "tiny"\nrun = ["true", "true", "true", "echo x > /x", "true"]\n')
    image = built("idle")
    assert len(image.layers) == 2
    assert content(image, "x") == b"x\n"
    tiny("idle", 'base = "tiny"\nrun = ["true", "true", "true", "echo x > /x", "rm /x"]\n')
    assert "x" not in files_of(built("idle"))


def test_the_same_layer_may_come_twice(tiny, built):
    copy = "COPY f /f\n"
    text = f"FROM tiny\n{copy}RUN rm /f\n{copy}RUN cat /f > /g\n"
    image = built(tiny("twice", 'dockerfile = "Dockerfile"\n', Dockerfile=text, f="1").name)
    assert image.layers[1] == image.layers[3]
    assert content(image, "g") == b"1"


def test_builds_one_after_the_other_share_what_they_unpack(tiny, built, monkeypatch):
    unpacked = []
    call = Worker.call

    def noting(worker, op, **arguments):
        unpacked.extend([arguments["folder"]] if op == "unpack" else [])
        return call(worker, op, **arguments)

    for name in ("one", "two"):
        tiny(name, f'base = "tiny"\nrun = ["echo {name} > /{name}.txt"]\n')
    built("tiny")
    monkeypatch.setattr(Worker, "call", noting)
    with Builds(print) as builds:
        images = [builds.build(load_plan(name)) for name in ("one", "two")]
        with pytest.raises(SandboxError, match="exit code 3"):
            tiny("broken", 'base = "tiny"\nrun = ["exit 3"]\n')
            builds.build(load_plan("broken"))
    assert len(unpacked) == 1
    assert [
        content(image, f"{n}.txt") for n, image in zip(("one", "two"), images, strict=True)
    ] == [
        b"one\n",
        b"two\n",
    ]
    assert list((ImageLayout().root / "tmp").iterdir()) == []
