"""Mistakes of a rubric's author are found before any episode; other packs test their own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from agentgym.errors import VerifierError
from agentgym.verify.rubric.dry_run import dry_run
from agentgym.verify.rubric.packs import load_pack

VERIFIERS = Path(__file__).parents[2] / "verifiers"
REPOSITORY = {"repository": "/srv/r"}
SERVICE = {"argv": ["/srv/app"], "port": 80}
HASH = "0" * 40
LOW, HIGH = {"name": "low", "score": 0}, {"name": "high", "score": 1, "meaning": "All of it."}

MISTAKES: list[tuple[str, Mapping[str, Any], str]] = [
    ("answers.exact", {"text": ["a"]}, "text: expected text or a number"),
    ("answers.one_of", {"texts": "a"}, "texts: expected a list"),
    ("answers.one_of", {"texts": []}, "texts: expected a list"),
    ("answers.number", {"value": "3"}, "value: expected a finite number"),
    ("answers.number", {"value": 3, "tolerance": -1}, "tolerance"),
    ("answers.number", {"value": 3, "units": "GB"}, "units: expected a list"),
    ("answers.date_is", {"day": "4.3.2026"}, "day: expected YYYY-MM-DD"),
    ("answers.date_is", {"day": "2026-02-30"}, "day: expected YYYY-MM-DD"),
    ("answers.items", {"items": ["a"], "separator": " "}, "separator"),
    ("answers.gave_up", {"reason": None}, "reason"),
    ("trajectory.calls", {"tool": ""}, "needs a tool"),
    ("trajectory.calls", {"tool": "bash", "where": {"command": "("}}, "where.command"),
    ("trajectory.calls", {"tool": "bash", "at_least": 2, "at_most": 1}, "at_most"),
    ("trajectory.never_calls", {"tool": "bash", "where": "x"}, "a table where"),
    ("trajectory.order", {"calls": []}, "calls: expected a list"),
    ("trajectory.order", {"calls": [{"tol": "bash"}]}, "a table of tool and where"),
    ("trajectory.looked_first", {"looks": [], "acts": [{"tool": "bash"}]}, "looks: expected"),
    ("trajectory.looked_first", {"looks": [{"named": "x"}], "acts": []}, "acts: expected"),
    (
        "trajectory.looked_first",
        {"looks": [{"shown": "("}], "acts": [{"tool": "b"}]},
        "looks.shown",
    ),
    (
        "trajectory.looked_first",
        {"looks": [{"shown": "x", "both": True}], "acts": [{"tool": "b"}]},
        "for both = true the two",
    ),
    ("trajectory.budget", {}, "expected steps, tokens or both"),
    ("trajectory.budget", {"steps": True}, "steps"),
    ("trajectory.no_repeats", {"times": 1}, "times"),
    ("trajectory.calls", {"tool": "pay", "arguments": {"n": {"att_least": 1}}}, "did you mean"),
    ("trajectory.mentions", {"tool": "say", "argument": "", "facts": ["a"]}, "argument: expected"),
    ("answers.mentions", {}, "expected facts, forbids or only"),
    ("answers.mentions", {"facts": "Ada"}, "facts: expected a list"),
    ("answers.mentions", {"facts": [{"day": "2026-03-04"}]}, "facts: expected text, a number"),
    ("answers.mentions", {"facts": [{"date": "4 March"}]}, "facts.date: expected YYYY-MM-DD"),
    ("answers.mentions", {"facts": [{"time": "2 pm"}]}, "facts.time: expected HH:MM"),
    ("answers.mentions", {"facts": [{"any": []}]}, "facts.any: expected a list"),
    ("answers.mentions", {"facts": ["a"], "only": ["days"]}, "did you mean 'dates'"),
    ("answers.mentions", {"facts": ["a"], "most_chars": 0}, "most_chars: expected 1 to"),
    ("services.row", {"table": "", "where": {}}, "table: expected the name"),
    ("services.row", {"table": "t", "where": "x"}, "where: expected a table"),
    ("services.row", {"table": "t", "where": {"a": {}}}, "where.a: expected a value"),
    ("services.row", {"table": "t", "where": {"a": {"lik": 1}}}, "where.a: no comparison"),
    ("services.row", {"table": "t", "where": {"a": {"matches": "("}}}, "where.a.matches"),
    ("services.row", {"table": "t", "where": {}, "having": [{"table": "u"}]}, "having: expected"),
    ("services.row", {"table": "t", "where": {}, "by": "agnet"}, "did you mean 'agent'"),
    ("services.count", {"table": "t"}, "any number of rows passes"),
    ("services.changed_to", {"table": "t", "where": {}, "columns": {}}, "columns: expected"),
    ("services.only_changed", {"allowed": [{"tabel": "t"}]}, "allowed: expected tables of"),
    ("services.only_changed", {"allowed": [{"table": "t", "kind": "add"}]}, "did you mean 'added'"),
    ("services.only_changed", {"allowed": [{"table": "t", "at_most": -1}]}, "at_most"),
    ("services.unchanged", {"tables": []}, "tables: expected a list"),
    ("services.called", {"tool": []}, "a call needs a tool"),
    ("services.order", {"calls": []}, "calls: expected a list"),
    ("services.read_before_write", {"reads": []}, "reads: expected a list"),
    ("services.read_before_write", {"reads": [{"show": "x"}]}, "a reading is a table"),
    ("services.mentions", {"table": "t", "column": "c"}, "expected facts, forbids or only"),
    ("replies.only", {"allowed": "greeting"}, "allowed: expected a list of replies"),
    ("replies.only", {"allowed": [{"id": "greeting"}]}, "expected an id or a table of reply"),
    ("replies.only", {"allowed": [{"reply": []}]}, "expected an id or a list of ids"),
    ("replies.only", {"allowed": [{"reply": "a", "after": {"tool": "x"}}]}, "list of tables"),
    ("replies.only", {"allowed": [{"reply": "a", "fields": {"b": {"within": "c"}}}]}, "within"),
    ("replies.sent", {"replies": []}, "replies: expected a list of replies"),
    ("replies.sent", {"replies": ["a"], "before": "x"}, "before: expected a list of tables"),
    ("messages.keeps_to", {"sources": []}, "sources: expected a list"),
    ("messages.keeps_to", {"sources": ["letter"]}, "source: no source"),
    ("messages.keeps_to", {"sources": [{"mail": "a", "to": "b"}]}, "source: expected"),
    ("messages.keeps_to", {"sources": ["user"], "may": [{"tme": "3 pm"}]}, "may"),
    ("messages.keeps_to", {"sources": ["user"], "secrets": ["abc"]}, "at least four letters"),
    ("messages.keeps_to", {"sources": ["user"], "forbids": ["refund"]}, "did you mean 'refunds'"),
    ("processes.alive", {"argv": "["}, "argv"),
    ("processes.alive", {"argv": "x", "at_least": -1}, "at_least"),
    ("processes.listening", {"port": 0}, "port"),
    ("processes.none_left", {"but": "x"}, "but"),
    ("git.ref_at", {**REPOSITORY, "ref": "main", "commit": HASH}, "refs/heads/main"),
    ("git.ref_at", {**REPOSITORY, "ref": "refs/x/../y", "commit": HASH}, "ref"),
    ("git.ref_at", {**REPOSITORY, "ref": "HEAD", "commit": "abc123"}, "whole name"),
    ("git.on_branch", {**REPOSITORY, "branch": "-x y"}, "ref"),
    ("git.refs", {**REPOSITORY, "names": [], "kind": "stash"}, "kind"),
    ("git.merged", {**REPOSITORY, "ref": "abc", "into": "HEAD"}, "ref"),
    ("git.linear", {**REPOSITORY, "ref": "HEAD", "since": "HEAD~3"}, "since"),
    ("git.commits", {**REPOSITORY, "ref": "HEAD", "messages": ["("]}, "messages"),
    ("git.commits", {**REPOSITORY, "ref": "HEAD", "messages": "x"}, "messages"),
    ("git.tree", {**REPOSITORY, "ref": "HEAD", "tree": "HEAD"}, "tree"),
    ("git.never_held", REPOSITORY, "expected text or file"),
    ("http.answers", {"service": {"argv": "x", "port": 80}, "request": {}, "answer": {}}, "argv"),
    ("http.answers", {"service": {**SERVICE, "port": 0}, "request": {}, "answer": {}}, "port"),
    ("http.answers", {"service": {**SERVICE, "prot": 1}, "request": {}, "answer": {}}, "prot"),
    ("http.answers", {"service": SERVICE, "request": {"path": "x"}, "answer": {}}, "path"),
    ("http.answers", {"service": SERVICE, "request": {"path": "/"}, "answer": {"code": 2}}, "code"),
    ("http.conversation", {"service": SERVICE, "exchanges": []}, "exchanges"),
    ("judge.criterion", {"criterion": " "}, "criterion: expected text"),
    ("judge.criterion", {"criterion": "x", "show": "steps"}, "show: expected a list"),
    ("judge.criterion", {"criterion": "x", "show": ["step"]}, "show: expected 'steps'"),
    ("judge.criterion", {"criterion": "x", "show": ["files:srv/*"]}, "files:/absolute/glob"),
    ("judge.criterion", {"criterion": "x", "votes": 0}, "votes: expected 1 to 25"),
    ("judge.criterion", {"criterion": "x", "unclear": "maybe"}, "unclear: expected one of"),
    ("judge.scale", {"criterion": "x", "levels": []}, "levels: expected a list"),
    ("judge.scale", {"criterion": "x", "levels": [{"name": "a"}]}, "a number for score"),
    ("judge.scale", {"criterion": "x", "levels": [{"nam": "a"}]}, "tables of name, score, mean"),
    ("judge.scale", {"criterion": "x", "levels": [LOW, {**LOW, "name": "b"}]}, "scores that rise"),
    ("judge.scale", {"criterion": "x", "levels": [LOW, HIGH], "pass_from": 0.7}, "pass_from"),
    ("reports.junit", {"path": "/r.xml", "passed": []}, "passed"),
    ("reports.pytest", {"tests": [], "artifacts": []}, "tests: expected a list"),
    ("reports.pytest", {"tests": ["../test_a.py"], "artifacts": []}, "expected names like"),
    ("reports.pytest", {"tests": ["conftest.py"], "artifacts": []}, "expected names like"),
]


@pytest.mark.parametrize(("use", "arguments", "says"), MISTAKES)
def test_mistakes_are_found_before_any_episode(
    use: str, arguments: Mapping[str, Any], says: str
) -> None:
    pack, _, name = use.partition(".")
    with pytest.raises(VerifierError, match=says):
        dry_run(use, load_pack(VERIFIERS / pack).checks[name], arguments)
