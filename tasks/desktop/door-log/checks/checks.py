"""One line of the note, compared with the gold note."""

from agentgym import CheckResult, CheckStatus


def field(evidence, path, name):
    """The line of this name is that of the gold note."""
    gold = evidence.gold(path.rsplit("/", 1)[-1]).decode().split("\n")
    wanted = [line for line in gold if line.startswith(f"{name}:")]
    lines = evidence.after.read(path).decode(errors="replace").split("\n")
    seen = [line for line in lines if line.startswith(f"{name}:")]
    status = CheckStatus.PASS if seen == wanted else CheckStatus.FAIL
    return CheckResult(status, f"{path}: {seen[:2]}")
