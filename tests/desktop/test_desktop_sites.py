"""The office on a desktop: its pages in the browser, its tools beside the screen, one state."""

import asyncio
import json
import os
import shlex
import time

import pytest
from built_images import take_image

from agentgym.env.environment import Environment
from agentgym.records import Action
from agentgym.task.load import find_task

pytestmark = [pytest.mark.desktop, pytest.mark.asyncio(loop_scope="session")]
MEETING = 327


async def step(episode, tool, **arguments):
    return (await episode.step(Action(tool, arguments))).observation


async def visit(episode, address, text):
    """Open an address in the browser, and return its tree once a window or element says a text."""
    for _ in range(40):
        seen = await step(episode, "wait", seconds=0.25)
        front = next(w["title"] for w in seen.data["windows"] if w["focused"])
        if "Firefox" in front:
            break
        await step(episode, "key_down", key="Alt")
        await step(episode, "press", keys="Tab")
        await step(episode, "key_up", key="Alt")
    await step(episode, "press", keys="Control+L")
    await step(episode, "type", text=f"{address}\n", clear=False)
    for _ in range(40):
        seen = await step(episode, "wait", seconds=0.25)
        names = [window["title"] for window in seen.data["windows"]]
        names += [f"{node['name']} {node.get('value')}" for node in seen.data["nodes"]]
        if any(text in name for name in names):
            return seen
    raise AssertionError(f"nothing says {text!r}: {names}")


async def test_the_browser_and_the_tools_have_one_state(provider):
    take_image("desktop")
    async with Environment(find_task("desktop/workshop-guests-v1"), provider) as environment:
        episode = await environment.start(1)
        told = json.loads((await step(episode, "calendar_get", event=MEETING)).text)
        title = told["title"]
        address = f"http://calendar.office.example/event/{MEETING}"
        seen = await visit(episode, address, f"{title} – ")
        texts = [str(node["name"]) for node in seen.data["nodes"]]
        assert "Beech (Berlin, 6 seats)" in texts
        # What stands beside a link has an element of its own.
        first = next(n for n, text in enumerate(texts) if text == "Camille Reyes")
        assert texts[first - 1] in ("accepted", "declined", "tentative", "no answer")
        await step(episode, "calendar_update", event=MEETING, room=3)
        await step(episode, "press", keys="F5")
        seen = await visit(episode, address, f"{title} – ")
        assert "Oak (Berlin, 16 seats)" in [str(node["name"]) for node in seen.data["nodes"]]
        seen = await visit(episode, f"http://calendar.office.example/find?q={title}", "Meetings")
        assert [n for n in seen.data["nodes"] if (n["role"], n["name"]) == ("link", title)]
        fork = await episode.fork()
        await step(fork, "calendar_update", event=MEETING, title="Called otherwise")
        await visit(fork, address, "Called otherwise – ")
        again = json.loads((await step(episode, "calendar_get", event=MEETING)).text)
        assert (again["room"], again["title"]) == (3, title)
        await visit(episode, "http://elsewhere.example/", "is not one of this environment's sites")
        await episode.finish()
        asked = [request.url for request in episode.audit.requests]
        assert address in asked and "http://elsewhere.example/" in asked
        assert episode.audit.surface_calls["services"] == 3
        assert episode.audit.surface_calls["desktop"] > 10
        await fork.close()


async def test_only_the_sites_answer_programs_on_the_desktop(provider):
    take_image("desktop")
    async with Environment(find_task("desktop/workshop-guests-v1"), provider) as environment:
        episode = await environment.start(1)
        run = episode.sandbox.exec
        script = (
            "import http.client, sys\n"
            "c = http.client.HTTPConnection('127.0.0.1', 5980, timeout=20)\n"
            "c.request('GET', sys.argv[1]); print(c.getresponse().status)"
        )
        for address, status in (
            ("http://mail.office.example/", "200"),
            ("http://127.0.0.1:22/", "403"),
            ("http://localhost/", "403"),
            ("file:///etc/passwd", "403"),
        ):
            done = await run(["python3", "-c", script, address])
            assert done.stdout.decode().strip() == status, (address, done)
        # Connections without a request are bounded, and others wait until they end.
        hold = (
            "import socket, time\n"
            "held = [socket.create_connection(('127.0.0.1', 5980)) for _ in range(300)]\n"
            "time.sleep(600)"
        )
        before = len(os.listdir("/proc/self/fd"))
        holding = asyncio.create_task(run(["python3", "-c", hold], timeout_s=5))
        await asyncio.sleep(2)
        assert len(os.listdir("/proc/self/fd")) < before + 280
        await holding
        done = await run(["python3", "-c", script, "http://mail.office.example/"])
        assert done.stdout.decode().strip() == "200"
        # A program that asks as fast as it can is slowed down, and others have their turn.
        flood = script.replace("c.request", "while True: c.request") + "; c.close()"
        one = f"python3 -c {shlex.quote(flood)} http://mail.office.example/"
        many = f"for i in $(seq 8); do {one} & done; wait"
        flooding = asyncio.create_task(run(["bash", "-c", many], timeout_s=8))
        latest, most_s = time.monotonic(), 0.0
        while not flooding.done():
            await asyncio.sleep(0.01)
            latest, most_s = time.monotonic(), max(most_s, time.monotonic() - latest)
        assert most_s < 2
        audit = episode._parts.surfaces[0].audit()
        assert len(audit.requests) < 3_000, "500 of a step at full speed, then 8 a second"
        await episode.close()
