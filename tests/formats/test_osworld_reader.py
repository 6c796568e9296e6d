"""The process in which OSWorld's metrics read files of strangers."""

import contextlib
import os
from pathlib import Path

import pytest
from osworld_files import File, archive, book
from osworld_picture_cases import PLAIN
from osworld_scores import score

from agentgym.errors import GuestFileError
from agentgym.formats.osworld.metrics import reader
from agentgym.verify.subprocess_reader import ask

READER = Path(reader.__file__)


def read(metric, given, files, **options):
    order = {"metric": metric, "given": given, "options": options}
    return ask(READER, order, files, what=metric, timeout_s=20)


def test_the_reader_runs_a_metric_in_a_process_of_its_own():
    gold = book({"S": [["city", "n"], ["Bonn", 1.00001], ["Köln", 2]]})
    rule = {"type": "sheet_data", "sheet_idx0": 0, "sheet_idx1": "EI0"}
    given = [{"file": "a.xlsx"}, {"file": "b.xlsx"}]
    files = {"a.xlsx": gold.data, "b.xlsx": gold.data}
    assert read("compare_table", given, files, rules=[rule]) == 1
    assert read("exact_match", [{"value": "a"}, {"value": {"expected": "b"}}], {}) == 0
    assert read("compare_table", [{"file": None}, {"file": "b.xlsx"}], files, rules=[rule]) == 0


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", ["bomb", "no archive", "entities", "pixels"])
def test_hostile_files_are_refused(kind):
    bomb = archive({"xl/workbook.xml": b"<a>" + b" " * 300_000_000, "[Content_Types].xml": b""})
    header = PLAIN.data[:16] + (60_000).to_bytes(4, "big") * 2 + PLAIN.data[24:]
    entities = "".join(f'<!ENTITY a{n + 1} "{f"&a{n};" * 10}">' for n in range(12))
    laughs = f'<!DOCTYPE x [<!ENTITY a0 "ha">{entities}]><x>&a12;</x>'
    order = {
        "no archive": ("compare_table", b"not a zip", {"rules": []}),
        "bomb": ("compare_table", bomb.data, {"rules": []}),
        "pixels": ("compare_images", header, {}),
        "entities": ("check_presenter_console_disable", laughs.encode(), {}),
    }
    metric, data, options = order[kind]
    given = [{"file": "seen"}] + ([{"file": "gold"}] if kind == "pixels" else [])
    with pytest.raises(GuestFileError):
        read(metric, given, {"seen": data, "gold": PLAIN.data}, **options)


def test_no_program_of_the_host_draws_a_picture(tmp_path, monkeypatch):
    """Pillow has Ghostscript draw PostScript, in which an agent can write programs."""
    from PIL import EpsImagePlugin, UnidentifiedImageError

    ran = tmp_path / "ran"
    (tmp_path / "gs").write_text(f"#!/bin/sh\ntouch {ran}\necho 10.0\n")
    (tmp_path / "gs").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(EpsImagePlugin, "gs_binary", None)
    drawn = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 40 30\n%%EndComments\nshowpage\n%%EOF\n"
    with pytest.raises(UnidentifiedImageError):
        score("compare_images", (File("seen.png", drawn), PLAIN), tmp_path / "files")
    assert not ran.exists()


def test_a_value_nested_too_deeply_is_no_value():
    """A value that the getters can parse may be too deep for the question to the reader."""
    for depth in range(940, 1010, 3):
        value = []
        for _ in range(depth):
            value = [value]
        rule = {"value": {"expected": "a"}}
        with contextlib.suppress(GuestFileError):
            assert read("exact_match", [{"value": value}, rule], {}) == 0


@pytest.mark.parametrize("name", ["../x", "/tmp/agentgym-x", "a/b", "", ".", "..", "a\0b"])
def test_files_lie_in_the_folder_of_the_reader_only(name):
    with pytest.raises(ValueError, match="name of a file"):
        read("exact_match", [{"value": 1}, {"value": {"expected": 1}}], {name: b""})
