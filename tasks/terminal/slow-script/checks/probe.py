"""Run the judged script in a clean room and count what it does.

Prices and counts are in this process only (`agentgym.verify.probing`). The room's `ratecard` asks
it for each price over a socket, and processes are counted by the process ids handed out in between,
which does not depend on the machine's speed. The script is run once for each table of prices, so
what it has kept from one run shows in the next. A run is over when its processes are: one that
works on in the background is awaited for a while, told, and ended.
"""

import contextlib
import os
import resource
import signal
import socket
import subprocess
import threading
import time

MOST_BYTES = 50_000
# What a process that is ending takes, without the time for which it waits for a processor.
GRACE_S, MOST_GRACE_S = 5.0, 15.0
RECORD = "/var/log/ratecard/calls.log"


class Meter(threading.Thread):
    """Answers ``PLAN REGION`` with the price or with ``none``, and counts the questions."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.listener = socket.create_server(("127.0.0.1", port), backlog=128)
        self.prices = {}
        self.calls = 0

    def run(self):
        while True:
            asker, _ = self.listener.accept()
            with asker:
                asker.settimeout(30)
                try:
                    question = asker.recv(4096)
                    self.calls += 1
                    pair = question.decode(errors="replace").strip()
                    asker.sendall(f"{self.prices.get(pair, 'none')}\n".encode())
                except OSError:
                    self.calls += 1


def next_pid():
    """Return a process id that was just handed out."""
    process = subprocess.Popen(
        ["/bin/true"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    process.wait()
    return process.pid


def run(argv, meter):
    first, before_s, stalled_s, began_s = next_pid(), cpu_s(), stalls(), time.monotonic()
    script = subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    output = script.stdout.read(MOST_BYTES)
    script.stdout.close()
    code = script.wait()
    took_s = time.monotonic() - began_s - (stalls() - stalled_s)
    behind = outlive(first)
    processes = next_pid() - first - 1
    return {
        "code": code,
        "behind": behind,
        "took_s": max(took_s, cpu_s() - before_s),
        "calls": meter.calls,
        "processes": processes,
        "output": output.decode(errors="replace"),
        "recorded": recorded(),
    }


def cpu_s():
    """Return the processor time of all processes that this one has waited for, and of theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def stalls():
    """Return for how many seconds some task of the machine has waited for a processor, since boot.

    See the kernel's PSI. Without it, waiting cannot be told from work: all time counts as a wait.
    """
    with contextlib.suppress(OSError), open("/proc/pressure/cpu") as file:
        return int(file.readline().rpartition("total=")[2]) / 1e6
    return time.monotonic()


def outlive(first):
    """Return the names of processes that are still there a while after their run; end them."""
    began_s, stalled_s = time.monotonic(), stalls()
    while left := running_since(first):
        waited_s = time.monotonic() - began_s
        worked_s = waited_s - (stalls() - stalled_s)
        if worked_s > GRACE_S or waited_s > MOST_GRACE_S:
            break
        time.sleep(0.02)
    for pid in left:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)
    return sorted(left.values())


def running_since(first):
    """Return the names of the processes that began after another one; of ended ones nothing."""
    found = {}
    for entry in os.listdir("/proc"):
        if entry.isdecimal() and int(entry) > first:
            with contextlib.suppress(OSError), open(f"/proc/{entry}/stat") as file:
                name, _, rest = file.read().partition(" (")[2].rpartition(") ")
                if rest[:1] not in "ZX":
                    found[int(entry)] = name
    return found


def recorded():
    """Return the beginning of the record of calls; nothing if there is none any more."""
    try:
        with open(RECORD, "rb") as file:
            return file.read(MOST_BYTES).decode(errors="replace")
    except OSError:
        return ""


def refusal(argv):
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True)
    told = done.stderr[:500].decode(errors="replace")
    return {"code": done.returncode, "output": done.stdout[:500].decode("latin-1"), "told": told}


def answer(order):
    if "refusals" in order:
        return [refusal(argv) for argv in order["refusals"]]
    meter, seen = Meter(order["port"]), []
    meter.start()
    for prices in order["prices"]:
        meter.prices, meter.calls = prices, 0
        seen.append(run(order["argv"], meter))
    return seen
