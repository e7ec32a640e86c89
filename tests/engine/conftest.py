"""Hypothesis profiles: `quick` does not shrink, for looking at many failures at once."""

from __future__ import annotations

from hypothesis import Phase, settings

settings.register_profile("quick", phases=(Phase.explicit, Phase.reuse, Phase.generate))
