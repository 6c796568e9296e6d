"""Image builds: a manifest or Dockerfile becomes a plan, and the plan an image, step by step."""
