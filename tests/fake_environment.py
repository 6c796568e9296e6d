"""An environment without a computer: says things back, and is won by submitting its word.

Stands in for `agentgym.env.environment.Environment` and its episodes where only the Gymnasium
side is tested; `test_fake_environment.py` holds it to the same rules.
"""

from dataclasses import dataclass
from types import SimpleNamespace

from agentgym.errors import ActionError
from agentgym.gymnasium.env import GymEnv
from agentgym.records import (
    Action,
    Decision,
    Effect,
    Observation,
    ObservationLimits,
    Step,
    ToolSpec,
    Verdict,
)
from agentgym.surfaces.calls import check_call


def _object(properties, required=()):
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


TOOLS = (
    ToolSpec("say", "Repeat a text.", _object({"text": {"type": "string"}}, ["text"])),
    ToolSpec(
        "fill",
        "Print many characters.",
        _object(
            {
                "character": {"type": "string", "minLength": 1, "maxLength": 1},
                "times": {"type": "integer", "minimum": 0, "maximum": 10_000},
            },
            ["character", "times"],
        ),
    ),
    ToolSpec("submit", "End the episode.", _object({"answer": {"type": "string"}})),
)
WORDS = ("\u00e9t\u00e9", "\u6f22\u5b57", "\U0001f600", "plain")


@dataclass(frozen=True)
class Transition:
    observation: Observation
    reward: float
    terminated: bool
    truncated: bool
    verdict: Verdict | None


class FakeEpisode:
    def __init__(self, environment, seed):
        self.environment = environment
        params = {"word": WORDS[seed % len(WORDS)], "seed": seed}
        self.instance = SimpleNamespace(seed=seed, params=params)
        self.first = Observation(f"Submit {params['word']}.", data={"cwd": "/root", "step": 0})
        self.steps = []
        self.closed = 0
        self.over, self.waited_s, self.asks_user = False, 0.0, False

    async def step(self, decision):
        try:
            action = Action.from_json(decision)
            observation = self._act(action)
        except ActionError as error:
            action = Action("", {"malformed": str(error)})
            observation = Observation(f"error: {error}", effect=Effect.ERROR)
        self.steps.append(Step(len(self.steps), Decision(action), observation))
        terminated = action.tool == "submit" and observation.effect is not Effect.ERROR
        truncated = not terminated and len(self.steps) >= self.environment.max_steps
        verdict = None
        if terminated or truncated:
            won = action == Action("submit", {"answer": self.instance.params["word"]})
            verdict = Verdict("scored", won, float(won))
        reward = verdict.score if verdict else 0.0
        return Transition(observation, reward, terminated, truncated, verdict)

    def _act(self, action):
        data = {"cwd": "/root", "step": len(self.steps) + 1}
        try:
            check_call(action, TOOLS)
        except ActionError as error:
            return Observation(str(error), data=data, effect=Effect.ERROR)
        arguments = action.arguments
        if action.tool == "say":
            return Observation(arguments["text"], data=data, effect=Effect.CHANGED)
        if action.tool == "fill":
            return Observation(arguments["character"] * arguments["times"], data=data)
        return Observation("submitted", data=data)

    async def finish(self):
        self.over = True
        return Verdict("scored", False, 0.25)

    async def close(self):
        self.closed += 1


class FakeEnvironment:
    episode_type = FakeEpisode

    def __init__(self, max_steps=20):
        self.task = SimpleNamespace(id="fake/echo-v1")
        self.tools = TOOLS
        self.observation_limits = ObservationLimits(text_bytes=132_096, data_bytes=65_536)
        self.max_steps = max_steps
        self.closed = 0

    async def start(self, seed, *, alone=False):
        return self.episode_type(self, seed)

    async def close(self):
        self.closed += 1


def make_fake(max_steps=20, **options):
    return GymEnv(FakeEnvironment(max_steps), **options)


def say(text):
    """Return the action that says a text."""
    return {"tool": "say", "arguments": {"text": text}}
