"""Masking of volatile text: what two runs of a command print is made equal, and nothing else is."""

from __future__ import annotations

import calendar
import time
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym.record.volatile.masking import Masking
from agentgym.record.volatile.numbers import excused
from agentgym.record.volatile.times import Period, mask_times

BEGAN = calendar.timegm((2026, 3, 4, 23, 59, 30))
EPISODE = Period(BEGAN, BEGAN + 90)
MASKING = Masking((EPISODE,))

FORMATS = [
    "%Y-%m-%dT%H:%M:%SZ",
    "%Y-%m-%d %H:%M:%S.123456789 +0000",
    "%Y-%m-%d %H:%M",
    "%Y-%m-%d",
    "%Y/%m/%d",
    "%m/%d/%y",
    "%a %b %e %H:%M:%S UTC %Y",
    "%a %b %e %I:%M:%S %p UTC %Y",
    "%a %b %e %H:%M:%S %Y +0000",
    "%a, %d %b %Y %H:%M:%S +0000",
    "%d/%b/%Y:%H:%M:%S +0000",
    "%b %e %H:%M",
    "%b %e %H:%M:%S",
    "%b %e  %Y",
    "%B %d, %Y",
    "%d %b %Y",
    "%Y%m%d-%H%M%S",
    "%H:%M:%S",
    "%I:%M %p",
    "%Y-%m-%d+%H:%M:%S.0123456789",  # find -printf %T+
    "EPOCH",
    "EPOCH.250000",
    "EPOCH.2500000000",
    "EPOCH123",
    "EPOCH123456789",
]


def spelled(form, at):
    return datetime.fromtimestamp(at, UTC).strftime(form.replace("EPOCH", str(int(at))))


@pytest.mark.parametrize("form", FORMATS)
def test_a_time_of_the_episode_is_masked_in_every_usual_spelling(form):
    assert MASKING.text(f"at {spelled(form, BEGAN + 45)} x") == "at <time> x"
    # The same spelling of a day of the task's own stays.
    other = spelled(form, BEGAN + 86400 * 40 + 5000)
    assert MASKING.text(f"at {other} x") == f"at {other} x"


@given(st.integers(-12 * 4, 14 * 4), st.integers(0, 89))
def test_a_zone_does_not_hide_a_time(quarters, later):
    zone = timezone(timedelta(minutes=15 * quarters))
    local = datetime.fromtimestamp(BEGAN + later, zone)
    assert MASKING.text(local.isoformat()) == "<time>"
    assert MASKING.text(local.strftime("%a %b %e %H:%M:%S %Y")) == "<time>"


@given(st.integers(0, 2**33), st.sampled_from(FORMATS[:2] + FORMATS[6:8] + FORMATS[19:]))
def test_only_times_of_the_period_are_masked(at, form):
    # A spelling without a zone may be the local time of any.
    is_zoned = form.endswith("Z") or "+0000" in form or form.startswith("EPOCH")
    west_s, east_s = (0, 0) if is_zoned else (12 * 3600, 14 * 3600)
    is_near = EPISODE.began_s - 62 - west_s <= at <= EPISODE.ended_s + 2 + east_s
    text = spelled(form, at)
    if not is_near:
        assert mask_times(text, (EPISODE,)) == text


PRINTED = st.lists(
    st.one_of(
        st.sampled_from(FORMATS).map(lambda form: spelled(form, BEGAN + 7)),
        st.sampled_from(
            [
                *(
                    "[1] 123",
                    "[2]+  44 Running",
                    "pid 17",
                    "PID: 3",
                    "/proc/41/stat",
                    "sshd[93]: x",
                ),
                *("real\t0m0.012s", "took 3 s", "0.03s", "12 ms", "9 files", "port 45123"),
                *("/tmp/tmp.a8Bc7dEf1x", "/tmp/tmpab12cd_e", "0x7f3a12345678", "Inode: 88"),
                *("-rw-r--r-- 1 root root  12 Mar  4 23:59 a", "1564822 drwx------ 2 a b 40 x"),
                *("    PID TTY          TIME CMD", "      2 ?        00:00:00 bash", "total 8"),
                *("USER PID %CPU STAT START COMMAND", "root 7 0.0 R 23:59 ps aux", "\t", "  "),
            ]
        ),
        st.text(max_size=12),
    ),
    max_size=8,
).flatmap(lambda parts: st.sampled_from([" ", "\n"]).map(lambda between: between.join(parts)))


@given(PRINTED)
def test_masking_is_idempotent(text):
    once = MASKING.text(text)
    assert MASKING.text(once) == once
    assert MASKING.file("a", MASKING.file("a", text)) == MASKING.file("a", text)


@given(PRINTED, st.integers(0, 9999), st.integers(0, 9999))
def test_a_value_that_is_not_volatile_is_never_masked_away(text, was, now):
    before, after = (MASKING.text(f"{text}\nrows={value};\n") for value in (was, now))
    assert (before == after) == (was == now)


HEADINGS = "USER PID %CPU %MEM VSZ RSS TTY STAT START TIME COMMAND"
TWO_RUNS = {
    "ls -la": (
        "total 8\ndrwxr-xr-x   2 a b 4096 Mar  4 23:59 .\ndr-xr-xr-x 131 a b 0 Mar  4 23:59 proc",
        "total 8\ndrwxr-xr-x  2 a b 4096 Mar  5 00:00 .\ndr-xr-xr-x 99 a b  0 Mar  5 00:00 proc",
    ),
    "links of a symbolic link": (
        "lrwxrwxrwx  2 a b 7 Mar  4 23:59 e -> /run/e\n-rw-r--r-- 12 a b 40 Mar  4 23:59 f",
        "lrwxrwxrwx 15 a b 7 Mar  4 23:59 e -> /run/e\n-rw-r--r-- 12 a b 40 Mar  4 23:59 f",
    ),
    "ls -i": ("156482 drwx------ 2 a b 40 Mar  4 23:59 d", "9 drwx------ 2 a b 40 Mar  4 23:59 d"),
    "ps": (
        "    PID TTY          TIME CMD\n      2 ?        00:00:00 bash\n     14 ?   00:00:00 ps",
        "    PID TTY          TIME CMD\n      3 ?        00:00:01 bash\n   1014 ?   00:00:00 ps",
    ),
    "ps aux": (
        f"{HEADINGS}\nroot 2 1.0 0.1 4 5 ? Ss 23:59 0:00 sh",
        f"{HEADINGS}\nroot   3 0.0 0.0 5 6 ? S  00:00 0:01 sh",
    ),
    "time": ("real\t0m0.010s\nuser\t0m0.0s", "real\t0m1.210s\nuser\t0m0.0s"),
    "time(1)": (
        "0.00user 0.01system 0:00.01elapsed 100%CPU (0avgtext+0avgdata 3000maxresident)k\n"
        "0inputs+0outputs (0major+100minor)pagefaults 0swaps",
        "0.10user 0.01system 0:01.01elapsed 99%CPU (0avgtext+0avgdata 3100maxresident)k\n"
        "0inputs+8outputs (0major+101minor)pagefaults 0swaps",
    ),
    "jobs": ("[1] 12\n[1]+ 12 Running", "[1] 340\n[1]+ 340 Running"),
    "pytest": ("1 passed in 0.03s", "1 passed in 11.20s"),
    "dd": ("1 byte copied, 0.001 s, 850 MB/s", "1 byte copied, 1.2 s, 8.5 kB/s"),
    "uptime": (
        " 23:59:59 up 3 days, 1 user,  load average: 0.1, 0.2, 0.3",
        " 00:00:00 up 4 days, 2 users,  load average: 3.1, 0.2, 0.3",
    ),
}


@pytest.mark.parametrize("command", TWO_RUNS)
def test_two_runs_of_a_command_look_the_same(command):
    was, now = map(MASKING.text, TWO_RUNS[command])
    assert was == now
    # Were one word of it another, they would not.
    words = TWO_RUNS[command][1].split(" ")
    assert MASKING.text(" ".join([*words[:-1], words[-1] + "x"])) != was


def test_names_that_mktemp_made_are_known_by_their_template():
    masking = MASKING.after("d=$(mktemp -d /srv/work.XXXXXX.d)").after("ls /srv")
    assert masking.text("work.a1B2c3.d notes") == masking.text("work.Zz9Yy8.d notes")
    assert masking.text("other.a1B2c3.d") == "other.a1B2c3.d"


@pytest.mark.parametrize(
    ("was", "now", "command", "is_excused"),
    [
        ("17", "19", "echo $$", True),
        ("17\n17", "19\n19", "echo $$; echo $$", True),
        ("17\n120 a", "19\n120 a", "echo $$; wc -l a", True),
        ("17\n120 a", "19\n121 a", "echo $$; wc -l a", False),
        ("120 a", "121 a", "wc -l a", False),
        ("17 a", "19 b", "echo $$ x", False),
        ("44 09", "45 10", "date '+%M %S'", True),
        ("3\n5", "4\n6", "pgrep sleep", True),
        ("156 a\n157 b", "921 a\n930 b", "find . -printf '%i %p\\n'", True),
        ("156 a\n157 b", "921 a\n930 b", "find . -printf '%s %p\\n'", False),
    ],
)
def test_a_bare_number_is_excused_only_where_the_command_asked_for_it(
    was, now, command, is_excused
):
    assert excused(was, now, command) is is_excused


def test_files_are_masked_with_more_care_than_output():
    for text in ("took 3 s", "0.03s", "port 45123", "0x7f3a12345678", "rows 12 ms", "Mem: 17"):
        assert MASKING.file("/srv/results.csv", text) == text
    assert MASKING.file("/srv/log", f"started {spelled(FORMATS[6], BEGAN)}") == "started <time>"
    assert MASKING.file("/run/app.pid", "17\n") == MASKING.file("/run/app.pid", "23\n")
    assert MASKING.file("/srv/count", "17\n") == "17\n"
    assert MASKING.path("/tmp/tmp.a8Bc7dEf1x/f") == MASKING.path("/tmp/tmp.00000000aa/f")


def test_hostile_text_takes_no_more_than_linear_time():
    began = time.process_time()
    for piece in ("real ", "1.1user ", "drwxr-xr-x ", "a.b-", "12m", "Mon ", "[1] ", "\t", "ls -"):
        text = piece * (40_000 // len(piece))
        MASKING.after(f"mktemp {text}XXX").text(text)
        excused(text, text + "1", f"echo $$; {text}")
    # Quadratic patterns took minutes here.
    assert time.process_time() - began < 30


@pytest.mark.parametrize("template", ["X" * 19_900 + "bXXX", "a" + "X" * 9_000 + "-z", "X" * 64])
def test_a_long_template_of_mktemp_costs_nothing(template):
    masking = MASKING.after(f"true # mktemp {template}")
    began = time.process_time()
    for _ in range(100):
        masking.path("/tmp/m/f1")
    masking.file("/tmp/m/f1", "a" * 60_000)
    # Each path took seconds here, in which the process heard no signal.
    assert time.process_time() - began < 5


@pytest.mark.parametrize("began_s", [-62_135_596_800.0, 253_402_300_799.0, 1e300])
def test_a_record_that_claims_an_impossible_time_masks_nothing(began_s):
    assert mask_times("at 12:30", (Period(began_s, began_s),)) == "at 12:30"


def test_a_clock_that_is_set_back_in_an_episode_leaves_its_times_volatile():
    began, ended = BEGAN + 3600, BEGAN + 20
    for at in (BEGAN + 30, BEGAN + 1800, BEGAN + 3590):
        text = f"at {datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H:%M:%SZ}"
        assert mask_times(text, (Period(began, ended),)) == "at <time>"
        assert mask_times(text, (Period(BEGAN - 9000, BEGAN - 8000),)) == text
