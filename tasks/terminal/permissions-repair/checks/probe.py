"""Let the script repair a replica in a clean room, then look at it (`agentgym.verify.probing`).

What a folder of the replica hands down is observed here.
Once the script has run the probe ends everything else: what it then reads comes from the kernel,
not from tools that the script could have replaced.
"""

import contextlib
import hashlib
import os
import signal
import stat
import struct
import subprocess

EVERYTHING_ELSE = -1
# Only a script that hangs takes so long, on a busy machine too.
WALL_S = 90
# Where nothing is the script's, beside a log and scratch files.
WATCHED = ("/etc", "/home", "/opt", "/srv", "/usr/local", "/var")
# The tags of entries for a user and for a group that is named.
NAMED = (0x02, 0x08)


def repair(script, times):
    """Run the script, then end what it has left running; return its last complaint."""
    problem = ""
    for _ in range(times):
        try:
            done = subprocess.run(
                [script],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=WALL_S,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            problem = str(error)
            break  # the next time would be no better, and take as long
        if done.returncode:
            said = done.stdout.decode(errors="replace").strip().splitlines()
            problem = f"it exits with {done.returncode}: {' '.join(said[-1:])[:200]}"
    with contextlib.suppress(ProcessLookupError):  # where nothing else runs
        os.kill(EVERYTHING_ELSE, signal.SIGKILL)
    return problem


def outside(share):
    """Return what is on the machine beside the share and scratch folders, by path."""
    found = {}
    for top in WATCHED:
        for folder, folders, names in os.walk(top):
            if folder in (share, "/var/tmp", "/var/log"):
                folders.clear()
                continue
            for path in (folder, *(f"{folder}/{name}" for name in names)):
                with contextlib.suppress(OSError):
                    seen = os.lstat(path)
                    found[path] = [seen.st_mode, seen.st_uid, seen.st_gid]
                    if path != folder:
                        found[path] += [seen.st_size, seen.st_mtime_ns]
    return found


def contents(share):
    """Return what is not permissions, by path: kind, owner, group, and text and time of a file."""
    found = {}
    for folder, folders, names in os.walk(share):
        for path in (folder, *(f"{folder}/{name}" for name in folders + names)):
            with contextlib.suppress(OSError):
                seen = os.lstat(path)
                found[path] = [stat.S_IFMT(seen.st_mode), seen.st_uid, seen.st_gid]
                if stat.S_ISLNK(seen.st_mode):
                    found[path].append(os.readlink(path))
                if stat.S_ISREG(seen.st_mode):
                    with open(path, "rb") as file:
                        found[path] += [hashlib.sha256(file.read(2**20)).hexdigest()]
                    found[path] += [seen.st_size, seen.st_mtime_ns]
    return found


def rights(path):
    """Return [kind, mode]; with an ACL mask, the group bits are what the group really may."""
    try:
        mode = os.lstat(path).st_mode
        if stat.S_ISLNK(mode):
            return ["link", 0]
        if "system.posix_acl_access" in os.listxattr(path):
            acl = os.getxattr(path, "system.posix_acl_access")[4:]
            entries = {tag: may for tag, may, _ in struct.iter_unpack("<HHI", acl)}
            mode = mode & ~0o070 | (entries[0x04] & entries.get(0x10, 7)) << 3
    except OSError:
        return ["nothing", 0]
    kind = "dir" if stat.S_ISDIR(mode) else "file" if stat.S_ISREG(mode) else "other"
    return [kind, stat.S_IMODE(mode)]


def hands_down(path):
    """Whether a folder has a default ACL."""
    try:
        return "system.posix_acl_default" in os.listxattr(path, follow_symlinks=False)
    except OSError:
        return False


def admits_strangers(path):
    """Whether an access control list of a path names a user or a group beside owner and group."""
    for name in ("system.posix_acl_access", "system.posix_acl_default"):
        try:
            acl = os.getxattr(path, name, follow_symlinks=False)[4:]
        except OSError:
            continue
        if any(tag in NAMED for tag, _, _ in struct.iter_unpack("<HHI", acl)):
            return True
    return False


def inherited(folder, umask):
    """Create a file and a folder in a folder; return their rights."""
    os.umask(umask)
    file, sub = f"{folder}/.probe-{umask}", f"{folder}/.probe-{umask}.d"
    try:
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        os.mkdir(sub, 0o777)
    except OSError:
        return [["nothing", 0], ["nothing", 0]]
    found = [rights(file), rights(sub)]
    os.unlink(file)
    os.rmdir(sub)
    return found


def differing(before, after):
    """Return the first paths that are not as they were."""
    paths = before.keys() | after.keys()
    return sorted(path for path in paths if before.get(path) != after.get(path))[:3]


def answer(order):
    before, inside = outside(order["share"]), contents(order["share"])
    problem = repair(order["script"], order["times"])
    touched = differing(before, outside(order["share"]))
    altered = differing(inside, contents(order["share"]))
    listed = {path: rights(path) for path in order["list"]}
    made = [[*one, *inherited(*one)] for one in order["create"]]
    handing = [path for path in order["list"] if hands_down(path)]
    strangers = [path for path in order["list"] if admits_strangers(path)]
    return {
        "problem": problem,
        "touched": touched,
        "altered": altered,
        "listed": listed,
        "made": made,
        "handing": handing,
        "strangers": strangers,
    }
