"""Runs in the sandbox before the tests: unpacks the toolkit, clears the places of the tests."""

import os
import shutil
import sys
import tarfile


def main():
    root = os.path.dirname(os.path.abspath(__file__))
    if len(sys.argv) > 1:
        logs, *others = sys.argv[1:]
        for path in (logs, *others):
            clear(path)
        os.makedirs(logs)
        # The tests may run as a user who is not root.
        os.chmod(logs, 0o777)
        return
    os.makedirs(f"{root}/site", exist_ok=True)
    with open(f"{root}/pytest.ini", "w") as file:
        file.write("[pytest]\n")
    unpack(f"{root}/site.tar", f"{root}/site")
    os.rename(f"{root}/agentgym_ctrf.py", f"{root}/site/agentgym_ctrf.py")
    if os.path.exists(f"{root}/additions.tar"):
        unpack(f"{root}/additions.tar", "/")


def unpack(archive, target):
    """Unpack an archive of ours; what stands in a file's place goes."""
    with tarfile.open(archive, "r:") as packed:
        for member in packed:
            path = os.path.join(target, member.name)
            if not member.isdir() and os.path.lexists(path):
                clear(path)
            # By number: a FIFO in the place of /etc/passwd would stop a look-up of names.
            packed.extract(member, target, numeric_owner=True)
    os.unlink(archive)


def clear(path):
    """Remove whatever is at a path, and nothing that it points to."""
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.unlink(path)


main()
