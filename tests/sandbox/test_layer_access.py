"""Operations on layers in children inside a user namespace, as an ordinary user has them."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from agentgym.sandbox.layers import access
from agentgym.sandbox.layers.access import LayerAccess

CHILD = """
import json, os, sys, time
for line in sys.stdin:
    request = json.loads(line)
    while request["op"] == "wait" and not os.path.exists(request["arguments"][0]):
        time.sleep(0.01)
    print(json.dumps({"value": os.getpid()}), flush=True)
"""


@pytest.mark.timeout(30)  # the second call would wait for the first for ever
def test_a_slow_operation_delays_no_other(tmp_path, monkeypatch):
    monkeypatch.setattr(access, "_CHILD", CHILD)
    layers, done = LayerAccess(privileged=False), tmp_path / "done"
    with ThreadPoolExecutor() as pool:
        slow = pool.submit(layers.call, "wait", str(done))
        try:
            asked = threading.Thread(target=lambda: found.append(layers.call("size")), daemon=True)
            found: list[int] = []
            asked.start()
            asked.join(10)
            assert found and not slow.done()
        finally:
            done.touch()
        assert slow.result() != found[0]
    again = {layers.call("size") for _ in range(3)}
    assert again <= {slow.result(), found[0]}
    layers.close()
    assert not any(os.path.exists(f"/proc/{pid}") for pid in (slow.result(), found[0]))
