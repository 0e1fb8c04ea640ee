"""RAUQ with Layer Integrated Gradients in place of attention, on the answers of a run."""
