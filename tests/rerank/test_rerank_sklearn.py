"""scikit-learn's own checks, pipelines, and that nobody pays for scikit-learn who does not use it."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import check_is_fitted

from foldwalk import rerank
from foldwalk.core import BadParameter, Vectors
from foldwalk.descriptors.whitening import PcaWhitening
from foldwalk.learn import GradNet
from foldwalk.rerank.diffusion.cas import CAS
from foldwalk.rerank.diffusion.dfs import DFS
from foldwalk.rerank.learned.gradnet import GradNetMethod
from samples import clustered

GALLERY, LABELS = clustered()
QUERIES, _ = clustered(n=12, seed=1)
QUICK = {"epochs": 1, "rounds": 1, "anchors": 5, "codebooks": 1, "layer_sizes": "512,128,64"}

OWN_WORDS = "it is refused with a ValueError that says the same in foldwalk's own words"
EVERYWHERE = {
    "check_do_not_raise_errors_in_init_or_set_params": "a wrong value is refused when it is given, not later",
    "check_dtype_object": "an array of objects is refused: it may hold anything",
    "check_complex_data": OWN_WORDS,
    "check_estimators_empty_data_messages": OWN_WORDS,
    "check_estimators_nan_inf": OWN_WORDS,
}
METHODS = {
    "check_no_attributes_set_in_init": "the checked parameters stand together in `params`",
    "check_dont_overwrite_parameters": "what fitting keeps bears names without an underscore at the end",
}
TRANSFORMERS = {
    "check_n_features_in_after_fitting": OWN_WORDS,
    "check_fit2d_predict1d": OWN_WORDS,
    "check_transformers_unfitted": "foldwalk.core.NotFitted is a RuntimeError",
}
WHITENING = {
    "check_fit2d_1sample": OWN_WORDS,
    "check_fit2d_1feature": OWN_WORDS,
}


def not_applying(estimator):
    named = dict(EVERYWHERE)
    if not isinstance(estimator, PcaWhitening):
        named |= METHODS
    if hasattr(estimator, "transform"):
        named |= TRANSFORMERS | (WHITENING if isinstance(estimator, PcaWhitening) else {})
    return named


@pytest.mark.filterwarnings("ignore:.*during set_params:UserWarning")
@parametrize_with_checks(
    [
        PcaWhitening(),
        *(rerank.create(name) for name in ("plain", "aqe", "dfs", "eir", "auto")),
        GradNetMethod(**QUICK),
    ],
    expected_failed_checks=not_applying,
    xfail_strict=True,
)
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)


def test_a_pipeline_fits_and_its_last_step_ranks():
    pipeline = make_pipeline(PcaWhitening(dim=8), DFS(k=6))
    pipeline.fit(GALLERY, LABELS)
    check_is_fitted(pipeline)
    ranking = pipeline[-1].rank(pipeline[:-1].transform(QUERIES), top=10)
    whitening = PcaWhitening(dim=8).fit(GALLERY)
    wanted = rerank.create("dfs", k=6).fit(whitening.transform(GALLERY))
    assert (ranking.ids == wanted.rank(whitening.transform(QUERIES), top=10).ids).all()
    copied = clone(pipeline).set_params(dfs__k=9, pcawhitening__dim=4).fit(GALLERY)
    assert (copied[-1].params.k, copied[-1].vectors.dim) == (9, 4)
    with pytest.raises(BadParameter, match="dfs: parameter k is 0"):
        copied.set_params(dfs__k=0)


@pytest.mark.parametrize("learner", [GradNetMethod, GradNet])
def test_learned_vectors_stand_in_the_middle_of_a_pipeline(learner):
    pipeline = make_pipeline(PcaWhitening(dim=8), learner(**QUICK), rerank.create("aqe")).fit(GALLERY)
    white = pipeline[0].transform(GALLERY)
    alone = GradNet(**QUICK).fit(white)
    assert np.array_equal(pipeline[-1].vectors.values, Vectors(alone.features).unit().values)
    features = pipeline[:-1].transform(QUERIES)
    assert np.array_equal(features, alone.transform(pipeline[0].transform(QUERIES)))
    assert pipeline[-1].rank(features, top=5).ids.shape == (len(QUERIES), 5)


def test_every_setting_of_a_grid_can_be_tried():
    grid = ParameterGrid({"k": np.arange(5, 7), "alpha": [0.5, 1 / 3]})
    tried = [DFS().set_params(**setting).params for setting in grid]
    assert {(p.k, p.alpha) for p in tried} == {(5, 0.5), (6, 0.5), (5, 1 / 3), (6, 1 / 3)}


def test_keywords_are_checked_as_create_checks_them():
    assert CAS(cluster_k=10, seed=1).params == rerank.create("cas", cluster_k=10).params
    assert repr(CAS(cluster_k=10)) == "<cas(cluster_k=10)>"
    for make in (CAS, lambda **parameters: rerank.create("cas", **parameters)):
        with pytest.raises(ValueError, match="cas: parameter cluster_k is 0"):
            make(cluster_k=0)
        with pytest.raises(ValueError, match="cas has no parameter 'cluster'; did you mean cluster"):
            make(cluster=3)


def test_parameters_of_a_whitening():
    whitening = PcaWhitening(dim=3).fit(GALLERY)
    assert clone(whitening).get_params() == {"dim": 3, "shrinkage": None}
    with pytest.raises(BadParameter, match="PcaWhitening has no parameter 'dims'; did you mean dim"):
        whitening.set_params(dims=4)
    assert whitening.set_params(dim=4).fit(GALLERY).projection.shape == (16, 4)


def test_scikit_learn_is_imported_only_when_it_is_used():
    code = "import sys, foldwalk.rerank, foldwalk.descriptors.whitening; sys.exit('sklearn' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
