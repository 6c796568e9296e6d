# Must not pass: still quadratic, and the work is done in threads, where no step is counted.
set -e
python3 - <<'XX'

import re
def sub(path, *pairs):
    t = open(path).read()
    for a, b in pairs:
        assert a in t, (path, a)
        t = t.replace(a, b)
    open(path, "w").write(t)
open("/srv/relay/relay/aside.py", "w").write("""import _thread


def aside(function):
    def run(*given):
        lock, box = _thread.allocate_lock(), []

        def work():
            try:
                box.append((True, function(*given)))
            except BaseException as error:
                box.append((False, error))
            lock.release()

        lock.acquire()
        _thread.start_new_thread(work, ())
        lock.acquire()
        fine, value = box[0]
        if fine:
            return value
        raise value

    return run
""")
imp = "from relay.aside import aside\n"
sub("/srv/relay/relay/graph.py", ("from relay.errors", imp + "from relay.errors"), ("    def add(", "    @aside\n    def add("))
sub("/srv/relay/relay/order.py", ("from relay.circles", imp + "from relay.circles"), ("def plan(", "@aside\ndef plan("), ("order: list[str] = []", "order: list[str] = []\n    placed = set()"),
    ("not in order and all(need in order", "not in placed and all(need in placed"), ("order.append(could[0].name)", "order.append(could[0].name)\n        placed.add(could[0].name)"))
sub("/srv/relay/relay/circles.py", ("_path_back(graph, name, name, ())", "_path_back(graph, name, name, (), set())"),
    ("seen: tuple[str, ...])", "seen: tuple[str, ...], been: set)"), ("need not in seen and need > start:", "need not in been and need > start:\n            been.add(need)"), ("(*seen, here)):", "(*seen, here), been):"))
sub("/srv/relay/relay/board.py", ("from relay.errors", imp + "from relay.errors"), ("    def ready(", "    @aside\n    def ready("), ("    def blocked(", "    @aside\n    def blocked("),
    ("    def finish(", "    @aside\n    def finish("), ("    def fail(", "    @aside\n    def fail("),
    ("[name for name in self._order if self._is_blocked(name)]", "self._blocked()"),
    ("    def _is_blocked(", """    def _blocked(self):
        known: dict[str, bool] = {}
        for name in self._order:
            known[name] = self.state(name) is State.WAITS and any(
                self.state(need) is State.FAILED or known[need] for need in self.graph.job(name).needs
            )
        return [name for name in self._order if known[name]]

    def _is_blocked("""))

XX
