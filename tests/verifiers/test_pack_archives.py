"""The pack `archives`: bombs, headers without end and odd members are fails, in time."""

from __future__ import annotations

import gzip
import io
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentgym.errors import GuestFileError, VerifierError
from agentgym.records import CheckResult, CheckStatus
from agentgym.testing.checks import evidence
from agentgym.verify.rubric.dry_run import dry_run
from agentgym.verify.rubric.packs import load_pack

PACK = load_pack(Path(__file__).parents[2] / "verifiers" / "archives")
ZEROS = gzip.compress(bytes(2**20), 9)


def run(check: str, data: bytes, **arguments: Any) -> CheckResult:
    try:
        found = PACK.checks[check](evidence({"/a": data}), path="/a", **arguments)
    except GuestFileError as error:
        return CheckResult(CheckStatus.FAIL, str(error))
    assert isinstance(found, CheckResult)
    return found


def tar(*infos: tarfile.TarInfo, **options: Any) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", **options) as archive:
        for info in infos:
            archive.addfile(info, io.BytesIO(bytes(info.size)))
    return stream.getvalue()


def info(name: str, kind: bytes = tarfile.REGTYPE, target: str = "", size: int = 0) -> Any:
    made = tarfile.TarInfo(name)
    made.type, made.linkname, made.size = kind, target, size
    return made


def zipped(build: Callable[[zipfile.ZipFile], None]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        build(archive)
    return stream.getvalue()


def many(archive: zipfile.ZipFile) -> None:
    for number in range(20_001):
        archive.writestr(str(number), "")


def twice(archive: zipfile.ZipFile) -> None:
    archive.writestr("./a", "")
    archive.writestr("a", "")


def header(size: int) -> bytes:
    """Return the header of a member of so many bytes."""
    return info("z", size=size).tobuf()  # type: ignore[no-any-return]


def linked(target: str) -> Callable[[zipfile.ZipFile], None]:
    def build(archive: zipfile.ZipFile) -> None:
        link = zipfile.ZipInfo("l")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, target)

    return build


def forged_size() -> bytes:
    """Return a tar whose second header states a size below zero."""
    raw = bytearray(tar(info("a"), info("b")))
    raw[512 + 124 : 512 + 136] = b"\xff" * 12
    raw[512 + 148 : 512 + 156] = b" " * 8
    raw[512 + 148 : 512 + 156] = b"%06o\0 " % sum(raw[512:1024])
    return bytes(raw)


HOSTILE: dict[str, tuple[str, bytes | Callable[[], bytes], dict[str, Any]]] = {
    "gzip bomb": ("holds", ZEROS * 200, {"member": "", "text": ""}),
    "xz bomb": ("holds", lzma.compress(bytes(2**20)) * 150, {"member": "", "text": ""}),
    "tar bomb": ("members", gzip.compress(header(200 * 2**20)) + ZEROS * 201, {"names": ["z"]}),
    "zip bomb": ("members", lambda: zipped(lambda z: z.writestr("z", bytes(129 * 2**20))),
                 {"names": ["z"]}),
    "member bomb": ("members", lambda: zipped(many), {"names": ["0"], "exact": False}),
    "long header": ("members", tar(info("x" * 70_000), format=tarfile.PAX_FORMAT),
                    {"names": ["x"], "exact": False}),
    "long names": ("members", tar(info("x" * 70_000), format=tarfile.GNU_FORMAT),
                   {"names": ["x"], "exact": False}),
    "size below zero": ("members", forged_size(), {"names": ["a"], "exact": False}),
    "name twice": ("holds", tar(info("a"), info("a")), {"member": "a", "text": ""}),
    "zip name twice": ("lacks", zipped(twice), {"names": ["b"]}),
    "bad checksum": ("holds", zipped(lambda z: z.writestr("a", "x" * 9)).replace(
        zlib.crc32(b"x" * 9).to_bytes(4, "little"), b"0000"), {"member": "a", "text": "x" * 9}),
    "encrypted": ("holds", zipped(lambda z: z.writestr("a", "x")).replace(
        b"PK\x01\x02\x14\x03\x14\0\0\0", b"PK\x01\x02\x14\x03\x14\0\x01\0").replace(
        b"PK\x03\x04\x14\0\0\0", b"PK\x03\x04\x14\0\x01\0"), {"member": "a", "text": "x"}),
    "device": ("safe", tar(info("null", tarfile.CHRTYPE)), {}),
    "pipe": ("safe", tar(info("pipe", tarfile.FIFOTYPE)), {}),
    "hard link out": ("safe", tar(info("a/h", tarfile.LNKTYPE, "../x")), {}),
    "absolute": ("safe", tar(info("/etc/passwd")), {}),
    "absolute link": ("safe", tar(info("l", tarfile.SYMTYPE, "/etc")), {}),
    "zip link out": ("safe", zipped(linked("../x")), {}),
    "backslash": ("safe", zipped(lambda z: z.writestr("..\\x", "")), {}),
    "no archive": ("safe", b"hello", {}),
    "zip cut": ("safe", zipped(lambda z: z.writestr("a", "x"))[:-5], {}),
    "gzip cut": ("safe", gzip.compress(tar(info("a")))[:-12], {}),
}  # fmt: skip


@pytest.mark.timeout(30)
@pytest.mark.parametrize(("check", "data", "arguments"), HOSTILE.values(), ids=HOSTILE)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_hostile_archives_are_fails_in_time(
    check: str, data: bytes | Callable[[], bytes], arguments: dict[str, Any]
) -> None:
    found = run(check, data() if callable(data) else data, **arguments)
    assert found.status is CheckStatus.FAIL, found
    assert len(found.message) < 500


@pytest.mark.parametrize(
    ("target", "passes"), [("x", True), ("./a/../x", True), ("a/../../x", False), ("..", False)]
)
def test_links_within_are_safe(target: str, passes: bool) -> None:
    found = run("safe", tar(info("l", tarfile.SYMTYPE, target)))
    assert (found.status is CheckStatus.PASS) is passes


NAMES = st.from_regex(r"[a-z]{1,3}(/[a-z]{1,3})?", fullmatch=True)


@given(
    st.dictionaries(NAMES, st.binary(max_size=40), max_size=5),
    st.sampled_from(["w", "w:gz", "w:bz2", "w:xz", "zip"]),
)
@settings(max_examples=40)
def test_what_was_packed_is_found(files: Mapping[str, bytes], mode: str) -> None:
    stream = io.BytesIO()
    if mode == "zip":
        with zipfile.ZipFile(stream, "w") as archive:
            for name, data in files.items():
                archive.writestr(name, data)
    else:
        with tarfile.open(fileobj=stream, mode=mode) as archive:  # type: ignore[call-overload]
            for name, data in files.items():
                made = info(name, size=len(data))
                archive.addfile(made, io.BytesIO(data))
    packed = stream.getvalue()
    assert run("members", packed, names=list(files)).status is CheckStatus.PASS
    assert run("members", packed, names=[*files, "other.x"]).status is CheckStatus.FAIL
    assert run("safe", packed).status is CheckStatus.PASS
    for name, data in files.items():
        seen = evidence({"/a": packed}, gold={"g": data, "h": data + b"x"})
        for gold, status in (("g", CheckStatus.PASS), ("h", CheckStatus.FAIL)):
            found = PACK.checks["holds"](seen, path="/a", member=name, gold=gold)
            assert isinstance(found, CheckResult) and found.status is status


@given(st.binary(max_size=300), st.integers(0, 2000), st.sampled_from(["tar", "gz", "zip"]))
@settings(max_examples=60)
def test_damage_is_a_fail_or_harmless(noise: bytes, at: int, kind: str) -> None:
    whole = (
        zipped(lambda z: z.writestr("a", "x" * 500)) if kind == "zip" else tar(info("a", size=9))
    )
    whole = gzip.compress(whole) if kind == "gz" else whole
    at = min(at, len(whole))
    run("safe", whole[:at] + noise + whole[at + len(noise) :])


@pytest.mark.parametrize(
    ("check", "arguments", "says"),
    [
        ("members", {"names": "a"}, "names: expected a list"),
        ("lacks", {"names": [1]}, "names: expected text"),
        ("holds", {"member": "a"}, "exactly one of"),
        ("holds", {"member": "a", "text": "x", "gold": "g"}, "exactly one of"),
        ("holds", {"member": "a", "sha256": "abc"}, "64 hexadecimal"),
        ("backs_up", {"folder": 3}, "expected text"),
    ],
)
def test_mistakes_of_the_author_are_found_before_any_episode(
    check: str, arguments: Mapping[str, Any], says: str
) -> None:
    with pytest.raises(VerifierError, match=says):
        dry_run(f"archives.{check}", PACK.checks[check], {"path": "/a", **arguments})
