"""The processes of a desktop session: display, buses, window manager, panel, applications.

The display and the control server belong to root, everything else to the user, so that no program
of the user can end them.
"""

import os
import pwd
import stat
import subprocess
import time

FOLDER = "/run/desktop"
FRAME_BUFFER = f"{FOLDER}/Xvfb_screen0"
_USER = "user"
_DISPLAY = "/tmp/.X11-unix/X0"
_APPLICATIONS = "/home/user/.config/desktop/session"
_SETTINGS = ("SAL_", "GTK_", "GSETTINGS_", "XDG_CURRENT", "GDK_", "GNOME_", "MOZ_")
_SESSION_BYTES = 65_536
_WINDOW_S = 25.0
_POLL_S = 0.02
_START_S = 20.0


class Session:
    """The session of the user.

    Args:
        size: Width and height of the screen, such as ``1280x800``.
    """

    def __init__(self, size):
        self.notes = []
        person = pwd.getpwnam(_USER)
        self.uid, self._gid, self._home = person.pw_uid, person.pw_gid, person.pw_dir
        self._runtime = f"/run/user/{self.uid}"
        self._size = size
        self.environment = {
            **{name: value for name, value in os.environ.items() if name in ("LANG", "TZ", "PATH")},
            **{"HOME": self._home, "USER": _USER, "LOGNAME": _USER, "SHELL": "/bin/bash"},
            "DISPLAY": ":0",
            "XDG_RUNTIME_DIR": self._runtime,
            "DBUS_SESSION_BUS_ADDRESS": f"unix:path={self._runtime}/bus",
            **{name: value for name, value in os.environ.items() if name.startswith(_SETTINGS)},
        }

    def start(self):
        """Start the display, the buses and the window manager."""
        os.makedirs(FOLDER, mode=0o700, exist_ok=True)
        os.makedirs(self._runtime, mode=0o700, exist_ok=True)
        os.chown(self._runtime, self.uid, self._gid)
        # A snapshot of a running desktop holds the socket of its display.
        if os.path.lexists(_DISPLAY):
            os.unlink(_DISPLAY)
        display = ["Xvfb", ":0", "-screen", "0", f"{self._size}x24", "-fbdir", FOLDER]
        display += ["-nolisten", "tcp", "-noreset", "-nolock", "-extension", "RANDR", "-dpi", "96"]
        self._spawn_root(display)
        self.spawn(["dbus-daemon", "--session", "--nofork", "--nopidfile", "--address", self._bus])
        _wait(lambda: os.path.exists(_DISPLAY), "the display")
        _wait(lambda: os.path.exists(f"{self._runtime}/bus"), "the session bus")

    def furnish(self, windows):
        """Start the accessibility bus, the window manager and the panel, whose window is first."""
        self.spawn(["/usr/libexec/at-spi-bus-launcher", "--launch-immediately"])
        self.spawn(["openbox"])
        self.spawn(["tint2"])
        _wait(windows.ids, "the panel")

    @property
    def _bus(self):
        return self.environment["DBUS_SESSION_BUS_ADDRESS"]

    def _spawn_root(self, argv):
        subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def spawn(self, argv):
        """Start a program of the user."""
        return subprocess.Popen(
            argv,
            cwd=self._home,
            env=self.environment,
            user=self.uid,
            group=self._gid,
            extra_groups=[],
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def applications(self):
        """Return the lines of the session's file: what is open when the agent comes."""
        try:
            # In a fork an agent has had the file. Opening a pipe would wait for its writer.
            with open(_APPLICATIONS, "rb", opener=_at_once) as file:
                if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    return []
                text = file.read(_SESSION_BYTES).decode("utf-8", "replace")
        except OSError:
            return []
        lines = [line.strip() for line in text.splitlines()]
        return [line for line in lines if line and not line.startswith("#") and "\0" not in line]

    def launch(self, line, windows, settle):
        """Start a command and wait until it has opened a window that stays.

        LibreOffice shows a window while it starts that goes away again.
        """
        before = set(windows.ids())
        self.spawn(["/bin/sh", "-c", f"exec {line}"])
        deadline = time.monotonic() + _WINDOW_S
        while time.monotonic() < deadline:
            if set(windows.ids()) - before:
                settle()
                if set(windows.ids()) - before:
                    return
            time.sleep(_POLL_S)
        self.notes.append(f"no window came of: {line[:200]}")


def _at_once(path, flags):
    return os.open(path, flags | os.O_NONBLOCK)


def _wait(is_ready, what):
    deadline = time.monotonic() + _START_S
    while not is_ready():
        if time.monotonic() > deadline:
            raise SystemExit(f"{what} did not start within {_START_S:g} s")
        time.sleep(0.01)
