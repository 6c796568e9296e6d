"""Computer-use actions as calls of a desktop's tools, there and back."""

import jsonschema
import pytest

from agentgym.desktop.tools import TOOLS
from agentgym.errors import ActionError
from agentgym.gui.computer_use import (
    WHEEL,
    decode_anthropic,
    decode_openai,
    encode_anthropic,
    encode_openai,
)
from agentgym.records import Action

SCHEMAS = {tool.name: dict(tool.parameters) for tool in TOOLS}
ANTHROPIC = [
    ({"action": "left_click", "coordinate": [3, 4]}, "click", {"x": 3, "y": 4}),
    ({"action": "right_click"}, "click", {"button": "right"}),
    (
        {"action": "triple_click", "coordinate": [3, 4], "text": "Shift+Alt"},
        "click",
        {"x": 3, "y": 4, "count": 3, "modifiers": ["Shift", "Alt"]},
    ),
    (
        {"action": "left_click_drag", "start_coordinate": [1, 2], "coordinate": [3, 4]},
        "drag",
        {"from_x": 1, "from_y": 2, "to_x": 3, "to_y": 4},
    ),
    ({"action": "key", "text": "ctrl+s"}, "press", {"keys": "ctrl+s"}),
    (
        {"action": "hold_key", "text": "shift", "duration": 2.0},
        "hold",
        {"keys": "shift", "seconds": 2.0},
    ),
    ({"action": "left_mouse_down"}, "mouse_down", {}),
    ({"action": "left_mouse_up", "coordinate": [9, 8]}, "mouse_up", {"x": 9, "y": 8}),
    (
        {"action": "zoom", "region": [10, 20, 110, 70]},
        "zoom",
        {"x": 10, "y": 20, "width": 100, "height": 50},
    ),
    (
        {"action": "scroll", "coordinate": [5, 6], "scroll_direction": "up", "scroll_amount": 4},
        "scroll",
        {"x": 5, "y": 6, "direction": "up", "amount": 4.0},
    ),
    ({"action": "type", "text": "a < b 🎉"}, "type", {"text": "a < b 🎉", "clear": False}),
]


@pytest.mark.parametrize(("given", "tool", "arguments"), ANTHROPIC)
def test_actions_of_anthropic_there_and_back(given, tool, arguments):
    action = decode_anthropic(given, WHEEL)
    assert action == Action(tool, arguments)
    jsonschema.validate(dict(action.arguments), SCHEMAS[action.tool])
    assert encode_anthropic(action, WHEEL) == given


@pytest.mark.parametrize(
    ("given", "tool", "arguments"),
    [
        (
            {"type": "drag", "path": [{"x": 1, "y": 2}, {"x": 3, "y": 4}, {"x": 5, "y": 6}]},
            "drag",
            {"path": [[1, 2], [3, 4], [5, 6]]},
        ),
        (
            {"type": "scroll", "x": 7, "y": 8, "scroll_x": 0.0, "scroll_y": 300.0},
            "scroll",
            {"x": 7, "y": 8, "direction": "down", "amount": 3.0},
        ),
        ({"type": "keypress", "keys": ["CTRL", "C"]}, "press", {"keys": "CTRL+C"}),
    ],
)
def test_actions_of_openai_there_and_back(given, tool, arguments):
    action = decode_openai(given, WHEEL)
    assert action == Action(tool, arguments)
    jsonschema.validate(dict(action.arguments), SCHEMAS[action.tool])
    assert encode_openai(action, WHEEL) == given


@pytest.mark.parametrize(
    "given",
    [
        {"action": "zoom"},
        {"action": "zoom", "region": [1, 2, 3]},
        {"action": "left_click", "coordinate": [1, 2, 3]},
        {"action": "mouse_move"},
        {"action": "hold_key", "text": "a"},
        {"action": "scroll", "scroll_direction": "in", "scroll_amount": 1},
        {"action": "explode"},
    ],
)
def test_what_is_no_action_is_told(given):
    with pytest.raises(ActionError):
        decode_anthropic(given, WHEEL)
