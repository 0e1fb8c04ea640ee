"""Where a run is answered besides this process: on Ray, or by a vLLM server."""
