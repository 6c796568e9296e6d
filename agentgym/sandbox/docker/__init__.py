"""The Docker provider: containers under the same recipes, supervisor and layers as bubblewrap's."""
