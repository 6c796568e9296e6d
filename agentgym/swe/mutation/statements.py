"""Mutation operators for statements, and the walk over a definition that applies all operators."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from agentgym.swe.mutation.operators import condition_edits, expression_edits
from agentgym.swe.mutation.source import Definition, Edit, Function, Source


def edits_of(source: Source, definition: Definition) -> Iterator[Edit]:
    """Yield the edits of a function or class, without those of the definitions in it.

    Annotations, docstrings, names of parameters and public defaults are left alone.
    """
    for decorator in definition.decorator_list:
        begin = source.data.rindex(b"@", 0, source.begin(decorator))
        end = source.end(decorator)
        yield Edit("decorator", begin, end, "", decorator.lineno)
        yield from _expression(source, decorator)
    if isinstance(definition, Function) and _is_private(definition.name):
        for default in (*definition.args.defaults, *definition.args.kw_defaults):
            if default is not None:
                yield from _expression(source, default)
    yield from _block(source, definition.body)


def _block(source: Source, body: list[ast.stmt]) -> Iterator[Edit]:
    for statement in body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        yield from _statement(source, statement)
        yield from _inside(source, statement)


def _inside(source: Source, statement: ast.stmt) -> Iterator[Edit]:
    """Yield the edits of what a statement is made of."""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        return
    for name, value in ast.iter_fields(statement):
        if name == "annotation":
            continue
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, ast.stmt):
                yield from _block(source, [part])
            elif isinstance(part, ast.ExceptHandler):
                if part.type is not None:
                    yield from _expression(source, part.type)
                yield from _block(source, part.body)
            elif isinstance(part, ast.match_case):
                if part.guard is not None:
                    yield from _expression(source, part.guard)
                yield from _block(source, part.body)
            elif isinstance(part, ast.withitem):
                yield from _expression(source, part.context_expr)
            elif isinstance(part, ast.expr):
                yield from _expression(source, part)


def _expression(source: Source, node: ast.expr) -> Iterator[Edit]:
    yield from expression_edits(source, node)
    if isinstance(node, ast.IfExp):
        yield from condition_edits(source, node.test)
    if isinstance(node, ast.JoinedStr):
        # Before Python 3.12 the parts of an f-string have no places of their own.
        return
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.comprehension):
            for part in (child.iter, *child.ifs):
                yield from _expression(source, part)
        elif isinstance(child, ast.keyword):
            yield from _expression(source, child.value)
        elif isinstance(child, ast.expr):
            yield from _expression(source, child)


def _statement(source: Source, node: ast.stmt) -> Iterator[Edit]:
    begin, end, line = source.begin(node), source.end(node), node.lineno
    if _may_go(node):
        yield Edit("statement removed", begin, end, "pass", line)
    if isinstance(node, ast.Return) and not _is_none(node.value):
        yield Edit("result dropped", begin, end, "return None", line)
    elif isinstance(node, ast.If | ast.While):
        yield from condition_edits(source, node.test)
        if isinstance(node, ast.If):
            yield Edit(
                "condition dropped", source.begin(node.test), source.end(node.test), "True", line
            )
    elif isinstance(node, ast.AugAssign):
        yield from _augmented(source, node)
    elif isinstance(node, ast.With | ast.AsyncWith):
        if all(item.optional_vars is None for item in node.items):
            last = node.items[-1].context_expr
            rest = source.data[source.end(last) : source.begin(node.body[0])].decode()
            text = f"if True{rest[rest.index(':') :]}"
            yield Edit("context removed", begin, source.begin(node.body[0]), text, line)
    elif isinstance(node, ast.Try):
        yield from _handlers(source, node)


def _may_go(node: ast.stmt) -> bool:
    """Return whether the rest may still run without a statement."""
    if isinstance(node, ast.Expr):
        return not isinstance(node.value, ast.Constant)
    if isinstance(node, ast.Assign):
        target = node.targets[0]
        if isinstance(target, ast.Attribute | ast.Subscript):
            return True
        used = {each.id for each in ast.walk(node.value) if isinstance(each, ast.Name)}
        return isinstance(target, ast.Name) and target.id in used
    kinds = (ast.AugAssign, ast.Raise, ast.Delete, ast.Break, ast.Continue, ast.Assert)
    return isinstance(node, kinds)


def _augmented(source: Source, node: ast.AugAssign) -> Iterator[Edit]:
    begin, end = source.end(node.target), source.begin(node.value)
    text = source.data[begin:end].decode()
    for sign, other in (("+=", "-="), ("-=", "+="), ("*=", "//="), ("|=", "&=")):
        if sign in text:
            yield Edit("arithmetic", begin, end, text.replace(sign, other, 1), node.lineno)
            return


def _handlers(source: Source, node: ast.Try) -> Iterator[Edit]:
    for handler in node.handlers:
        if handler.type is None:
            continue
        begin, end, line = source.begin(handler.type), source.end(handler.type), handler.lineno
        if source.text(handler.type) != "Exception":
            yield Edit("except widened", begin, end, "Exception", line)
        yield Edit("except narrowed", begin, end, "()", line)
    if node.finalbody:
        first, last = node.finalbody[0], node.finalbody[-1]
        begin, end = source.begin(first), source.end(last)
        yield Edit("statement removed", begin, end, "pass", first.lineno)


def _is_none(node: ast.expr | None) -> bool:
    return node is None or (isinstance(node, ast.Constant) and node.value is None)


def private_values(source: Source) -> Iterator[Edit]:
    """Yield the edits of a module's private values, such as ``_PATTERN``."""
    for node in source.tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        if isinstance(node, ast.AnnAssign):
            targets = [node.target]
        names = [target.id for target in targets if isinstance(target, ast.Name)]
        if names and all(map(_is_private, names)):
            yield from _inside(source, node)


def _is_private(name: str) -> bool:
    return re.match(r"_(?!_)", name) is not None
