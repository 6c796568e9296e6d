"""The daemon of a test session: one for all workers, and gone with the last of them."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from own_dockerd import _obstacle
from process_table import running

WORKER = """
import sys
from pathlib import Path
from own_dockerd import own_dockerd

with own_dockerd(Path(sys.argv[1])) as (host, why):
    print(host, flush=True)
    sys.stdin.read()
"""
OBSTACLE = _obstacle()


@pytest.mark.slow
@pytest.mark.skipif(bool(OBSTACLE), reason=OBSTACLE)
@pytest.mark.parametrize("end", ["close", "kill"])
def test_workers_share_a_daemon_that_ends_with_the_last(tmp_path, end):
    folder = tmp_path / "dockerd"
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, str(folder)],
            env={**os.environ, "PYTHONPATH": path},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    (host,) = {worker.stdout.readline().strip() for worker in workers}
    asked = ["docker", f"--host={host}", "info", "--format", "{{.Driver}}"]
    for worker in workers:
        assert subprocess.check_output(asked, text=True) == "overlay2\n"
        worker.kill() if end == "kill" else worker.stdin.close()
        worker.wait(60)
        worker.stdin.close()
        worker.stdout.close()
    if end == "close":
        assert not running(str(folder))
    deadline = time.monotonic() + 60
    while running(str(folder)):
        assert time.monotonic() < deadline, running(str(folder))
        time.sleep(0.01)
    assert not (folder / "data").exists()
    assert not Path(host.removeprefix("unix://")).parent.exists()
