"""What scores and baselines are called wherever they are shown. (Without imports, so that the command line may read it at once.)"""

SCORES = {
    "loss": "loss",
    "accuracy": "accuracy",
    "auc": "AUC",
    "log_loss": "log loss of the probabilities",
    "calibration_error": "calibration error (ECE)",
    "mae": "mean absolute error",
    "rmse": "root mean squared error",
    "r2": "R²",
}
BASELINES = {
    "no_change": "no change (the previous label)",
    "majority": "majority class so far",
    "mean": "mean so far",
    "quantile": "quantile so far",
    "best_constant": "best constant in hindsight",
}
