"""`odca train --shards N`: so many processes, each of which learns a part of every block (or some of the files), and then a merge."""

import argparse
import multiprocessing
import tempfile
from concurrent.futures import ProcessPoolExecutor
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

from odca.cli.data_options import open_stream

if TYPE_CHECKING:
    from odca.stream.model import StreamModel


def learn_in_shards(model: "StreamModel", arguments: argparse.Namespace, shards: int) -> "StreamModel":
    """The model, after parts of it have learned all data in processes of their own.

    If there are as many files as shards, each reads its own files. Otherwise each reads everything and learns its share of each block.
    """
    from odca.stream.model import StreamModel  # noqa: PLC0415 - after parsing
    from odca.stream.read.sources import expand  # noqa: PLC0415 - the same

    files = expand(arguments.data)
    deals_files = len(files) >= shards
    with tempfile.TemporaryDirectory(prefix="odca-shards-") as folder:
        paths = [str(Path(folder, f"{number}.safetensors")) for number in range(shards)]
        for part, path in zip(model.split(shards), paths, strict=True):
            part.save(path)
        given = {name: value for name, value in vars(arguments).items() if not callable(value)}
        jobs = []
        for number, path in enumerate(paths):
            own = {**given, "data": files[number::shards] if deals_files else files}
            jobs.append((path, own, (0, 1) if deals_files else (number, shards)))
        context = multiprocessing.get_context("spawn")  # no threads or locks of this process are copied
        with ProcessPoolExecutor(shards, mp_context=context) as pool:
            list(pool.map(_learn_share, *zip(*jobs, strict=True)))
        return reduce(StreamModel.merge, map(StreamModel.load, paths))


def _learn_share(path: str, given: dict[str, object], share: tuple[int, int]) -> None:
    """In a process of its own: let the model of a file learn its share of the data."""
    from odca.stream.model import StreamModel  # noqa: PLC0415 - after parsing
    from odca.stream.training import Training  # noqa: PLC0415 - the same

    arguments, (number, shards) = argparse.Namespace(**given), share
    model = StreamModel.load(path)
    with open_stream(arguments, schema=model.schema, vocabulary=model.vocabulary) as stream:
        training = Training(model, stream, on_error=arguments.on_error)
        training.learn_share(number, shards)
    model.save(path)
