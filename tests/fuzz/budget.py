"""How many examples a fuzzer tries: few and always the same ones in `make test`, many and new ones in `make soak`."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, Phase, settings

SEED_VARIABLE = "ARMILLARY_FUZZ_SEED"
"""Set by the long form (`python -m tests.fuzz`): the seed of this round."""
_LONG_FACTOR = 5


def examples(count: int) -> settings:
    """As a decorator: `count` examples in the short form."""
    is_long = SEED_VARIABLE in os.environ
    return settings(
        max_examples=count * _LONG_FACTOR if is_long else count,
        derandomize=not is_long,
        database=None,
        deadline=None,  # whether an answer comes in time is judged by each fuzzer itself
        phases=[Phase.explicit, Phase.generate, Phase.shrink],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture],
    )
