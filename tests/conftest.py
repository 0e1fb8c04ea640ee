"""In which order the tests run, and what the garbage collector leaves alone meanwhile."""

import gc

SLOW = {"browser", "proof", "training"}


def pytest_collection_modifyitems(config, items):
    """Files that take long go first: the short ones then keep every worker busy to the end."""
    items.sort(key=lambda item: SLOW.isdisjoint(item.path.relative_to(config.rootpath).parts))


def pytest_collection_finish():
    """What is imported by now stays to the end: to look through it at each collection took a tenth of the time."""
    gc.collect()
    gc.freeze()
