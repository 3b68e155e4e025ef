"""Arguments of `odca train` that would make it fail at its end, or would silently be ignored: refused before any work."""

import argparse
import os
from pathlib import Path

from odca.cli.model_options import add_model_options
from odca.cli.shared_options import STANDARD_STREAM
from odca.cli.views.drift import require_plotting
from odca.topics.address import is_address


def check_training(arguments: argparse.Namespace) -> None:
    """Refuse, before any work, arguments that would make the command fail at its end or would silently be ignored."""
    _check_saving(arguments)
    _check_predictions(arguments)
    _check_shards(arguments)
    files = {f"--{name}": getattr(arguments, name) for name in ("output", "checkpoint", "plot")}
    for name in ("predictions", "curve"):
        if getattr(arguments, name) != STANDARD_STREAM:
            files[f"--{name}"] = getattr(arguments, name)
    for option, path in files.items():
        if path is not None:
            _require_writable(option, Path(path))
    _keep_checkpoints(arguments)
    if arguments.plot is not None:
        require_plotting(arguments.plot)
    if arguments.initial is not None:
        parser = argparse.ArgumentParser()
        add_model_options(parser)
        for name, default in vars(parser.parse_args([])).items():
            if getattr(arguments, name) != default:
                option = f"--{name.replace('_', '-')}" if name != "intercept" else "--no-intercept"
                raise argparse.ArgumentTypeError(f"argument {option}: is fixed by the model of --initial. Leave it out")


def _keep_checkpoints(arguments: argparse.Namespace) -> None:
    """InputError if the model or the state of this training would replace the checkpoint of another one."""
    from odca.errors import Remedy  # noqa: PLC0415 - after parsing
    from odca.stream.checkpoint import CONTINUE, Checkpoint  # noqa: PLC0415 - the same

    if arguments.checkpoint is not None and not arguments.resume:
        Checkpoint.require_none(arguments.checkpoint, CONTINUE)
    if arguments.output is not None:
        Checkpoint.require_none(
            arguments.output,
            Remedy(
                "Continue that training with {checkpoint} {resume} and another file after -o, or delete the file.",
                checkpoint=arguments.output,
                resume=True,
            ),
        )


def _check_predictions(arguments: argparse.Namespace) -> None:
    for option, given in {
        "--proba": arguments.proba,
        "--raw": arguments.raw,
        "--no-names": not arguments.names,
        "--interval": arguments.interval is not None,
        "--set": arguments.set is not None,
    }.items():
        if given and arguments.predictions is None:
            raise argparse.ArgumentTypeError(
                f"argument {option}: is about predictions. Add --predictions, where they go"
            )
    if arguments.predictions is None:
        return
    from odca.stream.write.sinks import compression_of  # noqa: PLC0415 - only where it is needed

    if (packed := compression_of(arguments.predictions)) is not None:
        raise argparse.ArgumentTypeError(
            f"argument --predictions: is written line by line while the model learns, so it is not compressed by {packed}. Name a "
            "plain file, or write to - and compress what comes out"
        )


def _check_shards(arguments: argparse.Namespace) -> None:
    if arguments.shards == 1:
        return
    one_stream = {
        "--checkpoint": arguments.checkpoint is not None,
        "--follow": arguments.follow,
        "--predictions": arguments.predictions is not None,
        "--query": arguments.query is not None,
        "--on-error skip": arguments.on_error == "skip",
        "- (standard input)": STANDARD_STREAM in arguments.data,
        "a topic": any(map(is_address, arguments.data)),
    }
    for option, given in one_stream.items():
        if given:
            raise argparse.ArgumentTypeError(
                f"argument --shards: several processes read the data, which does not go with {option}. Leave out one of the two"
            )


def _check_saving(arguments: argparse.Namespace) -> None:
    if arguments.resume and arguments.checkpoint is None:
        raise argparse.ArgumentTypeError("argument --resume: needs --checkpoint, the file to resume from")
    if arguments.query is not None and arguments.checkpoint is not None:
        raise argparse.ArgumentTypeError(
            "argument --checkpoint: the rows of a query have no fixed order, so a training on them cannot be resumed. Leave out one of the two"
        )


def _require_writable(option: str, path: Path) -> None:
    """OSError if no file can be created there. (A temporary file is created in the same directory, then renamed.)"""
    folder = path.parent
    if not folder.is_dir():
        raise NotADirectoryError(
            f"{option} {path}: there is no directory {str(folder)!r}. Create it, or name another one."
        )
    if path.is_dir():
        raise IsADirectoryError(f"{option} {path} is a directory. Name a file in it.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(f"{option} {path}: no permission to write to the directory {str(folder)!r}.")
