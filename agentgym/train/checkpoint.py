"""The agent ``checkpoint:PATH``: a policy in this process, from a training run or a model's folder.

All episodes of one event loop sample from one copy of the model, many at a time.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel, ConfigDict, Field

from agentgym.chat.spec import read_model
from agentgym.errors import ConfigError, PolicyError
from agentgym.installation import missing_extra
from agentgym.records import Briefing, Decision, Observation, Step, ToolSpec
from agentgym.regular_file import read_regular

if TYPE_CHECKING:
    from agentgym.train.loading import LoadedPolicy
    from agentgym.train.policies import HuggingFacePolicy, TinyPolicy
    from agentgym.train.policy import TokenPolicy
    from agentgym.train.sampling.sampler import Sampler

_EXAMPLE: Final = "checkpoint:runs/tiny-terminal?temperature=0"
_WHO: Final = "agent 'checkpoint'"


class Options(BaseModel):
    """The options after the folder's name.

    Attributes:
        temperature: Of the draws; 0 takes the likeliest token.
        seed: Of the draws; episodes of one seed and task differ by it.
        rows: Dialogues whose tokens stay in the cache.
        device: Of a model of transformers: ``auto``, ``cpu``, ``cuda`` or ``cuda:N``.
        context: Tokens of a dialogue; for the folder of a model, which no run configures.
        completion_tokens: Tokens of a completion, likewise.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)
    temperature: float = Field(1.0, ge=0)
    seed: int = Field(0, ge=0)
    rows: int = Field(32, ge=1)
    device: str = Field("auto", pattern=r"^(auto|cpu|cuda(:\d+)?)$")
    context: int = Field(4096, ge=1)
    completion_tokens: int = Field(512, ge=1)


class CheckpointAgent:
    """Plays with a trained policy, e.g. ``CheckpointAgent("runs/tiny-terminal?temperature=0")``.

    Raises:
        ConfigError: The folder holds no policy, or an option is wrong.
        MissingExtraError: PyTorch is not installed.
    """

    def __init__(self, argument: str = "") -> None:
        path, self._options = read_model(argument, Options, who=_WHO, example=_EXAMPLE)
        self._key = argument
        try:
            self._folder = _Folder(Path(path), self._options)
        except ModuleNotFoundError as error:
            raise missing_extra(error.name or "torch", "train") from error
        self._policy: TokenPolicy | None = None

    async def start(self, briefing: Briefing) -> None:
        """Take the instruction; the first episode loads the model."""
        from agentgym.train.policy import TokenPolicy

        loaded, sampler = await _shared(self._key, self._folder, self._options)
        self._policy = TokenPolicy(
            sampler,
            loaded.template,
            limit=loaded.completion_tokens,
            temperature=self._options.temperature,
            seed=self._options.seed,
            pictures=loaded.pictures,
        )
        await self._policy.start(briefing)

    async def act(
        self, observation: Observation, tools: Sequence[ToolSpec], history: Sequence[Step]
    ) -> Decision:
        """Sample a completion and return its call; see `TokenPolicy.act`.

        Raises:
            PolicyError: It makes none, or the model fails: it may do so where it would lose.
        """
        from agentgym.train.sampling.sampler import SamplingError

        assert self._policy is not None, "an agent is started before it acts"
        try:
            return await self._policy.act(observation, tools, history)
        except SamplingError as error:
            raise PolicyError(str(error)) from error

    async def close(self) -> None:
        """Free the dialogue's place in the model's cache."""
        if self._policy is not None:
            await self._policy.close()


class _Folder:
    """The folder of a training run, or of a model that `save_pretrained` wrote."""

    def __init__(self, path: Path, options: Options) -> None:
        from agentgym.train.foreign_files import refuse_special_files
        from agentgym.train.policies import HuggingFacePolicy, PolicyKind, TinyPolicy
        from agentgym.train.training_run import SAVED_POLICY, TrainingRun

        self._weights: Path | None = None
        self.version = 0
        self.policy: TinyPolicy | HuggingFacePolicy
        about = _about(path)
        if "model_type" in about:
            refuse_special_files(path)
            self.policy = HuggingFacePolicy(
                kind=PolicyKind.HUGGINGFACE,
                path=str(path),
                device=options.device,
                context=options.context,
                completion_tokens=options.completion_tokens,
            )
            return
        policy = TrainingRun.resume(path).config.policy
        if isinstance(policy, TinyPolicy):
            try:
                policy.check_cache(options.rows)
            except ValueError as error:
                raise ConfigError(f"{_WHO}: {path}: {error}") from error
        if isinstance(policy, HuggingFacePolicy):
            saved = path / SAVED_POLICY
            if not saved.is_dir():
                raise ConfigError(f"{_WHO}: {path} has no {SAVED_POLICY}/ yet; let it train longer")
            policy = policy.model_copy(update={"path": str(saved), "device": options.device})
        else:
            self._weights = path
        self.policy = policy
        if isinstance(policy, HuggingFacePolicy):
            refuse_special_files(Path(policy.path))

    def load(self) -> LoadedPolicy:
        """Return the policy in memory."""
        from agentgym.train.loading import load_policy
        from agentgym.train.training_run import TrainingRun

        loaded = load_policy(self.policy, seed=0)
        if self._weights is not None:
            state = TrainingRun.read_checkpoint(self._weights)
            try:
                loaded.module.load_state_dict(state["model"])
            except Exception as error:  # PyTorch raises many kinds for a state of another form.
                told = (
                    f"{self._weights}: its checkpoint holds no policy of this run: {error!s:.2000}"
                )
                raise ConfigError(f"{_WHO}: {told}") from error
        return loaded


def _about(path: Path) -> dict[str, Any]:
    """Return the ``config.json`` of a folder.

    Raises:
        ConfigError: The folder has none.
    """
    try:
        about = json.loads(read_regular(path / "config.json"))
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(
            f"{_WHO}: {path} holds no policy ({error}); expected the folder of a training run, "
            f"or of a model that save_pretrained wrote; e.g. {_EXAMPLE}"
        ) from error
    if not isinstance(about, dict):
        raise ConfigError(f"{_WHO}: {path / 'config.json'}: expected an object")
    return about


_loaded: dict[asyncio.AbstractEventLoop, dict[str, asyncio.Task[tuple[LoadedPolicy, Sampler]]]] = {}
"""The models of each event loop, by the argument of their agents."""


async def _shared(key: str, folder: _Folder, options: Options) -> tuple[LoadedPolicy, Sampler]:
    """Return the model of all episodes of this event loop; the first call loads it."""
    # A task refers to its loop, so weak references would keep every model.
    for ended in [loop for loop in _loaded if loop.is_closed()]:
        _loaded.pop(ended, None)
    known = _loaded.setdefault(asyncio.get_running_loop(), {})
    if key not in known:
        # A task of its own: the others wait for it, too, if the first episode is cancelled.
        known[key] = asyncio.create_task(_load(folder, options))
    loading = known[key]
    try:
        return await asyncio.shield(loading)
    except Exception:
        if known.get(key) is loading:
            del known[key]
        raise


async def _load(folder: _Folder, options: Options) -> tuple[LoadedPolicy, Sampler]:
    from agentgym.train.sampling.sampler import Sampler

    loaded = await asyncio.to_thread(folder.load)
    return loaded, Sampler(loaded.model, rows=options.rows)
