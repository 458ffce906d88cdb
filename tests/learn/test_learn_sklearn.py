"""An ensemble among the estimators of scikit-learn: its own checks, clones, pipelines."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer
from sklearn.utils.estimator_checks import parametrize_with_checks
from test_learn_trainer import noisy

from foldwalk.core import BadInput, BadParameter
from foldwalk.learn import MetaClassEnsemble
from foldwalk.learn.edms.ensemble import Learner
from foldwalk.learn.trainer.settings import TrainingSettings

# Of two dimensions, since the checks hand in as few; begun at random, since a projection needs more items.
TINY = Learner(dim=2, init="random", batch=60, steps=2, settings=TrainingSettings(epochs=1, evaluate_every=0))
OWN_WORDS = "it is refused, in foldwalk's own words"
NOT_OURS = {
    "check_do_not_raise_errors_in_init_or_set_params": "wrong parameters are refused at once",
    "check_transformers_unfitted": "foldwalk.core.NotFitted is raised",
    "check_dtype_object": "arrays of Python objects are refused",
    "check_n_features_in_after_fitting": OWN_WORDS,
    "check_complex_data": OWN_WORDS,
    "check_estimators_empty_data_messages": OWN_WORDS,
    "check_estimators_nan_inf": OWN_WORDS,
    "check_estimator_sparse_tag": OWN_WORDS,
    "check_estimator_sparse_array": OWN_WORDS,
    "check_estimator_sparse_matrix": OWN_WORDS,
    "check_fit2d_predict1d": OWN_WORDS,
}


@parametrize_with_checks([MetaClassEnsemble(2, TINY)], expected_failed_checks=lambda _: NOT_OURS)
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)


def test_a_clone_is_the_same_before_it_learns():
    made = MetaClassEnsemble(3, TINY, weights=(1, 2, 3), seed=4)
    again = clone(made.fit(*noisy(120)))
    assert again.get_params() == made.get_params()
    assert again.get_params()["weights"] == (1, 2, 3)
    assert not hasattr(again, "heads_")
    x, labels = noisy(120)
    assert again.fit(x, labels).transform(x).tobytes() == made.transform(x).tobytes()


def test_parameters_set_later_are_checked_when_it_learns():
    changed = MetaClassEnsemble(3, TINY).set_params(members=2, seed=7)
    x, labels = noisy(120)
    assert changed.fit(x, labels).transform(x).tobytes() == (
        MetaClassEnsemble(2, TINY, seed=7).fit(x, labels).transform(x).tobytes()
    )
    with pytest.raises(BadParameter, match="must be at least 1"):
        changed.set_params(members=0).fit(x, labels)
    with pytest.raises(BadInput, match="one class only"):
        MetaClassEnsemble(2, TINY).fit(x, np.zeros(120, int))


def test_it_stands_in_a_pipeline():
    x, labels = noisy()
    learner = Learner(dim=6, meta_classes=12, settings=TrainingSettings(epochs=3, learning_rate=0.01))
    chain = make_pipeline(Normalizer(), MetaClassEnsemble(2, learner), KNeighborsClassifier(5))
    unseen, expected = noisy(seed=1)
    found = chain.fit(x, labels).score(unseen, expected)
    assert found > make_pipeline(Normalizer(), KNeighborsClassifier(5)).fit(x, labels).score(unseen, expected)
    search = GridSearchCV(chain, {"metaclassensemble__members": [1, 2]}, cv=2).fit(x, labels)
    assert set(search.best_params_) == {"metaclassensemble__members"}
