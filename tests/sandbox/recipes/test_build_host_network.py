"""What a build step is lent of the host's way to packages."""

from __future__ import annotations

import configparser
import shutil

import pytest
from tiny_images import content

from agentgym.sandbox.build import host_network

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


def lend(monkeypatch, tmp_path, image, sources=()):
    monkeypatch.setattr(host_network, "host_sources", lambda release: list(sources))
    folder = tmp_path / "lent"
    folder.mkdir()
    return folder, host_network.lay(folder, "/run/lent", image)


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


def test_a_step_sees_it_and_the_image_does_not_keep_it(tiny, built, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://proxy.example:3128")
    tiny("lent", 'base = "tiny"\nrun = ["env > /env; ls /run/agentgym-build > /lent"]\n')
    image = built("lent")
    assert b"http_proxy=http://proxy.example:3128\n" in content(image, "env")
    assert b"PIP_CONFIG_FILE=/run/agentgym-build/pip.conf\n" in content(image, "env")
    assert b"pip.conf\n" in content(image, "lent")
    assert not any("PROXY" in str(line).upper() for line in image.config["Env"])
