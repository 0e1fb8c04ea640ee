"""Memory is that of one call, and of one process."""

import os

import numpy as np
import pytest

from benchmarks.support.processes import apart, extra_peak, memory_mib

_MIB = 2**20


def held_before_and_for_a_while():
    np.ones(600 * _MIB, dtype=np.int8).sum()
    return extra_peak(lambda: np.ones(200 * _MIB, dtype=np.int8).sum())


def test_the_extra_peak_is_what_a_call_held_for_a_while_whatever_was_held_before():
    """In a process of its own, where no other thread frees memory meanwhile."""
    assert apart(held_before_and_for_a_while) == pytest.approx(200, abs=20)


def test_a_process_of_its_own_holds_nothing_of_this_one():
    held = np.ones(300 * _MIB, dtype=np.int8)
    assert apart(os.getpid) != os.getpid()
    assert apart(memory_mib, "VmHWM") < memory_mib("VmRSS") - held.nbytes / _MIB / 2
