"""Solutions that look before they act: a Python generator that sees observations only.

A list of actions cannot solve a task whose right action depends on what the environment shows,
such as the place of a button that a page draws at random. ``solution/policy.py`` then defines
``solve(view)``, a generator that yields actions. Before it goes on, `View.observation` is the
observation that its last action led to.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from agentgym import catalogue
from agentgym.errors import TaskError, pass_interruptions
from agentgym.manifest import show_path
from agentgym.modules import execute
from agentgym.python_source import parse_python
from agentgym.records import Action, Json, Observation
from agentgym.regular_file import read_regular
from agentgym.task.patch import apply_patch, read_lines

POLICY_FILE: Final = "policy.py"
"""Name of the file below ``solution/``."""

Solve = Callable[["View"], Iterator[Action]]


class View:
    """The solution of a task looks at this: what any agent sees.

    Attributes:
        instruction: The instruction, its slots filled.
        observation: The latest observation.
    """

    def __init__(self, instruction: str, observation: Observation) -> None:
        self.instruction = instruction
        self.observation = observation

    @property
    def nodes(self) -> list[dict[str, Any]]:
        """Nodes of the accessibility tree of the observation; empty if it has none."""
        data = self.observation.data
        # The first observation has the views of all surfaces, by their names.
        views = [data, *(view for view in data.values() if isinstance(view, Mapping))]
        nodes = next((view["nodes"] for view in views if "nodes" in view), None)
        found = nodes if isinstance(nodes, list | tuple) else ()
        return [dict(node) for node in found if isinstance(node, Mapping)]

    def find_all(
        self, role: str = "", name: str | re.Pattern[str] | None = None, **state: Json
    ) -> list[dict[str, Any]]:
        """Return the nodes that have a role, a name and values of other fields, in page order.

        Args:
            role: Role of the node; empty for any.
            name: Accessible name, compared exactly but for spaces around it, or a regular
                expression that the whole name matches; None for any.
            **state: Further fields of a node that must be equal, such as ``checked=True``.
        """
        return [
            node
            for node in self.nodes
            if (not role or node.get("role") == role)
            and _fits(str(node.get("name", "")).strip(), name)
            and all(node.get(field) == value for field, value in state.items())
        ]

    def find(
        self, role: str = "", name: str | re.Pattern[str] | None = None, **state: Json
    ) -> dict[str, Any]:
        """Return the first node that `find_all` finds.

        Raises:
            LookupError: The page has no such node; lists what it has.
        """
        found = self.find_all(role, name, **state)
        if not found:
            there = ", ".join(f"{n.get('role')} {n.get('name', '')!r}" for n in self.nodes[:40])
            raise LookupError(f"no {role or 'node'} {name!r} {state or ''}; the page has {there}")
        return found[0]

    @property
    def url(self) -> str:
        """Address of the page; empty without a page."""
        return str(self.observation.data.get("url", ""))

    @property
    def texts(self) -> list[str]:
        """The names and texts of all nodes, in page order."""
        return [str(node.get("name", "")) for node in self.nodes]

    def rows(self, *texts: str) -> list[list[dict[str, Any]]]:
        """Return the nodes of each row of a table in which all these texts occur."""
        nodes, found = self.nodes, list[list[dict[str, Any]]]()
        for place, node in enumerate(nodes):
            if node.get("role") != "row":
                continue
            row = list(_subtree(nodes, place))
            names = [str(n.get("name", "")) for n in row]
            if all(any(text in name for name in names) for text in texts):
                found.append(row)
        return found

    def act(self, tool: str, **arguments: Json) -> Action:
        """Return a call of a tool, to be yielded."""
        return Action(tool, arguments)

    def goto(self, url: str) -> Action:
        """Return the action that opens an address."""
        return Action("goto", {"url": url})

    def click(self, role: str, name: str | re.Pattern[str], **state: Json) -> Action:
        """Return the action that clicks the first fitting node.

        Raises:
            LookupError: The page has no such node.
        """
        return Action("click", {"ref": self.find(role, name, **state)["ref"]})

    def enter(self, name: str | re.Pattern[str], text: str, role: str = "textbox") -> Action:
        """Return the action that replaces the text of the first fitting field.

        Raises:
            LookupError: The page has no such field.
        """
        return Action("type", {"ref": self.find(role, name)["ref"], "text": text})

    def choose(self, name: str | re.Pattern[str], *labels: str) -> Action:
        """Return the action that chooses options of the first fitting list.

        Raises:
            LookupError: The page has no such list.
        """
        return Action("select", {"ref": self.find("combobox", name)["ref"], "values": list(labels)})


def _subtree(nodes: list[dict[str, Any]], place: int) -> Iterator[dict[str, Any]]:
    """Yield the nodes below the one at a place."""
    for node in nodes[place + 1 :]:
        if node["depth"] <= nodes[place]["depth"]:
            return
        yield node


def _fits(name: str, wanted: str | re.Pattern[str] | None) -> bool:
    if isinstance(wanted, re.Pattern):
        return wanted.fullmatch(name) is not None
    return wanted is None or name == wanted.strip()


class ReferencePolicy:
    """The solution of one episode, from a policy file.

    Args:
        path: The file.
        instruction: The instruction of the episode.

    Attributes:
        over: Whether it has ended the episode, with a `submit` or a `give_up`.

    Raises:
        TaskError: The file cannot be executed or has no function ``solve``.
    """

    def __init__(self, path: Path, instruction: str) -> None:
        self._path = path
        self._solve = load_policy(path)
        self._view = View(instruction, Observation(""))
        self._actions: Iterator[Action] | None = None
        self.over = False

    def act(self, observation: Observation) -> Action:
        """Return the next action; a `submit` once the solution is over.

        Raises:
            TaskError: The solution failed, or yielded something else than an action.
        """
        self._view.observation = observation
        try:
            if self._actions is None:
                self._actions = iter(self._solve(self._view))
            action = next(self._actions, None)
        except BaseException as error:
            pass_interruptions(error)
            raise TaskError(
                f"{show_path(self._path)}: solve failed: {type(error).__name__}: {error}"
            ) from error
        if action is None:
            action = Action("submit")
        if not isinstance(action, Action):
            raise TaskError(
                f"{show_path(self._path)}: solve must yield actions, got {type(action).__name__}"
            )
        self.over = action.tool in ("submit", "give_up")
        return action


def shared_policies(env: str, name: str) -> ModuleType:
    """Return a module of policies that the tasks of an environment share.

    Args:
        env: Name of the environment.
        name: Module ``envs/<env>/policies/<name>.py``; it may import its neighbours.

    Raises:
        NotFoundError: There is no such environment.
        TaskError: The module is absent, or cannot be executed.
    """
    path = catalogue.find("envs", env) / "policies" / f"{name}.py"
    if not path.is_file():
        raise TaskError(f"{show_path(path)}: no such file")
    return execute(path, TaskError, is_package=True)


def parse_policy(path: Path) -> None:
    """Check a policy file without executing it: reading a task runs nothing of it.

    Args:
        path: As for `load_policy`.

    Raises:
        TaskError: The file cannot be read, is not Python, or defines nothing called ``solve``.
    """
    source = _patched(path)
    try:
        tree = parse_python(read_regular(path) if source is None else source)
    except SyntaxError as error:
        line = f":{error.lineno}" if error.lineno else ""
        raise TaskError(
            f"{show_path(path)}{line}: cannot be loaded: SyntaxError: {error.msg}"
        ) from error
    except (OSError, ValueError, RecursionError, MemoryError) as error:
        kind = type(error).__name__
        raise TaskError(f"{show_path(path)}: cannot be loaded: {kind}: {error}") from error
    if not any(map(_may_define_solve, ast.walk(tree))):
        raise TaskError(f"{show_path(path)}: expected a function solve(view)")


def _may_define_solve(node: ast.AST) -> bool:
    match node:
        case ast.FunctionDef(name="solve") | ast.ClassDef(name="solve") | ast.Name(id="solve"):
            return True
        case ast.alias(name=name, asname=asname):
            return (asname or name) in ("solve", "*")
        case ast.Constant(value="solve"):  # such as globals()["solve"]
            return True
    return False


def load_policy(path: Path) -> Solve:
    """Return the function ``solve`` of a policy file, which is executed.

    Args:
        path: The file; a ``.patch`` among the mutants changes the policy of its task.

    Raises:
        TaskError: The file cannot be executed or has no such function.
    """
    module = execute(path, TaskError, is_package=True, source=_patched(path))
    solve: Any = vars(module).get("solve")
    if not callable(solve):
        raise TaskError(f"{show_path(path)}: expected a function solve(view)")
    chosen: Solve = solve
    return chosen


def _patched(path: Path) -> str | None:
    """Return the policy that a patch makes of its task's; None for a file of its own."""
    if path.suffix != ".patch":
        return None
    original = path.parent.parent / "solution" / POLICY_FILE
    lines = apply_patch(read_lines(path, TaskError), read_lines(original, TaskError))
    return "\n".join(line.text for line in lines)
