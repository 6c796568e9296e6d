"""Digits: the expected values come from exact fractions."""

import json
import math
import random
import subprocess
import sys
import time
from fractions import Fraction

import pytest

from gauge import Groups, Line, Moments, Window, load, save
from gauge.report import table

CLOSE = {"rel": 2e-6, "abs": 0}


def exact(values, weights=None):
    values = [Fraction(value) for value in values]
    weights = [Fraction(weight) for weight in weights or [1] * len(values)]
    count = sum(weights)
    mean = sum(v * w for v, w in zip(values, weights)) / count
    return float(mean), float(sum(w * (v - mean) ** 2 for v, w in zip(values, weights)) / (count - 1))


def readings(number, seed=1, offset=1e8):
    drawn = random.Random(seed)
    return [offset + drawn.gauss(0, 1) for _ in range(number)]


def moments_of(values):
    moments = Moments()
    for value in values:
        moments.add(value)
    return moments


@pytest.mark.parametrize("offset", [1e8, -1e8, 5e7, 0.0])
@pytest.mark.parametrize("number", [2, 3, 2000])
def test_moments_of_large_values(offset, number):
    values = readings(number, offset=offset)
    moments, (mean, variance) = moments_of(values), exact(values)
    assert moments.variance == pytest.approx(variance, **CLOSE)
    assert moments.deviation == pytest.approx(math.sqrt(variance), **CLOSE)
    assert moments.mean == pytest.approx(mean, rel=1e-12, abs=1e-12)
    assert (moments.least, moments.most) == (min(values), max(values))


@pytest.mark.parametrize("value", [0.1, 1e8 + 0.1, -123456789.123, 1e15 + 0.3])
def test_equal_values_have_no_deviation(value):
    moments, window, groups = Moments(), Window(7), Groups()
    for at in range(50):
        moments.add(value)
        window.add(value)
        groups.add("abc"[at % 3], value)
        assert moments.deviation in (None, 0.0) and window.deviation in (None, 0.0)
    assert groups.total.deviation == 0.0 and moments.mean == value == window.mean


def test_weights():
    values, drawn = readings(300, 2), random.Random(3)
    weights = [drawn.choice([0.5, 1, 3, 40]) for _ in values]
    moments = Moments()
    for value, weight in zip(values, weights):
        moments.add(value, weight)
    moments.add(5.0, 0)
    assert moments.variance == pytest.approx(exact(values, weights)[1], **CLOSE)
    assert moments.least == min(values)


@pytest.mark.parametrize("sizes", [(500, 500), (1, 999), (999, 1), (0, 700), (700, 0), (2, 300, 40, 1)])
def test_merged_moments(sizes):
    values, merged, at = readings(sum(sizes), 4), Moments(), 0
    for size in sizes:
        part = moments_of(values[at : at + size])
        kept = (part.count, part.mean, part.variance)
        merged.merge(part)
        assert (part.count, part.mean, part.variance) == kept
        at += size
    assert merged.variance == pytest.approx(exact(values)[1], **CLOSE)
    assert (merged.count, merged.least, merged.most) == (len(values), min(values), max(values))


def test_merging_with_oneself_doubles_the_count():
    moments = moments_of([1.0, 3.0])
    moments.merge(moments)
    assert moments.count == 4 and moments.variance == pytest.approx(4 / 3)


def test_groups_of_different_sizes():
    groups, everything = Groups(), []
    for seed, (name, number) in enumerate({"a": 900, "b": 3, "c": 1}.items()):
        for value in readings(number, seed, offset=1e8 + 10 * seed):
            groups.add(name, value)
            everything.append(value)
    assert groups.total.variance == pytest.approx(exact(everything)[1], **CLOSE)
    assert groups.total.mean == pytest.approx(exact(everything)[0], rel=1e-12)
    assert "total" in table(groups)


@pytest.mark.parametrize("size", [2, 3, 10, 64])
def test_windows(size):
    values, window = readings(400, 5), Window(size)
    for at, value in enumerate(values):
        window.add(value)
        last = values[max(0, at + 1 - size) : at + 1]
        assert (window.count, window.least, window.most) == (len(last), min(last), max(last))
        if len(last) > 1:
            mean, variance = exact(last)
            assert window.variance == pytest.approx(variance, **CLOSE)
            assert window.mean == pytest.approx(mean, rel=1e-12)


@pytest.mark.parametrize("broken", [1e17, -1e17, 1e150])
@pytest.mark.parametrize("at", [0, 1, 13, 49])
def test_windows_forget_a_broken_reading(broken, at):
    values, window = readings(160, 6), Window(20)
    values[at] = broken
    for index, value in enumerate(values):
        window.add(value)
        if index == at + 20 or index == 150:
            last = values[index - 19 : index + 1]
            assert window.variance == pytest.approx(exact(last)[1], **CLOSE)
            assert window.most == max(last)


def test_a_window_of_one():
    window = Window(1)
    for value in (1e17, 3.0):
        window.add(value)
    assert (window.mean, window.variance, window.count, window.least) == (3.0, None, 1, 3.0)


def test_a_refused_value_changes_nothing():
    window, moments = Window(3), moments_of([1.0, 2.0])
    for value in (1.0, 2.0, 4.0):
        window.add(value)
    with pytest.raises(ValueError):
        window.add(float("nan"))
    with pytest.raises(ValueError):
        moments.add(1.0, float("inf"))
    assert (window.count, window.mean) == (3, pytest.approx(7 / 3))
    assert (moments.count, moments.mean) == (2, 1.5)


class TooMuch(Exception):
    pass


def steps_of(call):
    count = 0

    def trace(frame, event, argument):
        nonlocal count
        count += event in ("call", "line")
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return count


def test_large_windows_do_not_look_at_all_values():
    """Steps are counted. Blocks of the square root of the size are few enough: 6 times the steps for 40 times the values."""

    def use(size):
        window = Window(size)
        for value in readings(1200, 7):
            window.add(value)
            assert window.deviation is None or window.deviation >= 0

    assert steps_of(lambda: use(400)) < 12 * steps_of(lambda: use(10))


TIMES = [1_772_000_000 + 60 * at for at in range(500)]


def line_of(pairs):
    line = Line()
    for x, y in pairs:
        line.add(x, y)
    return line


@pytest.mark.parametrize("slope", [0.25, -3.0, 1e-4])
def test_lines_over_times(slope):
    drawn = random.Random(9)
    pairs = [(x, 20 + slope * (x - TIMES[0]) + drawn.gauss(0, 1)) for x in TIMES]
    xs, ys = ([Fraction(pair[side]) for pair in pairs] for side in (0, 1))
    x, y = sum(xs) / len(xs), sum(ys) / len(ys)
    across, up = sum((v - x) ** 2 for v in xs), sum((v - y) ** 2 for v in ys)
    both = sum((v - x) * (w - y) for v, w in zip(xs, ys))
    for line in (line_of(pairs), merged(pairs, 1), merged(pairs, 200), merged(pairs, 500)):
        assert line.slope == pytest.approx(float(both / across), **CLOSE)
        assert line.correlation == pytest.approx(float(both) / math.sqrt(across * up), **CLOSE)
        assert line.intercept == pytest.approx(float(y - both / across * x), rel=1e-5)
        assert line.count == 500


def merged(pairs, at):
    line = line_of(pairs[:at])
    line.merge(line_of(pairs[at:]))
    return line


def test_a_correlation_is_between_minus_one_and_one():
    drawn = random.Random(10)
    for _ in range(200):
        slope, number = drawn.uniform(-9, 9), drawn.randint(2, 9)
        line = line_of([(x := 1.7e9 + at, slope * x) for at in range(number)])
        assert -1 <= line.correlation <= 1
        assert line.correlation == pytest.approx(math.copysign(1, slope), rel=1e-4)


def test_lines_that_are_not_defined():
    upright = line_of([(0.1 + 1e9, y) for y in (1, 2, 3.5)])
    assert (upright.slope, upright.intercept, upright.correlation) == (None, None, None)
    flat = line_of([(x, 0.1 + 1e9) for x in (1, 2, 3.5)])
    assert flat.slope == 0 and flat.correlation is None
    assert line_of([(1, 1)]).slope is None
    empty = Line()
    empty.merge(Line())
    assert empty.count == 0 and empty.slope is None


def test_files_keep_all_digits(tmp_path):
    groups = Groups()
    for value in readings(300, 11):
        groups.add("a", value)
    groups.add("b", 0.1)
    groups["empty"]
    save(tmp_path / "g", groups)
    assert json.loads((tmp_path / "g").read_text())["version"] == 2
    again = load(tmp_path / "g")
    assert list(again) == ["a", "b", "empty"]
    for value in readings(300, 12):
        groups.add("a", value)
        again.add("a", value)
    for name in groups:
        for what in ("count", "mean", "variance", "least", "most"):
            assert getattr(again[name], what) == getattr(groups[name], what)
    assert again["a"].variance == pytest.approx(exact(readings(300, 11) + readings(300, 12))[1], **CLOSE)


def old_file(path, **groups):
    fields = ("count", "sum", "squares", "least", "most")
    content = {name: dict(zip(fields, values)) for name, values in groups.items()}
    path.write_text(json.dumps({"version": 1, "groups": content}))
    return path


def test_files_of_version_1(tmp_path):
    values = [3.0, 1.5, 4.25, -1.0]
    sums = [4.0, sum(values), sum(v * v for v in values), -1.0, 4.25]
    groups = load(old_file(tmp_path / "g", a=sums, none=[0.0, 0.0, 0.0, None, None]))
    assert groups["a"].variance == pytest.approx(exact(values)[1])
    assert (groups["a"].count, groups["a"].mean, groups["a"].most) == (4, 1.9375, 4.25)
    assert (groups["none"].mean, groups["none"].count) == (None, 0)
    groups.add("none", 1e8)
    for value in readings(50, 13):
        groups.add("a", value)
    assert groups["a"].variance == pytest.approx(exact(values + readings(50, 13))[1], **CLOSE)
    save(tmp_path / "new", groups)
    assert load(tmp_path / "new")["a"].variance == groups["a"].variance


def test_a_file_of_version_1_whose_variance_would_be_negative(tmp_path):
    groups = load(old_file(tmp_path / "g", a=[3.0, 3e8, 2.9999999e16, 1e8, 1e8]))
    assert groups["a"].deviation == 0.0 and groups["a"].mean == 1e8
    assert "0.000" in table(groups)


@pytest.mark.parametrize("version", [0, 3, "2"])
def test_other_versions_are_not_known(tmp_path, version):
    (tmp_path / "g").write_text(json.dumps({"version": version, "groups": {}}))
    with pytest.raises(ValueError, match="version"):
        load(tmp_path / "g")


def test_files_keep_all_digits_of_the_extremes(tmp_path):
    groups = Groups()
    for value in (0.1234567890123456, -1e-13 / 3, 123456789.12345678):
        groups.add("a", value)
    save(tmp_path / "g", groups)
    again = load(tmp_path / "g")["a"]
    assert (again.least, again.most) == (-1e-13 / 3, 123456789.12345678)


def test_the_module_is_a_command(tmp_path):
    (tmp_path / "values").write_text("a,1\na,3\nb,2\n")
    done = subprocess.run([sys.executable, "-m", "gauge", tmp_path / "values"], capture_output=True, text=True)
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["name", "a", "b", "total"]


def test_windows_of_100_000_values_are_not_read_through():
    """Ten times the values cost ten times as much if all are looked at, in C as well.

    With blocks of the square root of the size they cost three times as much, else about the same.
    """

    def cost_of(size):
        window = Window(size)
        # One more, as some solutions do what is due now and then when the first value leaves.
        for at in range(size + 1):
            window.add(float(at % 7))
        begun = time.process_time()
        for at in range(10_000):
            window.add(float(at % 7))
            assert window.deviation > 1.5
        return time.process_time() - begun

    least, middle, most = cost_of(10), cost_of(10_000), cost_of(100_000)
    assert most < 5 * least or most - least < 6 * (middle - least)


def test_a_line_merged_with_itself_counts_twice():
    line = Line()
    for x, y in ((1, 2), (2, 3), (4, 9)):
        line.add(x, y)
    slope, correlation = line.slope, line.correlation
    line.merge(line)
    assert line.count == 6
    assert (line.slope, line.correlation) == (pytest.approx(slope), pytest.approx(correlation))
