"""The shell surface over a real sandbox."""

import re

import pytest

from agentgym.errors import ConfigError
from agentgym.protocols import SurfaceContext
from agentgym.records import Action, Effect, Limits, Recipe, SurfaceConfig
from agentgym.sandbox.bubblewrap import BubblewrapProvider
from agentgym.surfaces.shell import ShellKind
from agentgym.testing.surface import CHECKS


@pytest.fixture
async def sandbox(tmp_path):
    provider = BubblewrapProvider(tmp_path)
    yield await provider.start(Recipe("host", limits=Limits(output_bytes=4096)))
    await provider.close()


@pytest.fixture
async def call(sandbox):
    """Call a tool of an open shell surface."""
    surface = await ShellKind().attach(SurfaceContext(sandbox))

    async def call(tool, **arguments):
        return await surface.call(Action(tool, arguments))

    yield call
    await surface.close()


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_contract(check, sandbox):
    await check(ShellKind(), SurfaceContext(sandbox))


def test_the_limit_on_text_follows_that_on_output():
    little, much = (
        ShellKind(SurfaceConfig(output_bytes=shown)).limits for shown in (1_024, 65_536)
    )
    # 32,000 characters of a file, or bytes that are each shown as U+FFFD.
    assert 4 * 32_000 <= little.text_bytes < 4 * 32_000 + 10_000
    assert 3 * 65_536 <= much.text_bytes < 3 * 65_536 + 10_000
    assert not much.pictures


async def test_what_a_command_says_and_how_it_ends(call):
    seen = await call("bash", command="echo out; echo err >&2")
    assert (seen.text, seen.effect) == ("out\nerr\n", Effect.CHANGED)
    assert seen.data == {
        "exit_code": 0, "cwd": "/root", "timed_out": False, "restarted": False, "omitted_bytes": 0,
    }  # fmt: skip
    seen = await call("bash", command="printf no-newline; false")
    assert (seen.text, seen.effect) == ("no-newline\n[exit code 1]", Effect.ERROR)


async def test_a_hanging_command_is_interrupted_and_said_so(call):
    await call("bash", command="cd /tmp; X=1")
    seen = await call("bash", command="sleep 60", timeout_s=0.3)
    assert seen.effect is Effect.TIMEOUT and "interrupted after 0.3 s" in seen.text
    assert (await call("bash", command="echo $X; pwd")).text == "1\n/tmp\n"


async def test_a_session_that_ends_is_replaced_and_said_so(call):
    seen = await call("bash", command="cd /opt; exit 4")
    assert "the shell ended with code 4; a new session starts in" in seen.text
    assert (await call("bash", command="echo fine")).text == "fine\n"


async def test_bytes_that_are_no_text_become_marks(call):
    seen = await call("bash", command=r"printf 'a\377b\000c\303\251'")
    assert seen.text == "a\ufffdb\u2400cé"


async def test_long_output_keeps_head_and_tail(call):
    seen = await call("bash", command="echo first; seq 100000; echo last")
    assert seen.text.startswith("first\n") and seen.text.endswith("last\n")
    assert "bytes omitted" in seen.text and len(seen.text) < 4300
    assert seen.data["omitted_bytes"] > 500_000


async def test_files_are_written_read_and_edited(call):
    assert (
        await call("write_file", path="/srv/new/a.txt", content="one\ntwo\nthree\nzwölf\n")
    ).effect
    assert (await call("read_file", path="/srv/new/a.txt")).text == "one\ntwo\nthree\nzwölf\n"
    part = await call("read_file", path="/srv/new/a.txt", offset=2, limit=2)
    assert part.text == "two\nthree\n\n[lines 2 to 3 of 4]"
    edit = await call("edit_file", path="/srv/new/a.txt", old="two\n", new="TWO\n")
    assert (edit.text, edit.effect) == ("replaced 1 occurrence in /srv/new/a.txt", Effect.CHANGED)
    await call("bash", command="cd /srv/new")
    assert (await call("read_file", path="a.txt", limit=2)).text.startswith("one\nTWO\n")


async def test_an_edit_must_be_unambiguous_and_keeps_the_mode(call):
    await call("bash", command="printf 'x\\nx\\n' > /srv/f; chmod 750 /srv/f")
    for old, expected in (("y", "does not occur"), ("x", "occurs 2 times")):
        seen = await call("edit_file", path="/srv/f", old=old, new="z")
        assert seen.effect is Effect.ERROR and expected in seen.text
    assert (await call("read_file", path="/srv/f")).text == "x\nx\n"
    seen = await call("edit_file", path="/srv/f", old="x", new="z", replace_all=True)
    assert seen.data["replaced"] == 2
    assert (await call("bash", command="stat -c %a /srv/f; cat /srv/f")).text == "750\nz\nz\n"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/absent", "No such file"),
        ("/tmp", "directory"),
        ("/dev/null", "not a regular file"),
        ("/usr/bin/true", "not UTF-8"),
    ],
)
async def test_what_cannot_be_read_is_an_observation(call, path, expected):
    seen = await call("read_file", path=path)
    assert seen.effect is Effect.ERROR and expected in seen.text, seen.text


async def test_what_cannot_be_written_is_an_observation(call):
    seen = await call("write_file", path="/usr/bin/x", content="")
    assert seen.effect is Effect.ERROR and "Read-only" in seen.text
    seen = await call("write_file", path="/etc/passwd/x", content="")
    assert seen.effect is Effect.ERROR and "/etc/passwd/x" in seen.text


async def test_a_session_can_be_moved_to_a_fork(call, sandbox):
    surface = await ShellKind().attach(SurfaceContext(sandbox))
    await surface.call(Action("bash", {"command": "cd /srv; export WORD=kept; echo x > f"}))
    state = await surface.save()
    fork = await sandbox.fork()
    moved = await ShellKind().attach(SurfaceContext(fork))
    await moved.load(state)
    seen = await moved.call(Action("bash", {"command": "echo $WORD; cat f; pwd"}))
    assert seen.text == "kept\nx\n/srv\n"
    await moved.close()
    await surface.close()
    await fork.close()


async def test_an_episode_begins_at_home_wherever_the_last_one_ended(sandbox):
    surface = await ShellKind().attach(SurfaceContext(sandbox))
    await surface.call(Action("bash", {"command": "cd /tmp"}))
    await surface.close()
    surface = await ShellKind().attach(SurfaceContext(sandbox))
    assert (await surface.call(Action("bash", {"command": "pwd"}))).text == "/root\n"
    await surface.close()


async def test_it_begins_where_the_recipe_says_and_again_so(tmp_path):
    provider = BubblewrapProvider(tmp_path)
    kind = ShellKind()
    for _ in range(2):
        sandbox = await provider.start(Recipe("host", workdir="/srv"))
        surface = await kind.attach(SurfaceContext(sandbox))
        assert (await surface.observe()).text == ""
        assert (await surface.call(Action("bash", {"command": "pwd"}))).text == "/srv\n"
        await surface.call(Action("write_file", {"path": "note", "content": "here"}))
        assert await sandbox.read_file("/srv/note") == b"here"
        await surface.call(Action("bash", {"command": "cd /var/log"}))
        await surface.close()
    await provider.close()


async def test_an_edit_cannot_grow_a_file_without_bound(call):
    await call("bash", command="head -c 1500 /dev/zero | tr '\\0' a > /srv/f")
    seen = await call("edit_file", path="/srv/f", old="a", new="é" * 10_000, replace_all=True)
    assert seen.effect is Effect.ERROR and "would make it 30000000 bytes" in seen.text
    assert (await call("bash", command="wc -c < /srv/f")).text == "1500\n"


async def test_a_path_may_be_deep_or_too_long_for_the_kernel(call):
    deep = "/srv" + "/d" * 1_000 + "/f"
    assert (await call("write_file", path=deep, content="x")).effect is Effect.CHANGED
    assert (await call("read_file", path=deep)).text == "x"
    for path in ("/srv" + "/d" * 200_000, "/" + "e" * 5_000):
        for tool, more in (("read_file", {}), ("write_file", {"content": "x"})):
            seen = await call(tool, path=path, **more)
            assert seen.effect is Effect.ERROR and "[cut: " in seen.text
            assert len(seen.text) < 2_100


async def test_what_has_no_end_is_not_read(call):
    await call("bash", command="mkfifo /tmp/fifo; truncate -s 9M /tmp/holes")
    for path in ("/tmp/fifo", "/tmp/holes", "/dev/zero", "/proc/kcore", "/proc/kmsg"):
        assert (await call("read_file", path=path)).effect is Effect.ERROR
    assert (await call("read_file", path="/etc/passwd", offset=10**300)).text.startswith("\n[lines")


def names(**options):
    return [tool.name for tool in ShellKind(SurfaceConfig(options=options)).tools()]


def test_the_option_tools_selects_tools():
    usual = ["bash", "read_file", "write_file", "edit_file"]
    assert names() == usual
    assert names(tools=["*"]) == [*usual, "search"]
    assert names(tools=["bash"]) == ["bash"]
    assert names(tools=["search", "*_file"]) == [*usual[1:], "search"]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"tools": ["bsh"]}, "'bsh' picks no tool; known: bash, "),
        ({"tools": "bash"}, "expected a list of globs, got 'bash'"),
        ({"tools": []}, "expected a list of globs"),
        ({"tool": ["bash"]}, "did you mean 'tools'"),
    ],
)
def test_a_wrong_option_is_told(options, says):
    with pytest.raises(ConfigError, match=re.escape(says)):
        names(**options)


async def test_search_finds_sorted_lines(call):
    await call("write_file", path="/srv/b.py", content="def one():\n    return 1\n")
    await call("write_file", path="/srv/a/c.py", content="x = 1\n" * 9 + "Def two(): ünder\n")
    await call("write_file", path="/srv/a/c.txt", content="def three\n")
    await call("bash", command="cd /srv; mkdir .git; echo def >.git/x; printf 'def\\0' >bin")
    await call("bash", command="printf 'def caf\\351\\n' >latin.py")
    seen = await call("search", pattern=r"^def \w+")
    assert seen.text == "a/c.txt:1:def three\nb.py:1:def one():\nlatin.py:1:def caf\ufffd\n"
    assert seen.effect is Effect.NO_CHANGE and seen.data == {"cut": False}
    seen = await call("search", pattern="^def", path="/srv/a", glob="*.py", ignore_case=True)
    assert seen.text == "/srv/a/c.py:10:Def two(): ünder\n"
    assert (await call("search", pattern="one", path="b.py")).text == "b.py:1:def one():\n"
    assert (await call("search", pattern="nothing at all")).text == "[no line matches]"


async def test_a_search_is_bounded_and_its_errors_are_told(call):
    await call("bash", command="cd /srv; yes 'a line' | head -1000 >many; seq -s x 9999 >long")
    seen = await call("search", pattern="a line|1x2x", path="many")
    assert seen.text.count("a line\n") == 200 and seen.data == {"cut": True}
    assert seen.text.endswith("[more lines match; narrow the pattern, the path or the glob]")
    assert len((await call("search", pattern="1x2x")).text) == 302
    for arguments, says in [
        ({"pattern": "("}, "missing closing parenthesis"),
        ({"pattern": "x", "path": "/no/such"}, "No such file"),
        ({"pattern": "x\ny"}, "one line"),
        ({"pattern": "x\0"}, "NUL"),
        ({"pattern": "-x", "path": "--help"}, "No such file"),
    ]:
        seen = await call("search", **arguments)
        assert seen.effect is Effect.ERROR and says in seen.text, seen.text
