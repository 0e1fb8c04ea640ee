"""What scoring jobs and the app survive, a few times each."""

import pytest

from tests.proof.faults_of_files import broken_shards
from tests.proof.faults_of_jobs import full_disks, kills, vanished_models
from tests.proof.faults_of_the_server import ended_servers

TIMES = {kills: 3, full_disks: 1, vanished_models: 1, broken_shards: 8, ended_servers: 1}


@pytest.mark.parametrize(("bring_about", "count"), TIMES.items(), ids=[fault.__name__ for fault in TIMES])
def test_nothing_is_lost(bring_about, count):
    survived = bring_about(count=count, seed=0)
    assert survived.times == count
    assert survived.losses == ()
