from dataclasses import dataclass


@dataclass
class ToolCall:
    name: str
    arguments: dict
    requestor: str = "assistant"
    id: str = ""


@dataclass
class Reply:
    content: str
    error: bool
