"""Patterns of processes, inodes, durations, ports and temporary names in a program's output.

Each pattern needs the words or the form around a value, because a bare number may mean anything.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_NUMBER = r"\d+(?:[.,]\d+)?"
_FRACTION = r"\d+[.,]\d+"
_SMALL_UNIT = r"(?:ms|msecs?|milliseconds?|us|usecs?|µs|microseconds?|ns|nsecs?|nanoseconds?)\b"
_SECONDS = r"(?:s|secs?|seconds?)\b"
_MODE = r"[-dlcbps](?:[-r][-w][-xsStT]){3}"
# Linux draws ephemeral ports from this range.
_EPHEMERAL = r"(?:3276[89]|327[7-9]\d|32[89]\d\d|3[3-9]\d{3}|[45]\d{4}|60\d{3})"


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of volatile text.

    Attributes:
        mark: Text that replaces a value.
        pattern: Finds a value; the groups ``before`` and ``after`` stay unchanged.
        in_files: Whether the form is so specific that it is volatile in files too. Elsewhere a
            duration or a port may be the subject of a file.
    """

    mark: str
    pattern: re.Pattern[str]
    in_files: bool = False


def _kind(mark: str, value: str, *, before: str = "", after: str = "", files: bool = False) -> Kind:
    pattern = rf"(?P<before>{before})(?:{value})(?P<after>{after})"
    return Kind(f"<{mark}>", re.compile(pattern, re.MULTILINE), files)


KINDS: Final = (
    # The output of time(1) and of the shell's own `time`.
    _kind("duration", r"\d+m\d+[.,]\d+s", before=r"\b(?:real|user|sys)[ \t]+", files=True),
    _kind("duration", _FRACTION, before=r"^(?:real|user|sys)[ \t]+", after=r"$", files=True),
    _kind(
        "usage",
        r"\d.{0,120}\n.{0,120}pagefaults \d{1,9}swaps",
        before=r"^(?=[\d.]{4,12}user )",
        files=True,
    ),
    # pytest, unittest and go test.
    _kind("duration", rf"{_FRACTION}s", before=r"\bin ", after=r"(?= =*$)|$", files=True),
    _kind("duration", rf"{_FRACTION}s", before=r"^Ran \d+ tests? in ", files=True),
    _kind("duration", rf"{_FRACTION}s", before=r"^ok[ \t]+\S+[ \t]+", files=True),
    _kind("duration", rf"\b{_NUMBER} ?{_SMALL_UNIT}"),
    _kind("duration", rf"\b{_FRACTION} ?{_SECONDS}"),
    _kind("duration", rf"\b(?:\d+h)?\d+m{_NUMBER}s\b"),
    _kind(
        "duration",
        rf"{_NUMBER}(?: ?{_SECONDS})?",
        before=r"(?i:\b(?:took|elapsed|duration|uptime)(?: time)?(?: is| was|:| =|=)? ?)",
        after=r"\b",
    ),
    _kind("rate", rf"\b{_NUMBER} ?[kKMGT]i?B/s"),
    _kind("load", r"up .{0,80}load averages?: [\d., ]{4,40}", before=r"(?:^|(?<= ))"),
    _kind("usage", r".*", before=r"^(?:Tasks: |%?Cpu\(s\): ?|[KMG]iB (?:Mem|Swap) ?: ?)"),
    # Free memory and disk space.
    _kind("usage", r"[ \t]*\d+ kB", before=r"^(?:Vm|Rss)\w+:"),
    _kind("usage", r"\d+", before=r"^(?:non)?voluntary_ctxt_switches:[ \t]*"),
    _kind("usage", r" .*", before=r"^(?:Mem|Swap|Total):"),
    _kind("usage", r"(?:[ \t]+[\d.]+[KMGTP]?i?){2,3}[ \t]+\d+%", before=r"^\S+", after=r"(?= +/)"),
    # Processes.
    _kind(
        "pid",
        r"\d+",
        before=r"\b(?i:pid|ppid|pgid|tgid|nspid|tid|process(?: id)?)(?: is|:|=| #?)[ \t]*",
    ),
    _kind("pid", r"\d+", before=r"^\[\d+\][+-]?[ \t]+", after=r"(?=[ \t]|$)", files=True),
    _kind("pid", r"\d+", before=r"\bline \d+:[ \t]+", after=r"(?= +[A-Z][a-z]+)", files=True),
    _kind("pid", r"\d+", before=r"\bkill: \(", after=r"(?=\) - )", files=True),
    _kind("pid", r"\d+", before=r"/proc/", after=r"\b", files=True),
    _kind("pid", r"\d+", before=r"/proc/(?:self|thread-self) -> ", after=r"\b", files=True),
    _kind("pid", r"\d+", before=r"(?<![\w.-])[a-z][\w.-]{0,40}\[", after=r"(?=\]: )", files=True),
    # Access times, as `stat` shows them: reading may or may not set them. Birth and change times of
    # an inode, which no user can set.
    _kind(
        "time",
        r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{9} [+-]\d{4}",
        before=r"^ *(?:Access|Change|Birth): ",
    ),
    # Inodes, devices and numbers that identify them.
    _kind("inode", r"\d+", before=r"\b(?i:inode)(?: number)?[:= ]+"),
    _kind("inode", r"\d+", before=r"\b(?:socket|pipe|anon_inode|mnt|net|pid|user|uts|ipc):\["),
    _kind("device", r"[0-9a-f]+h/\d+d|\d+,\d+", before=r"^[ \t]*Device: "),
    _kind("inode", r"[ \t]*\d+(?:[ \t]+\d+)?", before=r"^", after=rf"(?=[ \t]+{_MODE})"),
    # Directories of /proc, whose size is 0, have a link for each process of the machine.
    _kind(
        "links",
        r"\d+",
        before=rf"^(?:<inode> )?(?=d){_MODE}[+.@]?[ \t]+",
        after=r"(?=[ \t]+\S+[ \t]+\S+[ \t]+0 )",
    ),
    # Symbolic links of the host's /etc, which all stores of a user share.
    _kind("links", r"\d+", before=rf"^(?:<inode> )?(?=l){_MODE}[+.@]?[ \t]+"),
    _kind(
        "port",
        _EPHEMERAL,
        before=r"(?:\b(?:127\.0\.0\.1|0\.0\.0\.0|localhost)|\[::1?\]|\*):",
        after=r"\b",
    ),
    _kind("port", _EPHEMERAL, before=r"\b(?i:port)(?: is|:|=)? ?", after=r"\b"),
    # Names and addresses that are drawn anew each time.
    _kind("random", r"(?<![\w/.])0x[0-9a-f]{8,16}\b"),
    _kind("random", r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"),
    _kind("temp", r"[A-Za-z0-9]{6,12}", before=r"\btmp\.", after=r"\b", files=True),
    _kind("temp", r"[a-z0-9_]{8}", before=r"/tmp/tmp", after=r"\b", files=True),
    _kind("temp", r"[a-z0-9_]{8}", before=r"(?<![\w.-])tmp", after=r"\b(?!-)"),
)
"""Kinds in the order in which they are searched."""


_LISTED: Final = re.compile(
    rf"^(<inode>[ \t]+)?({_MODE}[+.@]?)" + 3 * r"[ \t]+(\S+)" + r"[ \t]+(?=\S)",
    re.MULTILINE,
)
"""A line of `ls -l`; the widest value of a column determines the width of the others."""


def mask_kinds(text: str, *, in_file: bool = False) -> str:
    """Replace every value whose surrounding text shows that it is volatile."""
    for kind in KINDS:
        if kind.in_files or not in_file:
            text = kind.pattern.sub(rf"\g<before>{kind.mark}\g<after>", text)
    if not in_file:
        text = _LISTED.sub(
            lambda row: " ".join(cell.strip() for cell in row.groups() if cell) + " ", text
        )
    return text
