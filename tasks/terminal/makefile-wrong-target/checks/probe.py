"""Use the repaired Makefile inside a clean room and say what was seen.

The scenarios (`agentgym.verify.probing`) are default, parallel and used; the last one stands for
those that begin with the checkout as one build left it. That build is made once, kept in this
process and put back before each of them.
"""

import hashlib
import os
import shutil
import signal
import subprocess

WORK = "/srv/handbook"
# Only a make that hangs takes so long, on a busy machine too.
MAKE_S = 60
# What the build makes, and what its writers keep beside it.
BUILT = ("./build/", "./dist/", "./check.log")
WRITERS = ("notes.txt", "VERSION.bak", "pages/draft.md~", "writers.log", "drafts/plan.md", ".todo")


# --- the checkout --------------------------------------------------------------------------


def clean():
    """Begin as in a fresh clone."""
    os.chdir(WORK)
    for folder in ("build", "dist"):
        shutil.rmtree(folder, ignore_errors=True)


def built():
    """Begin with a site that `make all` built in a fresh clone a minute ago."""
    clean()
    make("all")
    age()


class Checkout:
    """The files of the checkout as they are now, in memory; links stay links."""

    def __init__(self):
        self.entries = []
        for folder, folders, files in os.walk("."):
            for name in sorted(folders + files):
                path = os.path.join(folder, name)
                self.entries.append((path, os.lstat(path), self.content(path)))

    @staticmethod
    def content(path):
        if os.path.islink(path):
            return os.readlink(path)
        if os.path.isfile(path):
            with open(path, "rb") as file:
                return file.read()
        return None

    def restore(self):
        """Remove what there is and lay everything down as it was, times included."""
        for entry in list(os.scandir(".")):
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path)
            else:
                os.unlink(entry.path)
        for path, _, content in self.entries:
            if isinstance(content, str):
                os.symlink(content, path)
            elif content is None:
                os.makedirs(path, exist_ok=True)
            else:
                with open(path, "wb") as file:
                    file.write(content)
        for path, status, content in reversed(self.entries):
            if not isinstance(content, str):
                os.chmod(path, status.st_mode & 0o7777)
            times = (status.st_atime_ns, status.st_mtime_ns)
            os.utime(path, ns=times, follow_symlinks=False)


def age():
    """Move all times a minute into the past, so that the next change is newer for certain."""
    for folder, _, files in os.walk("."):
        for path in [folder] + [os.path.join(folder, file) for file in files]:
            status = os.lstat(path)
            times = (status.st_atime_ns, status.st_mtime_ns - 60 * 10**9)
            os.utime(path, ns=times, follow_symlinks=False)


def replace(path, old, new):
    """Replace a text in a file; a file that is not there is made of the new text."""
    text = ""
    if os.path.exists(path):
        with open(path) as file:
            text = file.read()
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    assert old in text, f"{path} has no {old!r}"
    with open(path, "w") as file:
        file.write(text.replace(old, new))


# --- what there is -------------------------------------------------------------------------


def make(*arguments):
    """Run make; return its exit code and the end of what it said.

    Raises:
        subprocess.TimeoutExpired: It did not end.
    """
    running = subprocess.Popen(
        ["/usr/bin/make", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        said, _ = running.communicate(timeout=MAKE_S)
    except subprocess.TimeoutExpired:
        os.killpg(running.pid, signal.SIGKILL)
        running.wait()
        raise
    return {"exit": running.returncode, "said": said.decode(errors="replace")[-200:]}


def files(top):
    """Return the paths of all files and links below a folder."""
    return [os.path.join(folder, name) for folder, _, names in os.walk(top) for name in names]


def digest(path):
    """Return a file's SHA-256, or None if there is no such file."""
    try:
        with open(path, "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()
    except OSError:
        return None


def site(profile):
    """Return the digests of the files of a site, those its SHA256SUMS claims, and what -c says."""
    top, files, listed, agrees = f"dist/{profile}", {}, {}, None
    for folder, _, found in os.walk(top):
        for name in found:
            path = os.path.join(folder, name)
            files[os.path.relpath(path, top)] = digest(path)
    if files.pop("SHA256SUMS", None):
        with open(f"{top}/SHA256SUMS", errors="replace") as file:
            for line in file:
                claim, _, path = line.strip().partition(" ")
                listed[os.path.normpath(path.lstrip(" *"))] = claim
        argv = ["/usr/bin/sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"]
        agrees = subprocess.run(argv, cwd=top, capture_output=True, timeout=MAKE_S).returncode
    return {"files": files, "listed": listed, "agrees": agrees}


def default(_):
    clean()
    return {**make(), **site("production")}


def profiles(_):
    make("PROFILE=staging")
    return {profile: site(profile)["files"] for profile in ("production", "staging")}


def changes(order):
    seen = {}
    for item in order["edits"]:
        replace(*item["edit"])
        make("all")
        seen[item["what"]] = digest(f"dist/production/{item['shows']}")
        age()
    return seen


def settled(order):
    question = make("-q", "all")["exit"]
    replace(*order["rename"])
    pages = [path for path in site("production")["files"] if path.endswith(".html")]
    times = {path: os.stat(f"dist/production/{path}").st_mtime_ns for path in pages}
    make("all")
    again = [p for p, time in times.items() if os.stat(f"dist/production/{p}").st_mtime_ns != time]
    return {"question": question, "again": again, "search": digest("dist/production/search.json")}


def targets(order):
    """Use what the Makefile offers beside the site: fragments, the preview, and clean."""
    kept = sum(name.endswith(".frag") for _, _, names in os.walk("build") for name in names)
    shutil.rmtree("dist", ignore_errors=True)
    preview = {**make("preview"), "index": digest("dist/staging/index.html")}
    with open("check.log", "w"):
        pass
    for path in WRITERS:
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        with open(path, "w") as file:
            file.write("not built\n")
    sources = [path for path in files(".") if not path.startswith(BUILT)]
    cleaned = make("clean")["exit"]
    left = [name for name in ("build", "dist", "check.log") if os.path.lexists(name)]
    lost = sorted({*sources} - {*files(".")} - {*order["made"]})
    return {"fragments": kept, "preview": preview, "clean": cleaned, "left": left, "lost": lost}


def parallel(_):
    clean()
    return {**make("-j8", "dist/production/SHA256SUMS"), **site("production")}


def broken_page(_):
    replace("pages/travel.md", "{{portal}}", "{{portla}}")
    exits = [make("all")["exit"], make("all")["exit"]]
    replace("pages/travel.md", "{{portla}}", "{{portal}}")
    return {"exits": exits, "repaired": make("all")["exit"]}


def dead_link(_):
    good = make("check")
    age()
    replace("pages/travel.md", "/expenses.html", "/expanses.html")
    return {**good, "dead": make("check")["exit"]}


USES = (settled, broken_page, dead_link, profiles, targets, changes)


def used(order):
    """Return what each use of a built checkout shows, or why it could not be finished."""
    before = files(WORK)
    built()
    order["made"] = [path for path in files(".") if f"{WORK}{path[1:]}" not in before]
    checkout, seen = Checkout(), {}
    for use in USES:
        try:
            seen[use.__name__] = use(order)
        except (OSError, AssertionError, subprocess.TimeoutExpired) as problem:
            seen[use.__name__] = {"problem": str(problem)[-300:]}
        checkout.restore()
    return seen


SCENARIOS = (default, parallel, used)


def answer(order):
    scenario = next(one for one in SCENARIOS if one.__name__ == order["scenario"])
    return scenario(order)
