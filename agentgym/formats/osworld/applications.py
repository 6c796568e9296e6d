"""The programs that tasks use, and the Debian packages that an environment needs for them."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

SUBSTITUTES: Final[Mapping[str, str]] = {
    "nautilus": "thunar",
    "gedit": "mousepad",
    "evince": "atril",
    "eog": "ristretto",
    "gnome-terminal": "xfce4-terminal",
}
"""The substitute of each application that only shows files or a shell."""

_PACKAGES: Final[Mapping[str, tuple[str, ...]]] = {
    "atril": ("atril",),
    "code": ("code",),
    "ffmpeg": ("ffmpeg",),
    "gimp": ("gimp",),
    "git": ("git",),
    "google-chrome": ("google-chrome-stable",),
    "gsettings": ("gnome-shell",),
    "jq": ("jq",),
    "libreoffice": ("libreoffice-writer", "libreoffice-calc", "libreoffice-impress"),
    "mousepad": ("mousepad",),
    "pactl": ("pulseaudio-utils",),
    "pip": ("python3-pip",),
    "pulseaudio": ("pulseaudio",),
    "python": ("python3",),
    "ristretto": ("ristretto",),
    "sudo": ("sudo",),
    "sysstat": ("sysstat",),
    "thunar": ("thunar",),
    "thunderbird": ("thunderbird",),
    "timedatectl": ("systemd",),
    "tmux": ("tmux",),
    "unzip": ("unzip",),
    "update-desktop-database": ("desktop-file-utils",),
    "vlc": ("vlc",),
    "wget": ("wget",),
    "wmctrl": ("wmctrl",),
    "xfce4-terminal": ("xfce4-terminal",),
    "xsel": ("xsel",),
    "zip": ("zip",),
}
_ALSO: Final[Mapping[str, str]] = {
    "apt": "sudo",
    "apt-get": "sudo",
    "chrome": "google-chrome",
    "browser": "google-chrome",
    "google chrome": "google-chrome",
    "calc": "libreoffice",
    "writer": "libreoffice",
    "impress": "libreoffice",
    "libreoffice calc": "libreoffice",
    "libreoffice impress": "libreoffice",
    "libreoffice writer": "libreoffice",
    "soffice": "libreoffice",
    "python3": "python",
    "terminal": "gnome-terminal",
    "ubuntu media player": "vlc",
    "vs code": "code",
    "vscode": "code",
}
_COMMANDS: Final[Mapping[str, str]] = {"libreoffice": "soffice", "python": "python3"}
_NONE: Final = frozenset(("os", "pdf", "image"))
"""Names in a task that stand for no program of their own."""

_BY_ENDING: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        ("xlsx", "xls", "ods", "csv", "docx", "doc", "odt", "pptx", "odp"), "libreoffice"
    ),
    **dict.fromkeys(("txt", "json", "md", "py", "xml", "html"), "mousepad"),
    **dict.fromkeys(("png", "jpg", "jpeg", "gif", "webp", "bmp"), "ristretto"),
    **dict.fromkeys(("mp4", "mp3", "mkv", "wav"), "vlc"),
    "pdf": "atril",
}
_IN_SHELLS: Final = frozenset(_PACKAGES) | frozenset(_ALSO) | frozenset(SUBSTITUTES)


def opener(path: str) -> str:
    """Return the program that opens a file or a folder, by the ending of its name."""
    name, dot, ending = path.rstrip("/").rpartition("/")[2].rpartition(".")
    return _BY_ENDING.get(ending.lower(), "mousepad") if dot and name else "thunar"


def named(application: str) -> str:
    """Return the program that a task's list of applications names; empty for none."""
    plain = application.lower().replace("_", " ").strip()
    return "" if plain in _NONE else replaced(_ALSO.get(plain, plain))


def replaced(program: str) -> str:
    """Return the program that stands for another, or itself."""
    program = _ALSO.get(program, program)
    return SUBSTITUTES.get(program, program)


def programs(command: str | Iterable[str], *, shell: bool) -> frozenset[str]:
    """Return the programs beyond a base system that a command uses, as far as its words tell."""
    words = _words(command, shell)
    return frozenset(_needed(words))


def _words(command: str | Iterable[str], shell: bool) -> list[str]:
    parts = [command] if isinstance(command, str) else [str(part) for part in command]
    if shell or parts[0].rpartition("/")[2] in ("bash", "sh") or len(parts) == 1:
        return [word for part in parts for word in _split(part)]
    return parts[:1]


def _split(text: str) -> list[str]:
    """Return the first words of the commands of a shell text."""
    found = []
    for command in re.split(r"[\n;|&(){}`]+|\$\(", text):
        try:
            words = shlex.split(command, comments=True)
        except ValueError:
            words = command.split()
        words = [word for word in words if not re.match(r"\w+=", word)]
        while words and words[0] in (
            "if",
            "then",
            "else",
            "do",
            "while",
            "timeout",
            "exec",
            "-S",
            "!",
        ):
            words = words[2:] if words[0] == "timeout" else words[1:]
        if words and words[0] == "sudo":
            found.append("sudo")
        found += words[:1]
    return found


def _needed(words: Iterable[str]) -> Iterator[str]:
    for word in words:
        name = word.rpartition("/")[2]
        if name in _IN_SHELLS:
            yield replaced(name)


def lacking(
    needed: Iterable[str], packages: Iterable[str], *, host: bool = False
) -> tuple[str, ...]:
    """Return the programs that an environment lacks, sorted.

    Args:
        needed: Names of programs.
        packages: Debian packages of the environment.
        host: Whether it also has the programs of this machine.
    """
    there = frozenset(packages)

    def lacks(name: str) -> bool:
        if host and shutil.which(_COMMANDS.get(name, name)):
            return False
        return not there.intersection(_PACKAGES.get(name, (name,)))

    return tuple(sorted(name for name in set(needed) if name and lacks(name)))
