"""Plans jobs that depend on each other."""

from relay.board import Board
from relay.errors import CircleError, JobError
from relay.graph import Graph, Job
from relay.order import plan
from relay.reader import read_jobs

__all__ = ["Board", "CircleError", "Graph", "Job", "JobError", "plan", "read_jobs"]
