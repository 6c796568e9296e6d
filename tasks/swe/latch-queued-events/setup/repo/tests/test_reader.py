import pytest
from conftest import DOOR

from latch import ChartError, read_chart
from latch.dot import to_dot


def test_targets_are_looked_up_from_the_inside():
    chart = read_chart(DOOR)
    (transition,) = chart.states["open.blocked"].on["free"]
    assert transition.target == "open.free"


@pytest.mark.parametrize(
    "content, message",
    [
        ({"initial": "a", "states": {}, "colour": 1}, "colour"),
        ({"initial": "b", "states": {"a": {}}}, "initial"),
        ({"initial": "a", "states": {"a": {"on": {"x": "b"}}}}, "no state 'b'"),
        ({"initial": "a", "states": {"a": {"after": {"soon": "a"}}}}, "soon"),
        ({"initial": "a.b", "states": {"a.b": {}}}, "no name"),
    ],
)
def test_what_is_wrong_is_named(content, message):
    with pytest.raises(ChartError, match=message):
        read_chart(content)


def test_graphviz():
    text = to_dot(read_chart(DOOR))
    assert '"open.free" -> "shut" [label="30 s", style=dashed];' in text
    assert text.count("{") == text.count("}")
