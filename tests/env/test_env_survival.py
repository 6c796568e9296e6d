"""What a call makes a surface raise is the agent's doing, unless something died by itself."""

import errno
from types import SimpleNamespace

import pytest

from agentgym.env.dynamics import Dynamics
from agentgym.env.survival import survived
from agentgym.errors import (
    GuestFileError,
    SandboxDiedError,
    SandboxEndedError,
    SandboxError,
    ServiceError,
    SurfaceEndedError,
    SurfaceError,
    TaskError,
    UserError,
)
from agentgym.errors import SandboxTimeoutError as TimedOut
from agentgym.records import Action, Effect, Observation

ACTION = Action("paint", {})


def raising(error):
    async def execute(action):
        raise error

    return execute


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (RecursionError("too deep"), "error: paint failed: RecursionError: too deep"),
        (MemoryError(), "error: paint failed: MemoryError: "),
        (UnicodeEncodeError("utf-8", "\ud800", 0, 1, "no"), "error: paint failed: UnicodeEncode"),
        (OSError(errno.ENAMETOOLONG, "File name too long"), "error: paint failed: OSError"),
        (KeyError("x"), "error: paint failed: KeyError: 'x'"),
        (TimeoutError(), "error: paint failed: TimeoutError"),
        (GuestFileError("/x: is a FIFO"), "error: /x: is a FIFO"),
        (SandboxError("RecursionError: in the supervisor"), "error: RecursionError: in the"),
        (ServiceError("invalid", "no"), "error: no"),
        (ValueError("\0\ud800" + "x" * 10_000), "error: paint failed: ValueError: \u2400?xx"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
async def test_what_the_agent_makes_a_surface_raise_is_an_observation(error, told):
    seen = await survived(raising(error), ACTION)
    assert seen.text.startswith(told) and seen.effect is Effect.ERROR
    assert len(seen.text) < 2_100 and seen.text.encode()


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (TimedOut("no answer within 30 s"), SandboxEndedError),
        (SandboxEndedError("was ended"), SandboxEndedError),
        (SurfaceEndedError("is gone"), SurfaceEndedError),
    ],
)
async def test_what_the_agent_ends_is_judged(error, kind):
    with pytest.raises(kind):
        await survived(raising(error), ACTION)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (SandboxDiedError("is gone"), SandboxDiedError),
        (SurfaceError("not open"), SurfaceError),
        (UserError("down"), UserError),
        (TaskError("event"), TaskError),
        (OSError(errno.ENOSPC, "No space left on device"), SandboxError),
        (OSError(errno.EMFILE, "Too many open files"), SandboxError),
    ],
)
async def test_what_failed_by_itself_is_not_an_observation(error, kind):
    with pytest.raises(kind) as raised:
        await survived(raising(error), ACTION)
    assert not isinstance(raised.value, SandboxEndedError | SurfaceEndedError)


async def test_what_goes_well_is_passed_on():
    async def execute(action):
        return Observation(action.tool)

    assert (await survived(execute, ACTION)).text == "paint"


async def test_a_dry_run_that_cannot_be_made_is_not_the_agents_failure():
    async def broken():
        raise SandboxError("no room for another sandbox")

    async def failing(*_):
        return "exit code 1"

    world = Dynamics.__new__(Dynamics)
    world._ran, world._services, world._pristine, world.clock = [], None, broken, "now"
    world._execute = failing
    with pytest.raises(SandboxDiedError, match="no dry run of the events: no room"):
        await world._run(SimpleNamespace(when=None), "events/x.sh", None)
