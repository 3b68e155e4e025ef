"""What can be called of each public class: how one is made, and a call of it, with arguments drawn at random."""

from functools import partial

from hostile.array_callers import auto_call, estimator_call, learner_call, make_auto, make_estimator
from hostile.drawn_options import Face, options
from hostile.event_callers import auto_event_call, event_call, make_auto_events, make_events, make_river, river_call
from odca import AutoClassifier, AutoRegressor, Learner, ODCAClassifier, ODCARegressor, river

FACES = {
    "Learner": Face(lambda draw: Learner(**options(draw)), learner_call),
    "AutoLearner": Face(make_auto, auto_call),
    "EventLearner": Face(make_events, event_call),
    "AutoEvents": Face(make_auto_events, auto_event_call),
    **{
        f"sklearn.{kind.__name__}": Face(partial(make_estimator, kind), estimator_call)
        for kind in (ODCAClassifier, ODCARegressor, AutoClassifier, AutoRegressor)
    },
    **{
        f"river.{kind.__name__}": Face(partial(make_river, kind), river_call)
        for kind in (river.ODCAClassifier, river.ODCARegressor, river.AutoClassifier, river.AutoRegressor)
    },
}
