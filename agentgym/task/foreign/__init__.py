"""Task folders in the formats of other benchmarks, read as they are."""
