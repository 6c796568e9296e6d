"""Versions, ranges, pre-releases and choices that fit together."""

import itertools
import random

import pytest

from pinion import Index, ResolutionError, Version, read_index, resolve

ORDER = ["0.9", "1.0a2", "1.0a10", "1.0b1", "1.0rc2", "1.0rc9", "1.0rc10", "1.0", "1.0.1", "1.9", "1.10", "2.0a1", "2", "10.0"]


def test_the_order_of_versions():
    versions = [Version(text) for text in ORDER]
    shuffled = list(versions)
    random.Random(1).shuffle(shuffled)
    assert [str(version) for version in sorted(shuffled)] == ORDER


@pytest.mark.parametrize("one, other", [("1.0", "1.0.0"), ("1", "1.0"), ("1.0rc1", "1.0.0rc01"), ("0", "0.0.0"), ("10.0", "10")])
def test_zeros_at_the_end_make_no_difference(one, other):
    assert Version(one) == Version(other) and hash(Version(one)) == hash(Version(other))
    assert not Version(one) < Version(other) and str(Version(other)) == other
    index = read_index(f"a {one}")
    assert list(resolve(index, {"a": f"=={other}"})) == ["a"]
    with pytest.raises(ValueError):
        index.add("a", other)
    assert Version("10") != Version("1") and Version("1.0.1") != Version("1.1")


def newest(text, *versions):
    index = Index()
    for version in versions:
        index.add("a", version)
    try:
        return str(resolve(index, {"a": text})["a"])
    except ResolutionError:
        return None


RANGES = [
    ("^1.4.2", "1.4.2 1.9", "1.4.1 2.0 2.0rc1 2.0.1"), ("^0.3", "0.3 0.3.9", "0.2 0.4 0.4a1 1.0"), ("^0.0.3", "0.0.3", "0.0.2 0.0.4 0.1"),
    ("^2", "2.0 2.7.1", "1.9 3.0 3.0b1"), ("~1.4.2", "1.4.2 1.4.10", "1.4.1 1.5 1.5.0rc1 2.0"), ("~1.4", "1.4 1.9.3", "1.3 2.0 2.0a1"),
    ("~1", "1.0 1.7", "0.9 2.0"), ("==1.0", "1.0 1.0.0 1", "1.0.1 1.0rc1"), ("!=1.0", "1.1 0.9", "1.0.0"), (">1.0, <=1.5", "1.0.1 1.5.0", "1.0 1.5.1 1.4rc1"),
    ("*", "1.0", "1.0rc1"), (">=2.0rc1", "2.0rc1 2.0rc2 2.0rc10 2.0 2.1 2.1b1", "2.0b9 1.9"), ("==2.0b2", "2.0b2", "2.0b3 2.0"),
    (">=1.0b1, <2.0", "1.0b1 1.0 1.9 1.5rc1", "2.0rc1 2.0a1 2.0 1.0a9"), (">=1.0, <2.0rc2", "1.0 2.0rc1 2.0b1 1.9", "2.0rc2 2.0"),
    ("^2.0rc1", "2.0rc1 2.0 2.9 2.5b1", "3.0rc1 3.0 2.0b1"), ("~1.4.2rc1", "1.4.2rc1 1.4.2 1.4.9", "1.5rc1 1.5"), ("<2.0", "1.9", "2.0rc1 2.0"),
    ("~1.4.0", "1.4 1.4.0 1.4.7", "1.5 1.5.0 1.3.9 2.0"), ("~2.0", "2.0 2.7", "3.0 1.9"), (">=2.0rc0", "2.0rc0 2.0rc1 2.0", "2.0b3"),
    ("!=2.0rc1, >=1.0", "1.0 2.0rc2", "2.0rc1"),
]


@pytest.mark.parametrize("text, inside, outside", RANGES)
def test_ranges(text, inside, outside):
    for version in inside.split():
        assert newest(text, version) == version, f"{version} fits {text}"
    for version in outside.split():
        assert newest(text, version) is None, f"{version} does not fit {text}"


def test_pre_releases_that_were_not_asked_for():
    assert newest(">=1.2", "1.1", "1.9", "2.0rc1") == "1.9"
    assert newest(">=2.0rc1", "1.9", "2.0rc2", "2.0rc1") == "2.0rc2"
    assert newest("*", "2.0rc1") is None
    index = read_index("web 1.0\n  db >=2.0a1\ndb 1.0\ndb 2.0b1\ndb 3.0rc1\n")
    assert resolve(index, {"web": "*"})["db"] == Version("3.0rc1")


def test_an_older_version_of_another_package_does():
    index = read_index("web 1.9\n  db <2\nweb 1.8\n  db *\napi 3.1\n  db >=2\ndb 1.5\ndb 2.1\n")
    assert resolve(index, {"web": "*", "api": "*"}) == {"web": Version("1.8"), "api": Version("3.1"), "db": Version("2.1")}
    assert resolve(index, {"web": "*"}) == {"web": Version("1.9"), "db": Version("1.5")}


def test_the_order_of_what_is_asked_for():
    index = read_index("a 1\n  c ==1\na 2\n  c ==2\nb 1\n  c ==2\nb 2\n  c ==1\nc 1\nc 2\n")
    assert {name: str(version) for name, version in resolve(index, {"a": "*", "b": "*"}).items()} == {"a": "2", "b": "1", "c": "2"}
    assert {name: str(version) for name, version in resolve(index, {"b": "*", "a": "*"}).items()} == {"b": "2", "a": "1", "c": "1"}


def test_circles():
    index = read_index("a 1\n  b *\na 2\n  b >=2\nb 1\n  a *\nb 2\n  a <2\n")
    assert {name: str(version) for name, version in resolve(index, {"a": "*"}).items()} == {"a": "1", "b": "2"}
    assert resolve(read_index("a 1\n  a *\n"), {"a": "*"}) == {"a": Version("1")}


def test_what_a_dropped_choice_needed_is_not_chosen():
    index = read_index("a 2\n  b *\n  x *\na 1\nb 1\n  a <2\nx 1\n")
    assert resolve(index, {"a": "*"}) == {"a": Version("1")}


@pytest.mark.parametrize(
    "text, wanted, told",
    [
        ("web 1.9\n  db <2\napi 3.1\n  db >=2\ndb 1.5\ndb 2.1\n", {"web": "*", "api": ">=3"}, "db: no version fits <2 (web 1.9), >=2 (api 3.1)"),
        ("web 1.9\n", {"web": ">=1.2, <1.5"}, "web: no version fits >=1.2 (you), <1.5 (you)"),
        ("web 1.9\n  db ^2\n", {"web": "*"}, "db: no version fits ^2 (web 1.9)"),
        ("web 2.0rc1\n", {"web": "*"}, "web: no version fits * (you)"),
        ("web 1.9\n  db >3\ndb 1.5\nweb 1.8\n  db >4\n", {"web": ">1"}, "db: no version fits >3 (web 1.9)"),
        ("web 2.0rc1\n  db <1\ndb 2\n", {"web": ">=2.0rc1"}, "db: no version fits <1 (web 2.0rc1)"),
        ("db 2\nweb 1\n  db <1\n", {"db": "*", "web": "*"}, "db: no version fits * (you), <1 (web 1)"),
    ],
    ids=["two", "you", "one", "pre-release", "first", "of a pre-release", "chosen"],
)
def test_errors_name_all_constraints(text, wanted, told):
    with pytest.raises(ResolutionError) as caught:
        resolve(read_index(text), wanted)
    assert str(caught.value) == told


def some_index(drawn):
    names, index, needs = "abcd", Index(), {}
    for name in names:
        for number in range(1, drawn.randint(2, 4)):
            others = drawn.sample([other for other in names if other != name], drawn.randint(0, 2))
            needs[name, number] = {other: drawn.choice(["*", "==1", "==2", "<2", ">=2", "<3", ">1"]) for other in others}
            index.add(name, str(number), needs[name, number])
    return index, needs


def allows(text, number):
    return text == "*" or eval(f"{number}{text}")


def solutions(needs, wanted):
    names = sorted({name for name, _ in needs})
    options = [[None, *[number for name, number in needs if name == each]] for each in names]
    for numbers in itertools.product(*options):
        chosen = {name: number for name, number in zip(names, numbers) if number is not None}
        asked = [wanted, *(needs[each] for each in chosen.items())]
        if all(name in chosen and allows(text, chosen[name]) for each in asked for name, text in each.items()):
            yield chosen


@pytest.mark.parametrize("seed", range(12))
def test_a_solution_is_found_if_there_is_one(seed):
    drawn = random.Random(seed)
    for _ in range(25):
        index, needs = some_index(drawn)
        wanted = {name: "*" for name in drawn.sample("abcd", 2)}
        every = list(solutions(needs, wanted))
        try:
            found = {name: int(str(version)) for name, version in resolve(index, wanted).items()}
        except ResolutionError:
            assert not every
            continue
        assert found in every
        reached, more = set(), list(wanted)
        while more:
            name = more.pop()
            if name not in reached:
                reached.add(name)
                more += needs[name, found[name]]
        assert reached == set(found), "something is chosen that nothing needs"
        one, other = wanted
        assert found[one] == max(each[one] for each in every)
        assert found[other] == max(each[other] for each in every if each[one] == found[one])


def test_a_version_far_back_is_found():
    text = "".join(f"web {number}\n  db >={number}\n" for number in range(2, 40)) + "web 1\n  db *\ndb 1\n"
    assert resolve(read_index(text), {"web": "*"}) == {"web": Version("1"), "db": Version("1")}


def test_a_candidate_number_zero_is_a_pre_release():
    assert Version("1.0rc0").is_prerelease and Version("1.0b9") < Version("1.0rc0") < Version("1.0rc1") < Version("1.0")
    assert newest("*", "0.9", "1.0rc0") == "0.9"
