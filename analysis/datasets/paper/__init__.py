"""The paper's data sets, with prompts in our own words."""
