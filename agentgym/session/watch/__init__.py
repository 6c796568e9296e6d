"""A running episode on a page: frames and steps as they come, and a person who may take over."""
