"""Artifacts of foreign tasks: what the agent left at a path, and nothing at another one."""

import io
import tarfile

from agentgym.formats.sandboxed.artifacts import pack
from agentgym.formats.sandboxed.rules import Artifact
from agentgym.testing.checks import Folder, Link, MemoryTree


def names(tree, *sources):
    packed = pack(MemoryTree(tree), [Artifact(source) for source in sources])
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        return {member.name: member.linkname for member in archive}


def test_no_link_of_the_agent_leads_another_artifact_elsewhere():
    # In the verifier's sandbox the second artifact would be written to /usr/lib/x.py.
    tree = {"/app": Folder(), "/app/out": Link("/usr/lib"), "/usr/lib/x.py": b"evil"}
    assert set(names(tree, "/app", "/app/out/x.py")) == {"app", "app/out/x.py"}
    logs = {"/logs/artifacts": Link("/tests"), "/tests/report.json": b"1"}
    assert set(names(logs, "/logs/artifacts/report.json")) == {"logs/artifacts/report.json"}


def test_other_links_stay_links():
    tree = {"/app": Folder(), "/app/out": Link("/usr/lib"), "/app/outer/x": b"x"}
    assert names(tree, "/app", "/app/outer/x")["app/out"] == "/usr/lib"
    both = {"/app": Folder(), "/app/now": Link("runs/3"), "/app/runs/3": b"x"}
    assert names(both, "/app/now", "/app/runs")["app/now"] == "runs/3"
