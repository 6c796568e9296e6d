"""Texts of filters."""

from quern.nodes import And, Comparison, Constant, Filter, Has, Not, Or, Value


def to_text(node: Filter) -> str:
    """Return a text that can be parsed."""
    if isinstance(node, Constant):
        return "always" if node.value else "never"
    if isinstance(node, Has):
        return f"has {node.field}"
    if isinstance(node, Comparison):
        return f"{node.field} {node.operator} {_value(node.value)}"
    if isinstance(node, Not):
        return f"not {to_text(node.part)}"
    if isinstance(node, And):
        return " and ".join(_within_and(part) for part in node.parts)
    if isinstance(node, Or):
        return " or ".join(to_text(part) for part in node.parts)
    raise TypeError(f"no filter: {node!r}")


def _within_and(node: Filter) -> str:
    return f"({to_text(node)})" if isinstance(node, Or) else to_text(node)


def _value(value: Value) -> str:
    text = str(value)
    if text.replace("_", "").replace("-", "").replace(".", "").isalnum():
        return text
    return '"' + text.replace('"', '\\"') + '"'
