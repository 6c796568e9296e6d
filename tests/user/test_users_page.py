"""docs/users.md: its user loads, fits the office, and says what the page says."""

import re
from pathlib import Path

from agentgym.env.environment import Environment
from agentgym.records import Action
from agentgym.sandbox.absent import NoSandboxProvider
from agentgym.task.load import load_task

PAGE = (Path(__file__).parents[2] / "docs/users.md").read_text()
TASK = """\
schema_version = "agentgym.task/1"
id = "demo/urgent-v1"
title = "Decide what is urgent"
difficulty = "easy"
env = "office"

[params]
ticket = { choice = [17] }

[user]
"""
SETUP = """\
def change(context):
    context.db.execute("UPDATE tickets_ticket SET status = 'open' WHERE id = 17")
"""
RUBRIC = 'schema_version = "agentgym.rubric/1"\n[[checkpoint]]\nid = "x"\nuse = "checks.x"\n'


def block(language):
    return re.search(rf"```{language}\n(.*?)```", PAGE, re.S)[1]


def exchanges():
    """Return the messages of the conversation on the page, and their answers."""
    turns = re.split(r"^(agent|user): ", block("text"), flags=re.M)[1:]
    texts = [re.sub(r"\n {7}", "\n", text).strip() for text in turns[1::2]]
    return list(zip(texts[::2], texts[1::2], strict=True))


async def test_the_user_of_the_page_says_what_the_page_says(tmp_path):
    folder = tmp_path / "demo" / "urgent"
    for path, text in {
        "task.toml": TASK,
        "user.toml": block("toml"),
        "instruction.md": "Help.\n",
        "setup/services.py": SETUP,
        "solution/actions.jsonl": '{"tool": "submit"}\n',
        "checks/rubric.toml": RUBRIC,
        "checks/checks.py": "def x(evidence):\n    return True\n",
    }.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    env = Environment(load_task(folder), NoSandboxProvider(), user="scripted")
    episode = await env.start(0)
    assert len(exchanges()) == 6
    for message, answer in exchanges():
        transition = await episode.step(Action("message_user", {"text": message}))
        assert transition.observation.text == answer
    await env.close()
