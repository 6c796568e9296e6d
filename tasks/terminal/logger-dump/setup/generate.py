"""Write three loggers' dumps, with damage, and the readings that are left in them.

Records are kept together with the readings they stand for, so that the truth needs no decoder: a
damaged record simply adds none.
"""

from __future__ import annotations

import os
import random
import struct
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

HOME = Path("/srv/loggers")
SUN = range(200, 300)  # warm for sure: a record is lost in the midst of it
NOTES = (
    "door open",
    "customs",
    "handover \u2192 van",
    "battery 71%",
    "probe reseated",
    "\u00a5\u00a5 check",
)


def crc(data: bytes) -> int:
    value = 0xFFFF
    for byte in data:
        value ^= byte << 8
        for _ in range(8):
            value = (value << 1 ^ 0x1021 if value & 0x8000 else value << 1) & 0xFFFF
    return value


def varint(number: int) -> bytes:
    value = number * 2 if number >= 0 else -number * 2 - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out + bytes([value]))


@dataclass
class Dump:
    """A file in the making, and what can be read from it."""

    order: str
    data: bytearray
    readings: dict[int, int] = field(default_factory=dict)

    def record(self, kind: int, payload: bytes) -> bytes:
        body = bytes([kind, len(payload)]) + payload
        return b"\xa5" + body + struct.pack(f"{self.order}H", crc(body))

    def block(self, first: int, values: list[int]) -> bytes:
        payload = struct.pack(f"{self.order}Ih", first, values[0])
        for before, value in zip(values, values[1:], strict=False):
            payload += varint(value - before)
        return self.record(1, payload)

    def put(self, first: int, values: list[int]) -> None:
        self.data += self.block(first, values)
        self.readings.update(enumerate(values, first))


def temperatures(rng: random.Random, count: int) -> list[int]:
    """Return hundredths of a degree that wander about 5 degrees, and out of range now and then."""
    values, value, pull = [], rng.randint(380, 620), 500
    for number in range(count):
        if number in SUN:
            pull = 1_150
        elif rng.random() < 0.025:
            pull = rng.choice([500, 500, 500, 960, 120, 1_150])
        value += round((pull - value) * 0.16) + rng.choice([-35, -12, -5, 0, 0, 5, 12, 35])
        values.append(value + (rng.choice([-260, 270]) if rng.random() < 0.01 else 0))
    return values


def damaged(rng: random.Random, record: bytes, how: str) -> bytes:
    """Return a record that is worth nothing any more."""
    if how == "bit":
        at = rng.randrange(3, len(record))
        return record[:at] + bytes([record[at] ^ 1 << rng.randrange(8)]) + record[at + 1 :]
    if how == "short":  # what follows seems to belong to it
        at = rng.randrange(4, len(record) - 3)
        return record[:at] + record[at + rng.randint(1, 3) :]
    return record[:2] + bytes([rng.randrange(150, 256)]) + record[3:]  # a length that leads astray


def write_dump(rng: random.Random, serial: int, start: datetime, order: str) -> list[list[str]]:
    """Write one logger's file; return its rows."""
    interval = rng.choice([150, 300, 240])
    zero = int(start.timestamp()) + rng.randrange(20_000, 60_000)
    flags = 1 if order == ">" else 0
    head = struct.pack(f"{order}4sBBIIH", b"TL3\x1a", 2, flags, serial, zero, interval)
    dump = Dump(order, bytearray(head))
    count = rng.randint(420, 560)
    values = temperatures(rng, count)
    offsets, steps = {0: 0}, {0: interval}
    hows = ["bit", "short", "length", "short"]
    blocks = []
    at = 0
    while at < count:
        size = min(rng.randint(9, 24), count - at)
        blocks.append((at, values[at : at + size]))
        at += size
    warm = [n for n, (at, block) in enumerate(blocks) if at in SUN[30:] and at + len(block) in SUN]
    hurt = [warm[0], *rng.sample([n for n in range(2, len(blocks) - 3) if n not in warm], 3)]
    special = rng.sample([n for n in range(3, len(blocks) - 4) if n not in hurt], 6)
    for number, (first, block) in enumerate(blocks):
        if number in special[:2]:
            offsets[first + 4] = rng.choice([-95, 40, 131, -3_610])
            dump.data += dump.record(2, struct.pack(f"{order}Ih", first + 4, offsets[first + 4]))
        elif number == special[2]:
            steps[first + 3] = rng.choice([60, 120, 600])
            dump.data += dump.record(3, struct.pack(f"{order}IH", first + 3, steps[first + 3]))
        elif number == special[3]:  # a note that contains the bytes of a record
            fake = dump.block(first, [9_000] * 5)
            dump.data += dump.record(4, b"copy of " + fake)
        elif number == special[4]:
            dump.data += dump.record(0x31, rng.randbytes(20)) + bytes(rng.randrange(1, 5))
        elif rng.random() < 0.2:
            dump.data += dump.record(4, rng.choice(NOTES).encode())
        if number in hurt:
            dump.data += damaged(rng, dump.block(first, block), hows.pop())
            continue
        if number == special[5]:  # written twice, the second time with better values
            dump.put(first, [value + rng.choice([0, 0, 7, -9]) for value in block])
        dump.put(first, block)
    dump.data += dump.record(0x7F, b"")
    dump.data += dump.block(40, [2_500] * 12) + b"\xa5" + rng.randbytes(40)
    (HOME / f"box-{serial}.tl3").write_bytes(dump.data)

    rows, clock = [], zero
    offset = step = 0
    for sample in range(count):
        offset, step = offsets.get(sample, offset), steps.get(sample, step)
        if sample in dump.readings:
            when = datetime.fromtimestamp(clock + offset, UTC)
            celsius = f"{Decimal(dump.readings[sample]) / 100:.2f}"
            rows.append([str(serial), str(sample), f"{when:%Y-%m-%dT%H:%M:%SZ}", celsius])
        clock += step
    return rows


def excursions(rows: list[list[str]], low: Decimal, high: Decimal, least: int) -> list[list[str]]:
    found, run = [], []
    for row in [*rows, ["", "-1", "", "5"]]:
        value = Decimal(row[3])
        side = (value > high) - (value < low)
        if run and (side != run[-1][1] or int(row[1]) != run[-1][0] + 1):
            if run[-1][1] and len(run) >= least:
                most = (max if run[-1][1] > 0 else min)(entry[2] for entry in run)
                serial = rows[0][0]
                found.append(
                    [serial, str(run[0][0]), str(run[-1][0]), str(len(run)), f"{most:.2f}"]
                )
            run = []
        run.append((int(row[1]), side, value))
    return found


def main() -> None:
    start = datetime.fromisoformat(os.environ["PARAM_START"] + "T00:00:00+00:00")
    limits = [Decimal(os.environ[f"PARAM_{name}"]) for name in ("LOW", "HIGH")]
    rng = random.Random(f"logger-dump {start} {os.environ['PARAM_SEED']}")
    serials = sorted(rng.sample(range(10_000, 90_000), 3))
    orders = ["<", ">", rng.choice("<>")]
    rng.shuffle(orders)
    readings, runs = [], []
    for number, (serial, order) in enumerate(zip(serials, orders, strict=True)):
        rows = write_dump(rng, serial, start + timedelta(days=number), order)
        readings += rows
        runs += excursions(rows, *limits, int(os.environ["PARAM_LEAST"]))
    tables = {
        "readings.csv": ["serial,sample,utc,celsius", *map(",".join, readings)],
        "excursions.csv": ["serial,first,last,readings,extreme", *map(",".join, runs)],
    }
    for name, lines in tables.items():
        (Path(os.environ["AGENTGYM_GOLD"]) / name).write_text("\n".join(lines) + "\n")


main()
