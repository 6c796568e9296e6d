"""Acting and seeing: tools, actions, observations, decisions and the steps they make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from agentgym.errors import ActionError
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
            ActionError: The value is not of that form.
        """
        if isinstance(value, Action):
            return value
        if not isinstance(value, Mapping):
            raise ActionError(
                f"an action is an object with 'tool' and 'arguments', not {type(value).__name__}"
            )
        extra = sorted(str(key) for key in set(value) - {"tool", "arguments"})
        if extra:
            raise ActionError(
                f"unknown field {extra[0]!r} in an action; expected 'tool' and 'arguments'"
            )
        tool, arguments = value.get("tool"), value.get("arguments", {})
        if not isinstance(tool, str):
            raise ActionError("an action needs 'tool', the name of the tool to call")
        if not isinstance(arguments, Mapping):
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
    """What an environment gives a surface when it makes it.

    Attributes:
        service_tools: The tools of the environment's services.
        options: The `[surface.NAME]` table of its `env.toml`.
        sandbox: Whether the environment has a computer.
        output_bytes: How much of one command's output the agent is shown at most.
    """

    service_tools: tuple[ToolSpec, ...] = ()
    options: Mapping[str, Json] = field(default_factory=dict)
    sandbox: bool = True
    output_bytes: int = 65_536


@dataclass(frozen=True, slots=True)
class ObservationLimits:
    """How large an observation may be.

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
    """What an action did to the world, as far as the surface can tell."""

    CHANGED = "changed"
    NO_CHANGE = "no_change"
    ERROR = "error"
    TIMEOUT = "timeout"


@dataclass(frozen=True, slots=True, eq=False)
class Observation:
    """What the agent sees after reset or a step.

    Attributes:
        text: What a person would read.
        image: ``uint8[H, W, 3]`` RGB, or None where the environment shows no picture.
        data: Structured parts (exit code, working directory, …), JSON values only and
            free of wall-clock times, so that equal worlds give equal observations.
        effect: What the last action did.
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
    """A reply of a model that held no usable tool call, and what the model was told.

    Attributes:
        said: The reply, shortened.
        told: The request to call a tool.
    """

    said: str
    told: str


@dataclass(frozen=True, slots=True)
class Decision:
    """What an agent answers: the action, and what is worth keeping of how it got there.

    Attributes:
        action: The tool call to execute.
        thought: Text the policy produced beside the call.
        usage: Tokens this decision cost.
        reply: The raw assistant message, so that a resumed agent can rebuild its dialogue.
        nudges: The replies that came before a usable one, in order.
    """

    action: Action
    thought: str = ""
    usage: TokenUsage = TokenUsage()
    reply: Json = None
    nudges: tuple[Nudge, ...] = ()


@dataclass(frozen=True, slots=True)
class Step:
    """One recorded step: the decision and the observation that followed it.

    Attributes:
        index: Counted from 0.
        decision: What the agent chose.
        observation: What it then saw.
        duration_s: Wall time of its execution.
        events: Events and faults of the task that fired in this step, in order.
    """

    index: int
    decision: Decision
    observation: Observation
    duration_s: float = 0.0
    events: tuple[StepEvent, ...] = ()

    @property
    def action(self) -> Action:
        """The action of this step."""
        return self.decision.action


@dataclass(frozen=True, slots=True)
class Briefing:
    """What an agent is told when an episode begins.

    Attributes:
        task: Task id, ``suite/name-vN``.
        instruction: The instruction text with its slots filled.
        seed: Seed of the episode; a seeded agent derives its randomness from it.
        max_steps: Steps the agent may take.
        reference_actions: The solution's actions; empty unless the agent has
            ``privileged = True``.
    """

    task: str
    instruction: str
    seed: int
    max_steps: int
    reference_actions: Sequence[Action] = ()
