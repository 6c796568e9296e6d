"""Actions in the forms of others: computer_13, code for pyautogui, computer-use tools."""

import math

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentgym.desktop.codecs import computer_13, pyautogui_code
from agentgym.desktop.codecs.verbs import INFEASIBLE
from agentgym.desktop.tools import TOOLS
from agentgym.errors import ActionError
from agentgym.gui.computer_use import (
    WHEEL,
    decode_anthropic,
    decode_openai,
    encode_anthropic,
    encode_openai,
)
from agentgym.gui.scaling import Scale, rescaled
from agentgym.records import Action
from agentgym.verify.giving_up import GiveUp, read_give_up

SCHEMAS = {tool.name: dict(tool.parameters) for tool in TOOLS}
X, Y = st.integers(0, 1279), st.integers(0, 799)
KEYS = st.sampled_from(("Enter", "Escape", "ArrowUp", "PageDown", "F5", "a", "é", "+", "Space"))
HELD = st.sampled_from(("Control", "Alt", "Shift", "Meta"))
HOLDING = st.lists(HELD, max_size=2, unique=True)
AT = st.one_of(st.just({}), st.fixed_dictionaries({"x": X, "y": Y}))
BUTTON = st.sampled_from(({}, {"button": "right"}, {"button": "middle"}))
TYPED = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=40)


def made(tool, *parts):
    return st.tuples(*parts).map(
        lambda got: Action(tool, {k: v for p in got for k, v in p.items()})
    )


ACTIONS = st.one_of(
    made("click", AT, BUTTON),
    made("click", AT, st.sampled_from(({"count": 2}, {"count": 3}))),
    made("hover", st.fixed_dictionaries({"x": X, "y": Y})),
    made("drag", st.fixed_dictionaries({"to_x": X, "to_y": Y})),
    made(
        "scroll",
        AT,
        st.fixed_dictionaries(
            {
                "direction": st.sampled_from(("up", "down", "left", "right")),
                "amount": st.integers(1, 100),
            }
        ),
    ),
    TYPED.map(lambda text: Action("type", {"text": text, "clear": False})),
    st.tuples(HOLDING, KEYS).map(
        lambda got: Action("press", {"keys": "+".join([*got[0], got[1]])})
    ),
    made("key_down", st.fixed_dictionaries({"key": st.one_of(HELD, KEYS)})),
    made("key_up", st.fixed_dictionaries({"key": st.one_of(HELD, KEYS)})),
    made("mouse_down", AT, BUTTON),
    made("mouse_up", AT, BUTTON),
    made("wait", st.fixed_dictionaries({"seconds": st.integers(0, 10)})),
    st.just(Action("screenshot", {})),
    st.just(Action("submit", {})),
)
ANY = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)


def fits(action):
    if action.tool in SCHEMAS:
        jsonschema.validate(dict(action.arguments), SCHEMAS[action.tool])


@given(ACTIONS)
def test_code_for_pyautogui_says_an_action_without_loss(action):
    assert pyautogui_code.decode(pyautogui_code.encode(action)) == [action]


@given(ACTIONS)
def test_computer_13_says_an_action_without_loss_or_refuses_it(action):
    try:
        told = computer_13.encode(action)
    except ActionError:
        assert action.tool in ("wait", "screenshot")
        return
    again = [one for part in told for one in computer_13.decode(part)]
    if "x" in action.arguments and action.tool not in ("click", "hover"):
        # Only clicks and moves have a place there; others are preceded by a move.
        at = {axis: action.arguments[axis] for axis in ("x", "y")}
        rest = {name: value for name, value in action.arguments.items() if name not in at}
        assert again == [Action("hover", at), Action(action.tool, rest)]
    else:
        assert again == [action]


@given(ACTIONS, st.lists(HELD, max_size=2, unique=True))
def test_computer_use_tools_say_an_action_without_loss_or_refuse_it(action, held):
    if held and action.tool in ("click", "scroll", "drag"):
        action = Action(action.tool, {**action.arguments, "modifiers": held})
    if action.tool != "wait":  # OpenAI's has no duration
        refused_or_same(action, encode_openai, decode_openai)
    refused_or_same(action, encode_anthropic, decode_anthropic)


def refused_or_same(action, encode, decode):
    try:
        told = encode(action, WHEEL)
    except ActionError:
        return
    again = decode(told, WHEEL)
    fits(again)
    if action.tool == "press":
        assert again.arguments["keys"].split("+") == action.arguments["keys"].split("+")
    else:
        assert again == action


@given(ANY, st.sampled_from(("action_type", "type", "action")), ANY)
def test_no_value_breaks_a_codec(value, kind, other):
    for decode in (decode_openai, decode_anthropic, computer_13.decode):
        for given_action in (value, {kind: value}, {kind: "CLICK", "parameters": value}):
            try:
                decode(given_action)
            except ActionError:
                continue
    for name in ("click", "scroll", "drag", "keypress", "type", "left_click", "key", "zoom"):
        broken = {
            "type": name,
            "action": name,
            "x": value,
            "y": other,
            "text": value,
            "keys": other,
        }
        broken |= {"coordinate": value, "path": other, "scroll_x": value, "button": other}
        for decode in (decode_openai, decode_anthropic):
            try:
                decode(broken)
            except ActionError:
                continue


@settings(max_examples=300)
@given(
    st.one_of(
        st.text(max_size=60),
        st.lists(
            st.sampled_from(
                (
                    *(
                        "pyautogui.",
                        "click",
                        "press",
                        "hotkey",
                        "(",
                        ")",
                        "'a'",
                        "1",
                        ",",
                        "x=",
                        "[",
                    ),
                    *(
                        "]",
                        "for i in range(9):",
                        "\n",
                        " ",
                        "time.sleep(",
                        "*",
                        "-",
                        "with ",
                        "None",
                    ),
                )
            ),
            max_size=14,
        ).map("".join),
    )
)
def test_no_text_breaks_the_reader_of_code(code):
    try:
        actions = pyautogui_code.decode(code)
    except ActionError:
        return
    for action in actions:
        fits(action)


PROGRAM = """
import pyautogui
import time
from time import sleep
pyautogui.PAUSE = 0.5
x, y = 100, 2 * 100
pyautogui.click(x + 5, y, clicks=5, button='right')
pyautogui.moveRel(10, -20, duration=0.3)
for key in ['tab', 'pgdn']:
    pyautogui.press(key, presses=2)
with pyautogui.hold(['ctrlleft', 'shift']):
    pyautogui.press('A')
pyautogui.hotkey('ctrl', 'S')
pyautogui.hotkey('a', 'b')
pyautogui.dragTo((7, 8), button='middle')
pyautogui.write('1 < 2' + ' "x"')
pyautogui.scroll(-3)
sleep(99)
"""


def test_a_program_is_read_in_the_order_of_its_calls():
    def act(tool, **arguments):
        return Action(tool, arguments)

    assert pyautogui_code.decode(f"```python\n{PROGRAM}```") == [
        act("click", x=105, y=200, button="right", count=3),
        act("click", x=105, y=200, button="right", count=2),
        act("hover", x=115, y=180),
        act("press", keys="Tab Tab"),
        act("press", keys="PageDown PageDown"),
        act("key_down", key="Control"),
        act("key_down", key="Shift"),
        act("press", keys="A"),
        act("key_up", key="Shift"),
        act("key_up", key="Control"),
        act("press", keys="Control+Shift+s"),
        *(act("key_down", key="a"), act("key_down", key="b")),
        *(act("key_up", key="b"), act("key_up", key="a")),
        *(act("mouse_down", button="middle"), act("hover", x=7, y=8)),
        act("mouse_up", button="middle"),
        act("type", text='1 < 2 "x"', clear=False),
        act("scroll", direction="down", amount=3),
        act("wait", seconds=10),
    ]


@pytest.mark.parametrize(
    "code",
    [
        "",
        "# nothing",
        "import os; os.system('rm -rf /')",
        "from os import system",
        "__import__('os').system('id')",
        "pyautogui.click.__globals__['os']",
        "pyautogui.alert('hi')",
        "pyautogui.click('button.png')",
        "pyautogui.click(1)",
        "pyautogui.click(x=1e999, y=0)",
        "pyautogui.click(True, 3)",
        "pyautogui.click(3, 4, 5, 6, 7, 8, 9, 10, 11)",
        "pyautogui.click(1, 2, x=3)",
        "pyautogui.click(1, 2, button='fourth')",
        "pyautogui.click(**{'x': 1})",
        "pyautogui.moveRel(1, 2)",
        "pyautogui.write('a' * 10**9)",
        "pyautogui.press('nothing')",
        "pyautogui.press(['a'] * 3)",
        "pyautogui.press('a', presses=10**6)",
        "pyautogui.hotkey()",
        "x(lambda: 0x" + "f" * 5_000 + ")",
        "while True: pyautogui.press('a')",
        "for i in range(10**8): pass",
        "for i in range(200): pyautogui.press('a')",
        "x = lambda: 3",
        "eval('1')",
        "print('done')",
        "pyautogui.click(1, 2",
        "f'{pyautogui.click(1, 2)}'",
        "pyautogui.hotkey(" + "(" * 5_000 + ")" * 5_000 + ")",
        "pyautogui.click(" + "1+" * 20_000 + "1, 1)",
        "a = [1, 1]\n" + "a = [a, a]\n" * 200 + "pyautogui.click(a)",
        "a = [1, 1]\n" + "a = [a, a]\n" * 200 + "pyautogui.click(a + 1, 2)",
        "time.time()",
        "with pyautogui.press('a'): pass",
    ],
)
def test_code_that_does_anything_else_is_refused(code):
    with pytest.raises(ActionError):
        pyautogui_code.decode(code)


@pytest.mark.parametrize(
    ("told", "tool", "arguments"),
    [
        ({"action_type": "CLICK", "x": 3, "y": 4, "num_clicks": 2}, "click", "x=3 y=4 count=2"),
        ({"action_type": "RIGHT_CLICK", "parameters": {}}, "click", "button=right"),
        ({"action_type": "SCROLL", "parameters": {"dx": 0, "dy": -5}}, "scroll", "down"),
        ({"action_type": "TYPING", "parameters": {"text": "<ö>"}}, "type", "<ö>"),
        ("WAIT", "wait", ""),
        ("DONE", "submit", ""),
        ("FAIL", "give_up", "infeasible"),
    ],
)
def test_computer_13(told, tool, arguments):
    (action,) = computer_13.decode(told)
    shown = " ".join(f"{name}={value}" for name, value in action.arguments.items())
    assert action.tool == tool and arguments in shown
    fits(action)


def test_fail_has_no_fields_and_is_a_reason_that_names_no_cause():
    fields = {"category": "locked", "subject": "q3.zip", "reason": "It wants a password."}
    (told,) = computer_13.encode(Action("give_up", fields))
    assert told == {"action_type": "FAIL", "parameters": {}}
    (action,) = computer_13.decode(told)
    assert read_give_up(action.arguments) == GiveUp(INFEASIBLE)
    assert pyautogui_code.encode(Action("give_up", fields)) == "FAIL"
    (action,) = pyautogui_code.decode("FAIL")
    assert read_give_up(action.arguments) == GiveUp(INFEASIBLE)


@pytest.mark.parametrize(
    "told",
    [
        None,
        "click",
        [],
        {"action_type": "CLICK", "parameters": [1]},
        {"action_type": "CLICK", "parameters": {"x": 1}},
        {"action_type": "CLICK", "parameters": {"z": 1}},
        {"action_type": "MOVE_TO", "parameters": {"x": "a", "y": 2}},
        {"action_type": "MOVE_TO", "parameters": {"x": math.nan, "y": 2}},
        {"action_type": "HOTKEY", "parameters": {"keys": []}},
        {"action_type": "TYPING"},
        {"action_type": "SCROLL"},
        {"action_type": "PRESS", "parameters": {"key": "volumeknob"}},
        {"action_type": "PRESS", "parameters": {"key": 10**5_000}},
    ],
)
def test_what_computer_13_does_not_know_is_told(told):
    with pytest.raises(ActionError):
        computer_13.decode(told)


@given(X, Y, st.sampled_from(((640, 400), (1000, 1000), (1920, 1200), (1280, 800))))
def test_points_of_another_picture_are_those_of_the_screen(x, y, picture):
    scale = Scale((1280, 800), picture)
    x, y = x * picture[0] // 1280, y * picture[1] // 800
    action = rescaled(Action("click", {"x": x, "y": y, "count": 2}), scale)
    fits(action)
    there = action.arguments
    assert abs(there["x"] / 1280 - x / picture[0]) <= 1 / min(1280, picture[0])
    assert abs(there["y"] / 800 - y / picture[1]) <= 1 / min(800, picture[1])
    assert there["count"] == 2
    zoomed = rescaled(
        Action("zoom", {"x": 0, "y": 0, "width": picture[0], "height": picture[1]}), scale
    )
    assert zoomed.arguments == {"x": 0, "y": 0, "width": 1280, "height": 800}
    path = rescaled(Action("drag", {"path": [[0, 0], [x, y]]}), scale)
    assert path.arguments["path"][1] == [there["x"], there["y"]]
    with pytest.raises(ActionError, match="not on the picture"):
        rescaled(Action("hover", {"x": picture[0], "y": 0}), scale)
