"""The promises of the README on statistics that no line of the issue changes."""

import json
import os
import subprocess
import sys
import tracemalloc

import pytest

from gauge import Groups, Line, Moments, Window, load, save
from gauge.report import main


@pytest.mark.parametrize("pair", [(float("nan"), 1.0), (1.0, float("nan")), (float("inf"), 1.0), (1.0, float("-inf"))])
def test_lines_refuse_what_is_no_finite_number(pair):
    line = Line()
    for x, y in ((0.0, 1.0), (1.0, 3.0)):
        line.add(x, y)
    with pytest.raises(ValueError):
        line.add(*pair)
    assert (line.count, line.slope, line.intercept) == (2, 2.0, 1.0)


def test_windows_refuse_sizes_below_one():
    for size in (0, -3):
        with pytest.raises(ValueError):
            Window(size)


def test_what_is_not_defined_is_none():
    window, line = Window(5), Line()
    shown = [(each.mean, each.variance, each.deviation, each.least, each.most) for each in (Moments(), window)]
    assert shown == [(None,) * 5] * 2 and window.count == 0
    assert (line.slope, line.intercept, line.correlation) == (None, None, None)
    window.add(4.0)
    assert (window.mean, window.variance, window.deviation, window.least, window.most) == (4.0, None, None, 4.0, 4.0)
    line.add(1.0, 2.0)
    line.add(1.0, 3.0)
    assert (line.slope, line.intercept, line.correlation) == (None, None, None)


def test_a_window_goes_over_zero():
    window = Window(2)
    for value in (-1.0, 1.0):
        window.add(value)
    assert (window.mean, window.count, window.least, window.most) == (0.0, 2, -1.0, 1.0)


def test_a_total_and_a_merge_leave_the_others_as_they_were():
    groups = Groups()
    for name, value in (("a", 1.0), ("b", 5.0), ("b", 7.0)):
        groups.add(name, value)
    for _ in range(2):
        total = groups.total
        assert (total.count, total.mean, total.least, total.most) == (3, pytest.approx(13 / 3), 1.0, 7.0)
    total.add(100.0)
    assert [(groups[name].count, groups[name].most) for name in groups] == [(1, 1.0), (2, 7.0)]
    groups["a"].merge(groups["b"])
    assert (groups["b"].count, groups["b"].mean, groups["b"].variance) == (2, 6.0, 2.0)


def test_groups_without_values_are_kept(tmp_path):
    groups = Groups()
    assert groups["none"].mean is None
    groups.add("a", 1.0)
    save(tmp_path / "g", groups)
    again = load(tmp_path / "g")
    assert list(again) == ["a", "none"] and len(again) == 2
    assert (again["none"].count, again["none"].mean, again["none"].variance) == (0, None, None)
    again.add("none", 2.0)
    assert (again["none"].mean, again["none"].least) == (2.0, 2.0)


@pytest.mark.parametrize("version", [0, 3, 4, 8, None, "new"])
def test_other_versions_are_refused(tmp_path, version):
    (tmp_path / "g").write_text(json.dumps({"version": version, "groups": {}}))
    with pytest.raises(ValueError):
        load(tmp_path / "g")


def test_the_table_looks_as_before(tmp_path, capsys):
    (tmp_path / "v.csv").write_text("north,1.25\nnorth,3\nsouth,1000000\n")
    assert main([str(tmp_path / "v.csv")]) == 0
    shown = capsys.readouterr()
    assert shown.out.splitlines() == [
        "name           count            mean     deviation",
        "north              2           2.125         1.237",
        "south              1     1000000.000             -",
        "total              3      333334.750    577349.042",
    ]
    assert shown.err == ""
    assert main([]) == 2 and capsys.readouterr().out.startswith("usage:")


def test_a_window_that_fills_does_not_look_at_all_values():
    def steps(size):
        count = 0

        def trace(frame, event, argument):
            nonlocal count
            count += event in ("call", "line")
            return trace

        window = Window(size)
        before = sys.gettrace()
        sys.settrace(trace)
        try:
            for number in range(600):
                window.add(number % 7)
                assert window.deviation is None or window.deviation >= 0
        finally:
            sys.settrace(before)
        return count

    assert steps(5000) < 8 * steps(10)


@pytest.mark.parametrize(
    ("act", "told"),
    [
        (lambda: Moments().add(float("nan")), "a value has to be a finite number, got nan"),
        (lambda: Window(3).add(float("-inf")), "a value has to be a finite number, got -inf"),
        (lambda: Line().add(1, float("inf")), "a value has to be a finite number, got inf"),
        (lambda: Moments().add(1, float("nan")), "a weight has to be a finite number, got nan"),
        (lambda: Groups().add("a", 1, -0.5), "a weight must not be negative, got -0.5"),
        (lambda: Window(0), "size: expected at least 1, got 0"),
    ],
)
def test_what_is_refused_is_told_in_the_words_of_before(act, told):
    with pytest.raises(ValueError) as caught:
        act()
    assert str(caught.value) == told


def test_the_version_that_is_not_known_is_told(tmp_path):
    (tmp_path / "g").write_text('{"version": 9, "groups": {}}')
    with pytest.raises(ValueError) as caught:
        load(tmp_path / "g")
    assert str(caught.value) == f"{tmp_path / 'g'}: version 9 is not known"


def test_what_was_there_no_time_does_not_count():
    moments = Moments()
    moments.add(1e6, 0)
    assert (moments.count, moments.mean, moments.least, moments.most) == (0, None, None, None)
    moments.add(2, 0.5)
    assert (moments.count, moments.mean, moments.variance, moments.least) == (0.5, 2, None, 2)
    moments.add(4, 1.5)
    assert (moments.count, moments.variance, moments.most) == (2, 1.5, 4)
    groups = Groups()
    groups.add("a", 3.0, 2)
    groups.add("a", 6.0)
    assert (groups["a"].count, groups["a"].mean) == (3, 4.0)
    with pytest.raises(ValueError):
        moments.add(1, float("inf"))
    assert moments.count == 2


def test_merging_nothing_changes_nothing():
    some, none = Moments(), Moments()
    some.add(-3.0)
    some.add(-1.0)
    some.merge(none)
    assert (some.count, some.mean, some.variance, some.least, some.most) == (2, -2, 2, -3, -1)
    none.merge(some)
    none.add(-8.0)
    assert (none.count, none.mean, none.least, none.most, some.count) == (3, -4, -8, -1, 2)
    line, empty = Line(), Line()
    for x, y in ((1, 5), (2, 3), (4, -1)):
        line.add(x, y)
    line.merge(empty)
    empty.merge(line)
    for each in (line, empty):
        assert (each.count, each.slope, each.intercept) == (3, pytest.approx(-2), pytest.approx(7))
        assert each.correlation == pytest.approx(-1)


def test_level_and_upright_lines():
    level, upright = Line(), Line()
    for number in (1.0, 2.0, 4.0):
        level.add(number, 3.0)
        upright.add(3.0, number)
    assert (level.slope, level.intercept, level.correlation) == (pytest.approx(0), pytest.approx(3), None)
    assert (upright.slope, upright.intercept, upright.correlation) == (None, None, None)


def test_groups_are_sorted_and_their_files_are_read_by_name(tmp_path):
    groups = Groups()
    for name in ("süd", "b", "a"):
        groups.add(name, 1.5)
    assert list(groups) == ["a", "b", "süd"] and len(groups) == 3
    save(str(tmp_path / "g"), groups)
    assert json.loads((tmp_path / "g").read_text(encoding="utf-8"))["version"] == 2
    again = load(str(tmp_path / "g"))
    assert list(again) == list(groups) and again["süd"].mean == 1.5


def test_the_table_of_one_group_has_no_total(tmp_path, capsys):
    (tmp_path / "v.csv").write_bytes(b'"a, b",-1.5\r\n"a, b", 2\r\n')
    assert main([str(tmp_path / "v.csv")]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "name           count            mean     deviation",
        "a, b               2           0.250         2.475",
    ]
    for words in ([], ["a", "b"]):
        assert main(words) == 2 and capsys.readouterr() == ("usage: python3 -m gauge FILE\n", "")
    (tmp_path / "v.csv").write_bytes(b"")
    assert main([str(tmp_path / "v.csv")]) == 0 and len(capsys.readouterr().out.splitlines()) == 1


def test_names_are_what_stands_in_the_file(tmp_path, capsys):
    (tmp_path / "v.csv").write_bytes('"a\r\nb",1\nüber,2\n'.encode())
    assert main([str(tmp_path / "v.csv")]) == 0
    assert "\na\r\nb " in capsys.readouterr().out
    plain = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0", "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(
        [sys.executable, "-m", "gauge", tmp_path / "v.csv"], env={**os.environ, **plain}, capture_output=True
    )
    assert (done.returncode, done.stderr) == (0, b"") and "\nüber " in done.stdout.decode()


def test_the_total_is_that_of_now():
    groups = Groups()
    groups.add("a", 1)
    assert groups.total.count == 1
    groups["a"].add(5)
    groups["b"].add(9)
    assert (groups.total.count, groups.total.mean, groups.total.most) == (3, 5, 9)
    other = Moments()
    other.add(1)
    groups["c"].merge(other)
    groups.total.add(100)
    assert (groups.total.count, groups.total.most) == (4, 9)


@pytest.mark.parametrize("kind", ["moments", "merged", "groups", "line", "window"])
def test_values_are_not_kept(kind):
    groups, line, window = Groups(), Line(), Window(10)
    moments, one = Moments(), Moments()
    one.add(3.5)
    add = {
        "moments": lambda value: moments.add(value, 2),
        "merged": lambda value: moments.merge(one),
        "groups": lambda value: groups.add("a", value),
        "line": lambda value: line.add(value, -value),
        "window": window.add,
    }[kind]
    add(0.5)
    tracemalloc.start()
    try:
        for number in range(10_000):
            add(number + 0.25)
        assert tracemalloc.get_traced_memory()[0] < 50_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("step", [1e-3, 1e-6, 1e-9])
def test_a_line_through_pairs_that_lie_close_together(step):
    line = Line()
    for number in range(5):
        line.add(number * step, 2 * number)
    assert line.slope == pytest.approx(2 / step)
    assert line.correlation == pytest.approx(1)
    across = Line()
    for number in range(5):
        across.add(number, 3 * number * step)
    assert across.slope == pytest.approx(3 * step)
    assert across.correlation == pytest.approx(1)
