"""The mining of a clone: its merged changes become tasks, or are dropped for a reason.

The method is SWE-bench's (Jimenez et al. 2024), with environments by quarter as in SWE-rebench
(Badertdinov et al. 2025) and two runs of the gold patch against flaky tests.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

from agentgym.errors import TaskError
from agentgym.protocols import SandboxProvider
from agentgym.record.result_files import ResultFiles
from agentgym.sandbox.build.builder import Builds, run_builds
from agentgym.swe.clone import Clone
from agentgym.swe.diff import write_diff
from agentgym.swe.grading import longest_s
from agentgym.swe.instance import EnvironmentSpec, Instance
from agentgym.swe.instance_rooms import Ground, image_recipe, open_ground
from agentgym.swe.instance_tests import InstanceTests
from agentgym.swe.mining.history import MergedChange, merged_changes
from agentgym.swe.mining.issue_text import IssueText, clean_issue, draft_issue
from agentgym.swe.mining.journal import Decision, Journal
from agentgym.swe.mining.names import KnownNames
from agentgym.swe.mining.profile import Profile, build_profile
from agentgym.swe.mining.split import DroppedError, SplitChange, split_change
from agentgym.swe.mining.trial import TriedCandidate, try_candidate
from agentgym.swe.patch import PatchError
from agentgym.swe.specs.defaults import default_spec
from agentgym.swe.specs.image import REPOSITORY
from agentgym.swe.specs.table import merged
from agentgym.swe.task_folder import ENVIRONMENT, write_task
from agentgym.threads import to_thread

SCHEMA: Final = "agentgym.mining/1"
Rewrite = Callable[[str, str], Awaitable[str]]
"""Returns an issue from the text of a change and the patch of its tests."""


@dataclass(frozen=True, kw_only=True)
class MiningPlan:
    """The order for a mining.

    Attributes:
        clone: The clone.
        repo: Its name, ``owner/name``.
        out: Folder of the tasks, the journal and the report.
        start: Branch, tag or commit whose history is walked.
        limit: Largest number of merged changes that are looked at.
        want: Number of tasks after which the mining ends; None for all.
        jobs: Number of candidates that are tried at a time.
        tests_s: Longest time of one run of the tests, in seconds.
        spec: What the user states of the environment; empty fields are told by the repository.
        rewrite: Writes issues; None for drafts by rules.
    """

    clone: Clone
    repo: str
    out: Path
    start: str = "HEAD"
    limit: int = 500
    want: int | None = None
    jobs: int = 1
    tests_s: float = 300.0
    spec: EnvironmentSpec | None = None
    rewrite: Rewrite | None = None

    @property
    def suite(self) -> str:
        """Name of the suite, which is also that of its folder."""
        return "mined-" + self.repo.rpartition("/")[2].lower().replace(".", "-").strip("-_")


@dataclass(frozen=True, slots=True)
class MiningReport:
    """The result of a mining.

    Attributes:
        looked_at: Number of merged changes.
        tried: Number of candidates that ran in sandboxes, in this call and earlier ones.
        kept: Number of tasks.
        dropped: Number of candidates by reason.
        profiles: How the environment of each quarter was installed.
        candidates_per_min: Candidates tried per minute of this call, with the building of
            environments; None if none was tried.
        duration_s: Time of this call, in seconds.
    """

    looked_at: int
    tried: int
    kept: int
    dropped: dict[str, int]
    profiles: dict[str, str]
    candidates_per_min: float | None
    duration_s: float


class Mining:
    """One call of the miner.

    Args:
        plan: What is mined.
        provider: Starts the sandboxes; its owner closes it.
        tell: Called with the progress, line by line.
    """

    def __init__(
        self, plan: MiningPlan, provider: SandboxProvider, tell: Callable[[str], None]
    ) -> None:
        self._plan, self._provider, self._tell = plan, provider, tell
        self._files = ResultFiles(plan.out)
        self._journal = Journal(self._files)
        self._names = KnownNames(plan.clone)
        self._profiles: dict[str, str] = {}
        self._tried = 0

    async def run(self) -> MiningReport:
        """Walk the history, try every candidate that is not decided yet, and write the report.

        Raises:
            TaskError: The clone cannot be read.
            SandboxError: A sandbox could not be started.
        """
        began_s = time.monotonic()
        plan = self._plan
        changes = await to_thread(lambda: list(merged_changes(plan.clone, plan.start, plan.limit)))
        self._tell(f"{len(changes)} merged changes, {len(self._journal.decisions)} decided before")
        quarters = await to_thread(self._candidates, changes)
        building = asyncio.create_task(run_builds(partial(self._built, quarters[:1])))
        for first, last in _batches(len(quarters)):
            profiles = await building
            ahead = [] if self._done() else quarters[last : last + 2 * (last - first)]
            building = asyncio.create_task(run_builds(partial(self._built, ahead)))
            try:
                for quarter, profile in zip(quarters[first:last], profiles, strict=True):
                    await self._quarter(quarter, profile)
            finally:
                await asyncio.wait([building])
            if self._done():
                break
        await building
        duration_s = time.monotonic() - began_s
        decisions = self._journal.decisions.values()
        report = MiningReport(
            looked_at=len(changes),
            tried=sum(one.tried for one in decisions),
            kept=sum(one.kept for one in decisions),
            dropped=self._journal.reasons(),
            profiles=self._profiles,
            candidates_per_min=60 * self._tried / duration_s if self._tried else None,
            duration_s=duration_s,
        )
        said = {"schema": SCHEMA, "repo": plan.repo, "suite": plan.suite, **asdict(report)}
        self._files.replace("report.json", json.dumps(said, indent=1) + "\n")
        return report

    def _done(self) -> bool:
        kept = sum(one.kept for one in self._journal.decisions.values())
        return self._plan.want is not None and kept >= self._plan.want

    def _candidates(self, changes: Sequence[MergedChange]) -> list[Sequence[SplitChange]]:
        """Return the candidates that are not decided, by quarter; drop what cannot be one."""
        found: dict[str, list[SplitChange]] = {}
        for change in changes:
            if change.commit in self._journal.decisions:
                continue
            try:
                split = split_change(self._plan.clone, change)
            except DroppedError as dropped:
                self._drop(change, dropped)
            else:
                found.setdefault(change.quarter, []).append(split)
        return list(found.values())

    def _built(
        self, quarters: Sequence[Sequence[SplitChange]], builds: Builds
    ) -> list[Profile | DroppedError]:
        """Build the environments of quarters, one after the other."""
        built: list[Profile | DroppedError] = []
        for quarter in quarters:
            if builds.stopped:
                break
            try:
                built.append(self._profile(quarter[0].change, builds))
            except DroppedError as dropped:
                built.append(dropped)
        return built

    def _profile(self, change: MergedChange, builds: Builds) -> Profile:
        plan = self._plan
        spec = default_spec("", lambda path: plan.clone.read_text(change.commit, path))
        if plan.spec is not None:
            spec = merged(spec, replace(plan.spec, timeout_s=0))
        spec = replace(spec, timeout_s=plan.tests_s)
        if not spec.test_command:
            raise DroppedError("no environment", f"language {spec.language!r} has no runner")
        # The folder of the build is removed and written again, so none of its path may be a link.
        self._files.make(f"profiles/{change.quarter}/{ENVIRONMENT}")
        folder = plan.out / "profiles"
        return build_profile(
            *(plan.clone, change.quarter, change.commit, spec, folder, builds, self._tell)
        )

    async def _quarter(
        self, splits: Sequence[SplitChange], profile: Profile | DroppedError
    ) -> None:
        """Decide the candidates of a quarter."""
        if isinstance(profile, DroppedError):
            for split in splits:
                self._drop(split.change, profile)
            return
        self._profiles[profile.quarter] = profile.how
        name = f"{self._plan.suite} {profile.quarter}"
        recipe = await to_thread(image_recipe, profile.context, name)
        seats = asyncio.Semaphore(self._plan.jobs)
        try:
            async with open_ground(self._provider, recipe) as ground, asyncio.TaskGroup() as group:
                for split in splits:
                    group.create_task(self._decide(split, profile, ground, seats))
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from errors

    async def _decide(
        self, split: SplitChange, profile: Profile, ground: Ground, seats: asyncio.Semaphore
    ) -> None:
        """Try a candidate and write the decision down."""
        async with seats:
            if self._done():
                return
            began_s = time.monotonic()
            try:
                issue = await self._issue(split)
                tried = await self._try(split, issue, profile, ground)
                if self._done():
                    return  # Another job has found the last task that is wanted.
                instance = _instance(self._plan.repo, split, issue, tried)
                await to_thread(self._write, instance, profile)
            except DroppedError as dropped:
                tried_it = dropped.reason not in ("too little text", "no environment")
                self._drop(split.change, dropped, tried=tried_it, since_s=began_s)
            except (TaskError, PatchError) as error:
                self._drop(split.change, DroppedError("cannot be written", str(error)))
            else:
                self._keep(split.change, tried, began_s)

    async def _issue(self, split: SplitChange) -> IssueText:
        code, tests = write_diff(split.code), write_diff(split.tests)
        known = await to_thread(self._names.at, split.change.base)
        issue = draft_issue(split.change, code, tests, known)
        if self._plan.rewrite is not None:
            source = f"{split.change.subject}\n\n{split.change.body}"
            issue = clean_issue(await self._plan.rewrite(source, tests), code, tests, known)
        if not issue.text:
            raise DroppedError("too little text", "; ".join(issue.removed)[:300])
        return issue

    async def _try(
        self, split: SplitChange, issue: IssueText, profile: Profile, ground: Ground
    ) -> TriedCandidate:
        clone, base = self._plan.clone, split.change.base
        try:
            shift = await to_thread(clone.changes, profile.commit, base)
        except PatchError as error:
            raise DroppedError("no environment", f"far from {profile.commit}: {error}") from error
        tests = InstanceTests(
            instance=_instance(self._plan.repo, split, issue, TriedCandidate((), (), 0.0)),
            spec=profile.spec,
            root=REPOSITORY,
            base=await to_thread(clone.lookup, base),
            plugins=ground.plugins,
            shift=shift,
        )
        self._tried += 1
        return await ground.grade(
            lambda open_room: try_candidate(tests, open_room),
            commands_s=2 * longest_s(self._plan.tests_s),
        )

    def _write(self, instance: Instance, profile: Profile) -> None:
        plan = self._plan
        spec = profile.spec
        suite = self._files.make(f"tasks/{plan.suite}")
        write_task(suite, instance, plan.clone, spec, profile.until)
        line = json.dumps(as_swe_bench_line(instance, spec), ensure_ascii=False)
        self._files.add("instances.jsonl", line)

    def _keep(self, change: MergedChange, tried: TriedCandidate, began_s: float) -> None:
        self._journal.add(
            Decision(
                *(change.commit, change.subject, change.quarter, True),
                tried=True,
                fail_to_pass=len(tried.fail_to_pass),
                pass_to_pass=len(tried.pass_to_pass),
                duration_s=time.monotonic() - began_s,
            )
        )
        self._tell(
            f"kept {change.commit[:10]} {change.subject[:60]}: {len(tried.fail_to_pass)} fail to "
            f"pass, {len(tried.pass_to_pass)} pass to pass"
        )

    def _drop(
        self,
        change: MergedChange,
        dropped: DroppedError,
        *,
        tried: bool = False,
        since_s: float | None = None,
    ) -> None:
        spent_s = 0.0 if since_s is None else time.monotonic() - since_s
        reason, detail = dropped.reason, dropped.detail[:1000]
        self._journal.add(
            Decision(
                *(change.commit, change.subject, change.quarter, False, reason, detail),
                tried=tried,
                duration_s=spent_s,
            )
        )
        if tried:
            self._tell(f"dropped {change.commit[:10]} {change.subject[:60]}: {dropped.reason}")


def _batches(count: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of 1, 2, 4 … numbers: the environments that are built together."""
    first, size = 0, 1
    while first < count:
        yield first, min(first + size, count)
        first, size = first + size, 2 * size


def as_swe_bench_line(instance: Instance, spec: EnvironmentSpec) -> dict[str, object]:
    """Return an instance in SWE-bench's layout, with `install_config` for its environment."""
    return {
        "instance_id": instance.id,
        "repo": instance.repo,
        "base_commit": instance.base_commit,
        "patch": instance.patch,
        "test_patch": instance.test_patch,
        "problem_statement": instance.problem_statement,
        "hints_text": instance.hints,
        "created_at": None if instance.created_at is None else instance.created_at.isoformat(),
        "version": instance.version,
        "FAIL_TO_PASS": json.dumps(instance.fail_to_pass),
        "PASS_TO_PASS": json.dumps(instance.pass_to_pass),
        "environment_setup_commit": instance.environment_commit,
        "language": spec.language,
        "install_config": {
            "python": spec.runtime,
            "pre_install": list(spec.pre_install),
            "pip_packages": list(spec.packages),
            "install": list(spec.install),
            "test_cmd": spec.test_command,
            "log_parser": spec.parser,
        },
    }


def _instance(repo: str, split: SplitChange, issue: IssueText, tried: TriedCandidate) -> Instance:
    change = split.change
    number = change.commit[:10] if change.number is None else str(change.number)
    return Instance(
        id=f"{repo.replace('/', '__')}-{number}",
        repo=repo,
        base_commit=change.base,
        patch=write_diff(split.code),
        test_patch=write_diff(split.tests),
        fail_to_pass=tried.fail_to_pass,
        pass_to_pass=tried.pass_to_pass,
        problem_statement=issue.text,
        version=change.quarter,
        created_at=change.merged_at,
    )
