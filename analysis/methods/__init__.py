"""RAUQ compared with other methods."""
