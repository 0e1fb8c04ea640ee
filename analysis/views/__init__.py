"""The views of a set of answers: what each computes, draws and says, for pages, reports, files and tests."""
