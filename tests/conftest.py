"""The order of the tests, and the settings of the garbage collector."""

import gc

import pytest

from rauq.checkpoints.store import PLACE_VARIABLE, usual_store

SLOW = {"browser", "robustness", "training"}


@pytest.fixture(scope="session", autouse=True)
def own_store(tmp_path_factory):
    """Dequantised weights are kept here, not where the user's are; models that were downloaded are the user's."""
    store = tmp_path_factory.mktemp("store")
    (store / "models").symlink_to(usual_store().place / "models", target_is_directory=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(PLACE_VARIABLE, str(store))
        yield


def pytest_collection_modifyitems(config, items):
    """Files that take long go first: the short ones then keep every worker busy to the end."""
    items.sort(key=lambda item: SLOW.isdisjoint(item.path.relative_to(config.rootpath).parts))


def pytest_collection_finish():
    """Imported modules stay to the end: scanning them at each collection took a tenth of the time."""
    gc.collect()
    gc.freeze()
