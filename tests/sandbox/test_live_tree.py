"""Files of a guest held still: shut when the guest goes on, and never while somebody reads."""

import asyncio
import threading

import pytest

from agentgym.errors import SandboxError
from agentgym.sandbox.layers.access import LayerAccess
from agentgym.sandbox.layers.stack import Stack
from agentgym.sandbox.layers.tree import LayerTree, LiveTree
from agentgym.testing.checks import MemoryTree


async def test_a_closed_tree_refuses_every_operation():
    tree = LiveTree(MemoryTree({"/srv/f": "x"}))
    assert tree.read("/srv/f") == b"x" and tree.list("/srv") == ["f"]
    assert [path for path, _ in tree.walk("/srv")] == ["/srv/f"]
    await tree.close()
    for call in (
        lambda: tree.read("/srv/f"),
        lambda: tree.stat("/srv/f"),
        lambda: tree.list("/srv"),
        lambda: list(tree.walk("/srv")),
    ):
        with pytest.raises(SandboxError, match="the look at the sandbox is over"):
            call()


async def test_closing_waits_for_who_is_reading():
    begun, go, read = threading.Event(), threading.Event(), []

    class Slow(MemoryTree):
        def read(self, path, *, max_bytes=0):
            begun.set()
            assert go.wait(20)
            return b"whole"

    tree = LiveTree(Slow({}))
    reader = threading.Thread(target=lambda: read.append(tree.read("/f")))
    reader.start()
    assert await asyncio.to_thread(begun.wait, 20)
    closing = asyncio.ensure_future(tree.close())
    await asyncio.sleep(0.05)
    assert not closing.done()
    go.set()
    await closing
    reader.join(20)
    assert read == [b"whole"]


def test_a_file_over_the_layers_hides_what_is_in_them(tmp_path):
    upper, lower = tmp_path / "upper", tmp_path / "lower"
    for layer, text in ((upper, "upper"), (lower, "lower")):
        (layer / "etc").mkdir(parents=True)
        (layer / "etc/hostname").write_text(text)
    (tmp_path / "own").write_text("own")
    layers, over = [str(upper), str(lower)], {"/etc/hostname": str(tmp_path / "own")}
    assert LayerTree(LayerAccess(), layers, over).read("/etc/hostname") == b"own"
    assert LayerTree(LayerAccess(), layers, {}).read("/etc/hostname") == b"upper"
    assert Stack(layers, over).names("/etc") == ["hostname"]
