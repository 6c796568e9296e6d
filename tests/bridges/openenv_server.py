"""Environments on the server of openenv-core, which the Python of this program has installed.

Run: ``python openenv_server.py counter|tools PORT``. Both count to four: `counter` takes actions of
its own, `tools` those of an MCP server.
"""

import sys

import uvicorn
from fastmcp import FastMCP
from openenv.core.env_server.http_server import create_fastapi_app
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.mcp_environment import MCPEnvironment
from openenv.core.env_server.mcp_types import CallToolAction, CallToolObservation
from openenv.core.env_server.types import Action, Observation, State


class Add(Action):
    """Adds to the count."""

    n: int


class Count(Observation):
    """The count."""

    count: int


class Counter(Environment):
    """Counts to four."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def reset(self, seed=None, episode_id=None, **_):
        self.count, self.seed = 0, seed
        return Count(count=0)

    def step(self, action, timeout_s=None, **_):
        if action.n == 13:
            raise RuntimeError("thirteen")
        self.count += action.n
        done = self.count >= 4
        return Count(count=self.count, done=done, reward=1.0 if self.count == 4 else None)

    @property
    def state(self):
        return State(step_count=self.count)


class ToolCounter(MCPEnvironment):
    """Counts to four by a tool."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self):
        self.count, mcp = 0, FastMCP("counter")

        @mcp.tool
        def add(n: int) -> str:
            """Add to the count."""
            self.count += n
            return f"it is {self.count}"

        super().__init__(mcp)

    def reset(self, seed=None, episode_id=None, **_):
        self.count = 0
        return Observation(done=False, reward=None)

    def _step_impl(self, action, timeout_s=None, **_):
        raise ValueError("only tools")

    async def step_async(self, action, timeout_s=None, **_):
        seen = await super().step_async(action, timeout_s=timeout_s)
        seen.reward, seen.done = float(self.count == 4), self.count >= 4
        return seen

    @property
    def state(self):
        return State(step_count=self.count)


if __name__ == "__main__":
    kind, port = sys.argv[1:]
    made = {
        "counter": (Counter, Add, Count),
        "tools": (ToolCounter, CallToolAction, CallToolObservation),
    }[kind]
    app = create_fastapi_app(*made, max_concurrent_envs=2)
    uvicorn.run(app, host="127.0.0.1", port=int(port), log_level="warning")
