"""The page of `agentgym watch`, in a real browser: what it shows, and a person who takes over."""

import asyncio
import json
import re
import urllib.error
import urllib.request

import numpy as np
import pytest
from small_task import write_task

from agentgym import plugins
from agentgym.browser.chromium import start_playwright
from agentgym.browser.executable import find_executable
from agentgym.errors import ActionError, ConfigError
from agentgym.eval import printable
from agentgym.eval.watching import PERSON as ALONE
from agentgym.eval.watching import WatchedRun
from agentgym.record.store import RunStore
from agentgym.records import Action, Decision, Observation, Step, ToolSpec, Verdict
from agentgym.session.bounds import ServerBounds
from agentgym.session.listening import listen, serve
from agentgym.session.watch.app import WatchApp
from agentgym.session.watch.live import PERSON, Live
from agentgym.session.watch.shared_control import SharedControl

HOSTILE = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
TOKEN = "a-token-that-is-long-enough"
SLOW_AGENT = """
import asyncio
from agentgym import Action, Decision


class Slow:
    async def start(self, briefing):
        pass

    async def act(self, observation, tools, history):
        if not history:
            await asyncio.sleep(3600)
        return Decision(Action("submit", {}))

    async def close(self):
        pass
"""
CLICK = ToolSpec("click", "Click.", {"type": "object", "properties": {"x": {}, "y": {}}})
TYPE = ToolSpec("type", "Type.", {"type": "object", "properties": {"text": {}, "clear": {}}})


@pytest.fixture
async def page():
    """A page of a browser, and what it complains about."""
    pytest.importorskip("playwright", reason="the extra web is not installed")
    try:
        path = find_executable().path
    except ConfigError as error:
        pytest.skip(str(error))
    playwright = await start_playwright()
    browser = await playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
    try:
        page = await browser.new_page(viewport={"width": 1000, "height": 700})
        page.faults = []
        page.on("pageerror", lambda error: page.faults.append(str(error)))
        yield page
    finally:
        await browser.close()
        await playwright.stop()


@pytest.fixture
async def served():
    """A page over a `Live` that the test drives; yields it and the address."""
    live, ending = Live(), asyncio.Event()
    with listen("127.0.0.1", 0) as listening:
        port = listening.getsockname()[1]
        app = WatchApp(live, TOKEN, frozenset(("localhost",)))
        serving = asyncio.create_task(serve(app, listening, ending, ServerBounds()))
        yield live, f"http://127.0.0.1:{port}"
        ending.set()
        await serving


def request(url, body=None, **headers):
    """Return status and body of a request."""
    data = None if body is None else body.encode()
    asked = urllib.request.Request(url, data, headers)
    try:
        with urllib.request.urlopen(asked, timeout=20) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()


async def test_a_person_takes_over_from_an_agent_and_hands_back(page, tmp_path):
    if plugins.load("agentgym.sandboxes", "bubblewrap")().problems():
        pytest.skip("bubblewrap cannot run")
    folder = write_task(tmp_path, changes={"instruction.md": f"{HOSTILE} Write {{{{word}}}}.\n"})
    (tmp_path / "slow.py").write_text(SLOW_AGENT)
    run = WatchedRun(tmp_path / "run", str(folder), f"{tmp_path}/slow.py:Slow", {})
    told = asyncio.Queue()
    try:
        with listen("127.0.0.1", 0) as listening:
            playing = asyncio.create_task(run.play(listening, told.put_nowait))
            while not (line := await told.get()).startswith("open "):
                pass
            await page.goto(line.removeprefix("open "))
            await page.get_by_text("the agent acts").wait_for()
            assert HOSTILE in await page.locator("#instruction").text_content()
            await page.get_by_role("button", name="Take over").click()
            await page.get_by_text("a person acts").wait_for()
            await page.locator("#tool").select_option("bash")
            command = f"echo hello > /root/word; echo '{HOSTILE}'"
            for given in ('{"comand": 1}', json.dumps({"command": command})):
                await page.locator("#arguments").fill(given)
                await page.get_by_role("button", name="Send").click()
                if "comand" in given:
                    await page.get_by_text(re.compile("tool 'bash'")).wait_for()
            await page.locator("#steps li.person").wait_for()
            await page.locator("#text", has_text="<script>").wait_for()
            await page.get_by_role("button", name="Hand back").click()
            await page.get_by_text("over: passed, score 1").wait_for()
            await asyncio.wait_for(playing, 30)
    finally:
        run.close()
    assert await page.title() == "agentgym watch" and not page.faults
    store = RunStore.open(tmp_path / "run")
    try:
        steps = store.steps(1)
        assert [step.decision.action.tool for step in steps] == ["bash", "submit"]
        assert [step.decision.thought == PERSON for step in steps] == [True, False]
        assert store.episode(1).verdict.outcome
    finally:
        store.close()
    assert (tmp_path / "run" / "results.json").exists()


async def test_mouse_and_keys_on_the_picture_become_actions(page, served):
    live, address = served
    control = SharedControl(None, live, ALONE)
    live.begin({"task": "demo", "instruction": "Draw.", "seed": 0, "agent": ALONE})
    live.take_over(person=True)
    picture = np.zeros((1600, 2560, 3), np.uint8)
    picture[800:, :] = 255
    await page.goto(f"{address}/#{TOKEN}")
    acting = asyncio.create_task(control.act(Observation("seen", picture), (CLICK, TYPE), ()))
    screen = page.locator("#screen")
    await screen.wait_for()
    box = await screen.bounding_box()
    assert box["width"] < 1_000, "it is scaled down to fit"
    await page.mouse.click(box["x"] + box["width"] / 4, box["y"] + box["height"] / 2)
    decision = await asyncio.wait_for(acting, 20)
    assert decision.thought == PERSON and decision.action.tool == "click"
    x, y = (decision.action.arguments[axis] for axis in ("x", "y"))
    assert abs(x - 640) <= 6 and abs(y - 800) <= 6
    acting = asyncio.create_task(control.act(Observation("next", picture), (CLICK, TYPE), ()))
    await page.keyboard.type("a<b ö")
    decision = await asyncio.wait_for(acting, 20)
    assert decision.action == Action("type", {"text": "a<b ö", "clear": False})
    assert not page.faults


async def test_marks_that_a_browser_would_obey_are_spelled_out_on_the_page(page, served):
    live, address = served
    marks = "".join(map(chr, (0x1B, 0x7F, 0x9B, 0x200F, 0x202E, 0x2066, 0xD800)))
    odd = f"a{marks}b\U0001f600\tc\nd"
    live.begin({"task": f"task {odd}", "instruction": odd, "seed": 0, "agent": odd})
    live.offer((ToolSpec(f"t{marks}", "", {"type": "object"}),))
    await live.show(Observation(odd))
    step = Step(0, Decision(Action(f"t{marks}", {"x": odd})), Observation(odd), 0.1)
    live.step(1, step)
    live.end(Verdict("error:agent", outcome=None, score=None), f"odd {odd}")
    await page.goto(f"{address}/#{TOKEN}")
    await page.get_by_text("odd a").wait_for()
    shown = await page.evaluate("document.body.innerText + document.title")
    assert not set(marks) & set(shown)
    for name in ("task", "instruction", "text", "state"):
        text = await page.locator(f"#{name}").text_content()
        assert printable.clean(odd) in text, name
    assert await page.locator("#tool").input_value() == f"t{marks}"
    assert not page.faults


async def test_only_a_page_with_the_token_is_answered(served):
    live, address = served
    live.begin({"task": "secret", "instruction": "", "seed": 0, "agent": ALONE})

    async def ask(path, body=None, **headers):
        return await asyncio.to_thread(request, address + path, body, **headers)

    shown = {"Authorization": f"Bearer {TOKEN}"}
    for path, body in (("/events?after=0", None), ("/frame?number=0", None), ("/act", "{}")):
        for wrong in ({}, {"Authorization": "Bearer no"}, {"Authorization": f"Basic {TOKEN}"}):
            status, answer = await ask(path, body, **wrong)
            assert status == 401 and b"secret" not in answer
    assert (await ask("/events?after=0", **shown, Host="evil.example"))[0] == 421
    status, answer = await ask("/events?after=0", **shown)
    assert status == 200 and b"secret" in answer
    for path, body, expected in (
        ("/events?after=-1", None, 400),
        ("/events?after=9999999999", None, 400),
        ("/frame?number=0", None, 404),
        ("/../../etc/passwd", None, 404),
        ("/control", "[]", 400),
        ("/control", '{"person": 1}', 400),
        ("/control", "[" * 100_000, 400),
        ("/act", json.dumps({"tool": "click", "arguments": {}}), 409),
        ("/act", '{"tool": 3, "arguments": {}}', 409),
        ("/act", "x" * 300_000, 413),
    ):
        status, answer = await ask(path, body, **shown)
        assert status == expected, (path, answer)
    assert not live.person_acts


async def test_a_person_who_leaves_loses_control_and_acts_only_in_turn():
    now = 0.0
    live = Live(clock=lambda: now)
    live.offer((CLICK,))
    with pytest.raises(ActionError, match="take over first"):
        live.act(Action("click", {}))
    live.take_over(person=True)
    with pytest.raises(ActionError, match="not done yet"):
        live.act(Action("click", {}))
    waiting = asyncio.create_task(live.next_action())
    await asyncio.sleep(0.01)
    with pytest.raises(ActionError, match="no tool"):
        live.act(Action("explode", {}))
    now = 31.0
    live.take_over(person=True)
    assert await asyncio.wait_for(waiting, 5) is None and not live.person_acts


async def test_an_action_is_not_kept_for_the_next_time_a_person_has_control():
    live = Live()
    live.offer((CLICK,))
    live.take_over(person=True)
    waiting = asyncio.create_task(live.next_action())
    await asyncio.sleep(0.01)
    live.act(Action("click", {}))
    live.take_over(person=False)
    assert await asyncio.wait_for(waiting, 5) is None
    live.take_over(person=True)
    waiting = asyncio.create_task(live.next_action())
    await asyncio.sleep(0.01)
    assert not waiting.done()
    live.take_over(person=False)
    assert await asyncio.wait_for(waiting, 5) is None


def test_where_there_is_no_agent_control_stays_with_the_person():
    live = Live()
    SharedControl(None, live, "person")
    live.take_over(person=True)
    with pytest.raises(ActionError, match="no agent"):
        live.take_over(person=False)
    assert live.person_acts


async def test_no_agent_passes_for_the_person():
    class Pretender:
        async def act(self, observation, tools, history):
            return Decision(Action("submit", {}), thought=PERSON)

    control = SharedControl(Pretender(), Live(), "pretender")
    decided = await control.act(Observation("here"), (), ())
    assert decided.thought != PERSON and decided.action.tool == "submit"


async def test_schemas_of_a_server_are_not_kept_for_pages():
    live = Live()
    live.offer([ToolSpec(f"t{n}", "", {"type": "object", "title": "x" * 10_000}) for n in range(9)])
    assert len(json.dumps(live.events)) < 2_000
