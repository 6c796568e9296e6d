"""What a build step is lent of the host's way to packages."""

from __future__ import annotations

import base64
import configparser
import errno
import platform
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from tiny_images import content

from agentgym.sandbox.build import host_network
from agentgym.sandbox.build.builder import build
from agentgym.sandbox.build.worker import as_root
from agentgym.sandbox.image_fallback import Sources, plan_context
from agentgym.sandbox.seccomp import filter_program, outer_program

STANZAS = """\
Types: deb deb-src
URIs: http://mirror.example/debian http://second.example/debian
Suites: bookworm bookworm-updates bookworm-backports
Components: main contrib
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

# Of somebody else
Types: deb
URIs: https://node.example/20.x
Suites: nodistro
Components: main

Types: deb
Enabled: no
URIs: http://off.example/debian
Suites: bookworm
Components: main
"""
ONE_LINE = """\
# deb http://old.example/debian bookworm main
deb [arch=amd64 signed-by=/x.gpg] http://sec.example/debian-security bookworm-security main # why
deb http://other.example/debian trixie main
deb-src http://mirror.example/debian bookworm main
"""


@pytest.fixture
def image(tmp_path):
    root = tmp_path / "image"
    (root / "usr/lib").mkdir(parents=True)
    (root / "usr/lib/os-release").write_text('ID=debian\nVERSION_CODENAME=bookworm\nX="y"\n')
    (root / "etc/apt/sources.list.d").mkdir(parents=True)
    return root


def test_the_hosts_own_sources_are_found_in_both_formats(tmp_path):
    (tmp_path / "etc/apt/sources.list.d").mkdir(parents=True)
    (tmp_path / "etc/apt/sources.list").write_text(ONE_LINE)
    (tmp_path / "etc/apt/sources.list.d/debian.sources").write_text(STANZAS)
    (tmp_path / "etc/apt/sources.list.d/debian.sources.save").write_text(STANZAS)
    assert host_network.host_sources("bookworm", tmp_path) == [
        ("http://sec.example/debian-security", "bookworm-security", "main"),
        ("http://mirror.example/debian", "bookworm", "main contrib"),
        ("http://mirror.example/debian", "bookworm-updates", "main contrib"),
        ("http://second.example/debian", "bookworm", "main contrib"),
        ("http://second.example/debian", "bookworm-updates", "main contrib"),
    ]
    assert host_network.host_sources("trixie", tmp_path) == [
        ("http://other.example/debian", "trixie", "main")
    ]
    assert host_network.host_sources("", tmp_path) == []


def lend(monkeypatch, tmp_path, image, sources=(), with_credentials=True):
    monkeypatch.setattr(host_network, "host_sources", lambda release: list(sources))
    folder = tmp_path / "lent"
    folder.mkdir()
    return folder, host_network.lay(folder, "/run/lent", image, with_credentials=with_credentials)


def test_an_images_own_list_stays_where_it_asks_the_same_mirror(monkeypatch, tmp_path, image):
    own = image / "etc/apt/sources.list.d/debian.sources"
    own.write_text(STANZAS)
    source = ("http://mirror.example/debian", "bookworm", "main")
    folder, env = lend(monkeypatch, tmp_path, image, [source])
    assert not (folder / "sources.list").exists()
    assert env["APT_CONFIG"] == "/run/lent/apt.conf"
    assert "sourcelist" not in (folder / "apt.conf").read_text()


def test_another_mirror_of_the_host_takes_its_place(monkeypatch, tmp_path, image):
    own = image / "etc/apt/sources.list.d/debian.sources"
    own.write_text(STANZAS)
    (image / "etc/apt/sources.list.d/node.list").write_text("deb https://node.example x main\n")
    source = ("http://proxy.example/debian", "bookworm", "main")
    folder, _ = lend(monkeypatch, tmp_path, image, [source])
    assert (
        folder / "sources.list"
    ).read_text() == "deb http://proxy.example/debian bookworm main\n"
    assert 'Dir::Etc::sourcelist "/run/lent/sources.list";' in (folder / "apt.conf").read_text()
    # What a step added on its own is not covered.
    assert host_network.replaced_sources(image) == [own]


def test_proxies_certificates_and_pip(monkeypatch, tmp_path, image):
    home = tmp_path / "home"
    (home / ".config/pip").mkdir(parents=True)
    (home / ".config/pip/pip.conf").write_text(
        "[global]\nindex-url = https://pip.example/simple\ncert = /etc/my.crt\n"
        "find-links = /opt/wheels\nextra-index-url = file:///srv/index\n"
    )
    (home / ".npmrc").write_text("registry=https://npm.example/\n")
    (home / "ca.pem").write_text("CERTIFICATE")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("https_proxy", "http://proxy.example:3128")
    monkeypatch.setenv("SSL_CERT_FILE", str(home / "ca.pem"))
    monkeypatch.setenv("SECRET_TOKEN", "x")
    for name in ("CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "PIP_CONFIG_FILE"):
        monkeypatch.delenv(name, raising=False)
    folder, env = lend(monkeypatch, tmp_path, image)
    assert env["https_proxy"] == "http://proxy.example:3128"
    assert env["SSL_CERT_FILE"] == "/run/lent/ca.crt"
    assert (folder / "ca.crt").read_text() == "CERTIFICATE"
    assert "SECRET_TOKEN" not in env and "CURL_CA_BUNDLE" not in env
    pip = configparser.RawConfigParser()
    pip.read(folder / "pip.conf")
    assert dict(pip["global"]) == {
        "index-url": "https://pip.example/simple",
        "cert": "/run/lent/ca.crt",
    }
    assert env["PIP_CONFIG_FILE"] == "/run/lent/pip.conf"
    assert env["NPM_CONFIG_USERCONFIG"] == "/run/lent/npmrc"
    assert (folder / "npmrc").read_text() == "registry=https://npm.example/\n"


SECRETS = ("hunter2", "npm_secret", "s3cret", "Zm9v", "me@work.example", "topsecret")


@pytest.fixture
def credentials(monkeypatch, tmp_path):
    """Credentials wherever package programs look for them."""
    home = tmp_path / "home"
    (home / ".config/pip").mkdir(parents=True)
    (home / ".config/pip/pip.conf").write_text(
        "[global]\nindex-url = https://me:hunter2@pip.example/simple\n"
        "extra-index-url =\n    https://s3cret@other.example/simple\n"
        "    https://plain.example/simple\nproxy = me:hunter2@proxy.example:3128\n"
    )
    (home / ".npmrc").write_text(
        "@corp:registry=https://me:hunter2@npm.example/@corp/\n//npm.example/:_authToken=npm_secret\n"
        "_auth = Zm9v\n//npm.example/:_password=hunter2\nemail=me@work.example\nfund=false\n"
    )
    (tmp_path / "apt.conf").write_text('Acquire::http::Proxy "http://me:hunter2@apt.example:3142";')
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("APT_CONFIG", str(tmp_path / "apt.conf"))
    monkeypatch.setenv("https_proxy", "http://me:top#secret@proxy.example:3128")
    monkeypatch.setenv("http_proxy", "me:hunter2@proxy.example:3128")
    monkeypatch.setenv("PIP_INDEX_URL", "https://me:hunter2@pip.example/simple")
    monkeypatch.delenv("PIP_CONFIG_FILE", raising=False)
    monkeypatch.delenv("AGENTGYM_TASK_VARIABLES", raising=False)


def said(folder, env):
    return repr(env) + "".join(path.read_text() for path in folder.glob("[!c]*"))


def test_a_strangers_step_gets_no_credentials(monkeypatch, tmp_path, image, credentials):
    source = ("http://me:hunter2@mirror.example/debian", "bookworm", "main")
    folder, env = lend(monkeypatch, tmp_path, image, [source], with_credentials=False)
    told = said(folder, env)
    assert not [secret for secret in (*SECRETS, "top#") if secret in told]
    assert env["https_proxy"] == "http://proxy.example:3128"
    assert env["http_proxy"] == "proxy.example:3128"
    assert env["PIP_INDEX_URL"] == "https://pip.example/simple"
    pip = configparser.RawConfigParser()
    pip.read(folder / "pip.conf")
    pip.remove_option("global", "cert")  # of this machine, if it has one
    assert dict(pip["global"]) == {
        "index-url": "https://pip.example/simple",
        "extra-index-url": "\nhttps://other.example/simple\nhttps://plain.example/simple",
        "proxy": "proxy.example:3128",
    }
    npm = "@corp:registry=https://npm.example/@corp/\nfund=false\n"
    assert (folder / "npmrc").read_text() == npm
    assert (
        folder / "sources.list"
    ).read_text() == "deb http://mirror.example/debian bookworm main\n"


def test_it_gets_a_variable_that_the_user_names(monkeypatch, tmp_path, image, credentials):
    monkeypatch.setenv("AGENTGYM_TASK_VARIABLES", "OTHER,https_*")
    _, env = lend(monkeypatch, tmp_path, image, with_credentials=False)
    assert env["https_proxy"] == "http://me:top#secret@proxy.example:3128"
    assert env["http_proxy"] == "proxy.example:3128"


def test_a_recipe_of_the_catalogues_gets_them(monkeypatch, tmp_path, image, credentials):
    told = said(*lend(monkeypatch, tmp_path, image))
    for secret in ("hunter2", "npm_secret", "s3cret", "Zm9v", "top#secret"):
        assert secret in told


def test_apt_of_the_host_lends_its_proxy_and_no_more(monkeypatch, tmp_path, image):
    if shutil.which("apt-config") is None:
        pytest.skip("no apt on this machine")
    (tmp_path / "own.conf").write_text(
        'Acquire::http::Proxy "http://apt.example:3142";\nAPT::Get::Assume-Yes "true";\n'
    )
    monkeypatch.setenv("APT_CONFIG", str(tmp_path / "own.conf"))
    folder, _ = lend(monkeypatch, tmp_path, image)
    lent = (folder / "apt.conf").read_text()
    assert 'Acquire::http::Proxy "http://apt.example:3142";' in lent
    assert "Assume-Yes" not in lent


def test_only_the_steps_of_own_recipes_use_them(tiny, monkeypatch, tmp_path, credentials):
    asks = "env > /env; cat $NPM_CONFIG_USERCONFIG > /npmrc"
    tiny("own", f'base = "tiny"\nrun = ["{asks}"]\n')
    (context := tmp_path / "task").mkdir()
    (context / "Dockerfile").write_text(f"FROM own\nRUN {asks.replace('/env', '/env2')}\n")
    plan = plan_context(context, Sources())
    assert [step.is_own for step in plan.steps] == [True] * (len(plan.steps) - 1) + [False]
    image = build(plan, tell=lambda line: None)
    assert b"hunter2" in content(image, "env") and b"hunter2" not in content(image, "env2")
    assert content(image, "npmrc") == b"@corp:registry=https://npm.example/@corp/\nfund=false\n"


KERNEL = """\
import ctypes, socket, sys
kernel = ctypes.CDLL(None, use_errno=True)
numbers = {"x86_64": (250, 425, 272), "aarch64": (219, 425, 97)}[sys.argv[1]]
def tried(call):
    try:
        return call()
    except OSError:
        return -1
print(
    kernel.syscall(numbers[0], 0, -4, 0) >= 0,
    kernel.syscall(numbers[1], 8, ctypes.create_string_buffer(200)) >= 0,
    tried(lambda: socket.socket(socket.AF_VSOCK).fileno()) >= 0,
    kernel.syscall(numbers[2], 0x10000000) == 0,
)
"""


def confined(setup, code, *words):
    """Run Python in the namespaces of a build, after what a step does to itself."""
    begin = (
        "import base64, sys; sys.path.append(sys.argv[1])\n"
        "from build import build_namespace\n"
        f"{setup}\nsys.argv[1:] = {list(words)!r}\n{code}"
    )
    folder = Path(host_network.__file__).parents[1]
    argv = [*as_root(), sys.executable, "-I", "-S", "-c", begin, str(folder)]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.split()


@pytest.mark.parametrize("own", [True, False])
def test_a_step_reaches_no_keyring_hypervisor_or_odd_call(own):
    calls = base64.b64encode((outer_program if own else filter_program)() or b"").decode()
    setup = f"build_namespace._filter(base64.b64decode({calls!r}))"
    found = confined(setup, KERNEL, platform.machine())
    assert found[:3] == ["False"] * 3
    # Namespaces stay: programs that confine themselves run in recipes of the user's own.
    assert found[3] == str(own)


ABSTRACT = """\
import socket, sys
with socket.socket(socket.AF_UNIX) as own:
    own.bind("")
    own.listen()
    for name in (sys.argv[1].encode(), own.getsockname()):
        with socket.socket(socket.AF_UNIX) as mine:
            print(mine.connect_ex(b"\\0" + name.lstrip(b"\\0")))
"""


def test_a_step_reaches_no_abstract_socket_of_this_machine():
    with socket.socket(socket.AF_UNIX) as service:
        service.bind("")
        service.listen()
        name = service.getsockname()[1:].decode()
        free, scoped = (confined(setup, ABSTRACT, name) for setup in ("", SCOPE))
    if scoped == free:
        pytest.skip("the kernel cannot scope them: it needs Landlock of Linux 6.12")
    assert free == ["0", "0"] and scoped == [str(errno.EPERM), "0"]


SCOPE = "build_namespace._scope()"


def test_a_step_holds_nothing_that_is_the_builds(tiny, built):
    tiny("held", 'base = "tiny"\nrun = ["ls -l /proc/self/fd > /held"]\n')
    held = content(built("held"), "held").decode()
    assert "lock" not in held and held.count(" -> ") <= 4


def test_a_step_sees_it_and_the_image_does_not_keep_it(tiny, built, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://proxy.example:3128")
    tiny("lent", 'base = "tiny"\nrun = ["env > /env; ls /run/agentgym-build > /lent"]\n')
    image = built("lent")
    assert b"http_proxy=http://proxy.example:3128\n" in content(image, "env")
    assert b"PIP_CONFIG_FILE=/run/agentgym-build/pip.conf\n" in content(image, "env")
    assert b"pip.conf\n" in content(image, "lent")
    assert not any("PROXY" in str(line).upper() for line in image.config["Env"])
