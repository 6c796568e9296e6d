"""What the surface `desktop` asks of its options and of its computer; needs no image."""

import contextlib

import pytest

from agentgym.errors import ConfigError, SandboxError, SurfaceError
from agentgym.protocols import SurfaceContext
from agentgym.records import Limits, Recipe, SurfaceConfig
from agentgym.sandbox.bubblewrap import BubblewrapProvider
from agentgym.surfaces.desktop import DesktopKind


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"widht": 100}, "width"),
        ({"width": 5}, "surface.desktop.width"),
        ({"tree": "perhaps"}, "surface.desktop.tree"),
        ({"nodes": 0}, "surface.desktop.nodes"),
    ],
)
def test_options_that_do_not_exist_are_told(options, complaint):
    with pytest.raises(ConfigError, match=complaint):
        DesktopKind(SurfaceConfig((), options, True, 1_000))


def test_it_needs_a_computer():
    with pytest.raises(ConfigError, match="sandbox = 'desktop'"):
        DesktopKind(SurfaceConfig((), {}, False, 1_000))


async def test_a_computer_without_a_desktop_is_told(tmp_path):
    provider = BubblewrapProvider(tmp_path)
    if provider.problems():
        pytest.skip("bubblewrap cannot run")
    kind = DesktopKind(SurfaceConfig((), {}, True, 1_000))
    try:
        sandbox = await provider.start(Recipe("host", limits=Limits(output_bytes=4096)))
        with pytest.raises(SurfaceError, match="recipe desktop"):
            await kind.attach(SurfaceContext(sandbox))
    finally:
        with contextlib.suppress(SandboxError):
            await provider.close()
