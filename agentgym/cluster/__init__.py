"""Work on other machines: jobs, the workers that do them, and what becomes of lost workers."""
