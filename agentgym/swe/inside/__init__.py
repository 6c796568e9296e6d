"""Programs of the grader that run in a clean room (standard library and pytest only)."""
