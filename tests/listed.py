"""The addresses of the pages in the navigation, in its order; a test of every page compares them with what is there."""

PAGES = ("inspect", "compare", "answer_sets", "methods", "runs", "learn", "evidence")
