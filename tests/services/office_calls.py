"""A short way to the services of the office and to their tools."""

from functools import cache
from pathlib import Path

from agentgym.services import ServiceSet, load_services

OFFICE = Path(__file__).parents[2] / "envs/office/services"


def office(*names):
    return load_services(*(OFFICE / name for name in names))


@cache
def service(name):
    """Return one service of the office on those that its data builds upon."""
    everything = load_services(OFFICE).classes
    needed, waiting = set(), [name]
    while waiting:
        needed.add(other := waiting.pop())
        waiting += set(everything[other].after) - needed
    return only(ServiceSet({other: everything[other] for other in sorted(needed)}), name)


def ask(backend, tool, actor="agent", **arguments):
    reply = backend.call(tool, arguments, actor)
    assert reply.error is None, reply.error
    return reply.result


def refusal(backend, tool, **arguments):
    before = backend.hash
    error = backend.call(tool, arguments).error
    assert error is not None and backend.hash == before
    return error.code, error.field


def only(services, name):
    """Return the set with the tools of one service; the others are tested by themselves."""
    narrowed = ServiceSet(services.classes)
    narrowed.functions = {
        tool: function for tool, function in narrowed.functions.items() if function.service == name
    }
    return narrowed
