"""The promises of the README on statistics that no line of the issue changes."""

import json
import sys

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
