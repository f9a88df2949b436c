"""Conditional linear Gaussian networks against closed formulas and against their own samples."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from plausible.cpds import LinearGaussian, Table
from plausible.errors import CallError, ModelError
from plausible.infer.engine import Impossible
from plausible.infer.evidence import Likelihood
from plausible.infer.exact import ask
from plausible.infer.gaussian import ask_mixed, sample_mixed
from plausible.network import Network
from plausible.schema import Variable

X, Y, Z = (Variable(name, kind="continuous") for name in "xyz")
A = Variable("a", states=("low", "high"))
B = Variable("b", states=("0", "1", "2"))


def plain() -> Network:
    return Network(
        None,
        [
            LinearGaussian(X, (), 1, [], 2),
            LinearGaussian(Y, (X,), -1, [0.5], 1),
            LinearGaussian(Z, (X, Y), 0, [1, -2], 0.5),
        ],
    )


def mixed() -> Network:
    return Network(
        None,
        [
            Table(A, (), [0.3, 0.7]),
            Table(B, (A,), [[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]]),
            LinearGaussian(X, (A,), [0, 3], [[], []], [1, 2]),
            LinearGaussian(Y, (B, X), [0, 1, 2], [[1], [0], [-1]], [1, 0.5, 2]),
            LinearGaussian(Z, (Y,), 0, [2], 1),
        ],
    )


def test_one_normal_is_the_closed_formula() -> None:
    weights = np.array([[0, 0, 0], [0.5, 0, 0], [1, -2, 0]])
    inverse = np.linalg.inv(np.eye(3) - weights)
    mean = inverse @ np.array([1, -1, 0])
    covariance = inverse @ np.diag([2, 1, 0.5]) @ inverse.T
    answer = ask_mixed(plain(), {"z": 3.0, "y": 0.5})
    seen = covariance[np.ix_([1, 2], [1, 2])]
    gain = covariance[0, [1, 2]] @ np.linalg.inv(seen)
    assert answer.densities["x"].mean == pytest.approx(mean[0] + gain @ (np.array([0.5, 3]) - mean[1:]))
    assert answer.densities["x"].variance == pytest.approx(2 - gain @ covariance[[1, 2], 0])
    assert answer.log_density == pytest.approx(multivariate_normal(mean[1:], seen).logpdf([0.5, 3]))
    assert answer.densities["z"].mean == 3
    assert answer.densities["z"].variance == 0


def test_mixture_by_hand() -> None:
    answer = ask_mixed(mixed(), {"x": 1.0})
    share = np.array([0.3 * norm(0, 1).pdf(1), 0.7 * norm(3, np.sqrt(2)).pdf(1)])
    np.testing.assert_allclose(answer.posteriors["a"], share / share.sum(), atol=1e-12)
    b = share / share.sum() @ np.array([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]])
    np.testing.assert_allclose(answer.posteriors["b"], b, atol=1e-12)
    assert answer.densities["y"].mean == pytest.approx(b @ [1, 1, 1])
    assert answer.log_density == pytest.approx(np.log(share.sum()))


@pytest.mark.parametrize(
    "given", [{}, {"z": 1.0}, {"z": -2.0, "a": "low"}, {"y": 0.5, "b": Likelihood([0.1, 0.5, 0.4])}]
)
def test_exact_is_what_sampling_finds(given: dict[str, object]) -> None:
    exact = ask_mixed(mixed(), given)  # type: ignore[arg-type]
    drawn = ask_mixed(mixed(), given, samples=400_000, seed=1)  # type: ignore[arg-type]
    for name, values in exact.posteriors.items():
        np.testing.assert_allclose(drawn.posteriors[name], values, atol=0.01)
    for name, density in exact.densities.items():
        assert drawn.densities[name].mean == pytest.approx(density.mean, abs=0.05)
        assert drawn.densities[name].variance == pytest.approx(density.variance, rel=0.05, abs=0.01)
    assert drawn.log_density == pytest.approx(exact.log_density, abs=0.03)
    assert drawn.effective < exact.effective


def test_functions_have_no_spread() -> None:
    copy = Network(None, [LinearGaussian(X, (), 0, [], 1), LinearGaussian(Y, (X,), 1, [2], 0)])
    assert ask_mixed(copy, {"y": 5}).densities["x"].mean == pytest.approx(2)
    assert ask_mixed(copy, {"x": 1, "y": 3}).densities["x"].mean == 1
    with pytest.raises(Impossible, match="density 0: x, y"):
        ask_mixed(copy, {"x": 1, "y": 4})


def test_samples() -> None:
    cases = sample_mixed(mixed(), 200_000, seed=3)
    assert list(cases) == ["a", "b", "x", "y", "z"]
    assert cases["a"].mean() == pytest.approx(0.7, abs=0.01)
    assert cases["x"][cases["a"] == 1].var() == pytest.approx(2, rel=0.02)
    residual = cases["z"] - 2 * cases["y"]
    assert residual.mean() == pytest.approx(0, abs=0.02)


def test_bad_calls() -> None:
    with pytest.raises(CallError, match="finite number"):
        ask_mixed(mixed(), {"x": "high"})
    with pytest.raises(CallError, match="finite number"):
        ask_mixed(mixed(), {"x": float("nan")})
    with pytest.raises(CallError, match="did you mean 'low'"):
        ask_mixed(mixed(), {"a": "Low"})
    with pytest.raises(ModelError, match="ask_mixed"):
        ask(mixed())


@pytest.mark.parametrize("samples", [None, 20_000])
def test_distributions_as_evidence(samples: int | None) -> None:
    """Jeffrey's rule: a mixture of what holds in each state."""
    soft = {"a": [0.3, 0.7], "x": 1.0}
    found = ask_mixed(mixed(), soft, samples=samples, seed=1)
    states = mixed()["a"].child.states
    parts = [ask_mixed(mixed(), {**soft, "a": state}) for state in states]
    assert found.posteriors["a"] == pytest.approx([0.3, 0.7], abs=1e-8)
    room = 1e-9 if samples is None else 0.1
    for name, density in found.densities.items():
        assert density.mean == pytest.approx(
            0.3 * parts[0].densities[name].mean + 0.7 * parts[1].densities[name].mean, abs=room
        )
    assert found.log_density == pytest.approx(ask_mixed(mixed(), {"x": 1.0}).log_density, abs=room)
