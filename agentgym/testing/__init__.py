"""Contract suites: what every implementation of a protocol must do, for anybody to run."""
