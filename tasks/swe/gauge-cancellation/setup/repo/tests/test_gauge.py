import json
import statistics

import pytest

from gauge import Groups, Line, Moments, Window, load, save
from gauge.report import main

VALUES = [3.0, 1.5, 4.25, -1.0, 5.5, 9.0]


def test_moments():
    moments = Moments()
    assert (moments.count, moments.mean, moments.variance, moments.least) == (0, None, None, None)
    for value in VALUES:
        moments.add(value)
    assert moments.mean == pytest.approx(statistics.mean(VALUES))
    assert moments.variance == pytest.approx(statistics.variance(VALUES))
    assert (moments.count, moments.least, moments.most) == (6, -1.0, 9.0)


def test_weights():
    moments = Moments()
    moments.add(2, 3)
    moments.add(5)
    moments.add(100, 0)
    assert (moments.count, moments.mean) == (4, 2.75)
    assert moments.variance == pytest.approx(statistics.variance([2, 2, 2, 5]))


@pytest.mark.parametrize("value, weight", [(float("nan"), 1), (float("inf"), 1), (1, -1), (1, float("nan"))])
def test_what_is_refused(value, weight):
    with pytest.raises(ValueError):
        Moments().add(value, weight)


def test_windows():
    window = Window(3)
    for value in VALUES:
        window.add(value)
    assert window.deviation == pytest.approx(statistics.stdev(VALUES[-3:]))
    assert (window.count, window.least, window.most) == (3, -1.0, 9.0)


def test_lines():
    line = Line()
    assert line.slope is None and line.correlation is None
    for x in range(5):
        line.add(x, 3 - 2 * x)
    assert line.slope == pytest.approx(-2) and line.intercept == pytest.approx(3)
    assert line.correlation == pytest.approx(-1)


def test_groups_and_files(tmp_path):
    groups = Groups()
    for at, value in enumerate(VALUES):
        groups.add("ab"[at % 2], value)
    assert groups.total.variance == pytest.approx(statistics.variance(VALUES))
    save(tmp_path / "g", groups)
    again = load(tmp_path / "g")
    assert list(again) == ["a", "b"] and again["a"].mean == groups["a"].mean


def test_an_unknown_version(tmp_path):
    (tmp_path / "g").write_text(json.dumps({"version": 9, "groups": {}}))
    with pytest.raises(ValueError):
        load(tmp_path / "g")


def test_the_table(tmp_path, capsys):
    (tmp_path / "v.csv").write_text("a,1\na,3\nb,5\n")
    assert main([str(tmp_path / "v.csv")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == ["a", "2", "2.000", "1.414"]
    assert lines[2].split() == ["b", "1", "5.000", "-"]
    assert lines[3].split() == ["total", "3", "3.000", "2.000"]
