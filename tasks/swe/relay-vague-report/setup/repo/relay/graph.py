"""Jobs and what they depend on."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from relay.errors import JobError


@dataclass(frozen=True)
class Job:
    """A job. `needs` are names of jobs that may be added later."""

    name: str
    needs: tuple[str, ...] = ()
    priority: int = 0


class Graph:
    """Jobs by name."""

    def __init__(self, jobs: Iterable[Job] = ()) -> None:
        self._jobs: list[Job] = []
        for job in jobs:
            self.add(job)

    def add(self, job: Job) -> None:
        """Add a job; a name can be used once."""
        if job.name in self:
            raise JobError(f"{job.name}: defined twice")
        self._jobs.append(job)

    def job(self, name: str) -> Job:
        """Return a job; an unknown name is a JobError."""
        for job in self._jobs:
            if job.name == name:
                return job
        raise JobError(f"{name}: unknown job")

    def names(self) -> list[str]:
        """Return all names, sorted."""
        return sorted(job.name for job in self._jobs)

    def dependents(self, name: str) -> list[str]:
        """Return the names of the jobs that need a job directly, sorted."""
        return sorted(job.name for job in self._jobs if name in job.needs)

    def check(self) -> None:
        """Raise JobError if a job needs one that is not there."""
        for job in self._jobs:
            for need in job.needs:
                if need not in self:
                    raise JobError(f"{job.name}: needs {need}, which is unknown")

    def __contains__(self, name: object) -> bool:
        return any(job.name == name for job in self._jobs)

    def __iter__(self) -> Iterator[Job]:
        return iter(self._jobs)

    def __len__(self) -> int:
        return len(self._jobs)
