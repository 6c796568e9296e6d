"""A library: an agent at the desk, a reader with a card of their own."""

import hashlib
import json
import time
from pathlib import Path
from types import SimpleNamespace

from tau2.data_model.message import Reply
from tau2.data_model.tasks import Task

DATA = Path(__file__).parents[4] / "data" / "tau2" / "domains" / "library"
READS = ("find", "wait")


class SetupContext:
    """The agent's tools; the shelf maps a title to whoever has the book."""

    def __init__(self, shelf):
        self.shelf, self.stamp = shelf, 0

    def find(self, title):
        if title not in self.shelf:
            raise KeyError(f"no book {title}")
        return {"title": title, "reader": self.shelf[title]}

    def lend(self, title, reader):
        if self.find(title)["reader"]:
            raise ValueError(f"{title} is lent")
        self.shelf[title] = reader
        return "lent"

    def number(self, title):
        """Writes what is never the same twice."""
        self.shelf[title] = str(time.monotonic_ns())
        return self.shelf[title]

    def wait(self):
        time.sleep(600)

    def count(self):
        """Takes its time, and is done again whenever the messages are."""
        time.sleep(0.7)
        return str(len(self.shelf))

    def is_lent(self, title):
        return bool(self.shelf[title])


class Card:
    """The reader's tools."""

    def __init__(self):
        self.fines = 3

    def pay(self):
        self.fines = 0
        return "paid"

    def wait(self):
        time.sleep(600)

    def owes_nothing(self):
        return self.fines == 0


class Library:
    def __init__(self, shelf):
        self.tools, self.user_tools = SetupContext(shelf), Card()

    def set_state(self, initialization_data, initialization_actions, message_history):
        self.tools.shelf.update((initialization_data or {}).get("agent_data") or {})
        for action in initialization_actions or []:
            self._side(action["env_type"], action["func_name"])(**action["arguments"])
        messages = list(message_history)
        for call, reply in zip(messages, messages[1:], strict=False):
            for made in call.get("tool_calls") or []:
                again = SimpleNamespace(**{k: v for k, v in made.items() if k != "id"})
                if made["name"] not in READS:
                    said = self.get_response(again).content
                    assert said == reply["content"], f"{made['name']} answered {said}"

    def _side(self, side, name):
        return getattr(self.user_tools if side == "user" else self.tools, name)

    def make_tool_call(self, tool_name, requestor, **arguments):
        return self._side(requestor, tool_name)(**arguments)

    def get_response(self, call):
        try:
            answer = self.make_tool_call(call.name, call.requestor, **call.arguments)
        except (KeyError, TypeError, ValueError) as error:
            return Reply(f"Error: {error}", True)
        print("the desk chatters")
        return Reply(answer if isinstance(answer, str) else json.dumps(answer), False)

    def run_env_assertion(self, wanted, raise_assertion_error):
        held = self._side(wanted.env_type, wanted.func_name)(**wanted.arguments)
        return held == wanted.assert_value

    def get_db_hash(self):
        return hashlib.sha256(json.dumps(self.tools.shelf, sort_keys=True).encode()).hexdigest()

    def get_user_db_hash(self):
        return str(self.user_tools.fines)

    def get_policy(self):
        return (DATA / "policy.md").read_text()

    def get_tools(self):
        return [_tool("find", ["title"]), _tool("lend", ["title", "reader"]), _tool("wait", [])]

    def get_user_tools(self):
        return [_tool("pay", [])]


def _tool(name, arguments):
    schema = {
        "name": name,
        "description": f"{name}.",
        "parameters": {
            "type": "object",
            "properties": {argument: {"type": "string"} for argument in arguments},
            "required": arguments,
        },
    }
    return SimpleNamespace(openai_schema={"type": "function", "function": schema})


def get_environment():
    return Library(json.loads((DATA / "db.json").read_text()))


def get_tasks():
    return [Task.model_validate(raw) for raw in json.loads((DATA / "tasks.json").read_text())]
