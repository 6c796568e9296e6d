"""Records of acting and observing: tools, actions, observations, decisions and steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from agentgym.errors import ActionError
from agentgym.records.generations import Generation
from agentgym.records.values import Image, Json
from agentgym.records.worlds import StepEvent


@dataclass(frozen=True, slots=True)
class Action:
    """One tool call, e.g. ``Action("bash", {"command": "ls"})``."""

    tool: str
    arguments: Mapping[str, Json] = field(default_factory=dict)

    @classmethod
    def from_json(cls, value: object) -> Action:
        """Read ``{"tool": str, "arguments": object}``.

        Raises:
            ActionError: The value does not have this form.
        """
        if isinstance(value, Action):
            return value
        if type(value) is not dict and not isinstance(value, Mapping):
            raise ActionError(
                f"an action is an object with 'tool' and 'arguments', not {type(value).__name__}"
            )
        known = ("tool" in value) + ("arguments" in value)
        if len(value) != known:
            extra = sorted(str(key) for key in set(value) - {"tool", "arguments"})
            raise ActionError(
                f"unknown field {extra[0]!r} in an action; expected 'tool' and 'arguments'"
            )
        tool, arguments = value.get("tool"), value.get("arguments", {})
        if not isinstance(tool, str):
            raise ActionError("an action needs 'tool', the name of the tool to call")
        if type(arguments) is not dict and not isinstance(arguments, Mapping):
            raise ActionError(f"'arguments' of tool {tool!r} must be an object")
        return cls(tool, arguments)

    def to_json(self) -> dict[str, Json]:
        """Return the canonical JSON form."""
        return {"tool": self.tool, "arguments": dict(self.arguments)}


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the agent sees it: name, description, JSON Schema of its arguments."""

    name: str
    description: str
    parameters: Mapping[str, Json]

    def to_openai(self) -> dict[str, Json]:
        """Return the tool as an item of ``tools`` in OpenAI's chat-completions API."""
        function: dict[str, Json] = {
            "name": self.name,
            "description": self.description,
            "parameters": self.parameters,
        }
        return {"type": "function", "function": function}

    def to_anthropic(self) -> dict[str, Json]:
        """Return the tool as an item of ``tools`` in Anthropic's messages API."""
        return {
            "name": self.name,
            "description": self.description,
            "input_schema": self.parameters,
        }


@dataclass(frozen=True, slots=True)
class SurfaceConfig:
    """The configuration that an environment gives a new surface.

    Attributes:
        service_tools: Tools of the environment's services.
        options: The `[surface.NAME]` table of its `env.toml`.
        sandbox: Whether the environment has a computer.
        output_bytes: Largest number of bytes of one command's output that the agent sees.
    """

    service_tools: tuple[ToolSpec, ...] = ()
    options: Mapping[str, Json] = field(default_factory=dict)
    sandbox: bool = True
    output_bytes: int = 65_536


@dataclass(frozen=True, slots=True)
class ObservationLimits:
    """Limits on the size of an observation.

    Attributes:
        text_bytes: Bytes of its text in UTF-8.
        data_bytes: Bytes of its structured part as ASCII JSON.
        image_width: Pixels of its image; 0 if it never has one.
        image_height: Pixels, likewise.
    """

    text_bytes: int
    data_bytes: int
    image_width: int = 0
    image_height: int = 0

    @property
    def pictures(self) -> bool:
        """Whether there may be an image."""
        return self.image_width > 0 and self.image_height > 0

    def __add__(self, other: ObservationLimits) -> ObservationLimits:
        """Return the limits of an observation that shows two others, and the image of one."""
        return ObservationLimits(
            self.text_bytes + other.text_bytes,
            self.data_bytes + other.data_bytes,
            max(self.image_width, other.image_width),
            max(self.image_height, other.image_height),
        )


class Effect(StrEnum):
    """The effect of an action on the world, as far as the surface can tell."""

    CHANGED = "changed"
    NO_CHANGE = "no_change"
    ERROR = "error"
    TIMEOUT = "timeout"


@dataclass(frozen=True, slots=True, eq=False)
class Observation:
    """The agent's observation after reset or a step.

    Attributes:
        text: Text for the agent.
        image: ``uint8[H, W, 3]`` RGB, or None if the environment shows no picture.
        data: Structured parts (exit code, working directory, …), JSON values only and
            free of wall-clock times, so that equal worlds give equal observations.
        effect: Effect of the last action.
    """

    text: str
    image: Image | None = None
    data: Mapping[str, Json] = field(default_factory=dict)
    effect: Effect = Effect.NO_CHANGE


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Tokens spent on one decision or summed over an episode."""

    prompt: int = 0
    completion: int = 0
    cached: int = 0

    def __add__(self, other: TokenUsage) -> TokenUsage:
        return TokenUsage(
            self.prompt + other.prompt,
            self.completion + other.completion,
            self.cached + other.cached,
        )

    @property
    def total(self) -> int:
        """Prompt plus completion tokens."""
        return self.prompt + self.completion


@dataclass(frozen=True, slots=True)
class Nudge:
    """A reply of a model without a usable tool call, and the request that answered it.

    Attributes:
        said: The reply, shortened.
        told: The request to call a tool.
    """

    said: str
    told: str


@dataclass(frozen=True, slots=True)
class Decision:
    """An agent's answer: the action, and how the agent arrived at it.

    Attributes:
        action: The tool call to execute.
        thought: Text of the policy besides the call.
        usage: Tokens of this decision.
        reply: The raw assistant message, so that a resumed agent can rebuild its dialogue.
        nudges: Unusable replies before the usable one, in order.
        generations: What the model generated for this decision, rejected completions first; empty
            if nothing was (the call is one more of an earlier reply), None if it is not known.
    """

    action: Action
    thought: str = ""
    usage: TokenUsage = TokenUsage()
    reply: Json = None
    nudges: tuple[Nudge, ...] = ()
    generations: tuple[Generation, ...] | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """One recorded step: the decision and the observation that followed it.

    Attributes:
        index: Number of the step, counted from 0.
        decision: The agent's decision.
        observation: The observation that followed.
        duration_s: Wall time of its execution, in seconds.
        events: Events and faults of the task that fired in this step, in order.
    """

    index: int
    decision: Decision
    observation: Observation
    duration_s: float = 0.0
    events: tuple[StepEvent, ...] = ()

    @property
    def action(self) -> Action:
        """Action of this step."""
        return self.decision.action


@dataclass(frozen=True, slots=True)
class Briefing:
    """The information that an agent gets when an episode begins.

    Attributes:
        task: Task id, ``suite/name-vN``.
        instruction: The instruction text with its slots filled.
        seed: Seed of the episode; a seeded agent derives its randomness from it.
        max_steps: Largest number of steps.
        reference_actions: The solution's actions; empty unless the agent has
            ``privileged = True``.
        reference_policy: File of a solution that looks before it acts; None unless the agent has
            ``privileged = True`` and the task has such a solution.
        first: The first observation. An agent that goes on from recorded steps (of a resumed or a
            forked episode) finds it here only. None if it is not known.
    """

    task: str
    instruction: str
    seed: int
    max_steps: int
    reference_actions: Sequence[Action] = ()
    reference_policy: Path | None = None
    first: Observation | None = None
