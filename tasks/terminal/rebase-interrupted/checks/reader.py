"""Ask git about the two repositories in a clean room (`agentgym.verify.probing`).

Nothing of the agent's is executed: configuration, hooks, attributes and replacement refs are gone
before git is asked.
"""

import os
import shutil
import subprocess

STRANGE = ("commondir", "gitdir", "info", "hooks", "config", "config.worktree")
FORMATS = b"[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = %s\n"
MOST_COMMITS = 60
MOST_FILES = 200
MOST_CHARS = 25_000
ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "LC_ALL": "C.UTF-8",
}


class Repository:
    def __init__(self, folder, work=""):
        for name in STRANGE:
            path = f"{folder}/{name}"
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path)
            elif os.path.lexists(path):
                os.unlink(path)
        with open(f"{folder}/config", "wb") as file:
            file.write(FORMATS % (b"false" if work else b"true"))
        self.env = {**ENVIRONMENT, "GIT_DIR": folder}
        self.cwd = work or "/"
        if work:
            self.env["GIT_WORK_TREE"] = work

    def run(self, *words, given=""):
        """Return what git prints; nothing if it fails."""
        return self.bytes(*words, given=given).decode("utf-8", "replace")

    def bytes(self, *words, given=""):
        argv = ["/usr/bin/git", "-c", "core.fsmonitor=false", *words]
        done = subprocess.run(
            argv,
            cwd=self.cwd,
            env=self.env,
            input=given.encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        return done.stdout if done.returncode == 0 else b""

    def texts(self, ref, names):
        """Return the text of each file of a ref; nothing if it is not there."""
        given = "".join(f"{ref}:{name}\n" for name in names)
        told = self.bytes("cat-file", "--batch=%(objectname) %(objectsize) end", given=given)
        found, at = {}, 0
        for name in names:
            line = told[at : told.find(b"\n", at)]
            at += len(line) + 1
            found[name] = ""
            if line.endswith(b" end"):
                size = int(line.split()[1])
                found[name] = told[at : at + size][:MOST_CHARS].decode("utf-8", "replace")
                at += size + 1
        return found

    def refs(self):
        """Return the commit of each ref that leads to one which is there, with its history."""
        listed = self.run("for-each-ref", "--format=%(objectname) %(refname)")
        found = {}
        for line in listed.splitlines()[:100]:
            commit, _, ref = line.partition(" ")
            if self.run("rev-list", "--objects", "--count", commit):
                found[ref] = commit
        return found


def log(git, branch, main):
    if git.run("rev-list", "--count", main, f"^{branch}").strip() != "0":
        return None
    form = "--format=%P%x00%an <%ae>%x00%s%x00%H"
    told = git.run("log", "--topo-order", "--reverse", f"-{MOST_COMMITS}", form, branch, f"^{main}")
    commits = [line.split("\0") for line in told.splitlines()]
    return [[c[0].split(), c[1], c[2], touched(git, c[3])] for c in commits]


def touched(git, commit):
    """Return the paths that a commit changes."""
    told = git.run("diff-tree", "--root", "--no-commit-id", "--name-only", "-r", "-z", commit)
    return sorted(filter(None, told.split("\0")))[:MOST_FILES]


def tree(git, ref):
    """Return mode and object by path."""
    found = {}
    for entry in git.run("ls-tree", "-r", "-z", ref).split("\0")[:MOST_FILES]:
        told, _, path = entry.partition("\t")
        if path:
            found[path] = told
    return found


def answer(order):
    work = Repository(f"{order['work']}/.git", order["work"])
    remote = Repository(order["remote"])
    branch = order["branch"]
    hidden = [line for line in work.run("ls-files", "-v").splitlines() if line[0] != "H"]
    told = work.run("status", "--porcelain", "--branch", "--no-renames", "--untracked-files=all")
    branch_line, _, status = told.partition("\n")
    if not branch_line:
        status = "git status fails"
    test = "tests/test_child.py"
    facts = {
        "here": work.refs(),
        "there": remote.refs(),
        "log": log(work, branch, order["main"]),
        "files": work.texts(branch, order["files"]),
        "test": remote.texts(branch, [test])[test],
        "status": (status + "\n".join(hidden))[:1_000],
        "head": work.run("symbolic-ref", "--quiet", "HEAD").strip(),
        "tree": tree(work, branch),
        "main_tree": tree(work, order["main"]),
    }
    return facts
