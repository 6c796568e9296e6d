"""Where solutions are cut, and which lines are whole statements."""

import pytest

from agentgym.authoring import statements
from agentgym.authoring.prefixes import prefixes
from agentgym.authoring.statements import boundaries, is_unfinished
from agentgym.records import Action

SUBMIT = Action("submit")
SCRIPT = """\
export PARAM_COUNT=3
set -e
# a comment
for n in 1 2; do
  echo $n
done

cat > /root/a <<'X'
if then $(
X
echo one \\
  two
echo last
"""


def script(text):
    return [Action("bash", {"command": text, "timeout_s": 300}), SUBMIT]


def cut(parts):
    return [part.actions[0].arguments["command"] for part in parts]


def test_a_script_is_cut_where_a_statement_ends():
    lines = SCRIPT.splitlines(keepends=True)
    assert boundaries(lines) == [6, 10, 12]
    parts = prefixes(script(SCRIPT))
    assert cut(parts) == ["".join(lines[:n]) for n in (6, 10, 12)]
    assert parts[0].name == "the solution up to 'done'"
    assert parts[0].actions[0].arguments["timeout_s"] == 300
    assert all(part.actions[-1] == SUBMIT for part in parts)


def test_a_long_file_in_a_script_is_asked_about_once(monkeypatch):
    """Asking bash about each of its lines took minutes for a script of 7,000 lines."""
    asked = []
    real = statements._complaint
    monkeypatch.setattr(statements, "_complaint", lambda text: asked.append(text) or real(text))
    body = "".join(f"if {n}: x = 'it is ${n}\n" for n in range(3_000))
    lines = f"cat > a <<'END' && cat > b <<-END\n{body}END\n{body}\tEND\necho 1\necho 2\n"
    assert boundaries(lines.splitlines(keepends=True)) == [6_003, 6_004]
    assert len(asked) == 4


def test_many_statements_are_spread_evenly_and_never_the_whole():
    text = "".join(f"echo {n}\n" for n in range(1, 101))
    lengths = [len(command.splitlines()) for command in cut(prefixes(script(text), most=4))]
    assert lengths == sorted(set(lengths)) and len(lengths) == 4
    assert lengths[0] > 10 and lengths[-1] < 100


@pytest.mark.parametrize("text", ["python3 - <<'X'\nprint(1)\nprint(2)\nX\n", "echo 1\n# done\n"])
def test_one_statement_has_no_parts(text):
    assert prefixes(script(text)) == []


def test_actions_are_cut_between_actions():
    work = [Action("bash", {"command": f"echo {n}"}) for n in range(3)]
    parts = prefixes([*work, SUBMIT])
    assert [part.actions for part in parts] == [(work[0], SUBMIT), (work[0], work[1], SUBMIT)]
    assert parts[0].name == "the first 1 of 3 actions"


def test_nothing_to_cut():
    assert prefixes([SUBMIT]) == []
    assert prefixes([Action("write_file", {"path": "/a", "content": ""}), SUBMIT]) == []


@pytest.mark.parametrize(
    "text", ["for x in 1\n", "echo 'a\n", "cat <<X\nhi\n", "echo a \\\n", "if true\n", "f() {\n"]
)
def test_more_has_to_follow(text):
    assert is_unfinished(text)


@pytest.mark.parametrize("text", ["ls\n", "cat <<X\nhi\nX\n", "echo )\n", "fi\n", "echo é'\n'\n"])
def test_nothing_has_to_follow(text):
    assert not is_unfinished(text)
