"""Programs of agents: what they can do, what is seen of them, and what they cannot break."""

import asyncio
import time

import pytest
from hybrid_desk import write_desk

from agentgym.env.spec import load_env_spec
from agentgym.errors import SandboxEndedError, ServiceError
from agentgym.protocols import SurfaceContext
from agentgym.records import Action, Effect, Limits, Recipe
from agentgym.sandbox.bubblewrap import BubblewrapProvider
from agentgym.sandbox.docker.provider import DockerProvider
from agentgym.sandbox.recipe import load_recipe
from agentgym.services import Backend, find_services
from agentgym.surfaces import program
from agentgym.surfaces.code import CodeKind
from agentgym.surfaces.truncation import MAX_TEXT

PROBLEMS = BubblewrapProvider().problems()
COMPUTER = pytest.mark.skipif(bool(PROBLEMS), reason=f"no bubblewrap sandbox: {PROBLEMS}")
# The connection, as a program can find it.
LINE = (
    "import gc, socket\n"
    "found = [o for o in gc.get_objects() if isinstance(o, socket.socket)]\n"
    "line = next(o for o in found if o.fileno() >= 0).makefile('rwb')\n"
)


@pytest.fixture
def backend(tmp_path, monkeypatch):
    monkeypatch.setenv("AGENTGYM_PATH", str(tmp_path / "catalogue"))
    write_desk(tmp_path / "catalogue")
    services = find_services("desk")
    backend = Backend(services, services.template(1))
    yield backend
    backend.close()


@pytest.fixture
async def computer(tmp_path):
    provider = BubblewrapProvider(tmp_path / "sandboxes")
    recipe = load_recipe("host")
    yield await provider.start(recipe)
    await provider.close()


@pytest.fixture
async def run(backend, computer):
    surface = (
        await load_env_spec("desk")
        .make_surface_kinds()[2]
        .attach(SurfaceContext(computer, backend))
    )
    yield lambda code, **arguments: surface.call(Action("run_python", {"code": code, **arguments}))
    await surface.close()
    assert not list(await computer.processes())


def tools_of(backend):
    return [(entry.actor, entry.tool, entry.code) for entry in backend.audit]


pytestmark = COMPUTER


async def test_what_is_printed_then_the_value_of_the_last_line(run):
    for code, text in (
        ("1 + 1", "2"),
        ("print('a')\n'b'", "a\nb"),
        ("print('a', end='')\n{'k': [1, None]}", 'a\n{\n "k": [\n  1,\n  null\n ]\n}'),
        ("{1, 2}", "{1, 2}"),
        ("{1: (2,)}", "{1: (2,)}"),
        ("float('nan')", "nan"),
        ("x = 5", ""),
        ("None", ""),
        (
            "import os, sys\nos.system('echo one')\nprint('two', file=sys.stderr)\nx = 0",
            "one\ntwo\n",
        ),
        ("def double(x):\n    return 2 * x\ndouble(4)", "8"),
        ("# nothing", ""),
        (
            "import sys\nprint(__name__, sys.argv, sys.stdin.read() == '')",
            "__main__ ['<program>'] True\n",
        ),
        (
            "from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\nP(1)",
            "P(x=1)",
        ),
    ):
        seen = await run(code)
        assert (seen.text, seen.effect) == (text, Effect.NO_CHANGE), code
        assert (seen.data["exit_code"], seen.data["calls"]) == (0, 0)


async def test_tools_are_functions_and_refusals_exceptions(run, backend):
    seen = await run(
        "made = [shelf_add(title)['id'] for title in ('a', 'b')]\n"
        "shelf_finish(item=made[0])\n"
        "try:\n"
        "    shelf_finish(77)\n"
        "except ServiceError as error:\n"
        "    print(error.code, error.field, error.message)\n"
        "[item['title'] for item in shelf_list_items() if item['done']]"
    )
    assert seen.text == 'not_found item no item 77\n[\n "a"\n]'
    assert seen.effect is Effect.CHANGED
    assert (seen.data["calls"], seen.data["value"]) == (5, ["a"])
    assert tools_of(backend) == [
        ("agent", "shelf_add", ""),
        ("agent", "shelf_add", ""),
        ("agent", "shelf_finish", ""),
        ("agent", "shelf_finish", "not_found"),
        ("agent", "shelf_list_items", ""),
    ]


async def test_what_is_wrong_is_shown_with_the_programs_own_lines(run, backend):
    for code, words in (
        (
            "x = 1\nshelf_finish(99)",
            ["line 2, in <module>", "shelf_finish(99)", "not_found: item: no"],
        ),
        ("shelf_finish('1')", ["invalid: item: ", "integer"]),
        ("shelf_finish()", ["invalid: item: missing"]),
        ("shelf_finish(1, 2)", ["takes 1 arguments, got 2"]),
        ("shelf_finish(1, item=2)", ["two values for 'item'"]),
        ("shelf_finish(1, colour=2)", ["no such argument"]),
        ("shelf_add(title={1})", ["not JSON serializable"]),
        ("shelf_add(title='\\0')", ["NUL"]),
        ("shelf_add(title='\\ud800')", ["surrogate"]),
        ("no_such_tool()", ["NameError"]),
        ("def f(:", ["SyntaxError"]),
        ("raise ValueError('\\ud800 odd')", ["ValueError"]),
        ("class Odd:\n    def __repr__(self): 1 / 0\nOdd()", ["ZeroDivisionError"]),
    ):
        before = backend.hash
        seen = await run(code)
        assert seen.effect is Effect.ERROR and seen.text.endswith("[exit code 1]"), code
        assert all(word in seen.text for word in words), seen.text
        assert "<agentgym>" not in seen.text and "/ast.py" not in seen.text, seen.text
        assert backend.hash == before
    assert (await run("import sys; sys.exit(3)")).text == "[exit code 3]"


async def test_each_tool_has_a_manual(run):
    text = (await run("print(shelf_finish.__doc__)")).text
    assert "Say that an item is done." in text and '"description": "Its number."' in text


async def test_a_program_works_with_the_files_of_the_computer(run, computer):
    await computer.write_file("/root/helper.py", b"TITLE = 'from a file'\n")
    seen = await run("import helper\nopen('/srv/out', 'w').write(shelf_add(helper.TITLE)['title'])")
    assert seen.effect is Effect.CHANGED
    assert await computer.read_file("/srv/out") == b"from a file"


async def test_a_guest_may_have_other_ideas_of_the_standard_library(run, computer):
    await computer.write_file("/root/json.py", b"raise SystemExit('not this one')\n")
    assert (await run("print(shelf_list_items()[0]['title'])")).text == "amber\n"


async def test_sets_have_an_order_that_a_replay_repeats(run):
    assert len({(await run("list({'a', 'b', 'c', 'd'})")).text for _ in range(3)}) == 1


async def test_threads_take_turns(run, backend):
    seen = await run(
        "from concurrent.futures import ThreadPoolExecutor\n"
        "with ThreadPoolExecutor(8) as pool:\n"
        "    made = list(pool.map(lambda k: shelf_add(f't{k}')['title'], range(40)))\n"
        "made == [f't{k}' for k in range(40)]"
    )
    assert seen.text == "true" and len(backend.audit) == 40


async def test_forked_processes_take_turns(run, backend):
    seen = await run(
        "import multiprocessing\n"
        "def ask(k):\n"
        "    return shelf_repeat(f'p{k}', 2) == [f'p{k}'] * 2\n"
        "with multiprocessing.get_context('fork').Pool(8) as pool:\n"
        "    right = pool.map(ask, range(200), chunksize=1)\n"
        "[len(right), all(right)]"
    )
    assert seen.data["value"] == [200, True] and len(backend.audit) == 200


async def test_the_answer_of_an_interrupted_call_is_dropped(run):
    seen = await run(
        "import signal\n"
        "def late(*_):\n    raise TimeoutError\n"
        "signal.signal(signal.SIGALRM, late)\n"
        "broken, wrong = 0, 0\n"
        "for k in range(200):\n"
        "    try:\n"
        "        signal.setitimer(signal.ITIMER_REAL, 0.001 + k % 5 / 2000)\n"
        "        answer = shelf_repeat(f's{k}', 9_000)\n"
        "        signal.setitimer(signal.ITIMER_REAL, 0)\n"
        "        wrong += answer[0] != f's{k}'\n"
        "    except TimeoutError:\n        broken += 1\n"
        "[broken > 0, wrong]",
    )
    assert seen.data["value"] == [True, 0], seen.text


async def test_a_signal_handler_cannot_call_during_a_call(run):
    seen = await run(
        "import signal\n"
        "refused = []\n"
        "def call(*_):\n"
        "    try:\n        shelf_list_items()\n"
        "    except ServiceError as error:\n        refused.append(error.code)\n"
        "signal.signal(signal.SIGALRM, call)\n"
        "signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)\n"
        "for _ in range(900):\n"
        "    shelf_repeat('a', 9_000)\n"
        "    if refused: break\n"
        "signal.setitimer(signal.ITIMER_REAL, 0)\n"
        "refused[:1]",
        timeout_s=30,
    )
    assert seen.data["value"] == ["unavailable"]


async def test_a_program_that_hangs_is_ended_and_what_it_did_stays(run, backend):
    began = time.monotonic()
    seen = await run("print(shelf_add('kept')['title'])\nwhile True: pass", timeout_s=1)
    assert time.monotonic() - began < 20
    assert (seen.effect, seen.text) == (Effect.TIMEOUT, "kept\n[ended after 1 s]")
    assert seen.data["timed_out"] and tools_of(backend) == [("agent", "shelf_add", "")]
    assert (await run("shelf_list_items()[-1]['title']")).text == "kept"


@pytest.mark.parametrize(
    "ending", ["os._exit(9)", "os.kill(os.getpid(), 9)", "import ctypes; ctypes.string_at(0)"]
)
async def test_a_program_that_dies_leaves_whole_calls(run, backend, ending):
    seen = await run(f"import os\nshelf_add('a')\n{ending}")
    assert seen.effect is Effect.ERROR and seen.data["calls"] == 1
    assert [c.kind for c in backend.audit[0].changed] == ["added"]
    assert (await run("shelf_add('b')['title']")).text == "b"


async def test_calls_are_counted_and_bounded(run, backend, monkeypatch):
    monkeypatch.setattr(program, "MAX_CALLS", 30)
    seen = await run("for _ in range(30): shelf_list_items()\n'all'")
    assert (seen.text, seen.data["calls"]) == ("all", 30)
    seen = await run(
        "for k in range(99):\n    try: shelf_add(str(k))\n    except ServiceError as e: last = e\n"
        "print(last.code, last.message)"
    )
    assert seen.text == (
        "unavailable the connection to the services is closed\n"
        "[the connection to the services was closed: a program may make 30 calls]"
    )
    assert len(backend.audit) == 60


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        ("b'[' * 100_000", "a frame is not JSON: maximum recursion depth"),
        ("b'[' + b'[],' * 400_000 + b'[]]'", "a frame has too many values"),
        ("b'7'", "expected an object as a frame, got int"),
        ("b'{'", "a frame is not JSON"),
        ("b'\\xff\\xfe\\xfa'", "a frame is not JSON"),
        ("b'x' * 3_000_000", "a frame has more than 2097152 bytes"),
        ("b'{\"tool\": ' + b'9' * 5000 + b\"}\"", "a frame is not JSON: Exceeds the limit"),
    ],
)
async def test_a_hostile_frame_ends_the_connection_and_nothing_else(run, backend, frame, words):
    seen = await run(
        f"{LINE}try:\n    line.write({frame} + b'\\n'); line.flush(); line.readline()\n"
        "except OSError: pass\n"
        "try:\n    shelf_add('x')\nexcept (ServiceError, OSError) as error:\n    print('closed')",
        timeout_s=30,
    )
    assert "closed\n" in seen.text and seen.effect is Effect.NO_CHANGE, seen.text
    assert f"[the connection to the services was closed: {words}" in seen.text, seen.text
    assert len(backend.audit) == 0
    assert (await run("shelf_add('y')['title']")).text == "y"


@pytest.mark.parametrize(
    "frame",
    [
        '{"tool": "shelf_nothing"}',
        '{"tool": 7}',
        '{"tool": ["shelf_add"]}',
        '{"tool": "shelf_add", "arguments": []}',
        '{"tool": "shelf_add", "arguments": {"title": NaN}}',
        '{"tool": "shelf_add", "arguments": {"title": "x"}, "actor": 1, "title": "x"}',
        '{"tool": "shelf_add", "actor": "setup", "arguments": {"title": ""}}',
    ],
)
async def test_an_odd_frame_is_refused_as_a_call_of_the_agent(run, backend, frame):
    seen = await run(
        f"{LINE}line.write({frame!r}.encode() + b'\\n'); line.flush(); print(line.readline())"
    )
    assert "invalid" in seen.text or "actor" in frame
    assert all(entry.actor == "agent" for entry in backend.audit)


async def test_output_and_values_of_any_size_are_bounded(run):
    seen = await run("print('start')\nfor k in range(300_000): print(k)\nprint('end')\n1 / 0")
    assert seen.text.startswith("start\n") and "ZeroDivisionError" in seen.text
    assert len(seen.text) < MAX_TEXT + 200
    seen = await run("['x' * 99] * 100_000")
    assert len(seen.text) < MAX_TEXT + 200 and len(str(seen.data)) < 70_000
    seen = await run("print('\\ud800'.encode('utf-8', 'surrogatepass').decode('latin-1') + '\\0')")
    assert "\0" not in seen.text


async def test_a_child_that_outlives_the_program_has_no_line(run, backend):
    seen = await run(
        "import os, time\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    time.sleep(2)\n"
        "    try: shelf_add('late')\n"
        "    except ServiceError: pass\n"
        "    os._exit(0)\n"
        "shelf_add('in time')['title']"
    )
    assert seen.text == "in time"
    await asyncio.sleep(3)
    assert [entry.arguments["title"] for entry in backend.audit] == ["in time"]


async def test_one_that_ends_its_sandbox_ends_the_episode(backend, tmp_path):
    provider = BubblewrapProvider(tmp_path / "small")
    box = await provider.start(Recipe("host", limits=Limits(disk_mb=20)))
    surface = (
        await load_env_spec("desk").make_surface_kinds()[2].attach(SurfaceContext(box, backend))
    )
    code = "shelf_add('x')\nwith open('/srv/f', 'wb') as f:\n    while True: f.write(b'0' * 10**6)"
    try:
        seen = await surface.call(Action("run_python", {"code": code, "timeout_s": 30}))
        # Where a file cannot grow over the limit, the program is told, and that is all.
        assert seen.effect is Effect.ERROR
    except SandboxEndedError as error:
        assert "disk" in str(error)
    assert [entry.tool for entry in backend.audit] == ["shelf_add"]
    await provider.close()


async def test_whoever_is_cancelled_leaves_nothing_running(run, backend, computer):
    running = asyncio.ensure_future(run("shelf_add('x')\nimport time\ntime.sleep(60)", timeout_s=5))
    async with asyncio.timeout(20):
        while not len(backend.audit):
            await asyncio.sleep(0.05)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    async with asyncio.timeout(20):
        while list(await computer.processes()):
            await asyncio.sleep(0.1)
    assert (await run("shelf_list_items()[-1]['title']")).text == "x"


async def test_services_that_raise_are_typed_in_programs_too(run, backend, monkeypatch):
    def broken(*arguments, **named):
        raise ServiceError("forbidden", "not today")

    monkeypatch.setattr(type(backend.instances["shelf"]), "add", broken)
    assert "forbidden: not today" in (await run("shelf_add('x')")).text


async def test_a_guest_without_python_is_given_one(backend, computer):
    kind = load_env_spec("desk").make_surface_kinds()[2]

    class WithoutPython:
        def __getattr__(self, name):
            return getattr(computer, name)

        async def exec(self, argv, **arguments):
            argv = ["no-such-python", *argv[1:]] if argv[0] == "python3" else argv
            return await computer.exec(argv, **arguments)

    surface = await kind.attach(SurfaceContext(WithoutPython(), backend))
    code = (
        "import csv, datetime, json, re, math, collections, statistics, sys\n"
        "print(sys.prefix)\nshelf_add(re.sub('x', 'y', 'x'))['title']"
    )
    seen = await surface.call(Action("run_python", {"code": code}))
    assert seen.text == "/run/agentgym/runtime\ny"


async def test_one_program_over_services_of_the_office(computer):
    office = find_services("office")
    live = Backend(office, office.template(1))
    surface = (
        await load_env_spec("workbench")
        .make_surface_kinds()[2]
        .attach(SurfaceContext(computer, live))
    )
    code = (
        "page = tickets_search(status='open', limit=1)\n"
        "ticket = tickets_get(page['tickets'][0]['id'])\n"
        "mail_send(to=['ada@example.com'], subject=ticket['subject'], body='Hello')['id']\n"
        "tickets_comment(ticket['id'], 'I have written to Ada.')['author']"
    )
    seen = await surface.call(Action("run_python", {"code": code}))
    assert (seen.text, seen.effect) == ("agent", Effect.CHANGED)
    assert [e.tool for e in live.audit] == [
        *("tickets_search", "tickets_get", "mail_send", "tickets_comment"),
    ]
    live.close()


@pytest.mark.docker
async def test_in_a_container(backend):
    provider = DockerProvider()
    box = await provider.start(load_recipe("host"))
    kind = load_env_spec("desk").make_surface_kinds()[2]
    assert isinstance(kind, CodeKind)
    try:
        surface = await kind.attach(SurfaceContext(box, backend))
        code = "shelf_add('x')\nprint(open('/etc/hostname').read() != '')\nlen(shelf_list_items())"
        seen = await surface.call(Action("run_python", {"code": code}))
        assert (seen.text, seen.effect) == ("True\n4", Effect.CHANGED)
    finally:
        await box.close()
        await provider.close()


async def test_a_value_of_any_depth_or_size_is_an_observation(run):
    for code, told in (
        ("v = 1\nfor _ in range(930): v = [v]\nv", "[not shown: nested more than 64 deep"),
        ("v = []\nv.append(v)\nv", "[[...]]"),
        ("[0] * 200_000", "[0, 0, 0"),
        (f"{LINE}line.write(b'{{\"written\": ' + b'[' * 500 + b']' * 500)", ""),
    ):
        seen = await run(code)
        assert seen.text.startswith(told), code
        assert len(seen.text) < 40_000
