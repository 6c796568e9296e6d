"""Step graders: rate each step of a recorded episode and find where it went wrong."""
