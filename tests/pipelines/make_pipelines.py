#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes models/NAME.onnx.gz and NAME.npz: pipelines of scikit-learn as skl2onnx writes them, rows
that they were not fitted to, and what scikit-learn itself says of these.

Needs what CI does not have: scikit-learn 1.9.1, skl2onnx 1.20.0.
"""
import gzip
import warnings
from pathlib import Path

import numpy as np
from skl2onnx import to_onnx
from sklearn import datasets, decomposition, ensemble, impute, linear_model, neighbors, \
    neural_network, pipeline, preprocessing, svm
from sklearn.base import is_classifier

MODELS = Path(__file__).resolve().parent / "models"
ROWS = 40  # that are kept for the test


def chain(*steps):
    return pipeline.make_pipeline(*steps)


PIPELINES = {
    "scaled_logistic_regression": (datasets.load_wine, chain(
        preprocessing.StandardScaler(), linear_model.LogisticRegression(max_iter=500))),
    "gradient_boosting": (datasets.load_breast_cancer, ensemble.GradientBoostingClassifier(
        n_estimators=30, random_state=0)),
    "random_forest_regressor": (datasets.load_diabetes, ensemble.RandomForestRegressor(
        n_estimators=20, max_depth=6, random_state=0)),
    "svc_probabilities": (datasets.load_iris, chain(
        preprocessing.StandardScaler(), svm.SVC(probability=True, random_state=0))),
    "perceptron": (datasets.load_digits, chain(
        preprocessing.MinMaxScaler(), neural_network.MLPClassifier((24,), max_iter=80,
                                                                   random_state=0))),
    "nearest_neighbours": (datasets.load_iris, chain(
        preprocessing.StandardScaler(), neighbors.KNeighborsClassifier(5))),
    "reduced_ridge": (datasets.load_diabetes, chain(
        impute.SimpleImputer(), preprocessing.PolynomialFeatures(2), decomposition.PCA(12),
        linear_model.Ridge())),
}


def expected(fitted, x: np.ndarray) -> dict[str, np.ndarray]:
    """By the names that skl2onnx gives outputs."""
    if not is_classifier(fitted):
        return {"variable": fitted.predict(x).reshape(-1, 1)}
    return {"label": fitted.predict(x), "probabilities": fitted.predict_proba(x)}


def make(name: str) -> None:
    load, model = PIPELINES[name]
    x, y = load(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(x))
    x, y = x[order].astype(np.float32), y[order]
    fitted = model.fit(x[ROWS:], y[ROWS:])
    options = {id(fitted): {"zipmap": False}} if is_classifier(fitted) else None
    made = to_onnx(fitted, x[:1], options=options, target_opset={"": 17, "ai.onnx.ml": 3})
    packed = gzip.compress(made.SerializeToString(deterministic=True), mtime=0)
    (MODELS / f"{name}.onnx.gz").write_bytes(packed)
    np.savez_compressed(MODELS / f"{name}.npz", X=x[:ROWS], **expected(fitted, x[:ROWS]))


def main() -> None:
    warnings.simplefilter("ignore")
    MODELS.mkdir(exist_ok=True)
    for name in PIPELINES:
        make(name)


if __name__ == "__main__":
    main()
