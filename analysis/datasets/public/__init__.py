"""Public data sets: the paper's twelve, and answers whose errors people marked."""
