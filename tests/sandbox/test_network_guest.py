"""Sandboxes with a network, on every provider: the programs that guests really use."""

import asyncio
import contextlib
import functools
import http.server
import os
import socket
import ssl
import stat
import subprocess
import threading
import zipfile

import pytest

from agentgym.errors import SandboxError
from agentgym.records import Connection, Limits, Recipe
from agentgym.sandbox import supervised
from agentgym.sandbox.network import gate
from agentgym.sandbox.network.proxy import PORT

NAMES = {"site.test": ["127.0.0.1"], "other.test": ["127.0.0.1"], "inside.test": ["10.1.2.3"]}


@pytest.fixture(autouse=True)
def names(monkeypatch):
    monkeypatch.setattr(gate, "lookup", lambda name: NAMES[name])


class Quiet(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass


@contextlib.contextmanager
def internet(folder, context=None):
    """A web server on the host's loopback; yields its port."""
    handler = functools.partial(Quiet, directory=folder)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    if context:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def folder(tmp_path):
    found = tmp_path / "www"
    found.mkdir()
    (found / "page").write_bytes(b"a page\n")
    (found / "large").write_bytes(os.urandom(5_000_000))
    return found


@pytest.fixture
def site(folder):
    with internet(folder) as port:
        yield port


def allowed(*ports):
    allow = [f"{host}:{port}" for port in ports for host in ("site.test", "127.0.0.1")]
    return Recipe("host", network="allowlist", allow=tuple(allow))


async def run(box, script, **fields):
    result = await box.exec(["bash", "-c", script], **fields)
    assert result.exit_code == 0, result
    return result.stdout


# --- clients -----------------------------------------------------------------------------------


async def test_http_clients(provider, site):
    box = await provider.start(allowed(site))
    url = f"http://site.test:{site}/page"
    for script in (
        f"curl -sS --fail {url}",
        f"curl -sS --fail --proxytunnel {url}",
        f"curl -sS --fail --proxy socks5h://127.0.0.1:{PORT} {url}",
        f"wget -q -O - {url}",
        f"python3 -c 'import urllib.request as u; print(u.urlopen(\"{url}\").read())'",
    ):
        assert await run(box, script) in (b"a page\n", b"b'a page\\n'\n"), script
    found = (await box.audit()).connections
    assert [c.via for c in found] == ["http", "connect", "socks5", "http", "http"]
    assert {(c.host, c.port, c.outcome) for c in found} == {("site.test", site, "open")}
    # On one connection to the proxy, to two hosts.
    refused = f"http://other.test:{site}/page"
    both = await run(
        box, f"curl -sS -w '%{{http_code}} %{{num_connects}}\n' {url} {refused} -o x -o y"
    )
    assert both == b"200 1\n403 0\n"
    assert b'can add "other.test:' in await run(box, "cat y")


async def test_large_files_arrive_whole(provider, site, folder):
    box = await provider.start(allowed(site))
    script = f"curl -sS --fail {{}} http://site.test:{site}/large | sha256sum"
    expected = subprocess.run(["sha256sum", folder / "large"], capture_output=True).stdout.split()[
        0
    ]
    for way in ("", "--proxytunnel", f"--proxy socks5h://127.0.0.1:{PORT}"):
        assert (await run(box, script.format(way))).split()[0] == expected
    for connection in (await box.audit()).connections:
        assert connection.received_bytes > 5_000_000 > 1000 > connection.sent_bytes > 0


async def test_https(provider, tmp_path, folder):
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
            *("-nodes", "-keyout", key, "-out", certificate, "-days", "2"),
            *("-subj", "/CN=site.test", "-addext", "subjectAltName=DNS:site.test"),
        ],
        check=True,
        capture_output=True,
        timeout=60,
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with internet(folder, context) as port:
        box = await provider.start(allowed(port))
        await box.upload(certificate, "/root/cert.pem")
        url = f"https://site.test:{port}/page"
        assert await run(box, f"curl -sS --fail --cacert /root/cert.pem {url}") == b"a page\n"
        code = (
            "import ssl, urllib.request as u\n"
            "c = ssl.create_default_context(cafile='/root/cert.pem')\n"
            f"print(u.urlopen('{url}', context=c).read())"
        )
        assert await run(box, f'python3 -c "{code}"') == b"b'a page\\n'\n"
        # The proxy does not look into it, so a guest sees the host's own certificate.
        result = await box.exec(["curl", "-sS", url])
        assert result.exit_code == 60
        assert {c.via for c in (await box.audit()).connections} == {"connect"}


async def test_git_and_pip(provider, site, folder, tmp_path):
    work = tmp_path / "work"
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "init", "-q", work], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "first"], cwd=work, check=True)
    subprocess.run([*git, "clone", "-q", "--bare", work, folder / "repo.git"], check=True)
    subprocess.run([*git, "update-server-info"], cwd=folder / "repo.git", check=True)
    index = folder / "simple/trifle"
    index.mkdir(parents=True)
    wheel = "trifle-1-py3-none-any.whl"
    (index / "index.html").write_text(f'<a href="{wheel}">{wheel}</a>')
    with zipfile.ZipFile(index / wheel, "w") as archive:
        archive.writestr("trifle.py", "print('installed')\n")
        archive.writestr(
            "trifle-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: trifle\nVersion: 1\n"
        )
        archive.writestr(
            "trifle-1.dist-info/WHEEL",
            "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        archive.writestr("trifle-1.dist-info/RECORD", "")
    box = await provider.start(allowed(site))
    url = f"http://site.test:{site}"
    assert (
        await run(box, f"git clone -q {url}/repo.git r && git -C r log --format=%s") == b"first\n"
    )
    pip = "pip install -q --disable-pip-version-check --root-user-action ignore --target t"
    pip = f"{pip} --trusted-host site.test -i {url}/simple trifle"
    assert await run(box, f"{pip} && PYTHONPATH=t python3 -m trifle") == b"installed\n"
    assert {c.outcome for c in (await box.audit()).connections} == {"open"}


# --- what is refused ---------------------------------------------------------------------------


async def test_the_audit_is_exact(provider, site):
    box = await provider.start(allowed(site))
    codes = "-o /dev/null -w '%{http_code} %{http_connect} %{exitcode}\n'"
    for script, answer in (
        (f"curl -s {codes} http://site.test:{site}/page", b"200 000 0\n"),
        (f"curl -s {codes} http://site.test/page", b"403 000 0\n"),
        (f"curl -s {codes} https://site.test:{site + 1}/", b"000 403 56\n"),
        (f"curl -s {codes} http://inside.test:{site}/", b"403 000 0\n"),
        (f"curl -s {codes} -x socks5h://127.0.0.1:{PORT} http://other.test/", b"000 000 97\n"),
    ):
        assert (await box.exec(["bash", "-c", script])).stdout == answer, script
    found = (await box.audit()).connections
    reason = 'refused: not in the allowlist; the author of the recipe can add "{}" to its allow'
    assert found[1:] == (
        Connection("site.test", 80, "http", reason.format("site.test")),
        Connection("site.test", site + 1, "connect", reason.format(f"site.test:{site + 1}")),
        Connection("inside.test", site, "http", reason.format(f"inside.test:{site}")),
        Connection("other.test", 80, "socks5", reason.format("other.test")),
    )
    assert (found[0].host, found[0].port, found[0].via, found[0].outcome) == (
        *("site.test", site, "http", "open"),
    )


async def test_open_leads_to_public_addresses_only(provider, site):
    box = await provider.start(Recipe("host", network="open"))
    for host in (f"site.test:{site}", "inside.test:80", f"127.0.0.1:{site}"):
        answer = await run(box, f"curl -s --noproxy '' http://{host}/page")
        assert b"not a public address" in answer
    listed = Recipe("host", network="open", allow=(f"127.0.0.1:{site}",))
    box = await provider.start(listed)
    assert await run(box, f"curl -s http://site.test:{site}/page") == b"a page\n"


async def test_nobody_takes_the_proxys_port_or_another_sandboxs_proxy(provider, site):
    online, offline = await provider.start(allowed(site)), await provider.start(Recipe("host"))
    code = f"""
import socket
for option in (None, socket.SO_REUSEADDR, socket.SO_REUSEPORT):
    for host in ("127.0.0.1", "0.0.0.0", "::"):
        link = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
        if option:
            link.setsockopt(socket.SOL_SOCKET, option, 1)
        try:
            link.bind((host, {PORT}))
            link.listen()
            print("taken", option, host)
        except OSError:
            pass
"""
    assert await run(online, f"python3 -c '{code}'") == b""
    assert all(PORT not in process.tcp_ports for process in await online.processes())
    url = f"http://site.test:{site}/page"
    result = await offline.exec(["curl", "-s", "--proxy", f"http://127.0.0.1:{PORT}", url])
    assert result.exit_code == 7
    assert (await offline.exec(["bash", "-c", "env | grep -i proxy"])).stdout == b""
    assert (await offline.audit()).connections == (await online.audit()).connections == ()
    assert await run(online, f"curl -s {url}") == b"a page\n"


async def test_a_wrong_pattern_is_an_error_at_the_start(provider):
    with pytest.raises(SandboxError, match="allow: 'a b': 'a b' is not a host name"):
        await provider.start(Recipe("host", network="allowlist", allow=("a b",)))


# --- lives of a sandbox ------------------------------------------------------------------------


async def test_forks_and_restored_sandboxes_have_a_proxy_of_their_own(provider, site):
    box = await provider.start(allowed(site))
    fetch = f"curl -s http://site.test:{site}/page"
    await run(box, fetch)
    snapshot = await box.snapshot()
    fork = await box.fork()
    await run(fork, fetch)
    await run(fork, fetch)
    await box.restore(snapshot)
    await run(box, fetch)
    counts = [len((await each.audit()).connections) for each in (box, fork)]
    assert counts == [2, 2]
    await box.close()
    await run(fork, fetch)


async def test_transfers_go_on_after_a_snapshot(provider, site, folder):
    box = await provider.start(allowed(site))
    fetch = f"for i in {{1..20}}; do curl -s http://site.test:{site}/large; done | sha256sum"
    running = asyncio.create_task(run(box, fetch))
    while not (await box.audit()).connections:
        assert not running.done()
    await provider.discard(await box.snapshot())
    whole = subprocess.run(
        ["sha256sum"], input=(folder / "large").read_bytes() * 20, capture_output=True
    ).stdout
    assert await running == whole


def sockets():
    """How many TCP sockets this process has; a daemon's client keeps others in a pool."""
    families = []
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            if stat.S_ISSOCK(os.fstat(int(name)).st_mode):
                with socket.socket(fileno=os.dup(int(name))) as sock:
                    families.append(sock.family)
    return sum(family in (socket.AF_INET, socket.AF_INET6) for family in families)


async def test_a_sandbox_closed_in_the_middle_leaves_nothing_on_the_host(provider, site):
    before = sockets()
    box = await provider.start(allowed(site))
    endless = f"while :; do curl -s http://site.test:{site}/large > /dev/null; done"
    running = [asyncio.create_task(box.exec(["bash", "-c", endless])) for _ in range(5)]
    while sum(c.received_bytes > 0 for c in (await box.audit()).connections) < 5:
        assert not any(call.done() for call in running)
    await box.close()
    await asyncio.wait(running)
    assert all(isinstance(call.exception(), SandboxError) for call in running)
    assert asyncio.all_tasks() == {asyncio.current_task()}
    # The server on this process's other threads lets go when it notices.
    for _ in range(500):
        if sockets() == before:
            break
        await asyncio.sleep(0.01)
    assert sockets() == before


async def test_the_audit_has_the_connections_of_a_sandbox_that_ended(provider, site):
    recipe = allowed(site)
    box = await provider.start(
        Recipe("host", network="allowlist", allow=recipe.allow, limits=Limits(wall_s=2.0))
    )
    await run(box, f"curl -s http://site.test:{site}/page")
    with pytest.raises(SandboxError, match="was ended"):
        await box.exec(["sleep", "60"])
    audit = await box.audit()
    assert [c.outcome for c in audit.connections] == ["open"] and audit.processes == ()


# --- connect -----------------------------------------------------------------------------------


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
async def test_connect_reaches_a_server_in_the_guest(provider, address):
    box = await provider.start(Recipe("host"))
    await box.write_file("/srv/page", b"from inside")
    serve = f"python3 -m http.server 8000 --bind {address} --directory /srv 2>/dev/null &"
    await (await box.open_shell()).run(serve)
    sock = None
    while sock is None:
        with contextlib.suppress(SandboxError):
            sock = await box.connect(8000)
    request = b"GET /page HTTP/1.0\r\n\r\n"

    def fetch():
        with sock:
            sock.sendall(request)
            return b"".join(iter(lambda: sock.recv(65536), b""))

    assert (await asyncio.to_thread(fetch)).endswith(b"\r\n\r\nfrom inside")
    many = await asyncio.gather(*(box.connect(8000) for _ in range(20)))
    for each in many:
        reader, writer = await asyncio.open_connection(sock=each)
        writer.write(request)
        assert (await reader.read()).endswith(b"from inside")
        writer.close()
        await writer.wait_closed()


async def test_connect_says_what_is_wrong(provider, monkeypatch):
    box = await provider.start(Recipe("host"))
    before = sockets()
    with pytest.raises(SandboxError, match="port 8001: Connection refused"):
        await box.connect(8001)
    for port in (0, -1, 65536):
        with pytest.raises(SandboxError, match="from 1 to 65535"):
            await box.connect(port)
    monkeypatch.setattr(supervised, "_CONNECT_S", 0.3)
    # One connection waits to be accepted, and for a second one there is no room.
    full = (
        "import socket, time; s = socket.socket(); s.bind(('127.0.0.1', 8002)); s.listen(0);"
        "c = socket.create_connection(('127.0.0.1', 8002)); print(1, flush=True); time.sleep(60)"
    )
    await (await box.open_shell()).run(f'python3 -c "{full}" > /tmp/ready & sleep 0')
    while not (await box.exec(["cat", "/tmp/ready"])).stdout:
        continue
    with pytest.raises(SandboxError, match="port 8002: Connection timed out"):
        await box.connect(8002)
    assert sockets() == before
    with pytest.raises(SandboxError, match="closed"):
        await box.close()
        await box.connect(8002)
