"""What is said, and of what cannot be used."""

import contextlib
import pickle
import sys
from typing import Generator, Optional


def say(text: str) -> None:
    print(f"updraft: {text}", file=sys.stderr, flush=True)


def unusable(path: str, why: str) -> str:
    todo = "Move it elsewhere: the training then resumes from the one before it, or starts over"
    return f"{path} is damaged, or not a checkpoint of updraft: {why}. {todo}"


@contextlib.contextmanager
def using(path: Optional[str], what: str) -> Generator[None, None, None]:
    """While a checkpoint that could be read is used: says of one that is wrong what is wrong, where, and what to do."""
    try:
        yield
    except StreamError:
        raise
    except Refused as error:
        raise SystemExit(f"updraft: {path}: {error}") from error
    except Exception as error:
        raise SystemExit(f"updraft: {unusable(path or 'the checkpoint', f'its {what} cannot be used')}") from error


class Refused(pickle.UnpicklingError):
    """Of a checkpoint that could run code, or cannot be read."""


def refusal(name: str) -> Refused:
    return Refused(
        f"the checkpoint names {name}, which is neither a tensor nor a plain value: reading it could run code. "
        "Save plain values; or, if only you can write to the checkpoint folder, pass trust_checkpoint=True"
    )


class StreamError(RuntimeError):
    """A shard is damaged, or the data set is not the one that the checkpoint was made with."""


class ImageError(RuntimeError):
    """An image cannot be decoded, or a sample has none; the message names it."""


class Leaving(StreamError):
    """Raised by a stream that waits for a shard when the training is asked to leave: it may never come."""
