"""Resolves the environment of an instance: defaults, then tables, then its own statement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from agentgym.errors import TaskError
from agentgym.swe.clone import Clone
from agentgym.swe.instance import EnvironmentSpec, Instance
from agentgym.swe.log_parsers.registry import parser_name
from agentgym.swe.specs.defaults import TIMEOUT_S, default_spec
from agentgym.swe.specs.table import SpecTable, find_spec, merged


def resolve_environment(
    instance: Instance, clone: Clone, tables: Sequence[SpecTable]
) -> EnvironmentSpec:
    """Return the complete environment of an instance.

    Args:
        instance: The instance.
        clone: Clone of its repository.
        tables: Tables of specs; a later one overrides an earlier one.

    Raises:
        TaskError: Nothing tells how to run the tests, or a commit is absent.
        NotFoundError: No parser has the stated name.
    """
    commit = clone.commit(instance.base_commit)
    if instance.environment_commit:
        commit = clone.commit(instance.environment_commit)
    spec = default_spec(instance.language, lambda path: clone.read_text(commit, path))
    stated = find_spec(instance.repo, instance.version, tables)
    for above in (stated, instance.environment):
        if above is not None:
            timeout_s = above.timeout_s if above is stated else 0
            spec = merged(spec, replace(above, timeout_s=timeout_s))
    spec = replace(spec, timeout_s=spec.timeout_s or TIMEOUT_S)
    if not spec.test_command or not spec.parser:
        raise TaskError(
            f"{instance.id}: nothing tells how to run tests of {spec.language or 'this language'};"
            " add an entry to a table of specs (docs/swe-bench.md)"
        )
    return replace(spec, parser=parser_name(spec.parser))


def packages_until(instance: Instance, clone: Clone) -> datetime:
    """Return the time before which packages of the environment were uploaded.

    It is the latest of three: when the pull request was opened, and when the base commit and the
    commit of the environment were made. A pull request is often older than the commit that it was
    merged into, whose files may ask for releases that came in between.
    """
    commits = [instance.base_commit]
    if instance.environment_commit:
        commits.append(instance.environment_commit)
    moments = [clone.committed_at(commit) for commit in commits]
    if instance.created_at is not None:
        moments.append(instance.created_at)
    return max(moments)
