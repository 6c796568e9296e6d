"""What a person reads when a TOML file of theirs is wrong, and that right ones are read exactly."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field, StringConstraints

from agentgym.errors import SandboxError, TaskError
from agentgym.manifest import LimitsManifest, Manifest, load_toml, locate, read_text
from agentgym.records import Limits


class Node(Manifest):
    id: str
    weight: float = 1.0
    arguments: dict[str, int] = Field(default_factory=dict, alias="with")
    nodes: tuple[Node, ...] = Field(default=(), alias="node")


class Document(Manifest):
    title: Annotated[str, StringConstraints(min_length=1)]
    level: Literal["easy", "hard"] = "easy"
    count: int = 1
    ratio: float | None = None
    ready: bool = False
    tags: tuple[str, ...] = ()
    limits: LimitsManifest = LimitsManifest()
    names: dict[Annotated[str, StringConstraints(pattern="^[a-z]+$")], Node] = Field(
        default_factory=dict
    )
    nodes: tuple[Node, ...] = Field(default=(), alias="node")


def complaint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | bytes) -> str:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "x" / "doc.toml"
    path.parent.mkdir()
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(TaskError) as caught:
        load_toml(path, Document, TaskError)
    return str(caught.value)


def test_a_right_file_is_read_with_its_types(tmp_path: Path) -> None:
    path = tmp_path / "doc.toml"
    path.write_text(
        'title = "é"\nratio = 3\ntags = ["a", "b"]\nlimits.pids = 64\n'
        '[[node]]\nid = "one"\nwith = { k = 2 }\n[[node.node]]\nid = "two"\n'
    )
    document = load_toml(path, Document, TaskError)
    assert document.title == "é"
    assert document.ratio == 3.0
    assert document.tags == ("a", "b")
    assert document.limits.over(Limits()) == Limits(pids=64)
    assert document.nodes[0].arguments == {"k": 2}
    assert document.nodes[0].nodes[0].id == "two"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('title = "x"\ncount = "3"', "2: count: expected an integer, got '3'"),
        ('title = "x"\ncount = true', "2: count: expected an integer, got true"),
        ('title = "x"\ncount = 3.0', "2: count: expected an integer, got 3.0"),
        ('title = "x"\nratio = true', "2: ratio: expected a number, got true"),
        ('title = "x"\nratio = nan', "2: ratio: expected a finite number, got NaN"),
        ('title = "x"\nready = 1', "2: ready: expected true or false, got 1"),
        ("title = 3", "1: title: expected a string, got 3"),
        ("title = 2026-01-12", "1: title: expected quoted text, got the date or time 2026-01-12"),
        ('title = ""', "1: title: expected at least 1 character, got ''"),
        ('title = "x"\nlevel = "medium"', "2: level: expected 'easy' or 'hard', got 'medium'"),
        ('title = "x"\ntags = "a"', "2: tags: expected an array, got 'a'"),
        ('title = "x"\n\ntags = ["a", 2]', "3: tags.1: expected a string, got 2"),
        ('title = "x"\nlimits = 3', "2: limits: expected a table, got 3"),
        ('title = "x"\nlimits = []', "2: limits: expected a table, got an empty array"),
        (
            'title = "x"\n\n[limits]\n# why\nmemory_mb = "much"',
            "5: limits.memory_mb: expected an integer, got 'much'",
        ),
        (
            'title = "x"\nlimits.memory_mb = 0',
            "2: limits.memory_mb: expected greater than 0, got 0",
        ),
        (
            'title = "x"\r\n[limits]\r\npids = 2\r\n',
            "3: limits.pids: expected greater than or equal to 16, got 2",
        ),
        ("count = 3", "1: title: required, but absent"),
        (
            'tittle = "x"\ntitle = "y"',
            "1: tittle: unknown field 'tittle'; did you mean 'title'?",
        ),
        (
            'title = "x"\n[limits]\nmemory = 3',
            "3: limits.memory: unknown field 'memory'; did you mean 'memory_mb'?",
        ),
        (
            'title = "x"\n[[node]]\nid = "a"\nzzzzz = 1',
            "4: node.0.zzzzz: unknown field 'zzzzz'; known: id, weight, with, node",
        ),
        (
            'title = "x"\n[names.a]\nid = "a"\nweihgt = 2',
            "4: names.a.weihgt: unknown field 'weihgt'; did you mean 'weight'?",
        ),
        (
            'title = "x"\n[names]\na = { id = "a" }\nB = { id = "b" }',
            "4: names.B: expected text that matches '^[a-z]+$', got 'B'",
        ),
        (
            'title = "x"\n[[node]]\nid = "a"\n[[node]]\nid = "b"\n'
            '  [[node.node]]\n  id = "c"\n  weight = "heavy"',
            "8: node.1.node.0.weight: expected a number, got 'heavy'",
        ),
        (
            'title = """\ncount = 1\n[limits]\n"""\ntags = [\n  "[names]",\n]\n[limits]\npids = ""',
            "9: limits.pids: expected an integer, got ''",
        ),
        (
            'title = "x"\n[[node]]\nweight = 2',
            "2: node.0.id: required, but absent",
        ),
        (b'title = "x"\nlevel = "\xff"\n', "2: expected UTF-8, got byte 0xff"),
    ],
)
def test_a_complaint_names_file_line_field_and_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | bytes, expected: str
) -> None:
    assert complaint(tmp_path, monkeypatch, text) == f"x/doc.toml:{expected}"


@pytest.mark.parametrize(
    ("text", "line", "seen"),
    [
        ('count = 1\ntitle "x"\n', 2, """column 7 of 'title "x"'"""),
        ('title = "x"\ntitle = "y"\ncount = 1', 2, """column 12 of 'title = "y"'"""),
        ('title = "x"\nlevel = "easy', 2, "at the end of the file"),
        ('title = "x"\ntags = [1,\n\n', 2, "at the end of the file"),
    ],
)
def test_a_syntax_error_names_the_line_and_what_stands_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, line: int, seen: str
) -> None:
    message = complaint(tmp_path, monkeypatch, text)
    assert message.startswith(f"x/doc.toml:{line}: not TOML: ")
    assert message.endswith(seen)


def test_all_problems_are_reported_in_the_order_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = '[[node]]\nid = 7\n[limits]\ncpus = "two"\nwall_s = 2026-01-12\nfoo = 1\n'
    assert complaint(tmp_path, monkeypatch, text).splitlines() == [
        "x/doc.toml:1: title: required, but absent",
        "x/doc.toml:2: node.0.id: expected a string, got 7",
        "x/doc.toml:4: limits.cpus: expected a number, got 'two'",
        "x/doc.toml:5: limits.wall_s: expected quoted text, got the date or time 2026-01-12",
        "x/doc.toml:6: limits.foo: unknown field 'foo'; known: memory_mb, cpus, pids, disk_mb, "
        "wall_s, output_bytes",
    ]


def test_a_list_of_wrong_items_is_not_short_too(tmp_path: Path) -> None:
    class Listed(Manifest):
        seeds: tuple[int, ...] = Field(min_length=1)

    def complaints(text: str) -> list[str]:
        (tmp_path / "doc.toml").write_text(text)
        with pytest.raises(TaskError) as told:
            load_toml(tmp_path / "doc.toml", Listed, TaskError)
        return [line.rpartition("doc.toml:")[2] for line in str(told.value).splitlines()]

    assert complaints("seeds = ['a']") == ["1: seeds.0: expected an integer, got 'a'"]
    (empty,) = complaints("seeds = []")
    assert empty.startswith("1: seeds: ") and "at least 1 item" in empty


@pytest.mark.parametrize(
    "text",
    [
        *("a = " + "[" * 5000, "a = " + "[" * 300 + "]" * 300, "count = " + "9" * 5000),
        "count = 0x" + "f" * 5000,
    ],
    ids=["deep and open", "deep", "longer than any integer", "too long to be printed"],
)
def test_absurd_documents_are_refused_not_crashed_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    assert complaint(tmp_path, monkeypatch, text).startswith("x/doc.toml:")


def test_an_absent_file_is_named_and_the_class_is_the_callers(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match=r"none\.toml: cannot be read: No such file"):
        load_toml(tmp_path / "none.toml", Document, SandboxError)
    with pytest.raises(SandboxError, match="Is a directory"):
        read_text(tmp_path, SandboxError)


def test_paths_are_shown_relative_only_below_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cwd").mkdir()
    monkeypatch.chdir(tmp_path / "cwd")
    with pytest.raises(TaskError) as caught:
        load_toml(tmp_path / "none.toml", Document, TaskError)
    assert str(caught.value).startswith(f"{tmp_path}/none.toml:")


@given(
    st.lists(
        st.sampled_from(
            ["# comment [x]", "", "note{} = '''\na = 1\n[b]\n'''", "arr{} = [\n1,\n2]"]
        ),
        max_size=6,
    )
)
def test_a_key_is_located_whatever_stands_before_it(noise: list[str]) -> None:
    before = "\n".join(line.format(i) for i, line in enumerate(noise))
    text = f"{before}\n[table]\nwanted = 1\n"
    expected = text.split("\n").index("wanted = 1") + 1
    assert locate(text, ("table", "wanted")) == expected
    assert locate(text, ("table",)) == expected - 1
    assert locate(text, ("table", "wanted", "deeper", 3)) == expected
    assert locate(text, ("elsewhere",)) == 1


def test_headers_of_nested_arrays_count_from_their_own_parent() -> None:
    text = (
        "[[a]]\n[[a.b]]\nx = 1\n[[a.b]]\nx = 2\n"
        "[[a]]\n[[a.b]]\nx = 3\n[a.'c.d'.e]\nf.g = { h = 1 }\n"
    )
    assert locate(text, ("a", 0, "b", 1, "x")) == 5
    assert locate(text, ("a", 1, "b", 0, "x")) == 8
    assert locate(text, ("a", 1, "c.d", "e", "f", "g", "h")) == 10
