"""The classifier or the regressor inside a model that is trained on files: how it is made, and restored from a file."""

from collections.abc import Sequence

from odca.io.model_file import ModelFile
from odca.learner import Learner
from odca.losses import LOSSES
from odca.models.auto import AutoLearner
from odca.models.classifier import Classifier
from odca.models.experts import ExpertClassifier, ExpertRegressor
from odca.models.linear import LinearClassifier, LinearRegressor
from odca.models.options import Label, ModelOptions
from odca.models.regressor import Regressor

OPTIONS_OF_LEARNER = ("loss", "penalty", "rho", "window", "smoothing", "prior_strength", "intercept", "scale")


def begun(options: ModelOptions) -> Classifier | Regressor:
    """A model that has learned nothing. The options are resolved."""
    learner: Learner | AutoLearner
    if options.auto is not None:
        assert options.task is not None
        learner = AutoLearner(
            options.task, classes=max(len(options.classes), 2), products=options.products, loss=options.loss
        )
    else:
        classes = options.task == "classes"
        lanes = LinearClassifier.lanes(options.classes, spare=has_spare(options.classes)) if classes else 1
        learner = Learner(**options.of_learner(lanes=lanes))
    return _model_of(learner, options.classes)


def frozen(model: Classifier | Regressor) -> Classifier | Regressor:
    """The steady answer of an automatic model as a linear one."""
    if isinstance(model, ExpertClassifier):
        return model.freeze(spare=has_spare(model.classes))
    if isinstance(model, ExpertRegressor):
        return model.freeze()
    raise ValueError("only an automatic model can be frozen; this is a linear model already.")


def restored(saved: ModelFile, options: ModelOptions, loss: object) -> Classifier | Regressor:
    """The model of a model file, with its scores. ValueError (or a similar error) if it is invalid."""
    model = _model_of(_restored_learner(saved, options, loss), options.classes)
    if isinstance(model, LinearRegressor) and model.learner.lanes != 1:
        raise ValueError("its outputs are not those of its learner.")
    if isinstance(model, ExpertClassifier) and model.learner.classes > len(options.classes):
        raise ValueError("its classes are not those of its learner.")
    if isinstance(model.learner, Learner) and model.learner.is_single:
        raise ValueError("its learner has no lanes for its outputs.")
    if isinstance(model, LinearClassifier):
        model.restore_calibration(saved.parts)
        model.require_consistent()
    model.restore_metrics(saved.arrays)
    model.restore_uncertainty(saved.arrays)
    return model


def has_spare(classes: Sequence[Label]) -> bool:
    """Whether there is a spare lane for new classes. Two classes share one lane, without a spare one."""
    return len(classes) > 2


def _model_of(learner: Learner | AutoLearner, classes: Sequence[Label]) -> Classifier | Regressor:
    if isinstance(learner, AutoLearner):
        return ExpertClassifier(learner, classes) if classes else ExpertRegressor(learner)
    return LinearClassifier(learner, classes, spare=has_spare(classes)) if classes else LinearRegressor(learner)


def _restored_learner(saved: ModelFile, options: ModelOptions, loss: object) -> Learner | AutoLearner:
    part = saved.parts["learner"]
    if options.auto is not None:
        if not isinstance(options.loss, (*LOSSES, type(None))):
            raise ValueError("it is automatic, and its loss is not one of odca's.")
        learner = AutoLearner.restored(part.parts["learner"] if part.kind == "AutoLanes" else part)
        if options.loss is not None and learner.loss != options.loss:
            raise ValueError("its loss is not that of its learner.")
        return learner
    for name in OPTIONS_OF_LEARNER:
        if saved.options["problem"][name] != part.options[name]:
            raise ValueError(f"its {name} is not that of its learner.")
    return Learner.restored(part, loss)
