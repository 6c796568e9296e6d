"""Files that were to stand: their times tell whether they were written again."""

from agentgym import CheckStatus
from agentgym.verify.memory_evidence import File, MemoryTree, evidence
from agentgym.verify.planted import locked
from agentgym.verify.standing import retimed, stood

BEFORE = MemoryTree({"/srv/a": File(b"1", mtime_s=5.0), "/srv/sub/b": File(b"2", mtime_s=6.0)})


def test_a_file_with_another_time_is_named() -> None:
    after = MemoryTree({"/srv/a": File(b"1", mtime_s=5.0), "/srv/sub/b": File(b"2", mtime_s=7.0)})
    assert retimed(BEFORE, after, "/srv") == "/srv/sub/b"
    assert retimed(BEFORE, after, "/srv/sub/b") == "/srv/sub/b"
    assert retimed(BEFORE, after, "/srv/a") == ""


def test_new_and_missing_files_are_left_to_others() -> None:
    assert retimed(BEFORE, MemoryTree({"/srv/new": File(b"1", mtime_s=9.0)}), "/srv") == ""
    assert retimed(BEFORE, BEFORE, "/nowhere") == ""


def test_a_copy_of_a_file_is_not_the_file() -> None:
    same = evidence(before=BEFORE.entries, after=BEFORE.entries)
    assert stood(same, ["/srv/a"]).status == CheckStatus.PASS
    copied = evidence(before=BEFORE.entries, after={"/srv/a": File(b"1", mtime_s=7.0)})
    assert stood(copied, ["/srv/a"]).status == CheckStatus.FAIL
    assert "is gone" in stood(copied, ["/srv/sub/b"]).message


def test_a_lock_of_git_is_named() -> None:
    assert locked(MemoryTree({"/r/.git/HEAD": File(b"")}), "/r/.git") == ""
    assert locked(MemoryTree({"/r/.git/index.lock": File(b"")}), "/r/.git") == "/r/.git/index.lock"
    ref = "/r/.git/refs/heads/main.lock"
    assert locked(MemoryTree({ref: File(b"")}), "/r/.git") == ref
