"""RAUQ's attention out of llama.cpp: a child process runs the library, and this package talks to it. No torch."""
