"""A real vLLM server with the plugin rauq-vllm, in an environment of its own: `make vllm`."""
