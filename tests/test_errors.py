"""The error tree."""

import pickle
import re
import traceback

from agentgym import errors
from agentgym.errors import AgentGymError, MissingExtraError, NotFoundError, close_matches


def every_class(base=AgentGymError):
    return [base, *(c for child in base.__subclasses__() for c in every_class(child))]


def test_the_tree_at_the_top_of_the_module_is_the_tree():
    drawn = set(re.findall(r"^ *[│├└─ ]*(\w+Error)\b", errors.__doc__, re.M))
    assert drawn == {c.__name__ for c in every_class() if c.__module__ == errors.__name__}


def test_every_boundary_has_its_word():
    words = {c.boundary for c in AgentGymError.__subclasses__()}
    assert words == {
        "config", "plugin", "task", "sandbox", "surface", "verifier", "agent", "record", "replay",
        "service", "user", "server",
    }  # fmt: skip


def test_errors_travel_between_processes():
    for error in (
        NotFoundError("task", "terminal/git-repar", ["terminal/git-repair-v1"], "see: list"),
        MissingExtraError("docker", "pip install 'agentgym-suite[docker]'"),
        errors.SandboxDiedError("gone"),
        errors.ServiceError("invalid", "expected a number", "count"),
        errors.ServerError("too_many", "8 sessions are open"),
    ):
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))


def test_close_matches_know_the_short_names():
    known = ["terminal/git-repair-v1", "terminal/log-forensics-v2", "tools/refund-v1"]
    assert close_matches("git-repar", known) == ["terminal/git-repair-v1"]
    assert close_matches("terminal/log-forensics-v1", known)[0] == "terminal/log-forensics-v2"
    assert close_matches("zzz", known) == []


def test_nothing_is_close_to_a_name_of_thousands_of_characters():
    assert close_matches("x" * 150 + "y" * 100, ["x" * 150 + "y" * 99]) == []


def test_a_message_cannot_control_a_terminal():
    hostile = "\x1b]0;title\x07 \x9b31m\r\x00"
    for error in (
        errors.TaskError(hostile),
        errors.ServiceError("invalid", hostile, hostile),
        pickle.loads(pickle.dumps(NotFoundError("task", "x", [], hint=hostile))),
    ):
        printed = "".join(traceback.format_exception(error))
        assert not set("\x1b\x07\x9b\r\x00") & set(printed)
        assert r"\x1b]0;title\x07 \x9b31m\r\x00" in printed
    assert str(errors.TaskError("two\nlines,\ttab, Größe")) == "two\nlines,\ttab, Größe"
