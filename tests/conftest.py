"""In which order the tests run."""

SLOW = {"browser", "proof", "training"}


def pytest_collection_modifyitems(config, items):
    """Files that take long go first: the short ones then keep every worker busy to the end."""
    items.sort(key=lambda item: SLOW.isdisjoint(item.path.relative_to(config.rootpath).parts))
