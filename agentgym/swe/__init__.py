"""Tasks of software engineering: instances, patches, grading, mining."""
