"""What a run adds to vLLM."""
