"""From recipes to plans: what changes a digest, and what is said of mistakes. Nothing is built."""

from __future__ import annotations

import os
import platform
import re
import tarfile
from pathlib import Path

import pytest
from tiny_images import add

from agentgym.errors import AgentGymError, NotFoundError, SandboxError
from agentgym.sandbox.build.plan import Debootstrap, Pull, Run
from agentgym.sandbox.recipe import load_plan, load_recipe

FILES = 'image = "x:1"\n[[files]]\nsource = "data"\ntarget = "/data"\n'


def test_a_recipe_in_order(recipes):
    folder = recipes(
        "all",
        'run = ["make it"]\npip = ["httpx"]\napt = ["git", "curl"]\nuser = "app"\nports = [80]\n'
        'network = "allowlist"\nallow = ["pypi.org"]\nworkdir = "/app"\nhostname = "box"\n'
        'debootstrap = { suite = "bookworm" }\n[env]\nA = "1"\n'
        '[[files]]\nsource = "f"\ntarget = "/f"\n'
        '[[services]]\nname = "web"\ncommand = "serve"\nhealth = "ask"\ntimeout_s = 5\n'
        "[limits]\nmemory_mb = 100\n",
    )
    (folder / "f").touch()
    plan = load_plan("all")
    assert [step.title for step in plan.steps] == [
        "debootstrap bookworm",
        "apt git curl",
        "pip httpx",
        "env",
        "files f",
        "run make it",
        "user and workdir",
    ]
    assert plan.steps[0].action == Debootstrap("bookworm", "minbase", "")
    recipe = load_recipe("all")
    assert recipe.image == plan.name
    assert recipe.limits.memory_mb == 100 and recipe.hostname == "box"
    (service,) = recipe.services
    assert (service.name, service.command, service.health, service.timeout_s) == (
        "web",
        "serve",
        "ask",
        5.0,
    )
    assert (recipe.network, recipe.allow, recipe.ports) == ("allowlist", ("pypi.org",), (80,))


def test_the_host_has_no_plan():
    assert load_plan("host") is None
    assert load_recipe("host").image == ""


def test_package_names_are_no_shell(recipes):
    recipes("sly", 'image = "x:1"\napt = ["git; rm -rf /"]\npip = ["a b"]\n')
    apt, pip = (step.action for step in load_plan("sly").steps[1:])
    assert isinstance(apt, Run) and "'git; rm -rf /'" in apt.script
    assert isinstance(pip, Run) and "'a b'" in pip.script


def digests(name):
    return [step.digest for step in load_plan(name).steps]


@pytest.mark.parametrize(
    ("change", "same"),
    [
        (lambda f: (f / "data").write_text("other"), 1),
        (lambda f: (f / "data").chmod(0o600), 1),
        (lambda f: os.utime(f / "data", (1, 1)), 3),
        (lambda f: (f / "unused").write_text("x"), 3),
        (lambda f: recode(f, '"a"', '"b"'), 3),
        (lambda f: recode(f, "true", "false"), 2),
        (lambda f: recode(f, "x:1", "x:2"), 0),
    ],
)
def test_what_changes_which_steps(recipes, change, same):
    text = (
        'image = "x:1"\nrun = ["true"]\nhostname = "a"\n[[files]]\nsource = "data"\ntarget = "/d"\n'
    )
    folder = recipes("r", text)
    (folder / "data").write_text("some")
    (folder / "data").chmod(0o644)
    before = digests("r")
    assert len(set(before)) == 3
    change(folder)
    assert [a == b for a, b in zip(before, digests("r"), strict=True)] == [
        number < same for number in range(3)
    ]


def recode(folder, old, new):
    file = folder / "recipe.toml"
    file.write_text(file.read_text().replace(old, new))


def test_the_place_of_a_recipe_does_not_matter(recipes, tmp_path, monkeypatch):
    (recipes("r", FILES) / "data").write_text("x")
    before = digests("r")
    (tmp_path / "catalogue").rename(tmp_path / "moved")
    monkeypatch.setenv("AGENTGYM_PATH", str(tmp_path / "moved"))
    assert digests("r") == before


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("imagee = 'x'\n", 3, "imagee: unknown field 'imagee'; did you mean 'image'?"),
        ("", 1, "expected one of base, image, debootstrap, archive, dockerfile"),
        ("image = 'x'\nbase = 'host'\n", 1, "got base and image"),
        (
            "base = 'host'\napt = ['git']\n",
            1,
            "builds nothing, so there can be no 'apt'",
        ),
        ("image = 'x'\nallow = ['a.org']\n", 1, "'allow' needs network = "),
        ("image = 'x'\nports = [0]\n", 1, "expected ports from 1 to 65535, got 0"),
        ("image = 'x'\nnetwork = 'all'\n", 4, "network: expected 'none', 'allowlist' or 'open'"),
        ("image = 'x'\nworkdir = 'app'\n", 4, "workdir: "),
        ("image = 'x'\n[[files]]\nsource = 'a'\ntarget = 'b'\n", 6, "files.0.target: "),
        (
            "image = 'x'\n[[files]]\nsource = 'no'\ntarget = '/b'\n",
            4,
            "nothing in .* called 'no'",
        ),
        (
            "image = 'x'\n[[files]]\nsource = '../x'\ntarget = '/b'\n",
            4,
            "'../x' leaves the",
        ),
        (
            "image = 'x'\n[[files]]\nsource = 'out'\ntarget = '/b'\n",
            4,
            "'out' is a link that",
        ),
        ("archive = 'none.tar'\n", 3, "none.tar cannot be read: No such file .*docker save"),
        ("base = 'tools'\n", 3, "recipe 'tools' is the host's own programs"),
        ("dockerfile = 'Dockerfle'\n", None, "Dockerfle: cannot be read"),
        ("dockerfile = '../Dockerfile'\n", None, "leaves the recipe's folder"),
        ("debootstrap = { suite = 'a b' }\n", 3, "debootstrap.suite: "),
        ("debootstrap = { suite = 'a', mirorr = 'b' }\n", 3, "did you mean 'mirror'"),
    ],
)
def test_mistakes_in_a_recipe(recipes, text, line, said):
    recipes("tools", 'base = "host"\n')
    folder = recipes("wrong", text)
    (folder / "out").symlink_to("/etc/passwd")
    with pytest.raises(SandboxError) as caught:
        load_recipe("wrong")
    message = str(caught.value)
    assert re.search(said, message), message
    if line is not None:
        assert message.startswith(f"catalogue/sandboxes/wrong/recipe.toml:{line}: ")


def test_recipes_on_recipes(recipes):
    recipes("below", 'image = "x:1"\n')
    recipes("above", 'base = "below"\napt = ["git"]\n')
    assert load_plan("above").steps[:1] == load_plan("below").steps
    recipes("typo", 'base = "belw"\n')
    with pytest.raises(NotFoundError, match="did you mean 'below'"):
        load_plan("typo")


def test_a_recipe_that_builds_on_itself(recipes):
    recipes("a", 'base = "b"\n')
    recipes("b", 'dockerfile = "Dockerfile"\n', Dockerfile="FROM a\n")
    with pytest.raises(SandboxError, match="recipe 'a' builds on itself: a → b → a"):
        load_plan("a")


def test_what_an_import_writes_beside_files_is_no_part_of_a_recipe(recipes):
    folder = recipes("a", FILES)
    (folder / "data").mkdir()
    (folder / "data" / "program.py").write_text("")
    before = load_plan("a").name
    (folder / "data" / "__pycache__").mkdir()
    (folder / "data" / "__pycache__" / "program.cpython-311.pyc").write_bytes(b"0")
    assert load_plan("a").name == before
    (folder / "data" / "other.py").write_text("")
    assert load_plan("a").name != before


# --- Dockerfiles -----------------------------------------------------------------------------


def plan_of(recipes, text, **files):
    recipes("d", 'dockerfile = "Dockerfile"\n', Dockerfile=text, **files)
    return load_plan("d")


def test_from_an_image_or_a_recipe(recipes):
    recipes("mine", 'image = "x:1"\napt = ["git"]\n')
    assert plan_of(recipes, "FROM mine").name == load_plan("mine").name
    for reference in ("mine:1", "other/mine", "unknown", "ubuntu:24.04"):
        (step,) = plan_of(recipes, f"FROM {reference}").steps
        assert step.action == Pull(reference)


def test_arguments_before_and_after_from(recipes):
    text = "ARG V=12\nFROM debian:$V\nARG V\nARG W=${V}-x\nENV W2=$W V=13\nRUN a\nLABEL a=b c='d e'"
    plan = plan_of(recipes, text)
    assert plan.steps[0].action == Pull("debian:12")
    run = next(step.action for step in plan.steps if isinstance(step.action, Run))
    # ENV wins over an argument of the same name.
    assert run.env == {"W": "12-x"}
    assert plan.steps[-1].action.other == {"Labels": {"a": "b", "c": "d e"}}


def test_what_docker_knows_without_being_told(recipes):
    text = "FROM x:1\nARG TARGETARCH\nARG TARGETPLATFORM\nARG TARGETOS=none\nRUN a\n"
    run = plan_of(recipes, text).steps[-1].action
    machine = {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]
    expected = {"TARGETARCH": machine, "TARGETPLATFORM": f"linux/{machine}", "TARGETOS": "none"}
    assert run.env == expected


def test_lines_of_the_dockerfile_are_named(recipes):
    plan = plan_of(recipes, "FROM x:1\n\n# c\nRUN a \\\n b\nRUN c\n")
    assert [step.where for step in plan.steps] == [
        f"catalogue/sandboxes/d/Dockerfile:{line}" for line in (1, 4, 6)
    ]


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("RUN a\n", 1, "expected FROM first, got RUN"),
        ("# nothing\n", 1, "expected FROM, got no instruction"),
        ("FROM a:1\nFROM b:1\n", 2, r"a second FROM .* is not supported"),
        ("FROM --platform=linux/s390x a:1\n", 1, "platform linux/s390x is not supported"),
        ("FROM a:1\nRUNN x\n", 2, "RUNN is not supported; did you mean RUN?"),
        ("FROM a:1\nONBUILD RUN x\n", 2, "ONBUILD is not supported; "),
        ("FROM a:1\nONBUILD RUN x\n", 2, "ONBUILD is not supported; "),
        ("FROM a:1\nRUN --mount=type=secret,id=x a\n", 2, "RUN --mount=type=secret,id=x is not"),
        ("FROM a:1\nCOPY --from=b /x /y\n", 2, "COPY --from"),
        ("FROM a:1\nCOPY --frm=b /x /y\n", 2, "COPY --frm is not supported; known: --chown"),
        ("FROM a:1\nCOPY a b /y\n", 2, "several files go to /y: end it with a /"),
        ("FROM a:1\nCOPY a\n", 2, "expected COPY source target"),
        ("FROM a:1\nCOPY ../a /y\n", 2, "'../a' leaves the recipe's folder"),
        ("FROM a:1\nCOPY nothing /y\n", 2, "is called 'nothing'"),
        ("FROM a:1\nCOPY recipe.toml /y\n", 2, "is called 'recipe.toml'"),
        ("FROM a:1\nCOPY --chmod=u+x a /y\n", 2, "expected a mode such as 0755"),
        ("FROM a:1\nCOPY <<E /y\nx\nE\n", 2, "use RUN cat"),
        ("FROM a:1\nADD https://a.org/x /y\n", 2, "use RUN curl"),
        ("FROM a:1\nADD a.tar.gz /y\n", 2, "ADD would unpack a.tar.gz"),
        ("FROM a:1\nENV 1=2\n", 2, "expected ENV name=value, got '1'"),
        ("FROM a:1\nENV A='x\n", 2, "a ' is not closed"),
        ("FROM a:1\nSHELL bash\n", 2, "expected SHELL"),
        ("FROM a:1\nEXPOSE http\n", 2, "expected ports such as 8080"),
        ("FROM a:1\nWORKDIR\n", 2, "WORKDIR says nothing"),
        ("FROM a:1\nRUN <<E\nx\n", 2, "has no end"),
    ],
)
def test_mistakes_in_a_dockerfile(recipes, text, line, said):
    with pytest.raises(SandboxError) as caught:
        plan_of(recipes, text, a="1", b="2", **{"a__tar__gz": ""})
    message = str(caught.value)
    assert message.startswith(f"catalogue/sandboxes/d/Dockerfile:{line}: "), message
    assert re.search(said, message), message


def test_cache_mounts_healthchecks_and_legacy_env_are_understood(recipes):
    plan = plan_of(
        recipes,
        "FROM a:1\nRUN --mount=type=cache,target=/c x\nHEALTHCHECK CMD y\nENV A b c\n"
        'SHELL ["/bin/bash", "-c"]\nUSER 1000:1000\nENTRYPOINT z\n',
    )
    assert [step.title.split()[0] for step in plan.steps] == [
        "FROM", "RUN", "ENV", "SHELL", "USER", "ENTRYPOINT",
    ]  # fmt: skip
    assert plan.steps[2].action.env == (("A", "b c"),)
    assert plan.steps[5].action.other == {"Entrypoint": ["/bin/sh", "-c", "z"]}


IGNORED = ["a/b.log", "a/deep/c.log", "x.bak", "keep/x.bak", "secret/key", "z1", "z2", "a/b.txt"]


@pytest.mark.parametrize(
    ("rules", "left"),
    [
        ("", IGNORED),
        ("*.bak", ["a/b.log", "a/deep/c.log", "keep/x.bak", "secret/key", "z1", "z2", "a/b.txt"]),
        ("**/*.log\n# c\n\n/x.bak", ["keep/x.bak", "secret/key", "z1", "z2", "a/b.txt"]),
        ("*\n!keep", ["keep/x.bak"]),
        ("secret\nz?\na/*.log", ["a/deep/c.log", "x.bak", "keep/x.bak", "a/b.txt"]),
        ("**/b.*\n!a/b.txt", [n for n in IGNORED if n != "a/b.log"]),
        ("z[12]\n!z2", [n for n in IGNORED if n != "z1"]),
        ("z[^2]\n\\x.bak\nz\\*", [n for n in IGNORED if n not in ("z1", "x.bak")]),
    ],
)
def test_dockerignore(recipes, rules, left):
    """Expected values after Docker's reference, "dockerignore files"."""
    folder = recipes("d", 'dockerfile = "Dockerfile"\n', Dockerfile="FROM scratch\nCOPY . /\n")
    for name in IGNORED:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    (folder / ".dockerignore").write_text(rules)
    files = {f.name for f in load_plan("d").steps[1].action.files if f.path.is_file()}
    assert files - {".dockerignore", "Dockerfile"} == set(left)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ENV A=aaaaaaaa\n" + "ENV A=$A$A\n" * 40, "becomes longer than 131072 characters"),
        ("ARG A=aaaaaaaa\n" + "ARG A=$A$A\n" * 40, "becomes longer than 131072 characters"),
        ("EXPOSE 1\n" * 1_001, "more than 1000 instructions"),
        ("ENV " + " ".join(f"a{n}=b" for n in range(1_001)) + "\n", "more than 1000 variables"),
        (f"COPY {'*/' * 40}x /x\n", "matches more than 100000 names"),
        ("COPY holes /x\n", "more than the 1024 MiB"),
        (f"COPY {'[' * 100_000} /x\n", "more than 1000 characters"),
        ("COPY many/ /x\n", "1001 patterns"),
    ],
)
@pytest.mark.timeout(60)  # each of them once went on for ever, or until the memory was full
def test_a_dockerfile_of_a_stranger_is_read_within_bounds(recipes, text, said):
    folder = recipes("bound", 'dockerfile = "Dockerfile"\n', Dockerfile=f"FROM scratch\n{text}")
    for number in range(20):
        (folder / f"l{number}").symlink_to(".")
    (folder / "many").mkdir()
    with (folder / "holes").open("wb") as file:
        file.truncate(1 << 42)
    if "many" in text:
        (folder / ".dockerignore").write_text("x\n" * 1_001)
    with pytest.raises(SandboxError, match=said):
        load_plan("bound")


@pytest.mark.timeout(60)  # a pattern that backtracks takes years for these
@pytest.mark.parametrize(
    "pattern", ["**/" * 30 + "q", "*a" * 100 + "b", "**a" * 60 + "/q", "[z-a]"]
)
def test_a_dockerignore_of_a_stranger_takes_no_time(recipes, pattern):
    folder = recipes("d", 'dockerfile = "Dockerfile"\n', Dockerfile="FROM scratch\nCOPY . /\n")
    deep = folder.joinpath(*"a" * 60)
    deep.mkdir(parents=True)
    (deep / ("a" * 200)).touch()
    (folder / ".dockerignore").write_text(pattern)
    assert len(load_plan("d").steps[1].action.files) > 60


def test_an_archive_counts_by_content(recipes):
    folder = recipes("a", 'archive = "a.tar"\n')
    seen = []
    for body in (b"one", b"one", b"two"):
        with tarfile.open(folder / "a.tar", "w") as archive:
            add(archive, "x", body)
        seen.append(load_plan("a").name)
    assert seen[0] == seen[1] != seen[2]


def test_recipes_that_are_shipped_can_be_planned(monkeypatch, tmp_path):
    monkeypatch.setenv("AGENTGYM_CACHE", str(tmp_path))
    for name in ("debian", "python", "node"):
        try:
            assert load_recipe(name).image == load_plan(name).name
        except AgentGymError as error:
            pytest.fail(str(error))


def test_the_recipe_that_the_page_shows(recipes):
    page = (Path(__file__).parents[3] / "docs/recipes.md").read_text()
    (shown,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    folder = recipes("shop", "")
    (folder / "recipe.toml").write_text(shown)
    (folder / "conf").mkdir()
    recipe = load_recipe("shop")
    assert recipe.user == "shop" and recipe.services[0].name == "web"
    for line in ("image", "debootstrap", "archive", "dockerfile"):
        (other,) = re.findall(rf"^# ({line} = .*?)  +#", shown, re.MULTILINE)
        (folder / "image.tar").touch()
        (folder / "Dockerfile").write_text("FROM debian:13\n")
        (folder / "recipe.toml").write_text(shown.replace('base = "debian"', other))
        assert load_recipe("shop").image != recipe.image
