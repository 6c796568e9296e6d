"""Use the repaired Makefile in a clean room, with the pristine sources and tools.

The Makefile is the only artifact, so a hand-made site, a changed tool or a deleted source is not
in the room. `probe.py` reports what it saw there; what it should have seen was worked out by the
setup, with the handbook's own tools and without make.
"""

from __future__ import annotations

import hashlib
import json
import posixpath
from pathlib import Path
from typing import Any

from agentgym import CheckResult, CheckStatus, Evidence, GuestFileError
from agentgym.verify.in_place import read_in_place
from agentgym.verify.probing import probe

HOME = "/srv/handbook"
PROBE = Path(__file__).with_name("probe.py")
MOST_FILES = 500


def default(evidence: Evidence) -> CheckResult:
    """Check that plain `make` builds the whole production site in a clean checkout."""
    return _whole_site(evidence, "default", "make")


def parallel(evidence: Evidence) -> CheckResult:
    """Check that the checksum file can be built first, in parallel, in a clean checkout."""
    return _whole_site(evidence, "parallel", "make -j8 dist/production/SHA256SUMS")


def profiles(evidence: Evidence) -> CheckResult:
    """Check that both sites are right when one is built after the other."""
    seen, sites = _used(evidence, "profiles"), _expected(evidence)["sites"]
    for profile, site in sites.items():
        if wrong := sorted(path for path in site if seen[profile].get(path) != site[path]):
            return _fail(f"with both built, dist/{profile}/{wrong[0]} is not that of {profile}")
    return _passed("both sites are themselves")


def changes(evidence: Evidence) -> CheckResult:
    """Check that a change to each kind of input reaches the site; credit is the part that does."""
    seen, expected = _used(evidence, "changes"), _expected(evidence)["changes"]
    lost = [item["what"] for item in expected if seen[item["what"]] != item["digest"]]
    if lost:
        credit = 1 - len(lost) / len(expected)
        return _fail(f"changes that do not reach the site: {', '.join(lost)}", credit)
    return _passed(f"all {len(expected)} changes reach the site")


def settled(evidence: Evidence) -> CheckResult:
    """Check that a finished build has nothing to do, and a changed page leaves the others alone."""
    seen = _used(evidence, "settled")
    if seen["question"] != 0:
        return _fail("after a build, make all would still build something")
    if seen["again"] != ["faq.html"]:
        return _fail(
            f"after a change to pages/faq.md these pages are rendered: {seen['again'][:5]}"
        )
    if seen["search"] != _expected(evidence)["renamed"]["search"]:
        return _fail("after a change to pages/faq.md the search index is not up to date")
    return _passed("nothing is built without need")


def broken_page(evidence: Evidence) -> CheckResult:
    """Check that a page that cannot be rendered fails every time, and no longer once repaired."""
    seen = _used(evidence, "broken_page")
    if 0 in seen["exits"]:
        first, second = seen["exits"]
        return _fail(
            f"with a page that cannot be rendered, make all exits with {first}, then with {second}"
        )
    if seen["repaired"] != 0:
        return _fail(f"with the page repaired, make all exits with {seen['repaired']}")
    return _passed("make fails as long as the page is broken")


def dead_link(evidence: Evidence) -> CheckResult:
    """Check that `make check` passes on a good site and fails on a dead link."""
    seen = _used(evidence, "dead_link")
    if seen["exit"] != 0:
        return _fail(f"make check exits with {seen['exit']} on a good site: {seen['said']}")
    if seen["dead"] == 0:
        return _fail("make check exits with 0 although a page has a dead link")
    return _passed("make check tells a dead link")


def targets(evidence: Evidence) -> CheckResult:
    """Check that preview and clean do what they did, and that the fragments are kept."""
    seen, site = _used(evidence, "targets"), _expected(evidence)["sites"]["staging"]
    pages = sum(path.endswith(".html") for path in site)
    if seen["fragments"] < pages:
        return _fail(f"after make all {seen['fragments']} fragments are there, of {pages} pages")
    if seen["preview"]["exit"] != 0 or seen["preview"]["index"] != site["index.html"]:
        return _fail(f"make preview does not build the staging site: {seen['preview']['said']}")
    if seen["clean"] != 0 or seen["left"]:
        return _fail(f"make clean exits with {seen['clean']} and leaves {seen['left']}")
    if seen["lost"]:
        return _fail(f"make clean removes what no build has made: {', '.join(seen['lost'][:3])}")
    return _passed("preview, clean and the fragments are as they were")


def left_built(evidence: Evidence) -> CheckResult:
    """Check the site that was left in dist/production, file by file."""
    expected = _expected(evidence)["sites"]["production"]
    for path, digest in expected.items():
        left = evidence.after.read(f"{HOME}/dist/production/{path}", max_bytes=2**20)
        if hashlib.sha256(left).hexdigest() != digest:
            return _fail(f"dist/production/{path} is not what the sources say")
    top = f"{HOME}/dist/production"
    for number, (path, stat) in enumerate(evidence.after.walk(top)):
        if number == MOST_FILES:
            return _fail("dist/production holds far more than the site")
        name = path.removeprefix(f"{top}/")
        if stat.kind != "dir" and name != "SHA256SUMS" and name not in expected:
            return _fail(f"dist/production/{name:.80} is no part of the site")
    sums = read_in_place(evidence.after, f"{top}/SHA256SUMS", max_bytes=2**20)
    if _claims(sums.decode("utf-8", "replace")) != expected:
        return _fail("dist/production/SHA256SUMS does not list the files that are there")
    return _passed(f"all {len(expected)} files are up to date")


def _claims(sums: str) -> dict[str, str]:
    """Return the digests in a file that `sha256sum` wrote, by path."""
    pairs = (line.strip().partition(" ") for line in sums.splitlines())
    return {posixpath.normpath(path.lstrip(" *")): claim for claim, _, path in pairs}


def _whole_site(evidence: Evidence, scenario: str, command: str) -> CheckResult:
    seen, expected = _observe(evidence, scenario), _expected(evidence)["sites"]["production"]
    if seen["exit"] != 0:
        return _fail(f"{command} exits with {seen['exit']}: {seen['said']}")
    for part, where in (("files", "dist/production"), ("listed", "dist/production/SHA256SUMS")):
        wrong = [path for path in expected if seen[part].get(path) != expected[path]]
        wrong += [] if part == "files" else [path for path in seen[part] if path not in expected]
        if wrong:
            return _fail(f"{where}: missing or not right: {', '.join(sorted(wrong)[:3])}")
    if seen["agrees"] != 0:
        return _fail("sha256sum --check refuses dist/production/SHA256SUMS")
    return _passed(f"all {len(expected)} files are right")


def _expected(evidence: Evidence) -> Any:
    return json.loads(evidence.gold("expected.json"))


def _used(evidence: Evidence, use: str) -> Any:
    """Return what one use of a built checkout showed; all are made in one room, by whoever asks."""
    seen = _observe(evidence, "used")[use]
    if "problem" in seen:
        raise GuestFileError(f"{use}: not to be finished: {seen['problem']}")
    return seen


def _observe(evidence: Evidence, scenario: str) -> Any:
    """Return what the probe saw in a room with the agent's Makefile."""
    room = evidence.room([f"{HOME}/Makefile"], shared=True)
    # The edits go into the room, the digests that must come out of it do not.
    expected = _expected(evidence)
    edits = [{key: item[key] for key in ("what", "edit", "shows")} for item in expected["changes"]]
    order = {"scenario": scenario, "edits": edits, "rename": expected["renamed"]["edit"]}
    what = f"{HOME}/Makefile ({scenario})"
    return probe(room, PROBE, order, what=what)


def _passed(message: str) -> CheckResult:
    return CheckResult(CheckStatus.PASS, message)


def _fail(message: str, score: float | None = None) -> CheckResult:
    return CheckResult(CheckStatus.FAIL, message, score)
