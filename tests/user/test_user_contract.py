"""The contract of users, over both that come with agentgym."""

import pytest
from chat_server import ChatServer, call, says

from agentgym.testing.user import INSTANCE, SCRIPT, UserContract
from agentgym.user.model import ModelUser
from agentgym.user.scripted import ScriptedUser


class TestScripted(UserContract):
    def make(self):
        return ScriptedUser("", SCRIPT, INSTANCE)


def player(request):
    """Play the part: look at the light where it is asked for, and say how many messages came."""
    *_, last = request["messages"]
    if last["role"] == "user" and "light" in last["content"]:
        return says(call("kettle_light"))
    if last["role"] == "tool" and "red" in last["content"]:
        return says(call("answer", {"text": "It is red."}))
    heard = sum(message["role"] == "user" for message in request["messages"])
    return says(call("answer", {"text": f"That was message {heard}."}))


class TestModel(UserContract):
    @pytest.fixture(autouse=True)
    def serve(self, monkeypatch):
        with ChatServer(player) as server:
            monkeypatch.setenv("AGENTGYM_USER_BASE_URL", server.url)
            yield

    def make(self):
        return ModelUser("test", SCRIPT, INSTANCE)
