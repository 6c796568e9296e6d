"""Write a chunked tar.gz backup, damage it in three places, and note which members survive.

The archive is a row of gzip members of 64 KiB each (as `bgzip` and `pigz -i` write them), so
the truth follows from offsets: a member is lost when its header or its data touches a bad chunk.
"""

from __future__ import annotations

import calendar
import gzip
import hashlib
import io
import json
import os
import random
import tarfile
import time
import zlib
from pathlib import Path

CHUNK = 64 * 1024
RESTORE = Path("/srv/restore")
TOPICS = (
    "rollout onboarding network invoice audit floorplan handover capacity incident vendor "
    "training budget roadmap inventory contract survey migration release meeting travel"
)
WORDS = (
    "the server was moved to rack seven and its cables are labelled now please check the "
    "backup before friday because two of the disks report errors and nobody has a spare one "
    "see also the minutes of the last meeting where we agreed to keep both systems until may"
)


class DrawAgain(Exception):
    """The drawn layout would leave room for argument about some member."""


def prose(rng: random.Random, size: int) -> bytes:
    """Return about `size` bytes of text that compresses as notes and logs do."""
    lines = []
    length = 0
    while length < size:
        line = f"{rng.randint(0, 10**6):07d} {' '.join(rng.choices(WORDS.split(), k=11))}"
        lines.append(line)
        length += len(line) + 1
    return "\n".join(lines).encode()[:size]


def nested_tar(rng: random.Random, mtime: int) -> bytes:
    """Return a tar that lies inside the backup: its headers look like headers of the backup."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for number in range(24):
            data = prose(rng, rng.randint(5_000, 9_000))
            info = tarfile.TarInfo(f"site-export/page-{number:03d}.html")
            info.size, info.mtime, info.mode = len(data), mtime, 0o644
            tar.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def draw_files(rng: random.Random) -> dict[str, tuple[bytes, int, int]]:
    """Return path -> (contents, mode, mtime) in archive order."""
    topics = TOPICS.split()
    files: dict[str, tuple[bytes, int, int]] = {}
    for year in (2021, 2022, 2023):
        for month in sorted(rng.sample(range(1, 13), 6)):
            for _ in range(rng.randint(5, 9)):
                topic = rng.choice(topics)
                number = rng.randint(100, 999)
                kind = rng.choice(["txt", "md", "csv", "pdf", "png", "sh", "xlsx"])
                stem = f"{topic}-{number}"
                if rng.random() < 0.07:  # longer than a tar header's name field
                    stem += "-" + "-".join(rng.choices(topics, k=11))
                size = int(10 ** rng.uniform(2.3, 5.0))
                text = kind in ("txt", "md", "csv", "sh")
                data = prose(rng, size) if text else rng.randbytes(size)
                mode = 0o755 if kind == "sh" else rng.choice([0o644, 0o644, 0o640, 0o600])
                day = (year, month, rng.randint(1, 28), rng.randint(7, 18), rng.randint(0, 59), 0)
                mtime = calendar.timegm(day)
                files[f"attachments/{year}/{month:02d}/{stem}.{kind}"] = (data, mode, mtime)
    items = list(files.items())
    at = rng.randint(len(files) // 3, len(files) // 2)
    neighbour, (_, _, mtime) = items[at]
    path = neighbour.rsplit("/", 1)[0] + "/site-export.tar"
    return dict([*items[:at], (path, (nested_tar(rng, mtime), 0o640, mtime)), *items[at:]])


def build_tar(files: dict[str, tuple[bytes, int, int]]) -> bytes:
    buffer = io.BytesIO()
    folders: set[str] = set()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for path, (data, mode, mtime) in files.items():
            for depth in range(1, path.count("/") + 1):
                folder = "/".join(path.split("/")[:depth])
                if folder not in folders:
                    folders.add(folder)
                    tar.addfile(member(folder, 0o755, mtime, tarfile.DIRTYPE))
            info = member(path, mode, mtime, tarfile.REGTYPE)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def member(path: str, mode: int, mtime: int, kind: bytes) -> tarfile.TarInfo:
    info = tarfile.TarInfo(path)
    info.type, info.mode, info.mtime = kind, mode, mtime
    info.uid = info.gid = 0
    info.uname = info.gname = "root"
    return info


def read_members(tar: bytes) -> list[tarfile.TarInfo]:
    with tarfile.open(fileobj=io.BytesIO(tar)) as archive:
        return archive.getmembers()


def flip_silently(rng: random.Random, packed: bytes, header_blocks: set[int]) -> bytes:
    """Flip one bit so that the chunk still inflates to its length, with other bytes in it."""
    good = gzip.decompress(packed)
    for _ in range(400):
        at = rng.randint(len(packed) // 3, len(packed) - 20)
        bad = packed[:at] + bytes([packed[at] ^ 1 << rng.randint(0, 7)]) + packed[at + 1 :]
        inflate = zlib.decompressobj(-15)
        try:
            plain = inflate.decompress(bad[10:])
        except zlib.error:
            continue
        if not inflate.eof or len(plain) != len(good) or inflate.unused_data != bad[-8:]:
            continue
        wrong = {i // 512 for i in range(len(good)) if good[i] != plain[i]}
        if wrong and not wrong & header_blocks:
            return bad
    raise DrawAgain("no bit of this chunk can be flipped silently")


def damage(rng: random.Random, tar: bytes, export: str) -> tuple[list[bytes], set[int]]:
    """Return the chunks of the archive, some damaged, and the numbers of the bad ones."""
    chunks = [
        gzip.compress(tar[at : at + CHUNK], compresslevel=6, mtime=0)
        for at in range(0, len(tar), CHUNK)
    ]
    members = read_members(tar)
    hole = next(m.offset for m in members if m.name == export) // CHUNK
    pair, flipped = rng.sample(range(2, len(chunks) - 3), 2)
    spots = sorted([(hole, 1), (pair, 2), (flipped, 1)])
    for (first, length), (second, _) in ((spots[0], spots[1]), (spots[1], spots[2])):
        if second - (first + length) < 3:
            raise DrawAgain("the damaged places are too close together")
    if hole < 2 or min(len(chunks[n]) for n in (hole, pair, pair + 1)) < 8_000:
        raise DrawAgain("too near the start, or too small to take a bad sector")

    middle = len(chunks[hole]) // 2
    chunks[hole] = chunks[hole][: middle - 2048] + bytes(4096) + chunks[hole][middle + 2048 :]
    chunks[pair] = chunks[pair][:-1536] + bytes(1536)
    chunks[pair + 1] = bytes(2560) + chunks[pair + 1][2560:]
    headers = {
        block - flipped * (CHUNK // 512)
        for m in members
        for block in range(m.offset // 512, m.offset_data // 512)
    }
    chunks[flipped] = flip_silently(rng, chunks[flipped], headers)
    return chunks, {hole, pair, pair + 1, flipped}


def lost_members(tar: bytes, bad: set[int]) -> set[str]:
    """Return the names of the files that touch a bad chunk, or ask for another draw."""

    def touches(start: int, end: int) -> bool:
        return any(n in bad for n in range(start // CHUNK, (max(end, start + 1) - 1) // CHUNK + 1))

    lost = set()
    for info in read_members(tar):
        end = info.offset_data + info.size
        answers = {
            touches(info.offset, end),
            touches(info.offset_data - 512, end),  # without a long-name header
            touches(info.offset, -(-end // 512) * 512),  # with the padding
        }
        if len(answers) > 1:
            raise DrawAgain(f"{info.name} is lost by one reading and intact by another")
        if info.isfile() and answers == {True}:
            lost.add(info.name)
    return lost


def listing_line(info: tarfile.TarInfo) -> str:
    kind = "d" if info.isdir() else "-"
    bits = "".join(
        letter if info.mode >> (8 - n) & 1 else "-" for n, letter in enumerate("rwxrwxrwx")
    )
    when = time.strftime("%Y-%m-%d %H:%M", time.gmtime(info.mtime))
    slash = "/" if info.isdir() else ""
    return f"{kind}{bits} root/root {info.size:>9} {when} {info.name}{slash}"


def main() -> None:
    rng = random.Random(int(os.environ["PARAM_SEED"]))
    service, date = os.environ["PARAM_SERVICE"], os.environ["PARAM_DATE"]
    taken = calendar.timegm(time.strptime(date + " 02:15", "%Y-%m-%d %H:%M"))
    for _ in range(60):
        files = draw_files(rng)
        export = next(path for path in files if path.endswith("site-export.tar"))
        tar = build_tar(files)
        try:
            chunks, bad = damage(rng, tar, export)
            lost = lost_members(tar, bad)
        except DrawAgain:
            continue
        break
    else:
        raise SystemExit("no layout without doubtful members in 60 draws")

    RESTORE.mkdir(parents=True)
    name = f"{service}-{date}"
    archive = b"".join(chunks)
    (RESTORE / f"{name}.tar.gz").write_bytes(archive)
    members = read_members(tar)
    (RESTORE / f"{name}.list").write_text("".join(listing_line(m) + "\n" for m in members))
    (RESTORE / "backup.log").write_text(
        f"{date} 02:15:00 nightly: source /var/lib/{service}, target {name}.tar.gz\n"
        f"{date} 02:15:00 nightly: format gnu tar, one gzip member per {CHUNK} bytes of tar\n"
        f"{date} 02:15:09 nightly: {len(files)} files, {len(members) - len(files)} directories\n"
        f"{date} 02:15:09 nightly: {len(tar)} bytes of tar in {len(chunks)} gzip members,"
        f" {len(archive)} bytes written\n"
        f"{date} 02:15:09 nightly: listing {name}.list written, done\n"
    )
    for path in RESTORE.iterdir():
        os.utime(path, (taken, taken))

    intact = {
        path: {"sha256": hashlib.sha256(data).hexdigest(), "mode": mode, "mtime": mtime}
        for path, (data, mode, mtime) in files.items()
        if path not in lost
    }
    gold = Path(os.environ["AGENTGYM_GOLD"]) / "members.json"
    gold.write_text(json.dumps({"intact": intact, "lost": sorted(lost)}, indent=1))


if __name__ == "__main__":
    main()
