"""Questions that come again, in another form or another data set, give detectors nothing where labels are random."""

import numpy as np
import pytest

from benchmarks.coverage import folds


@pytest.mark.parametrize("split", folds.SPLITS)
@pytest.mark.parametrize("form", ["What's", "instruction after", "chat template"])
def test_a_detector_does_not_recognise_questions(form, split):
    areas = folds.areas_of(form, split, simulations=40, seed=0)
    assert np.nanmean(areas) == pytest.approx(0.5, abs=0.05)  # some four standard errors


def test_every_form_and_split_is_a_row():
    found = [row for task in folds.tasks() for row in task(simulations=1, seed=0)]
    assert len(found) == len(folds.FORMS) * len(folds.SPLITS)
    assert all(row.is_claim and row.hits <= row.shown == 1 for row in found)
