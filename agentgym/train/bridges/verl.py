"""Episodes for an agent loop of verl 0.9: verl's servers sample, token ids in and token ids out.

Written against the published interface (``AgentLoopBase``, ``LLMServerClient.generate``); verl
itself is not imported. examples/bridges/verl_agent_loop.py is the agent loop.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Final
from weakref import WeakKeyDictionary

from agentgym import plugins
from agentgym.env.environment import Environment
from agentgym.env.opening import load_built
from agentgym.errors import AgentError, ConfigError, VerifierError
from agentgym.protocols import SandboxProvider
from agentgym.protocols.training import DialogueTemplate
from agentgym.threads import to_thread
from agentgym.train.bridges.one_sequence import one_sequence
from agentgym.train.policy import TokenPolicy
from agentgym.train.rollouts import Assignment, Rollouts, Trajectory
from agentgym.train.sampling.answers import sampled
from agentgym.train.sampling.sampler import Completion, Dialogue

ATTEMPTS: Final = 3
"""Number of times that an episode without a score is played before the rollout fails."""


class VerlSampler:
    """Samples one episode from verl's servers; a `TokenSampler`.

    Args:
        server: The ``server_manager`` of an agent loop.
        params: The sampling parameters that verl gives the loop.
        prompt_tokens: Largest number of tokens before the first completion.
        response_tokens: Largest number of tokens after them, those that are read included.
    """

    def __init__(
        self, server: Any, params: Mapping[str, Any], *, prompt_tokens: int, response_tokens: int
    ) -> None:
        self._server, self._params = server, dict(params)
        self._prompt_tokens, self._response_tokens = prompt_tokens, response_tokens
        # The server that holds the prompt in its cache is found by this name.
        self._request, self._opening = uuid.uuid4().hex, 0

    async def generate(
        self,
        dialogue: Dialogue,
        new_ids: Sequence[int],
        *,
        limit: int,
        stop_ids: Sequence[int],
        temperature: float = 1.0,
        seed: int = 0,
    ) -> Completion:
        """Append tokens to a dialogue, then sample; see `TokenSampler.generate`.

        The temperature and the draws are those of verl.

        Raises:
            AgentError: The server failed, aborted or gave no log-probabilities; or the first
                prompt is longer than verl's configuration allows.
        """
        prompt = [*dialogue.ids, *new_ids]
        if not self._opening:
            self._opening = len(prompt)
            if self._opening > self._prompt_tokens:
                raise AgentError(
                    f"the first prompt has {self._opening} tokens; "
                    f"expected at most data.max_prompt_length = {self._prompt_tokens}"
                )
        dialogue.ids = prompt
        room = self._response_tokens - (len(prompt) - self._opening)
        if room < 1:
            return Completion((), (), "context", 0)
        asked = {**self._params, "max_tokens": min(limit, room), "logprobs": True}
        asked["stop_token_ids"] = list(stop_ids)
        try:
            answer = await self._server.generate(
                request_id=self._request, prompt_ids=prompt, sampling_params=asked
            )
        except Exception as error:  # The servers are actors on other machines.
            told = f"verl's server failed: {type(error).__name__}: {str(error)[:300]}"
            raise AgentError(told) from error
        ids, logprobs = list(answer.token_ids), answer.log_probs
        if answer.stop_reason == "aborted":
            raise AgentError("verl's server aborted the completion")
        if logprobs is None or len(logprobs) != len(ids):
            told = "none" if logprobs is None else f"{len(logprobs)} for {len(ids)} tokens"
            raise AgentError(f"verl's server gave log-probabilities: {told}")
        given = (ids, [float(each) for each in logprobs])
        ids, logprobs = sampled(
            "verl's server", *given, limit=asked["max_tokens"], stop_ids=stop_ids
        )
        dialogue.ids = [*prompt, *ids]
        stopped = bool(ids) and ids[-1] in stop_ids
        reason = "stop" if stopped else "length" if limit <= room else "context"
        version = (answer.extra_fields or {}).get("global_steps")
        return Completion(tuple(ids), tuple(logprobs), reason, int(version or 0))

    def end(self, dialogue: Dialogue) -> None:
        """Do nothing: the server frees what it does not need."""


class EpisodeLoop:
    """Plays the episodes of the agent loops of a process; environments stay open.

    Args:
        sandbox: Name of the sandbox provider.
        max_steps: Steps before an episode is cut off; None for each task's own number.
        completion_tokens: Largest number of tokens of one completion.

    Attributes:
        missing: Why episodes had no score and were played again.
    """

    def __init__(
        self,
        *,
        sandbox: str = "bubblewrap",
        max_steps: int | None = None,
        completion_tokens: int = 512,
    ) -> None:
        self._sandbox, self._max_steps, self._limit = sandbox, max_steps, completion_tokens
        self._opened: WeakKeyDictionary[asyncio.AbstractEventLoop, _Open] = WeakKeyDictionary()
        self.missing: list[str] = []

    async def run(
        self,
        server: Any,
        template: DialogueTemplate,
        params: Mapping[str, Any],
        *,
        task: str,
        seed: int,
        prompt_tokens: int,
        response_tokens: int,
    ) -> dict[str, Any]:
        """Play an episode and return the fields of an ``AgentLoopOutput``, without metrics.

        Args:
            server: The ``server_manager`` of the agent loop.
            template: Turns the episode into tokens, such as a `ChatTemplate`.
            params: The sampling parameters that verl gives.
            task: Task id, or the path of a task folder.
            seed: Seed of the episode; the rollouts of a group have the same.
            prompt_tokens: ``rollout.prompt_length``.
            response_tokens: ``rollout.response_length``.

        Raises:
            VerifierError: The episode has no score, `ATTEMPTS` times. verl knows no missing
                reward, and a reward of 0 would be wrong.
        """
        if type(seed) is not int or seed < 0:
            raise ConfigError(f"seed: expected an integer from 0 on, got {seed!r:.40}")
        environment = await self._environment(task)
        for _ in range(ATTEMPTS):
            sampler = VerlSampler(
                server, params, prompt_tokens=prompt_tokens, response_tokens=response_tokens
            )
            policy = TokenPolicy(
                *(sampler, template),
                limit=self._limit,
                temperature=float(params.get("temperature", 1.0)),
            )
            rollouts = Rollouts({task: environment}, lambda *told, made=policy: made, jobs=1)
            group = await rollouts.group(Assignment(0, task, seed, 1))
            if group.trajectories:
                return _fields(group.trajectories[0], template, response_tokens)
            self.missing += group.missing
        raise VerifierError(f"the episode has no score after {ATTEMPTS} attempts: {group.missing}")

    async def close(self) -> None:
        """Close the environments of this event loop."""
        opened = self._opened.pop(asyncio.get_running_loop(), None)
        if opened is not None:
            await opened.close()

    async def _environment(self, task: str) -> Environment:
        loop = asyncio.get_running_loop()
        if loop not in self._opened:
            self._opened[loop] = _Open(plugins.make_provider(self._sandbox), self._max_steps)
        return await self._opened[loop].environment(task)


class _Open:
    """The environments of one event loop."""

    def __init__(self, provider: SandboxProvider, max_steps: int | None) -> None:
        self._provider, self._max_steps = provider, max_steps
        self._environments: dict[str, Environment] = {}
        self._making = asyncio.Lock()

    async def environment(self, task: str) -> Environment:
        async with self._making:
            if task not in self._environments:
                loaded = await to_thread(load_built, task)
                made = Environment(loaded, self._provider, max_steps=self._max_steps)
                self._environments[task] = made
        return self._environments[task]

    async def close(self) -> None:
        for environment in self._environments.values():
            await environment.close()
        await self._provider.close()


def _fields(played: Trajectory, template: DialogueTemplate, most: int) -> dict[str, Any]:
    """Return a trajectory as verl names its parts; a response needs at least one token."""
    found = one_sequence(played.tokens, "verl")
    stop = template.stop_ids[0]
    tokens: dict[str, Any] = {
        "prompt_ids": [stop],
        "response_ids": [stop],
        "response_mask": [0],
        "response_logprobs": [0.0],
    }
    if found is not None:
        # Only tokens that were read can be beyond the bound: the sampler stops before it.
        tokens = {
            "prompt_ids": found.prompt_ids,
            "response_ids": found.response_ids[:most],
            "response_mask": found.mask[:most],
            "response_logprobs": found.logprobs[:most],
        }
    return {**tokens, "reward_score": played.reward, "num_turns": 2 * played.length}
