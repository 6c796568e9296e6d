"""A small repository, its gold patch, and recorded steps that work on it."""

from agentgym.records import Action, Decision, Effect, Observation, Step, Trajectory, Verdict

ROOT = "/srv/repo"
STORE = """\
class Store:
    def __init__(self):
        self.rows = {}

    def get(self, key):
        return self.rows[key]

    def put(self, key, value):
        self.rows[key] = value
"""
BEFORE = {
    "cache/store.py": STORE,
    "cache/dump.py": "def dump(store):\n    return str(store.rows)\n",
    "cache/other.py": "def other():\n    pass\n",
    "README.md": "A cache.\n",
    "tests/test_store.py": "def test_put():\n    pass\n",
}
AFTER = {
    "cache/store.py": STORE.replace("[key] = value", "[key] = (value, now())"),
    "cache/dump.py": "def dump(store):\n    return repr(store.rows)\n",
    "cache/clock.py": "from time import time as now\n",
    "README.md": "A cache with times.\n",
}


def call(tool, bad=False, output="", **arguments):
    effect = Effect.ERROR if bad else Effect.CHANGED
    return Step(0, Decision(Action(tool, arguments)), Observation(output, effect=effect))


def bash(command, output="", cwd=ROOT, bad=False):
    effect = Effect.ERROR if bad else Effect.CHANGED
    seen = Observation(output, data={"cwd": cwd, "exit_code": int(bad)}, effect=effect)
    return Step(0, Decision(Action("bash", {"command": command})), seen)


def episode(steps, repair):
    numbered = tuple(
        Step(number, step.decision, step.observation) for number, step in enumerate(steps)
    )
    verdict = Verdict("scored", False, 0.0)
    return Trajectory("demo/repo-v1", "Mend it.", numbered, verdict=verdict, repair=repair)
