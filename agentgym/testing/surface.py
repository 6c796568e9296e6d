"""The surface contract: what every SurfaceKind and its surfaces must do over any context.

Each check is a coroutine function taking a fresh, unopened kind and a context; it raises
AssertionError where the contract is broken::

    @pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
    async def test_contract(check, context):
        await check(MyKind(config), context)
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TypeAlias

import jsonschema
import numpy as np

from agentgym.errors import SurfaceError, UnsupportedError
from agentgym.protocols import Surface, SurfaceContext, SurfaceKind
from agentgym.records import Action, Effect, Observation, ObservationLimits
from agentgym.surfaces.calls import sample_call

Contract: TypeAlias = Callable[[SurfaceKind, SurfaceContext], Awaitable[None]]
CHECKS: list[Contract] = []

_SAMPLES = 40


def _check(function: Contract) -> Contract:
    CHECKS.append(function)
    return function


def _sound(observation: Observation, limits: ObservationLimits) -> None:
    assert isinstance(observation.text, str)
    assert len(observation.text.encode()) <= limits.text_bytes
    assert len(json.dumps(observation.data, allow_nan=False)) <= limits.data_bytes
    assert isinstance(observation.effect, Effect)
    if observation.image is not None:
        assert observation.image.dtype == np.uint8 and observation.image.ndim == 3
        height, width, _ = observation.image.shape
        assert 0 < width <= limits.image_width and 0 < height <= limits.image_height


@asynccontextmanager
async def attached(kind: SurfaceKind, context: SurfaceContext) -> AsyncIterator[Surface]:
    """Open a kind and attach a surface to a context; close both at the end."""
    await kind.open()
    surface = await kind.attach(context)
    try:
        yield surface
    finally:
        await surface.close()
        await kind.close()


def _soon(action: Action) -> Action:
    """Return a drawn call with a short deadline."""
    if "timeout_s" not in action.arguments:
        return action
    return replace(action, arguments={**action.arguments, "timeout_s": 1.0})


@_check
async def tools_are_described(kind: SurfaceKind, context: SurfaceContext) -> None:
    """Names are unique, schemas say which arguments there are, all is known before opening."""
    tools = kind.tools()
    names = [tool.name for tool in tools]
    assert kind.name and tools and len(set(names)) == len(names)
    assert kind.limits.text_bytes > 0 and kind.limits.data_bytes > 0
    for tool in tools:
        assert tool.description.strip()
        jsonschema.Draft202012Validator.check_schema(dict(tool.parameters))
        assert tool.parameters["type"] == "object"
        assert "additionalProperties" in tool.parameters
    assert [tool.name for tool in kind.tools()] == names


@_check
async def any_legal_call_is_answered(kind: SurfaceKind, context: SurfaceContext) -> None:
    """Whatever the schema admits gives a sound observation within the limits, no exception."""
    async with attached(kind, context) as surface:
        _sound(await surface.observe(), kind.limits)
        rng = np.random.default_rng(7)
        for _ in range(_SAMPLES):
            seen = await surface.call(_soon(sample_call(kind.tools(), rng)))
            _sound(seen, kind.limits)
        _sound(await surface.observe(), kind.limits)


@_check
async def what_is_saved_can_be_loaded(kind: SurfaceKind, context: SurfaceContext) -> None:
    """`save` gives JSON that another surface can load; or it is refused with a reason."""
    async with attached(kind, context) as surface:
        try:
            state = await surface.save()
        except UnsupportedError as refusal:
            assert kind.name in str(refusal)
            return
        json.dumps(state, allow_nan=False)
        other = await kind.attach(context)
        try:
            await other.load(state)
            assert await other.save() == state
            _sound(await other.observe(), kind.limits)
        finally:
            await other.close()


@_check
async def surfaces_of_one_kind_live_and_end_apart(
    kind: SurfaceKind, context: SurfaceContext
) -> None:
    """Two surfaces may be attached at once, and one goes on when the other is closed."""
    async with attached(kind, context) as surface:
        other = await kind.attach(context)
        assert other is not surface
        await other.close()
        action = _soon(sample_call(kind.tools(), np.random.default_rng(3)))
        _sound(await surface.call(action), kind.limits)


@_check
async def closing_is_final_and_repeatable(kind: SurfaceKind, context: SurfaceContext) -> None:
    """Closing twice is fine, and a closed surface says that it is closed."""
    await kind.open()
    surface = await kind.attach(context)
    await surface.close()
    await surface.close()
    try:
        await surface.call(sample_call(kind.tools(), np.random.default_rng(1)))
    except SurfaceError:
        await kind.close()
        return
    raise AssertionError("a closed surface should raise SurfaceError")
