"""The processor time of a check: a worker that has served long has no less of it."""

import resource
import subprocess
import sys
import time

from agentgym.verify.worker import confinement

_BUSY = """
import signal, time
from agentgym.verify.worker.confinement import used_s

signal.setitimer(signal.ITIMER_PROF, 1000.0)
before = used_s()
while time.process_time() < 0.6:
    pass
# This timer counts the ticks that RLIMIT_CPU counts.
print(used_s() - before - (1000.0 - signal.getitimer(signal.ITIMER_PROF)[0]))
"""


def test_the_limit_begins_at_what_the_kernel_has_counted(monkeypatch):
    before = resource.getrlimit(resource.RLIMIT_CPU), resource.getrlimit(resource.RLIMIT_AS)
    monkeypatch.setattr(time, "clock_gettime", lambda clock: 7000.5)
    try:
        confinement.limit(cpu_s=5)
        assert resource.getrlimit(resource.RLIMIT_CPU)[0] == 7006
    finally:
        resource.setrlimit(resource.RLIMIT_CPU, before[0])
        resource.setrlimit(resource.RLIMIT_AS, before[1])


def test_the_time_is_that_of_the_ticks():
    done = subprocess.run([sys.executable, "-c", _BUSY], capture_output=True, check=True)
    assert abs(float(done.stdout)) < 0.1
