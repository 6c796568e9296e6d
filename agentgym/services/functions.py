"""Turns typed methods into tools: the JSON Schema of a signature, and checks of arguments.

Schemas are JSON Schema 2020-12 as pydantic derives them from annotations; descriptions come
from the docstring (its first paragraph, and the Args section as Google writes it).
"""

from __future__ import annotations

import functools
import inspect
import re
import reprlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, NotRequired, TypeVar, get_args, get_type_hints

from pydantic import ConfigDict, Field, PydanticSchemaGenerationError, TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError
from typing_extensions import TypedDict, is_typeddict

from agentgym.errors import ServiceError, close_matches
from agentgym.records import Json, ToolSpec
from agentgym.services.image import Handling

Method = TypeVar("Method", bound=Callable[..., Any])

_MARK: Final = "_agentgym_writes"
_CLOSED: Final = ConfigDict(extra="forbid", strict=True)


def reads(method: Method) -> Method:
    """Mark a method as a tool that leaves the state as it is."""
    setattr(method, _MARK, False)
    return method


def writes(method: Method) -> Method:
    """Mark a method as a tool that may change the state, whole or not at all."""
    setattr(method, _MARK, True)
    return method


@dataclass(frozen=True, slots=True)
class Function:
    """One tool of a service.

    Attributes:
        spec: Name, description and schema that the agent sees.
        service: Name of the service.
        method: Name of the method.
        writes: Whether it may change the state.
        result_schema: JSON Schema of the result.
    """

    spec: ToolSpec
    service: str
    method: str
    writes: bool
    result_schema: Mapping[str, Json]
    _arguments: TypeAdapter[Any]
    _result: TypeAdapter[Any]

    def take(self, arguments: str, handling: Handling) -> dict[str, Any]:
        """Return the keyword arguments of the method.

        Args:
            arguments: A JSON object.
            handling: The pictures that the arguments may name.

        Raises:
            ServiceError: The arguments do not match the schema (code ``invalid``).
        """
        try:
            taken: dict[str, Any] = self._arguments.validate_json(arguments, context=handling)
        except ValidationError as error:
            raise _explain(error, list(self.properties)) from None
        return taken

    def give(self, value: object, handling: Handling) -> str:
        """Return a result as JSON text; its pictures are stored and named.

        Raises:
            pydantic_core.PydanticSerializationError: The result does not match the annotation.
        """
        text = self._result.dump_json(value, warnings="error", context=handling)
        return text.decode()

    @property
    def properties(self) -> Mapping[str, Any]:
        """The schemas of the arguments, by name."""
        properties = self.spec.parameters["properties"]
        assert isinstance(properties, Mapping)
        return properties


def functions_of(service: type, name: str) -> dict[str, Function]:
    """Return the tools of a service class by name, in the order of the source.

    Raises:
        ServiceError: A signature cannot be offered as a tool.
    """
    found = {}
    for method, value in inspect.getmembers_static(service, inspect.isfunction):
        if (changes := getattr(value, _MARK, None)) is not None:
            found[f"{name}_{method}"] = _compile(f"{name}_{method}", name, value, changes)
    line = {f.spec.name: getattr(service, f.method).__code__.co_firstlineno for f in found.values()}
    return dict(sorted(found.items(), key=lambda item: line[item[0]]))


@functools.lru_cache(maxsize=512)  # compiling one signature takes milliseconds
def _compile(tool: str, service: str, method: Callable[..., Any], changes: bool) -> Function:
    summary, described = _read_docstring(inspect.getdoc(method) or "")
    if not summary:
        raise _broken(tool, "has no docstring; its first line describes the tool to the agent")
    try:
        hints = get_type_hints(method, include_extras=True)
    except NameError as error:
        raise _broken(tool, f"annotation: {error}") from error
    if "return" not in hints:
        raise _broken(tool, "has no return annotation; results are typed")
    fields: dict[str, Any] = {}
    defaults: dict[str, Any] = {}
    for parameter in list(inspect.signature(method).parameters.values())[1:]:
        if parameter.name not in hints or parameter.kind is not parameter.POSITIONAL_OR_KEYWORD:
            raise _broken(tool, f"parameter {parameter.name!r}: expected 'name: type'")
        if parameter.name not in described:
            raise _broken(tool, f"parameter {parameter.name!r} is not described under 'Args:'")
        hint = hints[parameter.name]
        _close(hint)
        fields[parameter.name] = Annotated[hint, Field(description=described[parameter.name])]
        if parameter.default is not parameter.empty:
            fields[parameter.name] = NotRequired[fields[parameter.name]]
            defaults[parameter.name] = parameter.default
    if unknown := sorted(set(described) - set(fields)):
        raise _broken(tool, f"'Args:' describes {unknown[0]!r}, which is not a parameter")
    shape = TypedDict("shape", fields)  # type: ignore[misc]
    shape.__pydantic_config__ = _CLOSED  # type: ignore[attr-defined]
    try:
        arguments, result = TypeAdapter(shape), TypeAdapter(hints["return"])
        parameters = _inlined(tool, _plain(arguments.json_schema()))
        result_schema = _plain(result.json_schema(mode="serialization"))
    except (PydanticSchemaGenerationError, PydanticUserError) as error:
        raise _broken(tool, str(error).splitlines()[0]) from error
    for name, default in defaults.items():
        parameters["properties"][name]["default"] = default
    parameters.setdefault("properties", {})
    spec = ToolSpec(tool, summary, parameters)
    return Function(spec, service, method.__name__, changes, result_schema, arguments, result)


def _close(hint: object) -> None:
    """Forbid unknown fields of objects in the arguments, at any depth."""
    if is_typeddict(hint):
        assert isinstance(hint, type)
        if not hasattr(hint, "__pydantic_config__"):
            hint.__pydantic_config__ = _CLOSED  # type: ignore[attr-defined]
        for inner in get_type_hints(hint, include_extras=True).values():
            _close(inner)
    for inner in get_args(hint):
        _close(inner)


def _plain(schema: Any) -> Any:
    """Return a schema without the titles, which repeat the names."""
    if isinstance(schema, list):
        return [_plain(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: {name: _plain(inner) for name, inner in value.items()}
        if key in ("properties", "$defs")
        else _plain(value)
        for key, value in schema.items()
        if key != "title"
    }


def _inlined(tool: str, schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema in which each definition stands where it is used.

    Each property is then a schema by itself, and agents need not look anything up.
    """
    definitions = schema.pop("$defs", {})

    def inline(part: Any, inside: tuple[str, ...]) -> Any:
        if isinstance(part, list):
            return [inline(item, inside) for item in part]
        if not isinstance(part, dict):
            return part
        name = str(part.get("$ref", "")).removeprefix("#/$defs/")
        if name in inside:
            raise _broken(tool, f"{name} contains itself; expected arguments of bounded depth")
        rest = {key: inline(value, inside) for key, value in part.items() if key != "$ref"}
        return {**inline(definitions[name], (*inside, name)), **rest} if name else rest

    inlined = inline(schema, ())
    assert isinstance(inlined, dict)
    return inlined


_ARGUMENT = re.compile(r"^    (\w+): (.*)$")


def _read_docstring(text: str) -> tuple[str, dict[str, str]]:
    """Return the first paragraph, and the descriptions under ``Args:`` by parameter."""
    summary = " ".join(text.split("\n\n", 1)[0].split())
    described: dict[str, str] = {}
    name = None
    _, _, arguments = text.partition("\nArgs:\n")
    for line in arguments.splitlines():
        if line and not line.startswith(" "):
            break
        if match := _ARGUMENT.match(line):
            name = match[1]
            described[name] = match[2]
        elif name and line.strip():
            described[name] += " " + line.strip()
    return summary, described


_shortener = reprlib.Repr()
_shortener.maxstring = _shortener.maxother = 80


def _explain(error: ValidationError, known: list[str]) -> ServiceError:
    errors = error.errors(include_url=False)
    # A mistyped name is also a missing one; the typed name tells more. An image that does not exist
    # is told of calls that are well formed.
    rank = {"extra_forbidden": 0, "image": 2}
    first = min(errors, key=lambda each: rank.get(each["type"], 1))
    # After the argument's name, pydantic also names the branch of a union in brackets.
    path = [p for k, p in enumerate(first["loc"]) if not k or not str(p).endswith("]")]
    field = "".join(f"[{p}]" if isinstance(p, int) else f".{p[:60]}" for p in path).lstrip(".")
    kind, seen = first["type"], first["input"]
    expected = f" expected: {', '.join(known) or 'none'}" if len(path) == 1 else ""
    if kind == "extra_forbidden":
        near = close_matches(str(path[-1])[:60], known) if expected else []
        guess = f"; did you mean {near[0]!r}?" if near else ";" if expected else ""
        message = f"no such argument{guess}{expected}"
    elif kind == "missing":
        message = f"missing;{expected}" if expected else "missing"
    else:
        said = first["msg"][:1].lower() + first["msg"][1:]
        message = f"{said}, got {_shortener.repr(seen)}"
    return ServiceError("not_found" if kind == "image" else "invalid", message, field or None)


def _broken(tool: str, what: str) -> ServiceError:
    return ServiceError("internal", f"tool {tool!r}: {what}")
