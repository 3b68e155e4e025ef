"""The feature space: which parts of an event become features, and what these are called."""

from odca.features.spec import FeatureOptions, FeatureParts, Features, feature_name, feature_names, feature_parts

__all__ = ["FeatureOptions", "FeatureParts", "Features", "feature_name", "feature_names", "feature_parts"]
