"""The surface `desktop` over real applications."""

import asyncio
import io

import numpy as np
import pytest
from PIL import Image

from agentgym.errors import SurfaceEndedError
from agentgym.protocols import SurfaceContext
from agentgym.records import Effect, SurfaceConfig
from agentgym.surfaces.desktop import DesktopKind
from agentgym.testing.surface import CHECKS

pytestmark = [pytest.mark.desktop, pytest.mark.asyncio(loop_scope="session")]
NOTES = "/home/user/notes.txt"
RUSSIAN = "Съешь же ещё этих мягких французских булок, да выпей чаю. СЪЕШЬ ЖЕ ЕЩЁ!"
TEXT = "Größe <b> & 'x' \"y\" ~^` 🎉 日本語\n\tend"


async def until(holds, seconds=60):
    """Wait until something holds."""
    async with asyncio.timeout(seconds):
        while not await holds():
            await asyncio.sleep(0.1)


async def test_text_of_any_script_is_typed_seen_and_saved(open_desk):
    desk = await open_desk(f"mousepad {NOTES}", files={NOTES: b"old\n"})
    assert desk.seen.image.shape == (800, 1280, 3) and desk.seen.image.dtype == np.uint8
    field = desk.ref("textbox")
    seen = await desk.do("type", ref=field, text=TEXT)
    assert seen.effect is Effect.CHANGED and desk.ref("textbox") == field
    assert desk.nodes("textbox")[0]["value"] == TEXT
    await desk.do("press", keys="Control+S")

    async def is_saved():
        return await desk.read(NOTES) == TEXT

    await until(is_saved)
    assert (await desk.do("wait", seconds=0)).effect is Effect.NO_CHANGE
    await desk.do("press", keys="Control+A Control+C")
    assert (await desk.do("read_clipboard")).text == TEXT


async def test_a_text_with_more_letters_than_there_are_free_keys_is_typed(open_desk):
    desk = await open_desk(f"mousepad {NOTES}", files={NOTES: b""})
    await desk.do("type", text=RUSSIAN)
    await desk.do("type", text=RUSSIAN)
    assert desk.nodes("textbox")[0]["value"] == 2 * RUSSIAN
    seen = await desk.do("press", keys="\n")
    assert seen.data["error"] == "" and desk.nodes("textbox")[0]["value"] == 2 * RUSSIAN + "\n"


FORWARD = b"""
import time

from Xlib import X, display
from Xlib.protocol import event

here = display.Display(":0")
root = here.screen().root


def windows():
    found = root.get_full_property(here.intern_atom("_NET_CLIENT_LIST"), X.AnyPropertyType)
    return [] if found is None else list(found.value)


while len(windows()) < 4:
    time.sleep(0.01)
first = here.create_resource_object("window", windows()[1])
name = here.intern_atom("_NET_ACTIVE_WINDOW")
request = event.ClientMessage(window=first, client_type=name, data=(32, [2, 0, 0, 0, 0]))
root.send_event(request, event_mask=X.SubstructureRedirectMask | X.SubstructureNotifyMask)
here.flush()
"""
"""Brings the first window after the panel to the front as soon as there are four."""


async def test_windows_lie_in_the_order_of_the_session_though_one_comes_to_the_front(open_desk):
    late = "/home/user/forward.py"
    desk = await open_desk(
        f"sh -c 'python3 {late} & exec mousepad {NOTES}'",
        "galculator",
        "xfce4-terminal --working-directory=/home/user",
        files={NOTES: b"", late: FORWARD},
    )

    def order():
        classes = [one["class"] for one in desk.seen.data["windows"]]
        return [name for name in classes if name != "Tint2"]

    assert order() == ["Mousepad", "Galculator", "Xfce4-terminal"]
    await desk.do("press", keys="Alt+Tab")
    assert order() == ["Mousepad", "Xfce4-terminal", "Galculator"]
    await desk.do("press", keys="Alt+Tab Alt+Tab")
    assert order() == ["Mousepad", "Xfce4-terminal", "Galculator"]
    assert not desk.seen.data["held"]


OPENER = b"""
import gi

gi.require_version("Gtk", "3.0")
from gi.repository import Gdk, Gio, Gtk


def start(button):
    flags = Gio.AppInfoCreateFlags.SUPPORTS_STARTUP_NOTIFICATION
    program = Gio.AppInfo.create_from_commandline("sh /home/user/ask.sh", "Opened", flags)
    context = Gdk.Display.get_default().get_app_launch_context()
    context.set_timestamp(Gtk.get_current_event_time() - 50)
    program.launch([], context)


window = Gtk.Window(title="Opener", default_width=300, default_height=200)
button = Gtk.Button(label="Open")
button.connect("pressed", start)
window.add(button)
window.show_all()
Gtk.main()
"""
"""Starts a program, with the time of the first press of a double click."""

ASK = b"""
echo "$DESKTOP_STARTUP_ID" > /tmp/asked.part
mv /tmp/asked.part /tmp/asked
"""
OPENED = b"""
import os
import time

from Xlib import X, display

here = display.Display(":0")
window = here.screen().root.create_window(400, 300, 200, 100, 0, X.CopyFromParent)
window.set_wm_name("Opened")
while not os.path.exists("/tmp/asked"):
    time.sleep(0.005)
with open("/tmp/asked", "rb") as file:
    launched = file.read().strip()
of, kind = here.intern_atom("_NET_STARTUP_ID"), here.intern_atom("UTF8_STRING")
window.change_property(of, kind, 8, launched)
window.map()
here.sync()
time.sleep(60)
"""
"""Shows a window at once when it is asked for."""


async def test_a_window_that_a_click_opened_has_the_focus_however_fast_it_came(open_desk):
    desk = await open_desk(
        "sh -c 'python3 /home/user/opened.py & exec python3 /home/user/opener.py'",
        files={
            "/home/user/opener.py": OPENER,
            "/home/user/ask.sh": ASK,
            "/home/user/opened.py": OPENED,
        },
    )
    await desk.do("click", ref=desk.ref("button", "Open"))

    async def is_focused():
        await desk.do("wait", seconds=0)
        return [w["title"] for w in desk.seen.data["windows"] if w["focused"]] == ["Opened"]

    await until(is_focused, 10)


async def test_a_covered_window_is_told_and_not_read(open_desk):
    keyfile = "/home/user/.config/glib-2.0/settings/keyfile"
    settings = "[com/github/maoschanz/drawing]\nlast-version='1.0.2'\nmaximized=true\n"
    picture = io.BytesIO()
    Image.new("RGB", (300, 200), "navy").save(picture, "PNG")
    path = "/home/user/plan.png"
    desk = await open_desk(
        f"drawing {path}",
        "libreoffice --writer",
        files={path: picture.getvalue(), keyfile: settings.encode()},
    )

    def readings():
        shown = {node["name"] for node in desk.seen.data["nodes"] if node["role"] == "button"}
        covered = [n["name"] for n in desk.seen.data["nodes"] if "covered" in n["flags"]]
        return "Crop" in " ".join(sorted(shown)), len(covered)

    def read():
        """Return of every application whether its window is covered, and how many nodes it has."""
        told, found = desk.seen.data["nodes"], {}
        for node in told:
            if node["role"] == "application":
                name = node["name"].rpartition(".")[2]
                found[name] = [False, 0]
            found[name][0] |= node.get("covered", False)
            found[name][1] += 1
        return found

    # The title bar of Writer lies over that which Drawing draws itself.
    seen = read()
    assert seen["drawing"] == [True, 2] and not seen["soffice"][0] and seen["soffice"][1] > 50
    await desk.do("press", keys="Alt+Tab")
    seen = read()
    assert seen["soffice"] == [True, 2] and not seen["drawing"][0] and seen["drawing"][1] > 15


async def test_the_picture_is_the_screen_and_holds_the_pointer(open_desk):
    desk = await open_desk(f"mousepad {NOTES}", files={NOTES: b""})
    await desk.do("hover", x=1200, y=60)
    before = desk.seen.image
    seen = await desk.do("hover", x=1000, y=700)
    assert seen.effect is Effect.NO_CHANGE, "only the pointer has moved"
    assert seen.data["pointer"] == [1000, 700]
    differs = (before != seen.image).any(axis=2)
    assert differs[700:716, 1000:1010].any() and differs[60:76, 1200:1210].any()
    differs[50:90, 1190:1230] = differs[690:730, 990:1030] = False
    assert not differs.any()
    zoomed = await desk.do("zoom", x=990, y=690, width=40, height=25)
    assert zoomed.image.shape == (800, 1280, 3)
    marked = await desk.do("screenshot", marks=True)
    assert (marked.image != seen.image).any()


async def test_a_list_of_files_has_their_names_also_where_it_is_scrolled(open_desk):
    files = {f"/home/user/Papers/paper-{number:02}.txt": b"x" for number in range(24)}
    desk = await open_desk("thunar /home/user/Papers", files=files)

    def rows():
        shown = [node["name"] for node in desk.nodes("cell") if node["box"][0] > 480]
        names = [name for name in shown if name.startswith("paper-")]
        return names, len(shown) / len(names)

    names, columns = rows()
    assert names[:9] == [f"paper-{number:02}.txt" for number in range(9)] and columns == 3
    await desk.do("press", keys="Control+A End")
    names, columns = rows()
    assert names[-9:] == [f"paper-{number:02}.txt" for number in range(15, 24)] and columns == 3


async def test_a_smaller_picture_has_coordinates_of_its_own(open_desk):
    desk = await open_desk("galculator", width=640, height=640)
    assert desk.seen.image.shape == (400, 640, 3) and desk.seen.data["screen"] == [640, 400]
    (key,) = desk.nodes(name="7")
    x, y, width, height = key["box"]
    await desk.do("click", x=x + width / 2, y=y + height / 2)
    assert [n["value"] for n in desk.nodes("textbox")] == ["7"]
    refused = await desk.do("click", x=900, y=10)
    assert refused.effect is Effect.ERROR and "640 x 400" in refused.text


async def test_what_cannot_be_done_is_refused_and_leaves_no_key_down(open_desk):
    desk = await open_desk(f"mousepad {NOTES}", files={NOTES: b""})
    calls = [
        ("click", {"ref": 9_999}),
        ("click", {"x": 3}),
        ("click", {"x": -1, "y": 0}),
        ("hover", {}),
        ("drag", {"from_x": 1, "from_y": 1}),
        ("press", {"keys": "Control+Nothing"}),
        ("press", {"keys": " "}),
        ("key_down", {"key": "Control+A"}),
        ("zoom", {"x": 1200, "y": 0, "width": 200, "height": 10}),
    ]
    for tool, given in calls:
        seen = await desk.do(tool, **given)
        assert seen.effect is Effect.ERROR and "error:" in seen.text, (tool, given, seen.text)
        assert not seen.data.get("held")
    await desk.do("key_down", key="Shift")
    assert desk.seen.data["held"] == ["Shift"] and "held down: Shift" in desk.seen.text
    await desk.do("press", keys="a")
    await desk.do("key_up", key="Shift")
    await desk.do("press", keys="b")
    assert desk.nodes("textbox")[0]["value"] == "Ab" and not desk.seen.data["held"]


async def test_references_stay_and_gone_elements_are_told(open_desk):
    desk = await open_desk(f"mousepad {NOTES}", files={NOTES: b"one two"})
    known = {node["ref"]: (node["role"], node["name"]) for node in desk.seen.data["nodes"]}
    await desk.do("click", ref=desk.ref("menu", "File"))
    item = next(node for node in desk.nodes("menuitem") if node["name"].startswith("Save As"))
    same = {node["ref"]: (node["role"], node["name"]) for node in desk.seen.data["nodes"]}
    assert {ref: same[ref] for ref in known if ref in same} == {
        ref: known[ref] for ref in known if ref in same
    }
    await desk.do("press", keys="Escape")
    gone = await desk.do("click", ref=item["ref"])
    assert gone.effect is Effect.ERROR and "does not show" in gone.text


async def test_selecting_by_mouse_drags_and_multiple_clicks(open_desk):
    desk = await open_desk(f"mousepad {NOTES}", files={NOTES: b"alpha beta\ngamma\n"})
    x, y, _, _ = desk.nodes("textbox")[0]["box"]
    await desk.do("click", x=x + 20, y=y + 10, count=2)
    await desk.do("press", keys="Control+C")
    assert (await desk.do("read_clipboard")).text == "alpha"
    await desk.do("drag", from_x=x + 4, from_y=y + 30, to_x=x + 300, to_y=y + 30)
    await desk.do("press", keys="Control+C")
    assert (await desk.do("read_clipboard")).text == "gamma"


@pytest.mark.full
async def test_a_sheet_shows_its_cells_where_they_are(open_desk):
    desk = await open_desk("libreoffice --calc")
    cells = {node["name"]: node for node in desk.nodes("cell")}
    assert {"A1", "B2", "N20"} <= cells.keys()
    await desk.do("type", ref=cells["B3"]["ref"], text="41", submit=True)
    await desk.do("type", ref=cells["B4"]["ref"], text="=B3+1", submit=True)
    values = {node["name"]: node.get("value") for node in desk.nodes("cell")}
    assert (values["B3"], values["B4"]) == ("41", "42")
    # A tool bar that LibreOffice draws itself is where its picture is.
    await desk.do("click", ref=cells["B3"]["ref"])
    await desk.do("click", ref=desk.ref("togglebutton", "Bold"))
    assert "checked" in next(n for n in desk.seen.data["nodes"] if n["name"] == "Bold")


async def test_a_frozen_application_costs_its_own_part_only(open_desk):
    desk = await open_desk("galculator", f"mousepad {NOTES}", files={NOTES: b"x"}, tree_ms=600)
    await desk.sandbox.run_as_root(["/bin/sh", "-c", "kill -STOP $(pgrep galculator)"])
    seen = await desk.do("click", x=700, y=400)
    assert seen.data["cut"] == "an application does not answer" and seen.image is not None
    assert desk.nodes("textbox"), "the other application is there"
    await desk.sandbox.run_as_root(["/bin/sh", "-c", "kill -CONT $(pgrep galculator)"])
    assert (await desk.look()).data["cut"] == ""


GRAB = """
from Xlib import X, display
import sys, time
mode = getattr(X, sys.argv[1])
held = display.Display()
root = held.screen().root
root.grab_pointer(True, 0, mode, mode, 0, 0, 0)
root.grab_keyboard(True, mode, mode, 0)
held.grab_server()
held.sync()
print("held", flush=True)
time.sleep(600)
"""
RUN = 'python3 -c "$1" $2 > /tmp/grab 2>&1 & until grep held /tmp/grab; do sleep 0.1; done'


@pytest.mark.parametrize("mode", ["GrabModeAsync", "GrabModeSync"])
async def test_an_application_that_grabs_everything_stops_nobody(mode, open_desk):
    desk = await open_desk(f"mousepad {NOTES}", files={NOTES: b"x"})
    await desk.sandbox.exec(["/bin/sh", "-c", RUN, "sh", GRAB, mode])
    seen = await desk.do("hover", x=5, y=700)
    if mode == "GrabModeAsync":
        assert seen.data["pointer"] == [5, 700]
    else:
        assert seen.effect is Effect.ERROR and "an application holds it" in seen.text
    assert seen.image is not None and seen.data["windows"]
    await desk.sandbox.exec(["/bin/sh", "-c", "pkill -f held.grab"])
    assert (await desk.do("hover", x=7, y=700)).data["pointer"] == [7, 700]


async def test_only_the_host_is_answered_and_strangers_cannot_push_it_out(open_desk):
    desk = await open_desk(f"mousepad {NOTES}", files={NOTES: b"x"})
    spam = (
        "import socket, time\n"
        "links = [socket.create_connection(('127.0.0.1', 5970)) for _ in range(40)]\n"
        "try:\n"
        '    for link in links: link.sendall(b\'\\0\\0\\0\\x0c{"op":"box"}\')\n'
        "except OSError: pass\n"
        "links[-1].settimeout(20)\n"
        "try: print(links[-1].recv(100))\n"
        "except OSError as error: print(type(error).__name__)\n"
        "try: open('/run/desktop/ready')\n"
        "except OSError as error: print(type(error).__name__)\n"
    )
    done = await desk.sandbox.exec(["/usr/bin/python3", "-c", spam], timeout_s=60)
    answer, refused = done.stdout.decode().split("\n")[:2]
    assert answer in ("b''", "ConnectionResetError", "BrokenPipeError"), done
    assert refused == "PermissionError"
    killed = await desk.sandbox.exec(["/bin/sh", "-c", "pkill -9 -f control.py; pkill -9 Xvfb"])
    assert killed.exit_code
    assert (await desk.do("hover", x=9, y=9)).data["pointer"] == [9, 9]


async def test_a_dead_control_server_ends_the_episode_which_is_judged(open_desk):
    desk = await open_desk()
    assert "windows: tint2" in desk.seen.text
    await desk.sandbox.run_as_root(["/bin/sh", "-c", "pkill -9 -f control.py"])
    for _ in range(2):
        with pytest.raises(SurfaceEndedError, match="does not answer"):
            await desk.do("hover", x=1, y=1)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_contract(check, open_desk):
    desk = await open_desk(f"mousepad {NOTES}", files={NOTES: b"x"})
    kind = DesktopKind(SurfaceConfig((), {"tree_ms": 500}, True, 1_000))
    await check(kind, SurfaceContext(desk.sandbox))
