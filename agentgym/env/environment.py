"""A task as an environment: the start of its episodes over the resources that they share.

An `Episode` holds what belongs to one episode only; many episodes may be live at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agentgym.env.ending import judge_kept
from agentgym.env.episode import Episode
from agentgym.env.resources import SharedResources
from agentgym.env.seeds import read_seed
from agentgym.records import Audit, Json, Step, Verdict


class Environment(SharedResources):
    """One task as an environment; `agentgym.open_environment` makes one by name.

    The first episode opens the resources that all episodes share. For the arguments and the
    attributes see `SharedResources`.
    """

    async def start(self, seed: int, *, alone: bool = False) -> Episode:
        """Begin an episode; other episodes may be live.

        Args:
            seed: Seed of the episode; it determines the instance of a template task.
            alone: Whether it shares no process, such as a browser, with other episodes. If that
                process ends, the episode is to blame, and is judged as it stands.

        Returns:
            The episode, whose `first` is the first observation. The caller closes it unless the
            episode runs to its end; closing the environment closes it, too.

        Raises:
            ConfigError: The seed is no integer from 0 on.
            TaskError: The template or the setup is broken.
            SandboxError: No sandbox could be started.
            SurfaceError: A surface cannot be opened, or the environment is closed.
            UserError: The user failed.
        """
        instance = self.task.instance(read_seed(seed))
        await self.open()
        episode = await Episode.start(self, instance, alone=alone)
        if self.is_closed:
            await episode.close()
            self.refuse_if_closed()
        return episode

    async def judge_kept(
        self, seed: int, steps: Sequence[Step], audit: Audit, kept: Mapping[str, Json], state: bytes
    ) -> Verdict:
        """Judge a recorded episode from its kept final state; see `env.ending`.

        Raises:
            ReplayError: The setup now leaves another state.
            RecordError: The kept data is damaged.
            AgentGymError: The task or the sandbox is broken.
        """
        return await judge_kept(self, self.task.instance(seed), steps, audit, kept, state)
