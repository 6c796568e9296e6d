"""The surroundings of the browser process, as the host sees them."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from agentgym.browser import executable
from agentgym.browser.chromium import Chromium, start_playwright
from agentgym.browser.executable import VARIABLE, find_executable
from agentgym.browser.pool import browser_pool
from agentgym.errors import ConfigError

OURS = ("user", "net", "mnt", "pid", "ipc", "uts")


def is_browser(pid):
    """Whether a process is a lasting one of the browser; others may end while we look."""
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return command[0].endswith(find_executable().path.name.encode()) and (
        b"--type=renderer" not in command
    )


async def test_the_browser_has_namespaces_of_its_own_and_no_files_of_the_host(browse, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("x")
    await browse("<p>Hi")
    inside = [pid for pid in browser_pool().processes() if is_browser(pid)]
    assert inside
    for pid in inside:
        for space in OURS:
            assert os.readlink(f"/proc/{pid}/ns/{space}") != os.readlink(f"/proc/self/ns/{space}")
        devices = Path(f"/proc/{pid}/net/dev").read_text()
        assert [line.split(":")[0].strip() for line in devices.splitlines()[2:]] == ["lo"]
    # Renderers have an empty root of their own; the browser process has the one that we made.
    seen = [root for pid in inside if "usr" in os.listdir(root := Path(f"/proc/{pid}/root"))]
    assert seen
    for root in seen:
        assert not (root / secret.relative_to("/")).exists()
        assert not any((root / name).exists() for name in ("root", "home", "var", "etc/passwd"))


def test_a_browser_is_found_by_its_variable_or_the_message_says_what_to_do(monkeypatch, tmp_path):
    program = tmp_path / "my-headless-chromium"
    program.write_text("#!/bin/sh\necho Fake 1.0\n")
    program.chmod(0o755)
    monkeypatch.setenv(VARIABLE, str(program))
    assert find_executable().path == program and not find_executable().headed
    assert find_executable().version == "Fake 1.0"
    monkeypatch.setenv(VARIABLE, "chromium")
    with pytest.raises(ConfigError, match="absolute path"):
        find_executable()
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setattr(executable, "_SHELLS", ())
    monkeypatch.setattr(executable, "_FULL", ())
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path))
    with pytest.raises(ConfigError, match="apt-get install chromium-headless-shell"):
        find_executable()
    folder = tmp_path / "chromium_headless_shell-1" / "chrome-linux"
    folder.mkdir(parents=True)
    (folder / "headless_shell").symlink_to(program)
    assert find_executable().path == folder / "headless_shell"


async def test_the_folder_for_temporary_files_may_have_a_long_name(monkeypatch, tmp_path):
    place = tmp_path / ("n" * 120)
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    playwright = await start_playwright()
    try:
        browser = Chromium(find_executable())
        await browser.start(playwright)
        await browser.close()
    finally:
        await playwright.stop()
