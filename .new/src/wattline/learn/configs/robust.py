"""Robust least squares with priors: damped Gauss-Newton steps, large errors count linearly."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from wattline.arrays import Floats
from wattline.learn.configs.shapes import Prior

KNEE = 2.0
"""Errors beyond this many standard deviations count linearly (Huber)."""

MOST_STEPS = 30
ENOUGH = 1e-4
"""A step that lowers the loss by less than this share of it is the last."""


Values = Callable[[Floats], tuple[Floats, Floats]]


def fit_robust(
    shape: Values, prior: Prior, logs: Floats, noise: float, starts: Sequence[Floats] = ()
) -> tuple[Floats, Floats]:
    """Return the parameters of least loss, and how much each measurement counts (1: fully).

    ``shape`` gives values and derivatives; ``noise`` is the standard deviation expected of a measurement. A few
    measurements that went wrong then hardly move the parameters. The best end of all starts counts (the prior's
    centre if none is given).
    """
    ends = [_descend(shape, prior, logs, noise, start) for start in starts or (prior.centre,)]
    _, theta, weights = min(ends, key=lambda end: end[0])
    return theta, weights


def _descend(shape: Values, prior: Prior, logs: Floats, noise: float, start: Floats) -> tuple[float, Floats, Floats]:
    theta = start.copy()
    told, jacobian = shape(theta)
    loss, weights = _loss(logs - told, theta, prior, noise)
    damping = 1e-3
    tight = prior.deviation**-2
    for _ in range(MOST_STEPS):
        slope = jacobian.T @ (weights * (logs - told)) / noise**2 - (theta - prior.centre) * tight
        bend = (jacobian.T * weights) @ jacobian / noise**2 + np.diag(tight)
        while True:
            step = np.linalg.solve(bend + damping * np.diag(np.diag(bend)), slope)
            new_told, new_jacobian = shape(theta + step)
            new_loss, new_weights = _loss(logs - new_told, theta + step, prior, noise)
            if new_loss <= loss:
                break
            damping *= 10.0
            if damping > 1e8:  # no direction helps any more
                return loss, theta, weights
        done = loss - new_loss <= ENOUGH * max(1.0, loss)
        theta, told, jacobian, loss, weights = theta + step, new_told, new_jacobian, new_loss, new_weights
        damping = max(0.1 * damping, 1e-6)
        if done:
            break
    return loss, theta, weights


def _loss(errors: Floats, theta: Floats, prior: Prior, noise: float) -> tuple[float, Floats]:
    size = np.abs(errors) / noise
    far = size > KNEE
    loss = np.where(far, KNEE * size - 0.5 * KNEE**2, 0.5 * size**2).sum()
    pull = 0.5 * (((theta - prior.centre) / prior.deviation) ** 2).sum()
    return float(loss + pull), np.where(far, KNEE / np.maximum(size, KNEE), 1.0)
