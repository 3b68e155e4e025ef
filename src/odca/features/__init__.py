"""The feature space: which parts of an event become features, and what these are called."""

from odca.features.spec import FeatureParts, Features, feature_name, feature_parts

__all__ = ["FeatureParts", "Features", "feature_name", "feature_parts"]
