# SPDX-License-Identifier: Apache-2.0
"""Estimators of scikit-learn, by skl2onnx."""
import numpy as np
from skl2onnx import to_onnx
from sklearn import cluster, decomposition, ensemble, gaussian_process, linear_model, naive_bayes, \
    neighbors, neural_network, pipeline, preprocessing, svm, tree

from making.model import Model, floats

X = {"X": floats("rows", 6)}
SIZES = ({"rows": 7}, {"rows": 1})


def estimator(kind, two=False, **settings):
    """`two`: of two classes, where it is a classifier."""
    def build(variant):
        rng = np.random.default_rng(0)
        x = rng.standard_normal((60, 6)).astype(np.float32)
        y = (x @ rng.standard_normal(6) + 0.3 * x[:, 0] ** 2)
        fitted = kind(**settings) if callable(kind) else kind
        name = type(fitted).__name__
        last = type(fitted.steps[-1][1]).__name__ if hasattr(fitted, "steps") else name
        classes = "Classif" in last or "NB" in last or last in ("LogisticRegression", "SVC",
                                                                "LinearSVC")
        fitted.fit(x, (y > 0).astype(np.int64) + (not two) * (y > 2) if classes else y)
        options = {id(fitted): {"zipmap": False}} if classes else None
        return to_onnx(fitted, x[:1], options=options, target_opset={"": variant.opset,
                                                                     "ai.onnx.ml": 3})
    return build


def chain(*steps):
    return pipeline.make_pipeline(*steps)


OPEN = ("direct17.open",)
MODELS = [
    Model("linear", estimator(linear_model.LinearRegression), X, OPEN, SIZES),
    Model("lasso", estimator(chain(preprocessing.MinMaxScaler(), linear_model.Lasso(0.01))), X,
          OPEN, SIZES),
    Model("logistic", estimator(linear_model.LogisticRegression), X, OPEN, SIZES),
    Model("scaled_logistic", estimator(chain(preprocessing.StandardScaler(),
                                             linear_model.LogisticRegression())), X, OPEN, SIZES),
    Model("decision_tree", estimator(tree.DecisionTreeRegressor, max_depth=4), X, OPEN, SIZES),
    Model("random_forest", estimator(ensemble.RandomForestClassifier, n_estimators=5, max_depth=4,
                                     random_state=0), X, OPEN, SIZES),
    Model("boosting", estimator(ensemble.GradientBoostingRegressor, n_estimators=8, max_depth=3,
                                random_state=0), X, OPEN, SIZES),
    Model("svc", estimator(svm.SVC, probability=False), X, OPEN, SIZES),
    Model("svr", estimator(svm.SVR), X, OPEN, SIZES),
    Model("svc_probability", estimator(chain(preprocessing.StandardScaler(),
                                             svm.SVC(probability=True, random_state=0))), X,
          OPEN, SIZES),
    Model("svc_two", estimator(svm.SVC, two=True, kernel="poly"), X, OPEN, SIZES),
    Model("one_class", estimator(svm.OneClassSVM, kernel="sigmoid"), X, OPEN, SIZES),
    Model("logistic_two", estimator(chain(preprocessing.StandardScaler(),
                                          linear_model.LogisticRegression()), two=True), X, OPEN,
          SIZES),
    Model("random_forest_two", estimator(ensemble.RandomForestClassifier, two=True, n_estimators=7,
                                         random_state=0), X, OPEN, SIZES),
    Model("boosting_classifier", estimator(ensemble.GradientBoostingClassifier, n_estimators=6,
                                           random_state=0), X, OPEN, SIZES),
    Model("boosting_two", estimator(ensemble.GradientBoostingClassifier, two=True, n_estimators=6,
                                    random_state=0), X, OPEN, SIZES),
    Model("isolation_forest", estimator(ensemble.IsolationForest, n_estimators=5, max_samples=16,
                                        random_state=0), X, OPEN, SIZES),
    Model("neighbours_classifier", estimator(neighbors.KNeighborsClassifier, n_neighbors=3), X,
          OPEN, SIZES),
    Model("reduced_perceptron", estimator(chain(
        preprocessing.StandardScaler(), decomposition.PCA(4),
        neural_network.MLPClassifier((8,), max_iter=50, random_state=0))), X, OPEN, SIZES),
    Model("discretized", estimator(chain(
        preprocessing.KBinsDiscretizer(4, encode="onehot-dense", quantile_method="linear"),
        linear_model.LogisticRegression())), X, OPEN, SIZES),
    Model("neighbours", estimator(neighbors.KNeighborsRegressor, n_neighbors=3), X,
          ("direct17.open", "direct20.open"), SIZES),
    Model("perceptron", estimator(neural_network.MLPRegressor, hidden_layer_sizes=(16, 8),
                                  max_iter=50, random_state=0), X,
          ("direct17.open", "direct20.open", "direct17.open.dynamic"), SIZES),
    Model("perceptron_classifier", estimator(neural_network.MLPClassifier, hidden_layer_sizes=(16,),
                                             max_iter=50, random_state=0), X, OPEN, SIZES),
    Model("k_means", estimator(cluster.KMeans, n_clusters=4, n_init=1, random_state=0), X,
          ("direct17.open", "direct20.open"), SIZES),
    Model("pca", estimator(chain(preprocessing.StandardScaler(), decomposition.PCA(3))), X, OPEN,
          SIZES),
    Model("gaussian_process", estimator(gaussian_process.GaussianProcessRegressor), X, OPEN, SIZES),
    Model("naive_bayes", estimator(naive_bayes.GaussianNB), X, OPEN, SIZES),
    Model("polynomial", estimator(chain(preprocessing.PolynomialFeatures(2), linear_model.Ridge())),
          X, OPEN, SIZES),
    Model("quantile", estimator(chain(preprocessing.RobustScaler(), preprocessing.Normalizer(),
                                      linear_model.Ridge())), X, OPEN, SIZES),
]
