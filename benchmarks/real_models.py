"""Does RAUQ rank the answers of real models better than simpler methods do, and does it matter whose attention it uses?

Three runs over the facts: the bundled one, plain questions to smollm2, and few-shot prompts to smollm2 and gemma3-270m,
answered here unless their runs are there already. Each difference is RAUQ's PRR minus another's on the same answers and
the same resamples: "better" and "worse" are differences whose 95 % interval does not include 0. Beside the methods
stand rankings that know nothing of the model: the length of an answer, and how many other answers of its family are
correct.
"""



