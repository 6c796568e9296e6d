"""An environment in BrowserGym's form, with that project's own functions where they are there."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path

import gymnasium
import pytest

import agentgym
from agentgym.browser.codecs.browsergym import calls_in, decode
from agentgym.errors import ActionError, ConfigError
from agentgym.gymnasium.browsergym import BrowserGym

ROOT = Path(__file__).parents[2]
PINNED = ("browsergym-core==0.14.3", "beautifulsoup4==4.15.0", "soupsieve==4.1.2")
PINNED += ("lxml==6.1.3", "pyparsing==3.3.3", "typing_extensions==4.16.0")
ENV = """\
schema_version = "agentgym.env/1"
title = "A page"
sites = ["leaf/page"]
surfaces = ["browser"]

[surface.browser]
width = 400
height = 300
screenshot = false
state = { sent = "window.sent" }
"""
SITE = """\
schema_version = "agentgym.site/1"
title = "A page"
host = "page.example"
folder = "dist"
"""
PAGE = """\
<!doctype html><title>A page</title><h1>Order</h1>
<div id=host></div><iframe src="/inner.html" title="More"></iframe>
<form onsubmit="window.sent = colour.value; return false">
<label>Name <input id=name value="old"></label>
<label>Key <input id=key type=password value="s3cret"></label>
<label><input type=checkbox id=gift> Gift</label>
<label>Colour <select id=colour><option>red<option>blue</select></label>
<button>Send</button></form>
<button onclick="window.sure = confirm('Sure?'); document.title = String(sure)">Ask</button>
<p style="margin-top: 900px">The end</p>
<script>host.attachShadow({mode: "open"}).innerHTML = "<button>Within</button>";</script>
"""
TASK = """\
schema_version = "agentgym.task/1"
id = "leaf/blue-v1"
title = "Choose blue"
difficulty = "easy"
env = "leaf"
max_steps = 30
"""
RUBRIC = """\
schema_version = "agentgym.rubric/1"

[[checkpoint]]
id = "sent"
title = "Blue was sent"
use = "page.state"
with = { name = "sent", equals = "blue" }
"""


@pytest.fixture
def gym(tmp_path, monkeypatch):
    monkeypatch.setenv("AGENTGYM_PATH", str(tmp_path))
    site, task = tmp_path / "envs/leaf/sites/page", tmp_path / "tasks/leaf/blue"
    (site / "dist").mkdir(parents=True)
    (task / "checks").mkdir(parents=True)
    (site.parents[1] / "env.toml").write_text(ENV)
    (site / "site.toml").write_text(SITE)
    (site / "dist/index.html").write_text(PAGE)
    (site / "dist/inner.html").write_text("<!doctype html><button>Deep</button>")
    (task / "solution").mkdir()
    (task / "solution/policy.py").write_text("def solve(view):\n    yield view.act('reload')\n")
    (task / "task.toml").write_text(TASK)
    (task / "instruction.md").write_text("Send the colour blue.\n")
    (task / "checks/rubric.toml").write_text(RUBRIC)
    env = BrowserGym(agentgym.make("leaf/blue-v1"))
    yield env
    env.close()


def bid(seen, role, name):
    (found,) = [
        node["browsergym_id"]
        for node in seen["axtree_object"]["nodes"]
        if (node["role"]["value"], node["name"]["value"]) == (role, name)
    ]
    return found


def scrolled(gym):
    return gym.unwrapped.episode.steps[-1].observation.data["scroll"][1]


def properties(seen, role, name):
    for node in seen["axtree_object"]["nodes"]:
        if (node["role"]["value"], node["name"]["value"]) == (role, name):
            return {given["name"]: given["value"]["value"] for given in node["properties"]}
    raise AssertionError(f"no {role} {name}")


def test_an_episode_in_the_form_of_browsergym(gym):
    seen, info = gym.reset(seed=1)
    assert seen in gym.observation_space
    assert seen["goal"] == "Send the colour blue." and info["task_info"] == {}
    assert [said["role"] for said in seen["chat_messages"]] == ["assistant", "user"]
    assert seen["screenshot"].shape == (300, 400, 3)
    assert properties(seen, "checkbox", "Gift")["checked"] == "false"
    use = seen["extra_element_properties"]
    assert use[bid(seen, "heading", "Order")]["clickable"] is False
    assert use[bid(seen, "button", "Within")]["visibility"] == 1.0
    # The nodes of the page, its frame and its shadow tree carry the same bids; no password does.
    dom = seen["dom_object"]
    told = {dom["strings"][at] for each in dom["documents"] for at in each["nodes"]["nodeValue"]}
    assert len(dom["documents"]) == 2 and {"Within", "Deep", "Order"} <= told
    assert "s3cret" not in dom["strings"] and "old" in dom["strings"]
    marked = [
        dom["strings"][one[-1]]
        for each in dom["documents"]
        for one in each["nodes"]["attributes"]
        if one and dom["strings"][one[-2]] == "bid"
    ]
    assert {bid(seen, "button", "Deep"), bid(seen, "textbox", "Name")} <= set(marked)

    name, gift = bid(seen, "textbox", "Name"), bid(seen, "checkbox", "Gift")
    seen, reward, *over, info = gym.step(f"I do both: fill('{name}', 'Dora')\ncheck('{gift}')")
    assert (reward, over, seen["last_action_error"]) == (0.0, [False, False], "")
    assert properties(seen, "checkbox", "Gift")["checked"] == "true"
    assert "Dora" in seen["dom_object"]["strings"] and "old" not in seen["dom_object"]["strings"]
    seen, *_ = gym.step(f"focus('{name}')")
    assert seen["focused_element_bid"] == name
    # A dialog is dismissed, as Playwright does it for BrowserGym.
    seen, *_ = gym.step(f"click('{bid(seen, 'button', 'Ask')}')")
    assert seen["open_pages_titles"] == ("false",) and seen["last_action_error"] == ""
    before = scrolled(gym)
    seen, *_ = gym.step("scroll(0, 120)")
    assert scrolled(gym) == before + 120
    # The first failure ends a step; nothing after it is done.
    seen, *_ = gym.step(f"click('999')\nfill('{name}', 'Eve')")
    assert "999" in seen["last_action_error"] and "Eve" not in seen["dom_object"]["strings"]
    # A text that names a tool is no call of it, and what is no text has no name.
    for wrong in ("I am lost", "mouse_down(1, 2)", "click('a1')", "", "submit", "reload", "\ud800"):
        seen, reward, *over, _ = gym.step(wrong)
        assert seen["last_action_error"].startswith("ActionError: ") and over == [False, False]
        assert seen in gym.observation_space
    for wrong in (10**5_000, None, b"submit"):
        seen, reward, *over, _ = gym.step(wrong)
        assert "expected a text" in seen["last_action_error"] and over == [False, False]
    assert {step.action.tool for step in gym.unwrapped.episode.steps[-10:]} == {""}
    seen, *_ = gym.step(f"select_option('{bid(seen, 'combobox', 'Colour')}', 'blue')")
    gym.step(f"click('{bid(seen, 'button', 'Send')}')")
    seen, reward, *over, info = gym.step("send_msg_to_user('done')")
    assert (reward, over) == (1.0, [True, False]) and info["verdict"]["score"] == 1.0
    assert seen["chat_messages"][-1]["message"] == "done" and seen in gym.observation_space
    with pytest.raises(gymnasium.error.ResetNeeded):
        gym.step("noop()")
    again, _ = gym.reset(seed=1)
    assert "old" in again["dom_object"]["strings"] and len(again["chat_messages"]) == 2


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("click('1')", ["click('1')"]),
        ("First click( '1' ), then (perhaps) noop().", ["click( '1' )", "noop()"]),
        ("fill('2', 'a) \\' click(') # click('3')", ["fill('2', 'a) \\' click(')"]),
        ("click('1'", []),
        ("Ticket #4: click('1')\nnoop(5)", ["noop(5)"]),
        ("unclick('1') click", []),
    ],
)
def test_calls_are_found_in_free_text(text, calls):
    assert calls_in(text).splitlines() == calls


@pytest.mark.parametrize(
    "text",
    ["click(" * 16_000, "click(" + "\\'" * 40_000, "click('" * 10_000, "click(\"'" * 9_000],
)
def test_calls_that_never_close_are_looked_for_in_little_time(text):
    began_s = time.monotonic()
    assert calls_in(text) == ""
    assert time.monotonic() - began_s < 10


@pytest.mark.parametrize(
    "text",
    [
        "x" + ".a" * 1_500,
        "-" * 1_500 + "1",
        "f" + "()" * 1_500,
        "f" + "[0]" * 1_500,
        "click(" + "-" * 900 + "1)",
        "click(" + "a(" * 80 + ")" * 81,
        "click('" + "1" * 5_000 + "')",
    ],
)
def test_values_that_are_nested_too_deeply_are_refused(text):
    with pytest.raises(ActionError) as refused:
        decode(text)
    assert len(str(refused.value)) < 6_000


@pytest.mark.parametrize("text", ["tab_focus(1e999)", f"scroll(0, {'9' * 400})"])
def test_numbers_without_end_are_refused(text):
    with pytest.raises(ActionError):
        decode(text)


def test_only_an_environment_with_a_browser_has_that_form():
    with pytest.raises(ConfigError, match="no surface 'browser'"):
        BrowserGym(agentgym.make("tools/which-article-holds-v1"))


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.timeout(900)  # an index may be slow
def test_the_example_with_the_functions_of_browsergym(tmp_path):
    packages = tmp_path / "packages"
    install = (sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", packages)
    subprocess.run((*install, *PINNED), check=True)
    text = (ROOT / "docs/browser.md").read_text()
    (example,) = [
        code
        for code in re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)
        if "HighLevel" in code
    ]
    # All examples of all actions, as its own action set prints them.
    example += "\nactions = HighLevelActionSet(subsets=['chat', 'infeas', 'bid', 'nav', 'tab'])\n"
    example += (
        "for action in actions.action_set.values():\n    print('\\n'.join(action.examples))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", example],
        env={"PYTHONPATH": str(packages), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    first, second, *examples = done.stdout.splitlines()
    assert (first, second) == ("score 1.0", "score 1.0")
    assert len(examples) > 25
    for line in examples:
        # Their bids may have letters for frames, which agentgym's have not.
        assert decode(re.sub(r"'[a-z]*(\d+)'", r"'\1'", line)), line


@pytest.mark.parametrize(
    "name", ["a" + "\u0301" * 40_000 + "\u0323" * 40_000, 'f"' + "{a}" * 33_000 + '"']
)
def test_names_and_texts_that_take_a_parser_long_are_refused(name):
    began_s = time.monotonic()
    with pytest.raises(ActionError, match="expected calls"):
        decode(f"click({name})")
    assert time.monotonic() - began_s < 10
