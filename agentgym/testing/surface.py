"""The surface contract: requirements on every Surface over any site.

Each check is a coroutine function that takes a fresh, unopened surface and an open site; it raises
AssertionError if the contract is broken::

    @pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
    async def test_contract(check, site):
        await check(MySurface(config), site)
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import TypeAlias

import jsonschema
import numpy as np

from agentgym.errors import SurfaceError
from agentgym.protocols import Site, Surface
from agentgym.records import Effect, Observation
from agentgym.surfaces.calls import sample_call

Contract: TypeAlias = Callable[[Surface, Site], Awaitable[None]]
CHECKS: list[Contract] = []

_SAMPLES = 40


def _check(function: Contract) -> Contract:
    CHECKS.append(function)
    return function


def _sound(observation: Observation) -> None:
    assert isinstance(observation.text, str)
    observation.text.encode()
    json.dumps(observation.data, allow_nan=False)
    assert isinstance(observation.effect, Effect)
    if observation.image is not None:
        assert observation.image.dtype == np.uint8 and observation.image.ndim == 3


@_check
async def tools_are_described(surface: Surface, site: Site) -> None:
    """Names are unique, schemas list all arguments, and both are known before opening."""
    tools = surface.tools()
    names = [tool.name for tool in tools]
    assert (
        surface.name
        and isinstance(surface.pictures, bool)
        and tools
        and len(set(names)) == len(names)
    )
    for tool in tools:
        assert tool.description.strip()
        jsonschema.Draft202012Validator.check_schema(dict(tool.parameters))
        assert tool.parameters["type"] == "object"
        assert "additionalProperties" in tool.parameters
    assert [tool.name for tool in surface.tools()] == names


@_check
async def any_legal_call_is_answered(surface: Surface, site: Site) -> None:
    """Any arguments that fit the schema give a sound observation and no exception."""
    await surface.open(site)
    rng = np.random.default_rng(7)
    for _ in range(_SAMPLES):
        action = sample_call(surface.tools(), rng)
        # A drawn deadline may be long, but these calls should end soon.
        if "timeout_s" in action.arguments:
            action = type(action)(action.tool, {**action.arguments, "timeout_s": 1.0})
        _sound(await surface.call(action))
    _sound(await surface.observe())
    await surface.close()


@_check
async def what_is_saved_can_be_loaded(surface: Surface, site: Site) -> None:
    """`save` gives JSON; a surface that loads it gives the same JSON again."""
    await surface.open(site)
    state = await surface.save()
    json.dumps(state, allow_nan=False)
    await surface.load(state)
    assert await surface.save() == state
    _sound(await surface.observe())
    await surface.close()


@_check
async def closing_is_final_and_repeatable(surface: Surface, site: Site) -> None:
    """Closing twice is allowed, also unopened; a closed surface reports that it is closed."""
    await surface.close()
    await surface.open(site)
    await surface.close()
    await surface.close()
    try:
        await surface.call(sample_call(surface.tools(), np.random.default_rng(1)))
    except SurfaceError:
        return
    raise AssertionError("a closed surface should raise SurfaceError")
