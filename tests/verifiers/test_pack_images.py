"""The pack `images`: bombs and damage are fails in time; likeness has the properties it claims."""

from __future__ import annotations

import io
import random
import struct
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from agentgym.errors import GuestFileError, VerifierError
from agentgym.records import CheckResult, CheckStatus
from agentgym.testing.checks import evidence
from agentgym.verify.rubric.dry_run import dry_run
from agentgym.verify.rubric.packs import load_checks, load_pack

FOLDER = Path(__file__).parents[2] / "verifiers" / "images"
PACK = load_pack(FOLDER)
PICTURE: Any = load_checks(FOLDER / "samples.py")["picture"]


def run(check: str, data: bytes, model: bytes = b"", **arguments: Any) -> CheckResult:
    seen = evidence({"/p": data}, gold={"g": model})
    try:
        found = PACK.checks[check](seen, path="/p", **arguments)
    except GuestFileError as error:
        return CheckResult(CheckStatus.FAIL, str(error))
    assert isinstance(found, CheckResult)
    return found


def claims(width: int, height: int) -> bytes:
    """Return a PNG whose header claims a size that its data does not have."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        check = zlib.crc32(kind + data)
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", check)

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    data = zlib.compress(bytes(2**20))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "data",
    [claims(60_000, 60_000), claims(2**31 - 1, 1), claims(5_000, 5_000), b"", b"\x89PNG\r\n\x1a\n"],
    ids=["gigapixels", "one line", "too little data", "empty", "only a magic"],
)
def test_hostile_pictures_are_fails_in_time(data: bytes) -> None:
    assert run("size", data, width=10, height=10).status is CheckStatus.FAIL
    assert run("similar", data, PICTURE(), gold="g").status is CheckStatus.FAIL


def test_a_picture_of_postscript_is_not_opened() -> None:
    found = run("size", b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n", width=10, height=10)
    assert found.status is CheckStatus.FAIL and "cannot identify" in found.message


@pytest.mark.timeout(120)
def test_damage_anywhere_is_a_fail_or_harmless() -> None:
    whole, dice = PICTURE(kind="JPEG"), random.Random(3)
    for _ in range(8):
        broken = bytearray(whole)
        for _ in range(20):
            broken[dice.randrange(len(broken))] = dice.randrange(256)
        run("similar", bytes(broken), whole, gold="g")


def test_pictures_of_noise_have_nothing_to_do_with_each_other() -> None:
    def noise(seed: int) -> bytes:
        stream = io.BytesIO()
        data = random.Random(seed).randbytes(9 * 8 * 3)
        big = Image.frombytes("RGB", (9, 8), data).resize((180, 160), Image.Resampling.NEAREST)
        big.save(stream, "PNG")
        return stream.getvalue()

    for seed in range(5):
        assert run("similar", noise(seed), noise(seed), gold="g", distance=0).status == "pass"
        assert run("similar", noise(seed), noise(seed + 9), gold="g").status == "fail"


@pytest.mark.parametrize(
    ("check", "arguments", "says"),
    [
        ("size", {"width": 0, "height": 1}, "width"),
        ("format_is", {"format": "png"}, "format"),
        ("region_colour", {"box": [0, 0, 1], "colour": "#000000"}, "box"),
        ("region_colour", {"box": [0, 0, 0, 1], "colour": "#000000"}, "box"),
        ("region_colour", {"box": [0, 0, 1, 1], "colour": "red"}, "colour"),
        ("region_colour", {"box": [0, 0, 1, 1], "colour": "#000000", "share": 0}, "share"),
        ("same_pixels", {"gold": "g", "tolerance": 256}, "tolerance"),
        ("similar", {"gold": "g", "distance": 65}, "distance"),
    ],
)
def test_mistakes_of_the_author_are_found_before_any_episode(
    check: str, arguments: Mapping[str, Any], says: str
) -> None:
    with pytest.raises(VerifierError, match=says):
        dry_run(f"images.{check}", PACK.checks[check], {"path": "/p", **arguments})
