"""A gallery of lamps: which colour a lamp has is seen in a picture only, whose size differs too."""

from __future__ import annotations

ENV = """\
schema_version = "agentgym.env/1"
title = "A gallery"
services = "gallery"
surfaces = ["services"]
"""
SCHEMA = "CREATE TABLE lamps_pick (id INTEGER PRIMARY KEY, colour TEXT NOT NULL);\n"
SERVICE = '''\
import io
import random

from PIL import Image as Pictures

from agentgym.services import Image, Service, reads, writes

LAMPS = (("red", (30, 90)), ("blue", (120, 60)))


class Lamps(Service):
    """Lamps of two colours."""

    def fill(self, rng: random.Random) -> None:
        pass

    @reads
    def look(self, lamp: int) -> Image:
        """Show a lamp.

        Args:
            lamp: 0 or 1.
        """
        colour, size = LAMPS[lamp % 2]
        file = io.BytesIO()
        Pictures.new("RGB", size, colour).save(file, "png")
        return Image(file.getvalue(), "image/png")

    @writes
    def pick(self, colour: str) -> int:
        """Say which colour a lamp has.

        Args:
            colour: Its colour.
        """
        return self.db.insert("lamps_pick", colour=colour)
'''
TASK = {
    "task.toml": """\
schema_version = "agentgym.task/1"
id = "demo/lamp-v1"
title = "Which colour"
difficulty = "easy"
env = "gallery"
max_steps = 2

[params]
lamp = { choice = [0, 1] }
who = { choice = ["ada", "ben", "cleo", "dan", "eve"] }
""",
    "instruction.md": "{{who}} asks: which colour has lamp {{lamp}}?",
    "solution/actions.jsonl": """\
{"tool": "lamps_look", "arguments": {"lamp": "{{lamp}}"}}
{"tool": "lamps_pick", "arguments": {"colour": "red"}}
""",
    "checks/rubric.toml": """\
schema_version = "agentgym.rubric/1"
[[checkpoint]]
id = "picked"
title = "The colour is that of the lamp"
use = "checks.picked"
""",
    "checks/checks.py": """\
def picked(evidence):
    rows = evidence.tables_after.rows("lamps_pick")
    return [row["colour"] for row in rows] == [("red", "blue")[evidence.params["lamp"]]]
""",
}
CONFIG = """\
schema_version = "agentgym.train/1"
tasks = ["demo/lamp-v1"]
sandbox = "none"
iterations = 2
[policy]
kind = "huggingface"
path = "./model"
device = "cpu"
context = 2000
completion_tokens = 40
batch_invariant = true
[rollouts]
groups = 2
group_size = 4
jobs = 8
record = true
[algorithm]
learning_rate = 1e-4
row_tokens = 2400
rows = 1
epochs = 1
[evaluation]
every = 20
seeds = [1000]
trials = 1
"""


def write_gallery(root):
    """Write the environment, the task and a training configuration; return the latter."""
    files = {
        "envs/gallery/env.toml": ENV,
        "envs/gallery/services/lamps/schema.sql": SCHEMA,
        "envs/gallery/services/lamps/service.py": SERVICE,
        **{f"tasks/demo/lamp/{name}": text for name, text in TASK.items()},
        "train.toml": CONFIG,
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root / "train.toml"
