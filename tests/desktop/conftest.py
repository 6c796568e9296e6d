"""Desktops that the tests look at and act on; each is a sandbox of the recipe `desktop`."""

import json
from dataclasses import replace

import pytest
import pytest_asyncio
from built_images import take_image

from agentgym import plugins
from agentgym.protocols import SurfaceContext
from agentgym.records import Action, SurfaceConfig
from agentgym.sandbox.bubblewrap import BubblewrapProvider
from agentgym.sandbox.recipe import load_recipe
from agentgym.surfaces.desktop import DesktopKind

SESSION = "/home/user/.config/desktop/session"


class Desk:
    """One desktop with a surface.

    Attributes:
        sandbox: Its computer.
        surface: The surface.
        seen: The latest observation.
    """

    def __init__(self, sandbox, surface):
        self.sandbox, self.surface, self.seen = sandbox, surface, None

    async def look(self):
        self.seen = await self.surface.observe()
        return self.seen

    async def do(self, tool, **arguments):
        self.seen = await self.surface.call(Action(tool, arguments))
        return self.seen

    def nodes(self, role="", name=None):
        """Return the nodes with a role and a name."""
        return [
            node
            for node in self.seen.data["nodes"]
            if (not role or node["role"] == role) and (name is None or node["name"] == name)
        ]

    def ref(self, role, name=None):
        found = self.nodes(role, name)
        assert found, f"no {role} {name!r} in {json.dumps(self.seen.data['windows'])}"
        return found[0]["ref"]

    async def read(self, path):
        return (await self.sandbox.read_file(path)).decode()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def provider(session_cache, tmp_path_factory):
    problems = plugins.load("agentgym.sandboxes", "bubblewrap")().problems()
    if problems:
        pytest.skip(f"bubblewrap cannot run: {problems[0].what}")
    take_image("desktop")
    provider = BubblewrapProvider()
    yield provider
    await provider.close()


@pytest_asyncio.fixture(loop_scope="session")
async def open_desk(provider):
    """Opens desktops: ``await open_desk("mousepad", files={path: bytes}, **options)``."""
    opened = []

    async def start(*lines, files=None, **options):
        recipe, snapshot = load_recipe("desktop"), None
        given = dict(files or {})
        if lines:
            given[SESSION] = "\n".join(lines).encode()
        if given:
            plain = await provider.start(replace(recipe, services=()))
            for path, data in given.items():
                await plain.write_file(path, data)
            await plain.run_as_root(["/bin/chown", "-R", "user:", "/home/user"])
            snapshot = await plain.seal()
        sandbox = await provider.start(recipe, snapshot)
        opened.append(sandbox)
        kind = DesktopKind(SurfaceConfig((), options, True, 1_000))
        desk = Desk(sandbox, await kind.attach(SurfaceContext(sandbox)))
        opened.append(desk.surface)
        await desk.look()
        return desk

    yield start
    for one in reversed(opened):
        await one.close()
