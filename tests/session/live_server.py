"""A real environment server in a thread of the test process, on a loopback port."""

import asyncio
import threading
from contextlib import contextmanager

from counter_world import CounterEnvironment, CounterProvider, counter_task

from agentgym.record.store import RunStore
from agentgym.session.accounts import Account, Accounts
from agentgym.session.app import EnvironmentApp
from agentgym.session.bounds import ServerBounds
from agentgym.session.config import SessionConfig
from agentgym.session.listening import address_of, listen, serve
from agentgym.session.server import SessionServer

TASK = "counter/count-v1"
TOKEN = "a token for the tests of the server"


def counters(**options):
    """Return the counting world as the environments of a server; it needs no sandbox."""
    return {TASK: CounterEnvironment(counter_task(), CounterProvider(), **options)}


class LiveServer:
    """A running server, as a test sees it.

    Attributes:
        url: Its address.
        folder: The folder of its run.
        app: The application.
        sessions: Its sessions.
        environments: Its environments.
    """

    def __init__(self, folder, environments, terms, bounds, accounts, port):
        self.folder, self.environments = folder, environments
        self._terms, self._bounds, self._accounts = terms, bounds, accounts
        self._listening = listen("127.0.0.1", port)
        self.port = self._listening.getsockname()[1]
        self.url = address_of(self._listening, tls=False)
        self._started = threading.Event()
        self._thread = threading.Thread(target=asyncio.run, args=[self._serve()], daemon=True)
        self._thread.start()
        assert self._started.wait(20)

    async def _serve(self):
        self._loop, self._ending = asyncio.get_running_loop(), asyncio.Event()
        if (self.folder / "run.db").exists():
            store = RunStore.open(self.folder, readonly=False)
        else:
            store = RunStore.create(self.folder, {}, [])
        try:
            terms = {"idle_s": 20.0, "tell_verdicts": True, "record_after_s": 0.02, **self._terms}
            self.sessions = SessionServer(SessionConfig(self.environments, store, **terms))
            bounds = ServerBounds(**self._bounds)
            accounts = self._accounts or Accounts([(Account("tester"), TOKEN)])
            self.app = EnvironmentApp(self.sessions, accounts, bounds)
            self._started.set()
            await serve(self.app, self._listening, self._ending, bounds)
        finally:
            store.close()
            self._started.set()

    def run(self, work):
        """Run a coroutine on the server's loop and return its result."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(20)

    def stop(self):
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._ending.set)
            self._thread.join(30)
            assert not self._thread.is_alive()
        self._listening.close()

    def episodes(self):
        """Return what the run recorded; the server must have stopped."""
        store = RunStore.open(self.folder)
        try:
            return store.episodes()
        finally:
            store.close()


@contextmanager
def live_server(folder, *, environments=None, bounds=None, accounts=None, port=0, **terms):
    """Start a server, and stop it at the end."""
    server = LiveServer(folder, environments or counters(), terms, bounds or {}, accounts, port)
    try:
        yield server
    finally:
        server.stop()
