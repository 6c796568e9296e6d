"""Run the judged script in a clean room and count what it does.

Prices and counts are in this process only (`agentgym.verify.probing`). The room's `ratecard` asks
it for each price over a socket, and processes are counted by the process ids handed out in between,
which does not depend on the machine's speed. The script is run once for each table of prices, so
what it has kept from one run shows in the next.
"""

import socket
import subprocess
import threading

MOST_BYTES = 50_000
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
                asker.settimeout(1)
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
    first = next_pid()
    script = subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    output = script.stdout.read(MOST_BYTES)
    script.stdout.close()
    code = script.wait()
    processes = next_pid() - first - 1
    return {
        "code": code,
        "calls": meter.calls,
        "processes": processes,
        "output": output.decode(errors="replace"),
        "recorded": recorded(),
    }


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
