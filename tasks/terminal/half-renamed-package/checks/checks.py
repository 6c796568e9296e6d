"""Use the package in a clean room: by its new name, by its old one, and as the partner does.

Whether two names give one object can only be told where the package's own code runs. So it is asked
of many pairs, of which some are one object and some are not, in an order that the sources decide.
"""

from __future__ import annotations

import ast
import hashlib
import json
import random
import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agentgym import CheckResult, CheckStatus, Evidence, FileTree, GuestFileError
from agentgym.verify.kept_lines import lost_lines
from agentgym.verify.probing import probe
from agentgym.verify.python_tests import asserting_tests

REMARK = "# Modules of formats, tried in this order."
APP = "/srv/app"
PROBE = Path(__file__).with_name("probe.py")
MOST_ENTRIES, MOST_BYTES = 500, 2**16
ACCOUNTS = ("Rent", "rent ", "Travel", "post", "POST", "paper")


def stands_alone(evidence: Evidence) -> CheckResult:
    """Without the old package the new command gives the right totals, whatever it is fed."""
    old, new = _names(evidence)
    rng = random.Random(f"half-renamed-package {evidence.params['seed']} hidden")
    entries = [(rng.choice(ACCOUNTS), _amount(rng)) for _ in range(40)]
    some, others = entries[:20], entries[20:]
    files = {
        "a.csv": "".join(f"{account};{amount}\n" for account, amount in some),
        "b.json": json.dumps({"marker": f"{old}/1", "entries": others}),
        "c.txt": "rent;1.00\n",
    }
    only = rng.sample(("rent", "travel", "post", "paper"), 2)
    call = ["-c", f"import sys; from {new}.cli import main; sys.exit(main())", "totals"]
    home, before = (
        {f"{new.upper()}_HOME": f"{APP}/config"},
        {f"{old.upper()}_HOME": f"{APP}/config"},
    )
    both = {**home, f"{old.upper()}_HOME": "/nonexistent"}
    runs = [
        (call, ["/tmp/a.csv"], home),
        (call, ["/tmp/b.json", "/tmp/a.csv"], both),
        (call, ["--only", ",".join(only), "/tmp/a.csv", "/tmp/b.json"], home),
        (call, ["/tmp/b.json"], before),
        (call, ["/tmp/a.csv", "/tmp/c.txt"], home),
    ]
    wanted = [
        _report(some, 24),
        _report(entries, 24),
        _report(entries, 24, only),
        _report(others, 24),
        "",
    ]
    seen = _probe(evidence, runs, files, without=f"{APP}/src/{old}")
    right = [n for n, one in enumerate(seen[:-1]) if (one["code"], one["out"]) == (0, wanted[n])]
    if seen[-1]["code"] not in (0, 124) and "c.txt" in seen[-1]["err"] and not seen[-1]["out"]:
        right.append(len(wanted) - 1)  # a file in no known format is refused, by its name
    wrong = next((one for n, one in enumerate(seen) if n not in right), None)
    message = f"{len(right)} of {len(wanted)} runs give what they should"
    if wrong:
        message += f"; one gave {wrong['out'][:120]!r} {wrong['err'][-160:]!r}"
    status = CheckStatus.FAIL if wrong else CheckStatus.PASS
    return CheckResult(status, message, len(right) / len(wanted))


def same_objects(evidence: Evidence) -> CheckResult:
    """The old name gives the objects of the new one, and importing it warns once."""
    old, new = _names(evidence)
    rng = random.Random(_digest(evidence))
    pairs = [(first, second) for first in _HOMES for second in _OBJECTS]
    alike = [pair for pair in pairs if _HOMES[pair[0]] == _HOMES[pair[1]]]
    asked = alike + rng.sample([pair for pair in pairs if pair not in alike], 8)
    rng.shuffle(asked)
    code = f"""
import importlib, warnings
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    importlib.import_module("{old}")
warned = sum(issubclass(one.category, DeprecationWarning) for one in told)
def found(package, name):
    module, _, member = name.rpartition(":")
    module = importlib.import_module((package + "." + module).rstrip("."))
    return getattr(module, member)
for first, second in {asked!r}:
    print(int(found("{old}", first) is found("{new}", second)), end="")
importlib.import_module("{old}.formats")
old, new = map(importlib.import_module, ("{old}", "{new}"))
version = getattr(old, "__version__", None) == new.__version__
homes = [found("{new}", name).__module__ for name in {_OBJECTS!r}]
print(warned, version, all(home.startswith("{new}.") for home in homes))
"""
    (seen,) = _probe(evidence, [(["-W", "ignore", "-c", code], [], {})], {})
    same = "".join(str(int(_HOMES[first] == _HOMES[second])) for first, second in asked)
    wanted = f"{same}1 True True\n"
    if seen["out"] == wanted and seen["code"] == 0:
        return CheckResult(CheckStatus.PASS, "the old name gives the new objects, and warns")
    return _fail(f"expected {wanted!r}, got {seen['out'][:200]!r} {seen['err']!r}")


def old_is_a_name(evidence: Evidence) -> CheckResult:
    """There is nothing in the old package but its name for the new one."""
    old, new = _names(evidence)
    top = f"{APP}/src"
    for path in _below(evidence.after, top):
        inside = path.removeprefix(f"{top}/")
        if "/__pycache__/" in path or ".egg-info/" in path:
            continue
        if inside.split("/")[0] == new:
            continue
        if inside.split("/")[0] != old or not path.endswith(".py"):
            return _fail(f"{path} is neither the package nor its old name")
        try:
            tree = ast.parse(_regular(evidence, path))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return _fail(f"{path} is no Python")
        if left := _own_code(tree):
            return _fail(f"{path} has code of its own: {left}")
    if evidence.after.stat(f"{top}/{old}", follow=False) is None:
        return _fail(f"there is no {old} any more")
    return CheckResult(CheckStatus.PASS, f"{old} is a name for {new}")


def _own_code(tree: ast.Module) -> list[str]:
    """Return the functions and classes of a module that do not help to lead to the new name.

    Those of the package are such by their names, and so are those that the module itself has no
    use for. Python calls functions such as ``__getattr__``.
    """
    made = [node for node in ast.walk(tree) if isinstance(node, _MADE)]
    named = {node.name for node in made} | _lambdas(tree)
    outer = {node.name for node in tree.body if isinstance(node, _MADE)} | _lambdas(tree)
    used = {
        node.id
        for part in tree.body
        for node in ast.walk(part)
        if isinstance(node, ast.Name)
        and isinstance(node.ctx, ast.Load)
        and node.id != getattr(part, "name", "")
    }
    idle = {name for name in outer - used if not re.fullmatch("__[a-z]+__", name)}
    return sorted(named & _CODE | idle)


def _lambdas(tree: ast.Module) -> set[str]:
    """Return the names that a module gives to functions without one."""
    given = [part for part in tree.body if isinstance(part, ast.Assign)]
    return {
        target.id
        for part in given
        if isinstance(part.value, ast.Lambda)
        for target in part.targets
        if isinstance(target, ast.Name)
    }


def records_kept(evidence: Evidence) -> CheckResult:
    """Changelog, decisions and tests are still there; each may have been added to."""
    old, new = _names(evidence)
    for name in ("CHANGELOG.md", "RENAME.md"):
        before = evidence.before.read(f"{APP}/{name}").decode()
        seen = _regular(evidence, f"{APP}/{name}").decode("utf-8", "replace")
        if lost := lost_lines(_ticked(before), _ticked(seen)):
            return _fail(f"{name} has lost {min(lost)!r:.80}")
    said = _regular(evidence, f"{APP}/config/default.toml").decode("utf-8", "replace")
    if REMARK not in said:
        return _fail(f"config/default.toml has lost {REMARK!r}")
    wanted = _toml(evidence, f"{APP}/config/default.toml", evidence.before)
    wanted["formats"] = [f"{new}.formats.csv_format", f"{new}.formats.json_format"]
    if not _holds(_toml(evidence, f"{APP}/config/default.toml"), wanted):
        return _fail("config/default.toml has other formats, order or settings than it had")
    source = _regular(evidence, f"{APP}/tests/test_store.py")
    test = source.decode("utf-8", "replace")
    if "test_totals" not in asserting_tests(source) or not (old in test or new in test):
        return _fail("tests/test_store.py does not test what it did")
    return CheckResult(CheckStatus.PASS, "changelog, decisions and tests are there")


def metadata(evidence: Evidence) -> CheckResult:
    """Commands and formats are declared under the new name; credit for the share that is."""
    old, new = _names(evidence)
    project = _toml(evidence, f"{APP}/pyproject.toml").get("project")
    project = project if isinstance(project, dict) else {}
    if project.get("name") != new:
        return _fail(f"the project's name is {project.get('name')!r:.60}")
    scripts, groups = project.get("scripts"), project.get("entry-points")
    groups = groups if isinstance(groups, dict) else {}
    before = _toml(evidence, f"{APP}/pyproject.toml", evidence.before)
    for key in ("name", "version", "scripts", "entry-points"):
        before["project"].pop(key, None)
    if not _holds(_toml(evidence, f"{APP}/pyproject.toml"), before):
        return _fail("something of pyproject.toml that the rename is not about has changed")
    old_modules = [v for v in _texts([scripts, groups]) if v.startswith(f"{old}.")]
    formats = {
        "csv": f"{new}.formats.csv_format:CsvFormat",
        "json": f"{new}.formats.json_format:JsonFormat",
    }
    right = {
        new: isinstance(scripts, dict) and scripts.get(new) == f"{new}.cli:main",
        old: isinstance(scripts, dict) and scripts.get(old) == f"{new}.cli:main",
        "formats": groups.get(f"{new}.formats") == formats and not old_modules,
    }
    named = [name for name, fits in right.items() if fits]
    status = CheckStatus.PASS if len(named) == len(right) else CheckStatus.FAIL
    return CheckResult(status, f"right are {named}", len(named) / len(right))


def usage(evidence: Evidence) -> CheckResult:
    """The documentation says what it said, of the new name."""
    old, _ = _names(evidence)
    seen = _regular(evidence, f"{APP}/docs/usage.md").decode("utf-8", "replace")
    wanted = evidence.gold("usage.md").decode()
    missing = set(wanted.split("\n")) - set(seen.split("\n"))
    if old in seen.lower() or missing:
        return _fail(
            f"{len(missing)} lines are not as they should be; the old name is in it: "
            f"{old in seen.lower()}"
        )
    return CheckResult(CheckStatus.PASS, "it speaks of the new name only")


def partner_works(evidence: Evidence) -> CheckResult:
    """The partner's script prints what it always did, on figures that it has not seen."""
    rng = random.Random(f"half-renamed-package {evidence.params['seed']} partner")
    entries = [(rng.choice(ACCOUNTS), _amount(rng)) for _ in range(25)]
    text = "".join(f"{account};{amount}\n" for account, amount in entries)
    (seen,) = _probe(evidence, [(["/srv/partner/monthly.py"], ["/tmp/p.csv"], {})], {"p.csv": text})
    if seen["code"] == 0 and seen["out"] == _report(entries, 16):
        return CheckResult(CheckStatus.PASS, "the partner's figures are right")
    return _fail(f"exit code {seen['code']}, {seen['out'][:120]!r} {seen['err']!r}")


_HOMES = {
    ":Store": "store",
    "store:Store": "store",
    "report:render": "report",
    "cli:main": "cli",
    "formats.csv_format:CsvFormat": "formats.csv_format",
}
_OBJECTS = tuple(_HOMES)[1:]
_MADE = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_CODE = {
    *("Store", "CsvFormat", "JsonFormat", "cents", "shown", "render", "main", "formats"),
    *("add", "totals", "read"),
}


def _amount(rng: random.Random) -> str:
    text = f"{rng.randint(0, 700)}.{rng.randint(0, 99):02d}"
    return rng.choice((text, text, f"({text})"))


def _report(
    entries: Sequence[tuple[str, str]], width: int, only: Sequence[str] | None = None
) -> str:
    totals: dict[str, int] = {}
    for account, amount in entries:
        cents = round(float(amount.strip("()")) * 100) * (-1 if "(" in amount else 1)
        name = account.strip().lower()
        totals[name] = totals.get(name, 0) + cents
    lines = []
    for name, cents in sorted(totals.items()):
        if only is None or name in only:
            shown = f"{'-' if cents < 0 else ''}{abs(cents) // 100}.{abs(cents) % 100:02d}"
            lines.append(f"{name:<{width}}{shown:>12}")
    return "\n".join(lines) + "\n"


def _probe(
    evidence: Evidence, runs: Sequence[object], files: dict[str, str], *, without: str = ""
) -> list[dict[str, Any]]:
    room = evidence.room([APP])
    for name, text in files.items():
        room.write(f"/tmp/{name}", text.encode())
    order = {"runs": runs, "without": without}
    answers: list[dict[str, Any]] = probe(room, PROBE, order, what=f"{APP}/src")
    return answers


def _below(tree: FileTree, top: str) -> list[str]:
    """Return the files and links below a folder. Raises GuestFileError where there are too many."""
    found = []
    for number, (path, stat) in enumerate(tree.walk(top)):
        if number == MOST_ENTRIES:
            raise GuestFileError(f"{top}: holds far more than it did")
        if stat.kind != "dir":
            found.append(path)
    return sorted(found)


def _ticked(text: str) -> str:
    """Return a text with all its boxes ticked: who ticks one has added to the text."""
    return re.sub(r"\[[ xX]\]", "[x]", text)


def _digest(evidence: Evidence) -> str:
    digest = hashlib.sha256()
    for path in _below(evidence.after, f"{APP}/src"):
        stat = evidence.after.stat(path, follow=False)
        if stat is not None and stat.kind == "file" and path.endswith(".py"):
            digest.update(evidence.after.read(path, max_bytes=MOST_BYTES))
    return digest.hexdigest()


def _holds(seen: Any, wanted: Any) -> bool:
    """Whether a document has what another has, and maybe more."""
    if isinstance(wanted, dict) and isinstance(seen, dict):
        return all(_holds(seen.get(key), value) for key, value in wanted.items())
    return bool(seen == wanted)


def _texts(value: Any) -> list[str]:
    """Return every text in a document."""
    if isinstance(value, dict):
        return [text for part in value.values() for text in _texts(part)]
    if isinstance(value, list):
        return [text for part in value for text in _texts(part)]
    return [value] if isinstance(value, str) else []


def _toml(evidence: Evidence, path: str, tree: FileTree | None = None) -> dict[str, Any]:
    data = _regular(evidence, path) if tree is None else tree.read(path)
    try:
        return tomllib.loads(data.decode())
    except (ValueError, RecursionError) as error:
        raise GuestFileError(f"{path}: is no TOML: {error}") from None


def _regular(evidence: Evidence, path: str) -> bytes:
    stat = evidence.after.stat(path, follow=False)
    if stat is None or stat.kind != "file":
        raise GuestFileError(f"{path}: is {stat.kind if stat else 'not there'}, expected a file")
    return evidence.after.read(path, max_bytes=MOST_BYTES)


def _names(evidence: Evidence) -> tuple[str, str]:
    return str(evidence.params["old"]), str(evidence.params["new"])


def _fail(message: str) -> CheckResult:
    return CheckResult(CheckStatus.FAIL, message)
