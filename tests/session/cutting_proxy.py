"""A TCP proxy that cuts connections where a test says, or passes nothing on any more."""

import asyncio
import threading
from contextlib import contextmanager


class CuttingProxy:
    """Passes bytes between clients and a server.

    Attributes:
        url: Its address.
        cut_before: Cuts a connection when the client sends these bytes; they are not passed on.
        cut_after: Passes these bytes of the client on, and cuts when the server answers them.
        silent: Whether nothing is passed on, and no end of a connection is told.
        cuts: Number of cuts; each wish is fulfilled once.
    """

    def __init__(self, port):
        self._to, self.cuts = port, 0
        self.cut_before = self.cut_after = None
        self.silent = False
        self._started = threading.Event()
        self._thread = threading.Thread(target=asyncio.run, args=[self._serve()], daemon=True)
        self._thread.start()
        assert self._started.wait(20)

    async def _serve(self):
        self._loop, self._ending = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self.url = f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        self._started.set()
        await self._ending.wait()
        server.close()

    async def _connected(self, reader, writer):
        try:
            there, here = await asyncio.open_connection("127.0.0.1", self._to)
        except OSError:
            writer.transport.abort()
            return
        state = {"cut": False}
        up = self._pass(reader, here, state, from_client=True)
        down = self._pass(there, writer, state, from_client=False)
        tasks = [asyncio.ensure_future(up), asyncio.ensure_future(down)]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        for each in (here, writer):
            each.transport.abort()

    async def _pass(self, source, sink, state, *, from_client):
        while data := await source.read(2**16):
            if self.silent:
                await asyncio.sleep(3600)
            if from_client:
                shown = _unmasked(data)
                if self.cut_before is not None and self.cut_before in shown:
                    self.cut_before, self.cuts = None, self.cuts + 1
                    return
                if self.cut_after is not None and self.cut_after in shown:
                    self.cut_after, state["cut"] = None, True
            elif state["cut"]:
                self.cuts += 1
                return
            sink.write(data)
            await sink.drain()

    def stop(self):
        self._loop.call_soon_threadsafe(self._ending.set)
        self._thread.join(20)


def _unmasked(data):
    """Return the content of a client's frame (RFC 6455, 5.3), if the data is one short frame."""
    if len(data) < 6 or data[0] & 0x0F not in (1, 2):
        return data
    start = {126: 4, 127: 10}.get(data[1] & 0x7F, 2)
    mask, content = data[start : start + 4], data[start + 4 :]
    return bytes(byte ^ mask[place % 4] for place, byte in enumerate(content))


@contextmanager
def cutting_proxy(server):
    """Start a proxy before a server."""
    proxy = CuttingProxy(server.port)
    try:
        yield proxy
    finally:
        proxy.stop()
