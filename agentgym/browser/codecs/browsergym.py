"""Actions as BrowserGym writes them: calls of Python such as ``click('12')``, one a line.

The names and arguments are those of browsergym-core 0.14 (browsergym/core/action/functions.py). A
``bid`` is a reference of an element.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from agentgym.errors import ActionError
from agentgym.python_source import parse_python, shown_python
from agentgym.records import Action, Json

VIEWPORT: Final = (1280, 720)
"""Width and height of a page in pixels, if a caller does not tell."""

_PARAMETERS: Final[Mapping[str, tuple[str, ...]]] = {
    "noop": ("wait_ms",),
    "send_msg_to_user": ("text",),
    "report_infeasible": ("reason",),
    "fill": ("bid", "value", "enable_autocomplete_menu"),
    "check": ("bid",),
    "uncheck": ("bid",),
    "select_option": ("bid", "options"),
    "click": ("bid", "button", "modifiers"),
    "dblclick": ("bid", "button", "modifiers"),
    "hover": ("bid",),
    "press": ("bid", "key_comb"),
    "focus": ("bid",),
    "clear": ("bid",),
    "drag_and_drop": ("from_bid", "to_bid"),
    "scroll": ("delta_x", "delta_y"),
    "scroll_at": ("x", "y", "dx", "dy"),
    "mouse_move": ("x", "y"),
    "mouse_click": ("x", "y", "button"),
    "mouse_dblclick": ("x", "y", "button"),
    "mouse_drag_and_drop": ("from_x", "from_y", "to_x", "to_y"),
    "keyboard_press": ("key",),
    "keyboard_type": ("text",),
    "keyboard_insert_text": ("text",),
    "goto": ("url",),
    "go_back": (),
    "go_forward": (),
    "new_tab": (),
    "tab_close": (),
    "tab_focus": ("index",),
    "upload_file": ("bid", "file"),
}
_MOST_CHARS: Final = 100_000
_MOST_UNCLOSED: Final = 20
_NAMED: Final = re.compile(rf"\b(?:{'|'.join(_PARAMETERS)})\s*\(|(?P<other>#[^\n]*)")
_MARK: Final = re.compile(r"[()'\"]")
_QUOTED: Final = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)


def decode(
    text: str,
    nodes: Sequence[Mapping[str, Any]] = (),
    viewport: tuple[int, int] = VIEWPORT,
) -> list[Action]:
    """Return the actions of a text in BrowserGym's form.

    Args:
        text: One or several calls, also within a Markdown code block.
        nodes: Nodes of the present observation; `check` and `uncheck` look there.
        viewport: Width and height of the page, in whose units `scroll` counts.

    Raises:
        ActionError: The text is no such call; says what was expected.

    Example:
        >>> decode("fill('7', 'Dora')")
        [Action(tool='type', arguments={'ref': 7, 'text': 'Dora'})]
    """
    plain = text.strip().removeprefix("```python").strip("`").strip()
    try:
        body = parse_python(plain[:_MOST_CHARS]).body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise ActionError(f"expected calls such as click('12'), got {text[:200]!r}") from None
    if not body:
        raise ActionError("expected a call such as click('12'), got nothing")
    checked = {node["ref"]: bool(node.get("checked")) for node in nodes if node.get("ref")}
    try:
        actions = [_action(*_call(statement), checked) for statement in body]
    except (MemoryError, RecursionError):  # what was parsed can still be nested too deeply to read
        raise ActionError(f"expected flat values in calls, got {text[:200]!r}") from None
    return [_in_viewports(action, viewport) for action in actions]


def calls_in(text: str) -> str:
    r"""Return the calls within free text, one a line, as BrowserGym's own parser finds them.

    Example:
        >>> calls_in("First I click('3'), then I wait: noop(100) # noop(200)")
        "click('3')\nnoop(100)"
    """
    plain, found, at, unclosed = text[:_MOST_CHARS], [], 0, 0
    # Each unclosed call is looked for up to the end of the text.
    while (match := _NAMED.search(plain, at)) is not None:
        end = 0 if match["other"] else _end_of_call(plain, match.end())
        at = end or match.end()
        if end:
            found.append(plain[match.start() : end])
        elif not match["other"]:
            unclosed += 1
            if unclosed == _MOST_UNCLOSED:
                break
    return "\n".join(found)


def _end_of_call(text: str, start: int) -> int:
    """Return where the call ends whose bracket was opened before `start`; 0 if it does not."""
    depth, at, unclosed = 1, start, set[str]()
    while (mark := _MARK.search(text, at)) is not None:
        sign, at = mark[0], mark.end()
        if sign in "()":
            depth += 1 if sign == "(" else -1
            if depth == 0:
                return at
        elif sign not in unclosed:
            quoted = _QUOTED.match(text, mark.start())
            if quoted is not None:
                at = quoted.end()
            else:  # then no later quote of its kind is closed either
                unclosed.add(sign)
    return 0


def _call(statement: ast.stmt) -> tuple[str, dict[str, Any]]:
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        shown = shown_python(statement)[:200]
        raise ActionError(f"expected a call such as click('12'), got {shown!r}")
    name = call.func.id
    if name not in _PARAMETERS:
        raise ActionError(f"{name} is no action that can be done here: {', '.join(_PARAMETERS)}")
    names = _PARAMETERS[name]
    try:
        given = dict(zip(names, map(ast.literal_eval, call.args), strict=False))
        given |= {str(key.arg): ast.literal_eval(key.value) for key in call.keywords}
    except (ValueError, TypeError, SyntaxError):
        raise ActionError(f"{name}: expected plain values as arguments") from None
    if len(call.args) > len(names) or not set(given) <= set(names):
        raise ActionError(f"{name}: expected the arguments {', '.join(names) or 'none'}")
    return name, given


def _action(name: str, given: dict[str, Any], checked: Mapping[int, bool]) -> Action:
    try:
        if name in ("check", "uncheck"):
            ref = _ref(given["bid"])
            done = checked.get(ref) is (name == "check")
            return Action("wait", {"seconds": 0}) if done else Action("click", {"ref": ref})
        tool, arguments = _MEANINGS[name](given)
    except KeyError as missing:
        raise ActionError(f"{name}: the argument {missing.args[0]} is missing") from None
    except (TypeError, ValueError, OverflowError) as error:
        raise ActionError(f"{name}: {error}") from None
    return Action(tool, arguments)


def _ref(bid: object) -> int:
    if not str(bid).isdecimal():
        raise ActionError(f"expected a reference such as '12', got {bid!r}")
    return int(str(bid))


def _pointed(given: Mapping[str, Any], **more: Json) -> dict[str, Json]:
    """Return the arguments of a click, by reference or by coordinates."""
    at = {"ref": _ref(given["bid"])} if "bid" in given else {"x": given["x"], "y": given["y"]}
    button = {} if given.get("button", "left") == "left" else {"button": given["button"]}
    names = ["Control" if name == "ControlOrMeta" else name for name in given.get("modifiers", ())]
    return {**at, **button, **({"modifiers": names} if names else {}), **more}


def _scrolled(dx: float, dy: float) -> dict[str, Json]:
    if abs(dy) >= abs(dx):
        return {"direction": "up" if dy < 0 else "down", "amount": abs(dy) or 1}
    return {"direction": "left" if dx < 0 else "right", "amount": abs(dx)}


def _in_viewports(action: Action, viewport: tuple[int, int]) -> Action:
    """Return an action that scrolls by heights or widths of the viewport instead of pixels."""
    if action.tool != "scroll":
        return action
    given = dict(action.arguments)
    side = viewport[given["direction"] in ("up", "down")]
    try:
        amount = float(str(given["amount"])) / side
    except ValueError:
        raise ActionError(f"scroll: expected numbers, got {str(given['amount'])[:60]}") from None
    return Action(action.tool, {**given, "amount": amount})


def _listed(value: object) -> list[Json]:
    return list(value) if isinstance(value, list | tuple) else [str(value)]


def _file(name: str) -> dict[str, Json]:
    """Return a file of an upload: one that was downloaded, or a path of the computer."""
    if "/" not in name:
        return {"name": name}
    return {"name": name.rsplit("/", 1)[1] or "file", "path": name}


_Meaning = Callable[[dict[str, Any]], tuple[str, dict[str, Json]]]
_MEANINGS: Final[Mapping[str, _Meaning]] = {
    "noop": lambda g: ("wait", {"seconds": min(10, float(g.get("wait_ms", 1_000)) / 1e3)}),
    "send_msg_to_user": lambda g: ("submit", {"answer": str(g["text"])}),
    "report_infeasible": lambda g: ("give_up", {"reason": str(g["reason"])}),
    "fill": lambda g: ("type", {"ref": _ref(g["bid"]), "text": str(g["value"])}),
    "clear": lambda g: ("type", {"ref": _ref(g["bid"]), "text": ""}),
    "select_option": lambda g: (
        "select",
        {"ref": _ref(g["bid"]), "values": _listed(g["options"])},
    ),
    "click": lambda g: ("click", _pointed(g)),
    "dblclick": lambda g: ("click", _pointed(g, count=2)),
    "hover": lambda g: ("hover", {"ref": _ref(g["bid"])}),
    "press": lambda g: ("press", {"ref": _ref(g["bid"]), "keys": str(g["key_comb"])}),
    # No tool focuses alone; a modifier key changes nothing else.
    "focus": lambda g: ("press", {"ref": _ref(g["bid"]), "keys": "Shift"}),
    "drag_and_drop": lambda g: (
        "drag",
        {"from_ref": _ref(g["from_bid"]), "to_ref": _ref(g["to_bid"])},
    ),
    "scroll": lambda g: ("scroll", _scrolled(float(g["delta_x"]), float(g["delta_y"]))),
    "scroll_at": lambda g: (
        "scroll",
        {"x": g["x"], "y": g["y"], **_scrolled(float(g["dx"]), float(g["dy"]))},
    ),
    "mouse_move": lambda g: ("hover", {"x": g["x"], "y": g["y"]}),
    "mouse_click": lambda g: ("click", _pointed(g)),
    "mouse_dblclick": lambda g: ("click", _pointed(g, count=2)),
    "mouse_drag_and_drop": lambda g: (
        "drag",
        {name: g[name] for name in ("from_x", "from_y", "to_x", "to_y")},
    ),
    "keyboard_press": lambda g: ("press", {"keys": str(g["key"])}),
    "keyboard_type": lambda g: ("type", {"text": str(g["text"]), "clear": False}),
    "keyboard_insert_text": lambda g: ("type", {"text": str(g["text"]), "clear": False}),
    "goto": lambda g: ("goto", {"url": str(g["url"])}),
    "go_back": lambda g: ("back", {}),
    "go_forward": lambda g: ("forward", {}),
    "new_tab": lambda g: ("tab_new", {}),
    "tab_close": lambda g: ("tab_close", {}),
    "tab_focus": lambda g: ("tab_switch", {"tab": int(g["index"]) + 1}),
    "upload_file": lambda g: (
        "upload",
        {"ref": _ref(g["bid"]), "files": [_file(str(name)) for name in _listed(g["file"])]},
    ),
}


def encode(action: Action) -> str:
    """Return an action in BrowserGym's form.

    Raises:
        ActionError: BrowserGym has no such action.
    """
    given: dict[str, Any] = dict(action.arguments)
    ref = repr(str(given["ref"])) if "ref" in given else ""
    if action.tool == "click":
        double = "dbl" if given.get("count") == 2 else ""
        if given.get("count", 1) > 2:
            raise ActionError("BrowserGym has no triple click")
        if not ref:
            button = f", {given['button']!r}" if "button" in given else ""
            return f"mouse_{double}click({given['x']!r}, {given['y']!r}{button})"
        more = "".join(f", {k}={given[k]!r}" for k in ("button", "modifiers") if k in given)
        return f"{double}click({ref}{more})"
    if action.tool == "type" and not given.get("submit"):
        if ref and given.get("clear", True):
            return f"fill({ref}, {given['text']!r})"
        if not ref:
            return f"keyboard_type({given['text']!r})"
    if action.tool == "press":
        if ref:
            return f"press({ref}, {given['keys']!r})"
        return f"keyboard_press({given['keys']!r})"
    if action.tool == "hover":
        return f"hover({ref})" if ref else f"mouse_move({given['x']!r}, {given['y']!r})"
    if action.tool == "scroll" and not ref and "x" not in given:
        across, down = (float(given.get("amount", 0.8)) * side for side in VIEWPORT)
        dx, dy = {"up": (0, -down), "left": (-across, 0), "right": (across, 0)}.get(
            str(given.get("direction")), (0, down)
        )
        return f"scroll({dx!r}, {dy!r})"
    written = _written(action.tool, given, ref)
    if written is None:
        raise ActionError(f"BrowserGym has no action like {action.tool} {given}")
    return written


def _written(tool: str, given: Mapping[str, Any], ref: str) -> str | None:
    """Return the text of an action with one form; None if BrowserGym has no such action."""
    if tool == "drag" and {"from_ref", "to_ref"} <= given.keys():
        return f"drag_and_drop({str(given['from_ref'])!r}, {str(given['to_ref'])!r})"
    if tool == "drag" and {"from_x", "from_y", "to_x", "to_y"} <= given.keys():
        places = ", ".join(repr(given[name]) for name in ("from_x", "from_y", "to_x", "to_y"))
        return f"mouse_drag_and_drop({places})"
    if tool == "select":
        return f"select_option({ref}, {list(given['values'])!r})"
    if tool == "wait":
        return f"noop({1e3 * float(given.get('seconds', 1))!r})"
    if tool == "tab_new" and "url" not in given or tool == "tab_close" and "tab" not in given:
        return {"tab_new": "new_tab()", "tab_close": "tab_close()"}[tool]
    named: dict[str, Callable[[], str]] = {
        "goto": lambda: f"goto({given['url']!r})",
        "back": lambda: "go_back()",
        "forward": lambda: "go_forward()",
        "tab_switch": lambda: f"tab_focus({given['tab'] - 1})",
        "submit": lambda: f"send_msg_to_user({given.get('answer', '')!r})",
        "give_up": lambda: f"report_infeasible({_infeasible(given)!r})",
    }
    return named[tool]() if tool in named else None


def _infeasible(given: Mapping[str, Any]) -> str:
    """Return the text of a `give_up`: its reason, or its fields as JSON, which it takes, too."""
    fields = {name: value for name, value in given.items() if value}
    return str(given["reason"]) if fields.keys() <= {"reason"} else json.dumps(fields)
