"""Actions in the forms of BrowserGym and of computer-use tools, there and back."""

from __future__ import annotations

import jsonschema
import pytest

from agentgym.browser.codecs import browsergym
from agentgym.browser.tools import TOOLS
from agentgym.errors import ActionError
from agentgym.gui.computer_use import (
    decode_anthropic,
    decode_openai,
    encode_anthropic,
    encode_openai,
)
from agentgym.records import Action
from agentgym.verify.giving_up import GiveUp, read_give_up

SCHEMAS = {tool.name: dict(tool.parameters) for tool in TOOLS}
CALLS = {
    "click('12')": ("click", {"ref": 12}),
    "click(bid='12', button='right', modifiers=['Shift'])": (
        "click",
        {"ref": 12, "button": "right", "modifiers": ["Shift"]},
    ),
    "dblclick('3')": ("click", {"ref": 3, "count": 2}),
    "fill('7', 'it\\'s\\n\"here\"')": ("type", {"ref": 7, "text": 'it\'s\n"here"'}),
    "select_option('4', ['a', 'b'])": ("select", {"ref": 4, "values": ["a", "b"]}),
    "press('4', 'Control+A')": ("press", {"ref": 4, "keys": "Control+A"}),
    "hover('1')": ("hover", {"ref": 1}),
    "drag_and_drop('1', '2')": ("drag", {"from_ref": 1, "to_ref": 2}),
    "scroll(0, -360)": ("scroll", {"direction": "up", "amount": 0.5}),
    "mouse_click(3, 4, 'middle')": ("click", {"x": 3, "y": 4, "button": "middle"}),
    "mouse_drag_and_drop(1, 2, 3, 4)": (
        "drag",
        {"from_x": 1, "from_y": 2, "to_x": 3, "to_y": 4},
    ),
    "keyboard_press('Enter')": ("press", {"keys": "Enter"}),
    "keyboard_type('hi')": ("type", {"text": "hi", "clear": False}),
    "goto('http://a.example')": ("goto", {"url": "http://a.example"}),
    "go_back()": ("back", {}),
    "new_tab()": ("tab_new", {}),
    "tab_focus(0)": ("tab_switch", {"tab": 1}),
    "noop(500)": ("wait", {"seconds": 0.5}),
    "send_msg_to_user('42')": ("submit", {"answer": "42"}),
    "report_infeasible('no field')": ("give_up", {"reason": "no field"}),
}
GAVE_UP = {"category": "missing_data", "subject": "invoice of “Ada”", "reason": "It isn't there."}


@pytest.mark.parametrize("text", CALLS)
def test_calls_of_browsergym_there_and_back(text):
    expected = Action(*CALLS[text])
    assert browsergym.decode(text) == [expected]
    assert browsergym.decode(browsergym.encode(expected)) == [expected]
    if expected.tool in SCHEMAS:
        jsonschema.validate(dict(expected.arguments), SCHEMAS[expected.tool])


def test_giving_up_keeps_its_fields_in_the_only_text_that_browsergym_has():
    (action,) = browsergym.decode(browsergym.encode(Action("give_up", GAVE_UP)))
    assert list(action.arguments) == ["reason"]
    assert (
        read_give_up(action.arguments)
        == read_give_up(GAVE_UP)
        == GiveUp("It isn't there.", "missing_data", "invoice of “Ada”")
    )
    (plain,) = browsergym.decode("report_infeasible('{not JSON')")
    assert read_give_up(plain.arguments) == GiveUp("{not JSON")


def test_several_calls_and_boxes_that_are_checked_already():
    nodes = [{"ref": 5, "checked": True}, {"ref": 6}]
    decoded = browsergym.decode("```python\ncheck('5')\ncheck('6')\nuncheck('5')\n```", nodes)
    assert [action.tool for action in decoded] == ["wait", "click", "click"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I click",
        "click",
        "click()",
        "click('a12')",
        "click('1', 'left', [], 4)",
        "click(bid='1', force=True)",
        "click(open('/etc/passwd'))",
        "__import__('os').system('true')",
        "mouse_down(1, 2)",
        "tab_focus('x')",
        "x = click('1')",
        "(" * 5_000,
        "noop(" + "-" * 5_000 + "1)",
        "0x" + "f" * 5_000,
        f"click('1', 0x{'f' * 5_000}, x.y)",
    ],
)
def test_other_texts_are_refused(text):
    with pytest.raises(ActionError):
        browsergym.decode(text)


OPENAI = [
    {"type": "click", "button": "left", "x": 1, "y": 2},
    {"type": "click", "button": "wheel", "x": 1, "y": 2},
    {"type": "double_click", "x": 1, "y": 2},
    {"type": "drag", "path": [{"x": 1, "y": 2}, {"x": 3, "y": 4}]},
    {"type": "keypress", "keys": ["CTRL", "a"]},
    {"type": "move", "x": 1, "y": 2},
    {"type": "scroll", "x": 1, "y": 2, "scroll_x": 0.0, "scroll_y": -360.0},
    {"type": "type", "text": "hi"},
    {"type": "wait"},
    {"type": "screenshot"},
]
ANTHROPIC = [
    {"action": "left_click", "coordinate": [1, 2]},
    {"action": "right_click", "coordinate": [1, 2]},
    {"action": "triple_click", "coordinate": [1, 2]},
    {"action": "left_click_drag", "start_coordinate": [1, 2], "coordinate": [3, 4]},
    {"action": "key", "text": "ctrl+a"},
    {"action": "type", "text": "hi"},
    {"action": "mouse_move", "coordinate": [1, 2]},
    {"action": "scroll", "coordinate": [1, 2], "scroll_direction": "left", "scroll_amount": 3},
    {"action": "wait", "duration": 2.0},
    {"action": "screenshot"},
]


@pytest.mark.parametrize(
    ("given", "decode", "encode"),
    [(given, decode_openai, encode_openai) for given in OPENAI]
    + [(given, decode_anthropic, encode_anthropic) for given in ANTHROPIC],
)
def test_computer_use_there_and_back(given, decode, encode):
    action = decode(given)
    jsonschema.validate(dict(action.arguments), SCHEMAS[action.tool])
    assert encode(action) == given


@pytest.mark.parametrize("decode", [decode_openai, decode_anthropic])
@pytest.mark.parametrize(
    "given",
    [
        {},
        {"type": "fly"},
        {"action": "fly"},
        {"type": "click"},
        {"type": "drag", "path": []},
        {"action": "left_click", "coordinate": [1]},
        {"action": "scroll", "coordinate": None},
        {"type": "click", "action": "drag", "coordinate": 10**5_000},
    ],
)
def test_unknown_computer_actions_are_refused(decode, given):
    with pytest.raises(ActionError):
        decode(given)


def test_what_has_no_coordinates_cannot_be_told_to_a_computer_use_tool():
    for encode in (encode_openai, encode_anthropic):
        with pytest.raises(ActionError):
            encode(Action("click", {"ref": 3}))
    with pytest.raises(ActionError):
        browsergym.encode(Action("click", {"ref": 3, "count": 3}))
