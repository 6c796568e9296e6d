"""The program that runs the Python of a checkout: one domain, and a process for each world of it.

It is started apart from agentgym, by any Python >= 3.10 that has what the checkout needs, and uses
the standard library only. It imports the domain once, reports on its standard output, and listens
at a Unix socket: each connection forks a world, which answers requests, a JSON object a line. It
ends with its standard input. The package `tau2` itself is never imported, as that loads every model
client it knows.
"""

import importlib
import inspect
import json
import os
import select
import signal
import socket
import sys
import types


class Domain:
    """A domain of a checkout, imported; what it builds is what that checkout's own runs use."""

    def __init__(self, checkout, name, options):
        package = types.ModuleType("tau2")
        package.__path__ = [os.path.join(checkout, "src", "tau2")]
        sys.modules["tau2"] = package
        self.module = importlib.import_module(f"tau2.domains.{name}.environment")
        self.tasks = importlib.import_module("tau2.data_model.tasks")
        self._accepted = inspect.signature(self.module.get_environment).parameters
        self._options = self._known(options)
        self._ready = self.module.get_environment(**self._options)

    def _known(self, options):
        return {name: value for name, value in options.items() if name in self._accepted}

    def build(self, **given):
        """Build an environment: the one that is ready, unless this domain builds it by task."""
        if known := self._known(given):
            return self.module.get_environment(**self._options, **known)
        return self._ready

    def listed(self, path):
        """Return the tasks of a file, or those that the domain runs where none is named."""
        if path is None:
            found = self.module.get_tasks()
        else:
            with open(path, encoding="utf-8") as file:
                stored = json.load(file)
            stored = stored["tasks"] if isinstance(stored, dict) else stored
            found = [self.tasks.Task.model_validate(task) for task in stored]
        return [task.model_dump(mode="json") for task in found]


class World:
    """One environment and the requests it answers."""

    def __init__(self, domain):
        self.domain = domain
        self.environment = None

    def tasks(self, path):
        return self.domain.listed(path)

    def begin(self, task, messages, logged_reads):
        """Bring the environment to where a task begins, then repeat recorded messages."""
        model = self.domain.tasks.Task.model_validate(task)
        self.environment = self.domain.build(task=model, read_log_allowlist=set(logged_reads))
        start = model.initial_state
        state = self.domain.tasks.InitialState.model_validate({"message_history": messages})
        self.environment.set_state(
            initialization_data=start and start.initialization_data,
            initialization_actions=start and start.initialization_actions,
            message_history=state.message_history or [],
        )

    def describe(self):
        """Return the policy and the tools of both sides, as OpenAI function schemas."""
        environment = self.environment
        user_tools = environment.user_tools and environment.get_user_tools()
        return {
            "policy": environment.get_policy(),
            "tools": [tool.openai_schema["function"] for tool in environment.get_tools()],
            "user_tools": [tool.openai_schema["function"] for tool in user_tools or ()],
        }

    def call(self, name, arguments, requestor):
        """Call a tool as a live episode does: a failure is an answer."""
        message = importlib.import_module("tau2.data_model.message")
        call = message.ToolCall(name=name, arguments=arguments, requestor=requestor)
        reply = self.environment.get_response(call)
        return {"content": reply.content, "error": reply.error}

    def act(self, name, arguments, requestor):
        """Call a tool as the evaluator does on the way to the expected end state."""
        self.environment.make_tool_call(tool_name=name, requestor=requestor, **arguments)

    def holds(self, assertion):
        """Say whether an assertion of a task holds."""
        wanted = self.domain.tasks.EnvAssertion.model_validate(assertion)
        return self.environment.run_env_assertion(wanted, raise_assertion_error=False)

    def hashes(self):
        """Return the hash of the agent's database and of the user's, None where there is none."""
        return [self.environment.get_db_hash(), self.environment.get_user_db_hash()]


def answer(world, request):
    """Return the reply to one request; whatever is raised is told, not hidden."""
    signal.setitimer(signal.ITIMER_REAL, request.pop("limit_s"))
    try:
        return {"ok": getattr(world, request.pop("op"))(**request)}
    except FileNotFoundError as error:
        return {"absent": str(error.filename)}
    except Exception as error:  # noqa: BLE001 - the code is not ours and may raise anything
        return {"raised": f"{type(error).__name__}: {error}"}
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def serve(domain, connection):
    """Answer one connection until it is closed."""
    world = World(domain)
    with connection, connection.makefile("rw", encoding="utf-8") as lines:
        for line in lines:
            reply = answer(world, json.loads(line))
            lines.write(json.dumps(reply, default=str) + "\n")
            lines.flush()


def main(checkout, name, options, address):
    """Import a domain, say how that went, and fork a world for each connection."""
    report, parent = os.fdopen(os.dup(1), "w"), os.dup(0)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)  # what the checkout prints is no report
    try:
        domain = Domain(checkout, name, json.loads(options))
        told = {"ok": None}
    except ModuleNotFoundError as error:
        told = {"missing": error.name}
    except FileNotFoundError as error:
        told = {"absent": str(error.filename)}
    except BaseException as error:  # noqa: BLE001 - the code is not ours and may raise anything
        told = {"raised": f"{type(error).__name__}: {error}"}
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen(64)
    with report:
        report.write(json.dumps(told) + "\n")
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while "ok" in told and parent not in select.select([listener, parent], [], [])[0]:
        connection, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            serve(domain, connection)
            os._exit(0)
        connection.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
