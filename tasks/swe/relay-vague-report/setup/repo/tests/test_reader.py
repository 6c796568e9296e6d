import pytest

from relay import JobError, read_jobs


def test_lines_become_jobs(tmp_path):
    path = tmp_path / "jobs"
    path.write_text("# nightly\nfetch\nparse: fetch   !5 # soon\n\nmail: parse fetch\n")
    jobs = {job.name: job for job in read_jobs(path)}
    assert jobs["parse"].needs == ("fetch",) and jobs["parse"].priority == 5
    assert jobs["mail"].needs == ("parse", "fetch")


@pytest.mark.parametrize("line", ["a b", "a: b !x", ": b", "a: nowhere"])
def test_bad_lines(tmp_path, line):
    path = tmp_path / "jobs"
    path.write_text(line + "\n")
    with pytest.raises(JobError):
        read_jobs(path)
