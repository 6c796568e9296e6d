"""A small environment with a computer and two services, and a task that needs both."""

import json
from pathlib import Path

from agentgym.records import Action

ENV_TOML = """\
schema_version = "agentgym.env/1"
title = "A desk with a shelf, a board and a computer"
sandbox = "host"
services = "desk"
surfaces = ["shell", "services", "code"]
"""
SHELF_SQL = """\
CREATE TABLE shelf_item (id INTEGER PRIMARY KEY, title TEXT NOT NULL, done INTEGER NOT NULL,
  picture BLOB);
"""
SHELF = '''\
import io
from typing import Annotated

from PIL import Image as Picture
from pydantic import Field
from typing_extensions import TypedDict

from agentgym.services import Image, Service, ServiceError, reads, writes


class Item(TypedDict):
    id: int
    title: str
    done: bool


class Shelf(Service):
    """Things to do, each with a picture."""

    def fill(self, rng):
        for number, title in enumerate(("amber", "cedar", "lilac"), 1):
            page = io.BytesIO()
            Picture.new("RGB", (6, 4), (40 * number, 0, 0)).save(page, "PNG")
            self.db.insert("shelf_item", title=title, done=0, picture=page.getvalue())

    @reads
    def list_items(self) -> list[Item]:
        """List what there is."""
        rows = self.db.all("SELECT id, title, done FROM shelf_item ORDER BY id")
        return [{**row, "done": bool(row["done"])} for row in rows]

    @reads
    def look(self, item: int) -> Image:
        """Show the picture of an item.

        Args:
            item: Its number.
        """
        return Image(self.db.value("SELECT picture FROM shelf_item WHERE id = ?", self._id(item)))

    @reads
    def poster(self, width: Annotated[int, Field(ge=1, le=5000)]) -> Image:
        """Draw a poster.

        Args:
            width: In pixels.
        """
        page = io.BytesIO()
        Picture.new("RGB", (width, 10), (0, 0, 255)).save(page, "PNG")
        return Image(page.getvalue())

    @reads
    def repeat(self, text: str, times: Annotated[int, Field(ge=0, le=20_000)]) -> list[str]:
        """Say something many times.

        Args:
            text: What to say.
            times: How often.
        """
        return [text] * times

    @writes
    def add(self, title: Annotated[str, Field(min_length=1, max_length=100_000)]) -> Item:
        """Add an item.

        Args:
            title: What it is called.
        """
        number = self.db.insert("shelf_item", title=title, done=0)
        return {"id": number, "title": title, "done": False}

    @writes
    def finish(self, item: int) -> None:
        """Say that an item is done.

        Args:
            item: Its number.
        """
        self.db.execute("UPDATE shelf_item SET done = 1 WHERE id = ?", self._id(item))

    def _id(self, item):
        if not self.db.value("SELECT 1 FROM shelf_item WHERE id = ?", item):
            raise ServiceError("not_found", f"no item {item}", "item")
        return item
'''
BOARD_SQL = """\
CREATE TABLE board_note (id INTEGER PRIMARY KEY, text TEXT NOT NULL, at TEXT NOT NULL,
  picture BLOB);
"""
BOARD = '''\
from typing_extensions import TypedDict

from agentgym.services import Image, Service, reads, writes


class Note(TypedDict):
    id: int
    text: str
    at: str
    picture: Image | None


class Board(Service):
    """Notes for everybody."""

    @writes
    def post(self, text: str, picture: Image | None = None) -> Note:
        """Put a note on the board.

        Args:
            text: What it says.
            picture: Name of an image to pin beside it.
        """
        data = None if picture is None else picture.data
        number = self.db.insert("board_note", text=text, at=self.now, picture=data)
        return self._note(self.db.one("SELECT * FROM board_note WHERE id = ?", number))

    @reads
    def read(self) -> list[Note]:
        """Show all notes."""
        return [self._note(row) for row in self.db.all("SELECT * FROM board_note ORDER BY id")]

    def _note(self, row):
        return {**row, "picture": row["picture"] and Image(row["picture"])}
'''
SERVICES = {
    "env.toml": ENV_TOML,
    "services/shelf/schema.sql": SHELF_SQL,
    "services/shelf/service.py": SHELF,
    "services/board/schema.sql": BOARD_SQL,
    "services/board/service.py": BOARD,
}
TASK_TOML = """\
schema_version = "agentgym.task/1"
id = "demo/both-v1"
title = "Carry a list from the computer to the shelf"
difficulty = "easy"
env = "desk"
max_steps = 12

[params]
word = { choice = ["plum", "fig"] }

[[event]]
id = "file"
at_step = 0
run = "events/file.sh"

[[event]]
id = "carried"
when = "carried"
run = "events/carried.py"
announce = "somebody has looked at the shelf"

[[event]]
id = "late"
after_s = 180
run = "events/late.py"

[[fault]]
id = "flaky"
tool = "shelf_finish"
calls = [1]
kind = "error"

[[fault]]
id = "lost"
tool = "shelf_add"
calls = [2]
kind = "timeout"
point = "after"
"""
RUBRIC = """\
schema_version = "agentgym.rubric/1"

[[checkpoint]]
id = "carried"
title = "Every line of the list is on the shelf"
use = "checks.carried"
when = "every_step"
phase = "process"

[[checkpoint]]
id = "once"
title = "Each of them is there once, and the first is done"
use = "checks.once"

[[checkpoint]]
id = "report"
title = "The report names what the shelf holds"
use = "checks.report"
"""
CHECKS = """\
def lines(evidence):
    return evidence.after.read("/srv/list").decode().split()


def carried(evidence):
    titles = {row["title"] for row in evidence.tables_after.rows("shelf_item")}
    return set(lines(evidence)) <= titles


def once(evidence):
    added = [c for c in evidence.row_changes if c.table == "shelf_item" and c.kind == "added"]
    done = evidence.tables_after.rows("shelf_item", done=1)
    first = evidence.gold("first").decode()
    return (
        sorted(c.after["title"] for c in added) == sorted(lines(evidence))
        and [row["title"] for row in done] == [first]
        and evidence.tables_before.one("shelf_item", title=first) is None
    )


def report(evidence):
    report = evidence.after.read("/srv/report").decode().splitlines()
    calls = [c.tool for c in evidence.calls if c.actor == "agent" and c.ok]
    return report == sorted(lines(evidence)) and "shelf_list_items" in calls
"""
PROGRAM = """\
titles = open("/srv/list").read().split()
there = {item["title"]: item["id"] for item in shelf_list_items()}
for title in titles:
    if title not in there:
        try:
            shelf_add(title)
        except ServiceError as error:
            print(error.code, error.message)
there = {item["title"]: item["id"] for item in shelf_list_items()}
try:
    shelf_finish(there[titles[0]])
except ServiceError as error:
    print(error.code)
    shelf_finish(there[titles[0]])
open("/srv/report", "w").write("".join(t + "\\n" for t in sorted(titles)))
board_post("done: " + ", ".join(titles))["id"]
"""
SOLUTION = (
    Action("run_python", {"code": PROGRAM}),
    Action("bash", {"command": "cat /srv/log"}),
    Action("shelf_list_items"),
    Action("submit"),
)
TASK = {
    "task.toml": TASK_TOML,
    "solution/actions.jsonl": "".join(json.dumps(a.to_json()) + "\n" for a in SOLUTION),
    "instruction.md": "Carry /srv/list to the shelf, finish its first, write /srv/report.\n",
    "setup/setup.sh": 'printf "%s\\nzebra\\n" "$PARAM_WORD" > /srv/list\n',
    "setup/services.py": (
        "def change(context):\n"
        '    context.gold("first", str(context.params["word"]))\n'
        '    context.call("shelf_finish", item=1)\n'
        '    context.db.execute("UPDATE shelf_item SET done = 0")\n'
    ),
    "events/file.sh": 'echo "begun $AGENTGYM_NOW" > /srv/log\n',
    "events/carried.py": 'def change(c):\n    c.call("board_post", text="I have seen it")\n',
    "events/late.py": 'def change(context):\n    context.call("board_post", text="it is late")\n',
    "checks/rubric.toml": RUBRIC,
    "checks/checks.py": CHECKS,
}
# The same without events, faults and milestones.
CALM_TOML = TASK_TOML.partition("[[event]]")[0]
CALM_TASK = {path: text for path, text in TASK.items() if not path.startswith("events/")} | {
    "task.toml": CALM_TOML,
    "checks/rubric.toml": RUBRIC.replace('when = "every_step"\n', ""),
}


def write_desk(root: Path, task: dict[str, str] | None = None, **env: str) -> Path:
    """Write the environment and a task below a root, and return the task's folder.

    Args:
        root: A folder for the search path.
        task: Its files by path; the one above by default.
        env: Other text for files of the environment, by path.
    """
    folders = {root / "envs/desk": {**SERVICES, **env}, root / "tasks/demo/both": task or TASK}
    for folder, files in folders.items():
        for path, text in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
    return root / "tasks/demo/both"
