"""Sites that are programs of their own in the sandbox of the episode."""

from __future__ import annotations

import pytest

from agentgym.env.environment import Environment
from agentgym.errors import ConfigError
from agentgym.sandbox.bubblewrap import BubblewrapProvider
from agentgym.sandbox.local import LocalProvider
from agentgym.task.load import find_task

ENV = """\
schema_version = "agentgym.env/1"
title = "A board of its own"
sandbox = "board"
sites = ["board/board"]
surfaces = ["browser"]

[surface.browser]
screenshot = false
state = { heard = "window.heard" }
"""
SITE = """\
schema_version = "agentgym.site/1"
title = "Board"
host = "board.example"
port = 8000
"""
RECIPE = """\
schema_version = "agentgym.recipe/1"
title = "A board"
base = "host"

[env]
BOARD = '''
%s'''

[[services]]
name = "board"
command = 'exec python3 -c "$BOARD"'
"""
# The program is slow to start, keeps what is posted in a file, and echoes what a WebSocket says.
PROGRAM = r'''
import base64, hashlib, http.server, pathlib, time, urllib.parse
KEPT = pathlib.Path("/srv/kept.txt")
PAGE = """<title>Board</title><h1>%s</h1><p id=p></p>
<form method=post action=/say><label>Text <input name=text></label><button>Say</button></form>
<form method=post action=/picture enctype=multipart/form-data>
<label>Picture <input type=file name=file></label><button>Send</button></form>
<script>const s = new WebSocket((location.protocol === "https:" ? "wss" : "ws") + "://board.example/live?x");
s.onopen = () => s.send("hello"); s.onmessage = (e) => { window.heard = e.data; };
s.onerror = () => { p.textContent = "no socket"; };</script>"""

class Board(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, body, kind="text/html; charset=utf-8", **headers):
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        if self.headers.get("upgrade", "").lower() == "websocket":
            return self.echo()
        if self.path == "/big":
            self.send_response(200)
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            for _ in range(3):
                self.wfile.write(b"5\r\nthree\r\n")
            self.wfile.write(b"0\r\n\r\n")
            return
        if self.path == "/broken":
            self.close_connection = True
            return
        kept = KEPT.read_text() if KEPT.exists() else "nothing"
        told = f"{kept} for {self.headers['host']} by {self.headers['x-forwarded-proto']}"
        self.answer(200, (PAGE % told).encode())

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        if self.path == "/say":
            KEPT.write_text(urllib.parse.parse_qs(body.decode())["text"][0])
        else:
            KEPT.write_text(f"{len(body) > 70000} {b'map.png' in body}")
        self.answer(303, b"", location="/")

    def echo(self):
        key = self.headers["sec-websocket-key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        accept = base64.b64encode(hashlib.sha1(key.encode()).digest()).decode()
        self.wfile.write(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
            b"Connection: Upgrade\r\nSec-WebSocket-Accept: " + accept.encode() + b"\r\n\r\n")
        head = self.rfile.read(2)
        size = head[1] & 127
        mask = self.rfile.read(4)
        said = bytes(b ^ mask[i % 4] for i, b in enumerate(self.rfile.read(size)))
        told = f"echo {said.decode()}{self.path} by {self.headers['x-forwarded-proto']}".encode()
        self.wfile.write(bytes([129, len(told)]) + told)
        self.rfile.read(1)

time.sleep(0.3)
http.server.ThreadingHTTPServer(("127.0.0.1", 8000), Board).serve_forever()
'''
PLAIN = """\
schema_version = "agentgym.site/1"
title = "Plain"
host = "plain.example"
folder = "dist"
"""
SOCKETS = """<title>Plain</title><ul id=list></ul><script>
for (const host of ["plain.example", "board.example"]) {
  const s = new WebSocket(`ws://${host}/live`);
  const tell = (what) => { list.innerHTML += `<li>${host} ${what}</li>`; };
  s.onopen = () => tell("opened"); s.onclose = () => tell("closed");
}</script>"""
TASK = """\
schema_version = "agentgym.task/1"
id = "board/say-v1"
title = "Say hello"
difficulty = "easy"
env = "board"
"""
RUBRIC = """\
schema_version = "agentgym.rubric/1"

[[checkpoint]]
id = "said"
title = "Hello is on the board"
use = "files.text_equals"
with = { path = "/srv/kept.txt", text = "hello" }

[[checkpoint]]
id = "heard"
title = "The page has heard its echo"
use = "page.state"
with = { name = "heard", equals = "echo hello/live?x by http" }
"""


@pytest.fixture
def board(tmp_path, monkeypatch):
    monkeypatch.setenv("AGENTGYM_PATH", str(tmp_path))
    site, task = tmp_path / "envs/board/sites/board", tmp_path / "tasks/board/say"
    for folder in (site, task / "checks", task / "solution", tmp_path / "sandboxes/board"):
        folder.mkdir(parents=True)
    (site / "site.toml").write_text(SITE)
    (site.parents[1] / "env.toml").write_text(ENV)
    (tmp_path / "sandboxes/board/recipe.toml").write_text(RECIPE % PROGRAM)
    (task / "task.toml").write_text(TASK)
    (task / "instruction.md").write_text("Say hello on the board.\n")
    (task / "checks/rubric.toml").write_text(RUBRIC)
    (task / "solution/policy.py").write_text("def solve(view):\n    yield view.act('reload')\n")
    return tmp_path


@pytest.fixture
async def provider():
    made = BubblewrapProvider()
    if problems := made.problems():
        await made.close()
        pytest.skip(f"no bubblewrap sandbox: {problems}")
    yield made
    await made.close()


async def act(episode, tool, **arguments):
    return (await episode.step({"tool": tool, "arguments": arguments})).observation


def ref(seen, role, name):
    nodes = seen.data.get("browser", seen.data)["nodes"]
    return next(n["ref"] for n in nodes if (n["role"], n["name"]) == (role, name))


async def test_a_program_in_the_sandbox_is_a_site(board, provider):
    async with Environment(find_task("board/say-v1"), provider) as environment:
        episode = await environment.start(1)
        seen = episode.first
        assert "nothing for board.example by http" in seen.text
        await act(episode, "type", ref=ref(seen, "textbox", "Text"), text="bye")
        seen = await act(episode, "click", ref=ref(seen, "button", "Say"))
        assert "bye for board.example" in seen.text and seen.data["effect"] == "navigated"
        # The fork has a program of its own, over files of its own.
        fork = await episode.fork()
        await act(fork, "type", ref=ref(seen, "textbox", "Text"), text="hello")
        seen = await act(fork, "click", ref=ref(seen, "button", "Say"))
        assert "hello for board.example" in seen.text
        assert "bye for" in (await act(episode, "reload")).text
        await act(fork, "wait", seconds=1)
        verdict = (await fork.step({"tool": "submit", "arguments": {}})).verdict
        assert verdict.score == 1.0, verdict
        # The whole of an upload, an answer in chunks, https:, and a program that breaks off.
        seen = await act(episode, "goto", url="https://board.example/")
        assert "by https" in seen.text
        await act(episode, "wait", seconds=1)
        told = (await episode._parts.audit()).page_state
        assert told["heard"] == "echo hello/live?x by https"
        field = ref(seen, "file", "Picture")
        await act(episode, "upload", ref=field, files=[{"name": "map.png", "text": "x" * 70_000}])
        seen = await act(episode, "click", ref=ref(seen, "button", "Send"))
        assert "True True for" in seen.text
        seen = await act(episode, "goto", url="/big")
        assert "threethreethree" in seen.text
        seen = await act(episode, "goto", url="http://board.example/broken")
        assert seen.data["effect"] == "error" and "ERR_EMPTY_RESPONSE" in seen.text
        requests = (await episode._parts.audit()).requests
        sockets = [one for one in requests if one.status == 101]
        assert {one.url for one in sockets} >= {"http://board.example/live?x"}
        assert [one.method for one in requests if one.mutating] == ["POST", "POST"]
        await episode.close()


async def test_sockets_that_nothing_takes_are_refused_and_logged_so(board, provider, monkeypatch):
    monkeypatch.setattr("agentgym.sites.program.START_S", 0.2)
    (board / "sandboxes/board/recipe.toml").write_text(RECIPE % "import time; time.sleep(600)")
    plain = board / "envs/board/sites/plain"
    (plain / "dist").mkdir(parents=True)
    (plain / "site.toml").write_text(PLAIN)
    (plain / "dist/index.html").write_text(SOCKETS)
    env = board / "envs/board/env.toml"
    env.write_text(ENV.replace('"board/board"', '"board/plain", "board/board"'))
    async with Environment(find_task("board/say-v1"), provider) as environment:
        episode = await environment.start(1)
        await act(episode, "wait", seconds=1)
        seen = await act(episode, "read_page")
        assert "plain.example closed" in seen.text and "board.example closed" in seen.text
        requests = (await episode._parts.audit()).requests
        sockets = {one.url: one for one in requests if one.url.endswith("/live")}
        plain_one, board_one = (sockets[f"http://{h}.example/live"] for h in ("plain", "board"))
        assert (plain_one.status, board_one.status) == (404, 502)
        assert "plain.example takes no WebSockets" in plain_one.refused and not plain_one.failed
        assert "8000" in board_one.failed and not board_one.refused
        await episode.close()


async def test_a_program_that_does_not_run_is_an_answer(board, provider, monkeypatch):
    monkeypatch.setattr("agentgym.sites.program.START_S", 0.2)
    (board / "sandboxes/board/recipe.toml").write_text(RECIPE % "import time; time.sleep(600)")
    async with Environment(find_task("board/say-v1"), provider) as environment:
        episode = await environment.start(1)
        assert "program does not answer" in episode.first.text and "8000" in episode.first.text
        await episode.close()


def test_a_program_needs_a_sandbox(board):
    env = board / "envs/board/env.toml"
    env.write_text(ENV.replace('sandbox = "board"\n', ""))
    with pytest.raises(ConfigError, match="board.example is a program of its own"):
        Environment(find_task("board/say-v1"), LocalProvider())
