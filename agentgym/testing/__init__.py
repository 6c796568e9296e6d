"""Contract suites: what every implementation of a protocol must do. Shipped, to be run by anybody."""
