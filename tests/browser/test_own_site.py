"""The environment of docs/sites.md over a static build, as it stands there, with 200 pages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from agentgym.env.environment import Environment
from agentgym.sandbox.absent import NoSandboxProvider
from agentgym.task.load import find_task
from agentgym.task.reference_actions import reference
from agentgym.task.reference_policy import ReferencePolicy

DOCS = Path(__file__).resolve().parents[2] / "docs"
FILE = re.compile(r"```\w+\n# ((?:envs|tasks)/guide/[\w/.]+)\n(.*?)```", re.DOTALL)
PAGE = """<!doctype html><title>{title}</title><a href="/">Guide</a><h1>{title}</h1>
<button onclick="localStorage.marked = location.pathname">Mark this page</button>"""


@pytest.fixture
def guide(tmp_path, monkeypatch):
    """The folder of the environment, with a build of 200 pages."""
    files = dict(FILE.findall((DOCS / "sites.md").read_text()))
    assert len(files) == 6
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    dist = tmp_path / "envs/guide/sites/guide/dist"
    links = []
    for number in range(200):
        title = "Descaling the tank" if number == 123 else f"Chapter {number}"
        path = f"part-{number % 10}/page-{number}.html"
        (dist / path).parent.mkdir(parents=True, exist_ok=True)
        (dist / path).write_text(PAGE.format(title=title))
        links.append(f'<li><a href="{path}">{title}</a>')
    (dist / "index.html").write_text(f"<title>Guide</title><ul>{''.join(links)}</ul>")
    monkeypatch.setenv("AGENTGYM_PATH", str(tmp_path))
    return tmp_path


async def verdict_of(episode, actions):
    for tool, arguments in actions:
        await episode.step({"tool": tool, "arguments": arguments})
    return (await episode.step({"tool": "submit", "arguments": {}})).verdict


async def test_a_static_build_is_judged_by_the_state_of_its_pages(guide):
    async with Environment(find_task("guide/descale-v1"), NoSandboxProvider()) as environment:
        episode = await environment.start(seed=1)
        policy = ReferencePolicy(reference(episode.instance), episode.instance.instruction)
        seen, transition = episode.first, None
        while not policy.over:
            transition = await episode.step(policy.act(seen))
            seen = transition.observation
        assert transition is not None and transition.verdict.score == 1.0
        # Nothing done, a look without a mark, and another page: the state of the page says no.
        asked = "http://guide.example/part-3/page-123.html"
        wrong = "http://guide.example/part-4/page-124.html"
        for actions in (
            [],
            [("goto", {"url": asked})],
            [("goto", {"url": wrong}), ("press", {"keys": "Tab Tab Enter"})],
            [("goto", {"url": "javascript:localStorage.marked='/part-3/page-123.html'"})],
        ):
            verdict = await verdict_of(await environment.start(seed=1), actions)
            assert verdict.score == 0.0, actions
        right = [("goto", {"url": asked}), ("press", {"keys": "Tab Tab Enter"})]
        assert (await verdict_of(await environment.start(seed=1), right)).score == 1.0
