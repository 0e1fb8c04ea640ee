"""What strangers upload, read by a process with limits."""
