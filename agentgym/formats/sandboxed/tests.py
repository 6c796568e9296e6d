"""Run a foreign task's tests, in the agent's live sandbox or in a sandbox of the verifier.

Tests enter the sandbox only now. The script runs in the toolkit's bash, with the toolkit's programs
first on PATH, so programs that the agent planted under their names are not used. In a shared
sandbox the agent still is root where its tests run, which the format itself allows; a separate
verifier sandbox avoids that.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass

from agentgym.errors import SandboxEndedError, VerifierError
from agentgym.formats.sandboxed.laying import Laid, lay, run_tool, variables
from agentgym.formats.sandboxed.reward import (
    Outcome,
    named_rewards,
    read_report,
    read_reward,
    read_summary,
)
from agentgym.formats.sandboxed.rules import TESTS, VERIFIER_LOGS, SandboxRules, Stage
from agentgym.formats.sandboxed.toolkit import Toolkit
from agentgym.protocols import Sandbox
from agentgym.records import ExecResult

_TAIL_CHARS = 600
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_PACKAGES = (
    "/usr/local/lib/python{0}/site-packages",
    "/usr/local/lib/python{0}/dist-packages",
    "/usr/lib/python3/dist-packages",
)


@dataclass(frozen=True, slots=True)
class VerifierTarget:
    """The place where tests run.

    Attributes:
        sandbox: A running sandbox.
        env: Variables of its commands.
        user: User of the tests.
        separate: Whether the sandbox is the verifier's own, out of the agent's reach.
    """

    sandbox: Sandbox
    env: Mapping[str, str]
    user: str = "root"
    separate: bool = False


async def run_tests(
    target: VerifierTarget, rules: SandboxRules, stage: Stage, toolkit: Toolkit
) -> Outcome:
    """Copy the tests in, run them and read their result.

    Raises:
        NoRewardError: They left no reward.
        VerifierError: They cannot be run, or left a reward that is not a number.
        SandboxError: The sandbox is broken.
    """
    try:
        version = _version(toolkit)
        own = [path.format(version) for path in _PACKAGES] if toolkit.wants.own_python else []
        laid = await lay(toolkit, target.sandbox, own_path=own)
        keeps_tests = target.separate and rules.verifier_has_tests
        await _clear(laid, target, VERIFIER_LOGS, *([] if keeps_tests else [TESTS]))
        if not keeps_tests:
            await _upload(target.sandbox, stage)
        return await _judge(target, rules, stage, laid)
    except SandboxEndedError as error:
        # The guest caused this. As an error it would let an agent leave its failures unscored.
        return Outcome(0.0, message=str(error))


async def _clear(laid: Laid, target: VerifierTarget, *paths: str) -> None:
    await run_tool(laid, target.sandbox, "prepare.py", *paths)


async def _upload(sandbox: Sandbox, stage: Stage) -> None:
    for folder in stage.tests:
        await sandbox.upload(folder, TESTS)
    if stage.script_file is not None:
        await sandbox.upload(stage.script_file, stage.script)


async def _judge(target: VerifierTarget, rules: SandboxRules, stage: Stage, laid: Laid) -> Outcome:
    sandbox = target.sandbox
    await sandbox.write_file(f"{VERIFIER_LOGS}/.keep", b"")
    given = {"PATH": PATH, **target.env, **rules.verifier_env}
    done = await sandbox.exec(
        [laid.bash, "--norc", "--noprofile", stage.script],
        env=variables(laid, given, first=not target.separate),
        timeout_s=stage.test_timeout_s,
        user=target.user,
    )
    if done.timed_out:
        took = f"the tests did not end within {stage.test_timeout_s:g} s"
        return Outcome(0.0, message=f"{took}; they last said: {_tail(done)}")
    try:
        if rules.parser == "pytest":
            # A program of the agent's may print so much that pytest's failures are cut out.
            is_whole = not (done.omitted_bytes and done.exit_code)
            reward, tests = read_summary(_text(done), is_whole=is_whole)
        else:
            reward, named = await read_reward(sandbox)
            tests = (*await read_report(sandbox), *named_rewards(named))
    except VerifierError as error:
        script = posixpath.basename(stage.script)
        said = f"{script} ended with code {done.exit_code} and last said: {_tail(done)}"
        raise type(error)(f"{error}; {said}") from None
    return Outcome(reward, tests, "" if reward >= 1 else _tail(done))


def _version(toolkit: Toolkit) -> str:
    library = next(toolkit.programs.glob("lib/python*.*/os.py")).parent.name
    return library.removeprefix("python")


def _text(done: ExecResult) -> str:
    return (done.stdout + b"\n" + done.stderr).decode("utf-8", "replace")


def _tail(done: ExecResult) -> str:
    return _text(done).strip()[-_TAIL_CHARS:]
