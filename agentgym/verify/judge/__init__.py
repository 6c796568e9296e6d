"""The LLM judge: exhibits, prompt, answers, cache and votes; exhibits are data to it.

Deterministic checks come first; a judge is for qualities that state cannot show. An outage is a
VerifierError: it leaves an episode unscored and never costs a point. If the agent's text keeps the
judge from answering, the agent fails.
"""

from __future__ import annotations

from agentgym.verify.judge.exhibits import Show, check_show, shown_messages
from agentgym.verify.judge.model import ModelJudge, check_question
from agentgym.verify.judge.opening import judge_from_environment, judge_spec, open_judge

__all__ = [
    "ModelJudge",
    "Show",
    "check_question",
    "check_show",
    "judge_from_environment",
    "judge_spec",
    "open_judge",
    "shown_messages",
]
