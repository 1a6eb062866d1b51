"""Optimizer steps over parameters that are cut into shards, and what they keep from step to step."""
