"""Models: a learner or the experts of the automatic mode, with classes, probabilities, names and scores."""
