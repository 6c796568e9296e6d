"""Mutation operators for expressions: each node leads to a few edits, each of them one mistake."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from agentgym.swe.mutation.source import Edit, Source

_COMPARISONS: Final[dict[type[ast.cmpop], tuple[str, Sequence[str]]]] = {
    ast.Lt: ("<", ("<=", ">")),
    ast.LtE: ("<=", ("<",)),
    ast.Gt: (">", (">=", "<")),
    ast.GtE: (">=", (">",)),
    ast.Eq: ("==", ("!=",)),
    ast.NotEq: ("!=", ("==",)),
    ast.Is: ("is", ("is not",)),
    ast.IsNot: (r"is\s+not", ("is",)),
    ast.In: ("in", ("not in",)),
    ast.NotIn: (r"not\s+in", ("in",)),
}
_ARITHMETIC: Final[dict[type[ast.operator], tuple[str, Sequence[str]]]] = {
    ast.Add: ("+", ("-",)),
    ast.Sub: ("-", ("+",)),
    ast.Mult: ("*", ("//",)),
    ast.Div: ("/", ("//", "*")),
    ast.FloorDiv: ("//", ("/",)),
    ast.Mod: ("%", ("//",)),
    ast.BitOr: ("|", ("&",)),
    ast.BitAnd: ("&", ("|",)),
}
_NAMES: Final = {
    "min": "max",
    "max": "min",
    "any": "all",
    "all": "any",
    "startswith": "endswith",
    "endswith": "startswith",
    "partition": "rpartition",
    "rpartition": "partition",
    "fullmatch": "match",
    "search": "match",
    "popleft": "pop",
    "appendleft": "append",
    "isdecimal": "isdigit",
    "isdigit": "isdecimal",
    "total_seconds": "seconds",
}
_COPIES: Final = frozenset({"dict", "list", "set", "tuple", "frozenset", "copy", "deepcopy"})
_COPIES_READ_ONLY: Final = frozenset(
    {"MappingProxyType", "iter", "reversed", "abs", "round", "int"}
)
_REFINEMENTS: Final = frozenset(
    {"strip", "lstrip", "rstrip", "lower", "upper", "casefold", "copy", "expanduser", "resolve"}
    | {"absolute", "removeprefix", "removesuffix", "title", "expandvars", "fromkeys"}
)
_ENCODINGS: Final = frozenset({"utf-8", "utf8", "utf-8-sig", "ascii", "latin-1"})
Edits = Iterator[tuple[str, int, int, str]]


def expression_edits(source: Source, node: ast.expr) -> Iterator[Edit]:
    """Yield the edits of an expression itself; those of its parts are asked for separately."""
    for kind, make in _OPERATORS:
        if isinstance(node, kind):
            for operator, begin, end, text in make(source, node):
                yield Edit(operator, begin, end, text, node.lineno)


def condition_edits(source: Source, node: ast.expr) -> Iterator[Edit]:
    """Yield the negation of a condition, unless another operator has it."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        return
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return
    text = f"not ({source.text(node)})"
    yield Edit("negation", source.begin(node), source.end(node), text, node.lineno)


def _compare(source: Source, node: ast.Compare) -> Edits:
    left = node.left
    for op, right in zip(node.ops, node.comparators, strict=True):
        begin, end, text = source.between(left, right)
        pattern, others = _COMPARISONS[type(op)]
        for other in others:
            yield "comparison", begin, end, re.sub(pattern, other, text, count=1)
        left = right
    if len(node.ops) != 1:
        return
    right = node.comparators[0]
    if isinstance(right, ast.Constant) and right.value is None:
        told = f"({source.text(node.left)})"
        if isinstance(node.ops[0], ast.Is):
            yield "truth for None", source.begin(node), source.end(node), f"(not {told})"
        elif isinstance(node.ops[0], ast.IsNot):
            yield "truth for None", source.begin(node), source.end(node), told


def _boolean(source: Source, node: ast.BoolOp) -> Edits:
    word, other = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
    values = node.values
    for left, right in zip(values, values[1:], strict=False):
        begin, end, text = source.between(left, right)
        yield "connective", begin, end, re.sub(rf"\b{word}\b", other, text, count=1)
    begin, end = source.begin(node), source.end(node)
    for at in range(len(values)):
        rest = [f"({source.text(each)})" for each in (*values[:at], *values[at + 1 :])]
        yield "condition dropped", begin, end, f"({f' {word} '.join(rest)})"


def _not(source: Source, node: ast.UnaryOp) -> Edits:
    if isinstance(node.op, (ast.Not, ast.USub)):
        operator = "negation" if isinstance(node.op, ast.Not) else "arithmetic"
        yield operator, source.begin(node), source.end(node), f"({source.text(node.operand)})"


def _arithmetic(source: Source, node: ast.BinOp) -> Edits:
    sign, others = _ARITHMETIC.get(type(node.op), ("", ()))
    if isinstance(node.left, (ast.JoinedStr, ast.List)) or _is_text(node.left):
        return
    begin, end, text = source.between(node.left, node.right)
    for other in others:
        yield "arithmetic", begin, end, text.replace(sign, other, 1)


def _constant(source: Source, node: ast.Constant) -> Edits:
    begin, end, value = source.begin(node), source.end(node), node.value
    if isinstance(value, bool):
        yield "constant", begin, end, str(not value)
    elif isinstance(value, int | float):
        yield "constant", begin, end, repr(value + 1)
        if value:
            yield "constant", begin, end, repr(value - 1)
    elif isinstance(value, str):
        yield from _text_edits(begin, end, source.text(node), value)


def _text_edits(begin: int, end: int, written: str, value: str) -> Edits:
    if value.lower() in _ENCODINGS:
        yield "encoding", begin, end, '"utf-16"'
    elif not value:
        yield "text", begin, end, '"x"'
    elif re.fullmatch(r"[rRbBuU]?(['\"])(?!\1).*", written, re.DOTALL):
        if len(value) == 1:
            yield "text", begin, end, '"~"' if value != "~" else '"x"'
        else:
            yield "text", begin, end, f"{written[:-1]}~{written[-1]}"
    if re.search(r"\\[dwsAZb]|\[.*\]|\(\?", written) and len(value) > 1:
        for pattern in (r"\^|\\A", r"\$$|\\Z", r"(?<!\\)[+*]\??", r"(?<!\\)\?(?![:=!P])"):
            if found := re.search(pattern, written[:-1]):
                shorter = written[: found.start()] + written[found.end() :]
                yield "pattern", begin, end, shorter


def _f_string(source: Source, node: ast.JoinedStr) -> Edits:
    begin, end, text = source.begin(node), source.end(node), source.text(node)
    if not re.match(r"[fFrR]+(['\"])", text):
        return
    for found in re.finditer(r"![rsa](?=[:}])|(?<=[\w\])]):[^{}:]+(?=\})", text):
        yield "format", begin, end, text[: found.start()] + text[found.end() :]
    if any(isinstance(part, ast.Constant) for part in node.values):
        yield "text", begin, end, f"{text[:-1]}~{text[-1]}"


def _call(source: Source, node: ast.Call) -> Edits:
    begin, end, function = source.begin(node), source.end(node), node.func
    whole = source.data[begin:end].decode()
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    if name in _NAMES:
        at = source.end(function) - len(name.encode())
        yield "function", at, source.end(function), _NAMES[name]
    args = node.args
    if name == "sorted" and args:
        yield "order", begin, end, f"list({source.text(args[0])})"
    if len(args) == 1 and not node.keywords and name in _COPIES | _COPIES_READ_ONLY:
        operator = "copy" if name in _COPIES else "conversion"
        yield operator, begin, end, f"({source.text(args[0])})"
    if isinstance(function, ast.Attribute) and name in _REFINEMENTS:
        operator = "copy" if name == "copy" else "conversion"
        yield operator, begin, end, source.text(function.value)
    for keyword in node.keywords:
        if keyword.arg is not None:
            inner = whole[: source.begin(keyword) - begin], whole[source.end(keyword) - begin :]
            before, after = re.sub(r",\s*$", "", inner[0]), inner[1]
            if before == inner[0]:
                after = re.sub(r"^\s*,\s*", "", after)
            yield "argument dropped", begin, end, before + after
    if len(args) > 1:
        at = source.end(args[-2])
        yield "argument dropped", at, source.end(args[-1]), ""
    for left, right in zip(args, args[1:], strict=False):
        text = source.text(right) + source.between(left, right)[2] + source.text(left)
        yield "arguments swapped", source.begin(left), source.end(right), text


def _elements(source: Source, node: ast.Tuple | ast.List | ast.Set) -> Edits:
    if len(node.elts) < 2 or (not isinstance(node, ast.Set) and not isinstance(node.ctx, ast.Load)):
        return
    yield "element dropped", source.begin(node.elts[0]), source.begin(node.elts[1]), ""
    for left, right in zip(node.elts, node.elts[1:], strict=False):
        yield "element dropped", source.end(left), source.end(right), ""


def _subscript(source: Source, node: ast.Subscript) -> Edits:
    part = node.slice
    if not isinstance(part, ast.Slice) or not isinstance(node.ctx, ast.Load):
        return
    begin, end = source.begin(node), source.end(node)
    operator = "copy" if part.lower is part.upper is part.step is None else "slice dropped"
    yield operator, begin, end, source.text(node.value)


def _choice(source: Source, node: ast.IfExp) -> Edits:
    for branch in (node.body, node.orelse):
        text = f"({source.text(branch)})"
        yield "condition dropped", source.begin(node), source.end(node), text


def _comprehension(
    source: Source, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
) -> Edits:
    for part in node.generators:
        last = part.iter
        for test in part.ifs:
            yield "condition dropped", source.end(last), source.end(test), ""
            last = test


def _await(source: Source, node: ast.Await) -> Edits:
    call = node.value
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.args:
        if call.func.attr not in ("shield", "wait_for"):
            return
        text = f"await {source.text(call.args[0])}"
        yield "timeout", source.begin(node), source.end(node), text


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


_OPERATORS: Final[Sequence[tuple[Any, Callable[[Source, Any], Edits]]]] = (
    (ast.Compare, _compare),
    (ast.BoolOp, _boolean),
    (ast.UnaryOp, _not),
    (ast.BinOp, _arithmetic),
    (ast.Constant, _constant),
    (ast.JoinedStr, _f_string),
    (ast.Call, _call),
    ((ast.Tuple, ast.List, ast.Set), _elements),
    (ast.Subscript, _subscript),
    (ast.IfExp, _choice),
    ((ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp), _comprehension),
    (ast.Await, _await),
)
