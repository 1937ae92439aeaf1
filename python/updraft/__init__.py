"""Checkpoints, resume and progress for a PyTorch training, in three lines.

    with updraft.training(model, optimizer, scheduler) as run:
        for epoch in run.epochs(10):
            for images, labels in run.batches(loader):
                ...
                run.log(loss=loss)

The training saves itself now and then and resumes at the very next batch, with the same random numbers, however often
it is interrupted. What is not handed to `training` is not restored: a sum in a variable, for example, starts over.

Under Updraft, checkpoints go to the job's checkpoint folder, `log` feeds `updraft status`, and a request to leave the
machine (SIGTERM) saves and exits with 85: "saved, run me again". On a laptop the same lines save into the folder
`checkpoints` and resume from it, and do nothing else.

`Stream` reads a data set from its tar shards, in an order that a resumed training repeats.
`ImageLoader` decodes the images of a stream, or of files, in batches on the GPU, with `RandomResizedCrop` or `CenterCrop`.
`LightningCheckpoint` and `TrainerCheckpoint` are callbacks, which do the same for Lightning and Hugging Face's Trainer.

Standard library only; PyTorch, Lightning and transformers are used if the training uses them.
"""

from . import compiler as _compiler
from .crops import CenterCrop, RandomResizedCrop
from .errors import ImageError, StreamError
from .images import ImageLoader
from .leaving import SAVED
from .lightning import LightningCheckpoint
from .loop import Training, training
from .stream import Stream
from .trainer import TrainerCheckpoint

__all__ = [
    "SAVED",
    "CenterCrop",
    "ImageError",
    "ImageLoader",
    "LightningCheckpoint",
    "RandomResizedCrop",
    "Stream",
    "StreamError",
    "TrainerCheckpoint",
    "Training",
    "training",
]

_compiler.stand_in()
