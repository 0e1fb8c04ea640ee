"""Made-up answers whose quality some methods rank better than others, under ids of the table."""

import numpy as np
import pandas as pd

SKILL = {"rauq": 2.0, "perplexity": 1.0, "msp": 0.5, "mean_token_entropy": 0.0}


def made_up(num_answers=120, *, seed=0, groups=("b", "a")):
    """A table with a column for each method, quality from 0 to 1, and a group for each answer."""
    rng = np.random.default_rng(seed)
    quality = rng.uniform(size=num_answers)
    columns = {method: rng.normal(size=num_answers) - skill * quality for method, skill in SKILL.items()}
    group = np.array(groups)[np.arange(num_answers) % len(groups)]
    return pd.DataFrame({"quality": quality, "group": group, **columns})
