"""Setups that differ from run to run are found, with the path and the line; others are not."""

from __future__ import annotations

import re
import shlex

import pytest

from agentgym.authoring.afresh import differences, first_difference
from agentgym.authoring.subject import Subject
from agentgym.errors import TaskError
from agentgym.task.load import load_folder

pytestmark = pytest.mark.asyncio(loop_scope="session")


def python(lines: str) -> str:
    return f"python3 -c {shlex.quote(lines)} > $made"


UNSTEADY = {
    "unseeded": python("import random\nprint(random.Random().random())"),
    "entropy": python("import secrets\nprint(secrets.token_hex(4))"),
    "uuid": python("import uuid\nprint(uuid.uuid4())"),
    "pid": python("import os\nprint(os.getpid())"),
    "set": python("print(*{'ann', 'bob', 'eve', 'joe', 'sue', 'tom'})"),
    "listdir": python("import os\nprint(*os.listdir('/etc'))"),
    "glob": python("import glob\nprint(*glob.glob('/etc/*'))"),
    "walk": python("import pathlib\nprint(*pathlib.Path('/etc').rglob('*'))"),
    "today": python("import datetime\nprint(datetime.date.today())"),
    "year": python("import datetime\nprint(datetime.datetime.now().year)"),
    "weekday": python("import time\nprint(time.strftime('%A %d'))"),
    "hash": python("print(hash('ann'))"),
    "random": "echo $RANDOM > $made",
    "shell_pid": "echo $$ > $made",
    "date": "date > $made",
    "day": "date -u +%F > $made",
    "ago": "date -d '5 days ago' +%F > $made",
    "seconds": "echo $EPOCHSECONDS > $made",
    "find": "find /etc -maxdepth 1 > $made",
    "archive": "mkdir $made; tar czf $made/all.tgz -C /srv shop/sales.csv",
    "mktemp": "mktemp -d $made.XXXXXX",
    "link": "ln -s /tmp/$RANDOM $made",
    "mode": "touch $made; chmod 7$(($(date +%Y) % 8))5 $made",
    "kind": "mkdir $made.$RANDOM",
    "gold": "echo $RANDOM > $AGENTGYM_GOLD/gold; touch $made",
}

STEADY = {
    "seeded": python("import random\nprint(random.Random(7).random())"),
    "sorted_set": python("print(*sorted({'ann', 'bob', 'eve'}))"),
    "sorted_listdir": python("import os\nprint(*sorted(os.listdir('/etc')))"),
    "given_dates": python(
        "import datetime, time\n"
        "day = datetime.datetime(2026, 3, 1, tzinfo=datetime.timezone.utc)\n"
        "assert isinstance(day, datetime.date) and type(day) is datetime.datetime\n"
        "print(day + datetime.timedelta(days=3), time.strftime('%F', time.gmtime(0)))"
    ),
    "given_date": "date -u -d '2026-03-01 + 3 days' +%A > $made",
    "sorted_find": "find /etc -maxdepth 1 | sort > $made",
    "found_and_run": "find /etc/passwd -exec wc -l {} + > $made",
    "fixed_archive": (
        "mkdir $made; tar cf $made/all.tar --sort=name --mtime=@0 --owner=0 --group=0 "
        "-C /srv shop/sales.csv"
    ),
    "touched": "touch $made",
}


def setup(commands: dict[str, str]) -> dict[str, str]:
    lines = [f"made=/srv/shop/{name}\n{command}\n" for name, command in commands.items()]
    return {"setup/setup.sh": "…\n" + "".join(lines)}


async def found(folder, stage) -> list[str]:
    subject = Subject(load_folder(folder), range(1), stage)
    try:
        return await differences(subject, named=1_000)
    finally:
        subject.close()


async def test_what_differs_from_run_to_run_is_found(write, stage):
    *complaints, advice = await found(write(setup(UNSTEADY)), stage)
    assert "volatile_paths" in advice
    told = "\n".join(complaints)
    assert "gold 'gold' differs in line 1" in told
    for name in UNSTEADY.keys() - {"gold"}:
        assert re.search(rf"^setup: /srv/shop/{name}\b.* (run|byte \d+ of \d+)", told, re.M), name
    assert "/srv/shop/shell_pid differs in line 1: " in told
    assert "/srv/shop/gold " not in told and "sales.csv differs" not in told


async def test_what_is_the_same_in_every_run_is_not_accused(write, stage):
    assert await found(write(setup(STEADY)), stage) == []


async def test_paths_that_may_differ_are_left_out(write, stage):
    volatile = '…\n[replay]\nvolatile_paths = ["/srv/shop/random"]\n'
    files = {**setup({"random": UNSTEADY["random"]}), "task.toml": volatile}
    assert await found(write(files), stage) == []


async def test_a_setup_that_no_stand_in_suits_is_run_without_them(write, stage):
    picky = "[ $(command -v date) = /usr/bin/date ] || exit 3\necho $RANDOM > $made"
    assert "picky" in (await found(write(setup({"picky": picky})), stage))[0]


@pytest.mark.full
async def test_rows_and_gold_that_differ_from_run_to_run_are_found(write_services, stage):
    text = """…
import datetime
_first = change
def change(context):
    _first(context)
    names = {f"name {number}" for number in range(12)}
    context.gold("names", "".join(names))
    context.gold("same", "".join(sorted(names)))
    context.db.execute("UPDATE tickets_ticket SET subject = ?", str(datetime.date.today()))
"""
    *told, _ = await found(write_services({"setup/services.py": text}), stage)
    assert "setup/services.py: gold 'names' differs between two runs" in told
    assert re.match(r"setup/services.py: tickets_ticket \d+: subject is '20\d\d-", told[0])
    assert not [line for line in told if "'same'" in line]


async def test_a_services_setup_that_fails_elsewhere_is_told(write_services, stage):
    text = "…\nimport os\nassert 'AGENTGYM_SHIFT_S' not in os.environ, 'another process'\n"
    with pytest.raises(TaskError, match="another process"):
        await found(write_services({"setup/services.py": text}), stage)


async def test_the_first_line_that_differs_is_told():
    was, now = b"a\nb\nc\n", b"a\nB\nc\n"
    assert first_difference(was, now) == "differs in line 2: 'b' in one run, 'B' in another"
    grown = "differs in line 2: '' in one run, 'b' in another"
    assert first_difference(b"a\n", b"a\nb\n") == grown
    assert first_difference(b"\xff\x00", b"\xff\x01") == "differs at byte 1 of 2, from run to run"
    assert first_difference(b"same", b"same") == ""
    assert len(first_difference(b"x" * 10_000 + b"a", b"x" * 10_000 + b"b")) < 200
