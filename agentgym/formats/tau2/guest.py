"""The program that runs the Python of a checkout: one domain, with a process for each world.

It is started apart from agentgym, by any Python >= 3.10 that has the checkout's requirements, and
uses the standard library only. It imports the domain once, reports on its standard output, and
listens on a Unix socket: each connection forks a world, which answers requests, a JSON object a
line. It ends when its standard input ends. It never imports the package `tau2` itself, because that
loads every model client it knows.
"""

import importlib
import inspect
import json
import os
import select
import shutil
import signal
import socket
import sys
import types
from typing import Any

MOST = 400
"""Largest number of characters of an exception in a report."""


class Domain:
    """An imported domain of a checkout; it builds the environments that the checkout's runs use.

    Args:
        checkout: The folder with `src/tau2`.
        name: Name of the domain.
        options: Options for building environments; those unknown to the domain are left out.
    """

    def __init__(self, checkout: str, name: str, options: dict[str, Any]) -> None:
        package = types.ModuleType("tau2")
        package.__path__ = [os.path.join(checkout, "src", "tau2")]
        sys.modules["tau2"] = package
        self._module = importlib.import_module(f"tau2.domains.{name}.environment")
        self.tasks = importlib.import_module("tau2.data_model.tasks")
        self.messages = importlib.import_module("tau2.data_model.message")
        self._accepted = inspect.signature(self._module.get_environment).parameters
        self._options = self._known(options)
        self._ready = self._module.get_environment(**self._options)

    def _known(self, options: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in options.items() if name in self._accepted}

    def build(self, **given: Any) -> Any:
        """Build an environment: the prepared one, unless this domain builds it for each task."""
        if known := self._known(given):
            return self._module.get_environment(**self._options, **known)
        return self._ready

    def listed(self, path: str | None) -> list[dict[str, Any]]:
        """Return the tasks of a file; without a file, those that the domain runs."""
        if path is None:
            found = self._module.get_tasks()
        else:
            with open(path, encoding="utf-8") as file:
                stored = json.load(file)
            stored = stored["tasks"] if isinstance(stored, dict) else stored
            found = [self.tasks.Task.model_validate(task) for task in stored]
        return [task.model_dump(mode="json") for task in found]


class World:
    """One environment; its public methods are the requests it answers."""

    def __init__(self, domain: Domain) -> None:
        self._domain = domain
        self._environment = domain.build()

    def tasks(self, path: str | None) -> list[dict[str, Any]]:
        """Return the tasks of a file, or those that the domain runs."""
        return self._domain.listed(path)

    def begin(
        self, task: dict[str, Any], messages: list[dict[str, Any]], logged_reads: list[str]
    ) -> None:
        """Set the initial state of a task, then repeat recorded messages."""
        model = self._domain.tasks.Task.model_validate(task)
        start = model.initial_state
        recorded = self._domain.tasks.InitialState.model_validate({"message_history": messages})
        self._environment = self._domain.build(task=model, read_log_allowlist=set(logged_reads))
        self._environment.set_state(
            initialization_data=start and start.initialization_data,
            initialization_actions=start and start.initialization_actions,
            message_history=recorded.message_history or [],
        )

    def describe(self) -> dict[str, Any]:
        """Return the policy and the tools of both sides, as OpenAI function schemas."""
        environment = self._environment
        of_user = environment.get_user_tools() if environment.user_tools else ()
        return {
            "policy": environment.get_policy(),
            "tools": [tool.openai_schema["function"] for tool in environment.get_tools()],
            "user_tools": [tool.openai_schema["function"] for tool in of_user],
        }

    def call(self, name: str, arguments: dict[str, Any], requestor: str) -> dict[str, Any]:
        """Call a tool as a live episode does: a failure is an answer."""
        call = self._domain.messages.ToolCall(name=name, arguments=arguments, requestor=requestor)
        reply = self._environment.get_response(call)
        return {"content": reply.content, "error": reply.error}

    def act(self, name: str, arguments: dict[str, Any], requestor: str) -> None:
        """Call a tool as the evaluator does to compute the expected end state."""
        self._environment.make_tool_call(tool_name=name, requestor=requestor, **arguments)

    def holds(self, assertion: dict[str, Any]) -> bool:
        """Return whether an assertion of a task holds."""
        wanted = self._domain.tasks.EnvAssertion.model_validate(assertion)
        return bool(self._environment.run_env_assertion(wanted, raise_assertion_error=False))

    def hashes(self) -> list[str | None]:
        """Return the hashes of the agent's and the user's database, None for a missing database."""
        return [self._environment.get_db_hash(), self._environment.get_user_db_hash()]


def described(error: BaseException) -> str:
    """Return an exception as one line that can be shown."""
    line = " ".join(f"{type(error).__name__}: {error}".split())
    return line if len(line) <= MOST else f"{line[:MOST]} …"


def answer(world: World, request: dict[str, Any]) -> dict[str, Any]:
    """Return the reply to one request; an exception becomes part of the reply."""
    signal.setitimer(signal.ITIMER_REAL, request.pop("limit_s"))
    try:
        return {"ok": getattr(world, request.pop("op"))(**request)}
    except FileNotFoundError as error:
        return {"absent": str(error.filename)}
    except Exception as error:  # noqa: BLE001 - foreign code may raise anything
        return {"raised": described(error)}
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def serve(domain: Domain, connection: socket.socket) -> None:
    """Answer one connection until it is closed."""
    world = World(domain)
    with connection, connection.makefile("rw", encoding="utf-8") as lines:
        for line in lines:
            reply = answer(world, json.loads(line))
            lines.write(json.dumps(reply, default=str) + "\n")
            lines.flush()


def imported(checkout: str, name: str, options: str) -> tuple[Domain | None, dict[str, Any]]:
    """Import a domain and return it with a report."""
    try:
        return Domain(checkout, name, json.loads(options)), {"ok": None}
    except ModuleNotFoundError as error:
        return None, {"missing": error.name}
    except FileNotFoundError as error:
        return None, {"absent": str(error.filename)}
    except BaseException as error:  # noqa: BLE001 - foreign code may raise anything
        return None, {"raised": described(error)}


def main(checkout: str, name: str, options: str, address: str) -> None:
    """Import a domain, report the result, and fork a world for each connection."""
    report, parent = os.dup(1), os.dup(0)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)  # output of the checkout must not mix with the report
    domain, told = imported(checkout, name, options)
    listener = socket.socket(socket.AF_UNIX)
    # The path may be longer than an address can be.
    os.chdir(os.path.dirname(address))
    listener.bind(os.path.basename(address))
    listener.listen(64)
    os.write(report, json.dumps(told).encode() + b"\n")
    os.close(report)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    waiting = [listener.fileno(), parent]
    while domain is not None and parent not in select.select(waiting, [], [])[0]:
        connection, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            serve(domain, connection)
            os._exit(0)
        connection.close()
    if domain is not None:
        # Its parent was killed; otherwise the parent would have removed the folder before.
        shutil.rmtree(os.path.dirname(address), ignore_errors=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
