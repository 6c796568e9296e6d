import pytest

from hoist.cli import main

MANIFEST = "# what we have\nweb 3 front\napi 2 back front\ndb 1 back\n"


@pytest.fixture
def run(tmp_path, capsys):
    """Run a command with the texts of both files and variables."""
    (tmp_path / "manifest.txt").write_text(MANIFEST)

    def run(*arguments, user=None, project=None, code=0, **variables):
        for name, text in (("user.toml", user), ("hoist.toml", project)):
            if text is not None:
                (tmp_path / name).write_text(text)
        command, *rest = arguments
        files = ["--user-file", tmp_path / "user.toml", "--file", tmp_path / "hoist.toml", "--manifest", tmp_path / "manifest.txt"]
        assert main([command, *map(str, files), *map(str, rest)], variables) == code
        seen = capsys.readouterr()
        return (seen.err if code else seen.out).replace(f"{tmp_path}/", "").splitlines()

    return run
