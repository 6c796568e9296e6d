"""The file of a desktop's session, which an agent has had where its computer starts again."""

from __future__ import annotations

import importlib.util
import os
import threading
from pathlib import Path

import pytest

GUEST = Path(__file__).resolve().parents[2] / "sandboxes" / "desktop" / "guest"


@pytest.fixture
def applications(tmp_path, monkeypatch):
    """Read the lines of a file as the control server does; fails where that takes long."""
    spec = importlib.util.spec_from_file_location("guest_session", GUEST / "session.py")
    session = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(session)
    monkeypatch.setattr(session, "_APPLICATIONS", str(tmp_path / "session"))

    def read():
        found = []
        reading = threading.Thread(
            target=lambda: found.append(session.Session.applications(None)), daemon=True
        )
        reading.start()
        reading.join(10)
        assert found, "the file is still being read"
        return found[0]

    return read


def test_lines_are_commands_and_comments_are_not(tmp_path, applications):
    (tmp_path / "session").write_text("mousepad a\r\n\n  # nothing\n thunar /tmp \n")
    assert applications() == ["mousepad a", "thunar /tmp"]


def test_a_pipe_a_folder_and_a_device_open_nothing(tmp_path, applications):
    place = tmp_path / "session"
    assert applications() == []
    os.mkfifo(place)
    assert applications() == []
    place.unlink()
    place.symlink_to("/dev/zero")
    assert applications() == []
    place.unlink()
    place.mkdir()
    assert applications() == []


def test_a_line_that_no_program_can_be_given_is_left_out(tmp_path, applications):
    (tmp_path / "session").write_bytes(b"mousepad\n\0\xff\nsh\0ell\nthunar\n")
    assert applications() == ["mousepad", "thunar"]
