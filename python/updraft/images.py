"""Batches of images, decoded and cropped where the training needs them: on the GPU, if there is one."""

import collections
import contextlib
import itertools
import os
import queue
import threading
import time
import warnings
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Callable, Generator, Iterable, Iterator, Optional, Sequence, Union

from .crops import CenterCrop, RandomResizedCrop, draws, resample
from .decoding import Decoder
from .errors import ImageError, say
from .loaded import get_torch
from .loading import Share
from .stream import Stream

_ENDINGS = ("jpg", "jpeg", "png", "webp", "bmp", "gif", "ppm", "tif", "tiff")
_LAUNCHING, _MAX_REST = 0.4, 0.05
"""The part of a step that launching it takes, and the most seconds that threads wait for it."""
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


class ImageLoader:
    """The batches of a DataLoader whose samples are not decoded, as images and labels on the GPU.

        stream = updraft.Stream("data/train", batch_size=256)
        loader = updraft.ImageLoader(DataLoader(stream, 256), updraft.RandomResizedCrop(224), device="cuda")
        for images, labels in run.batches(loader):

    A sample is a dict as `Stream` and WebDataset have it, with an image and its class as `cls`, unless `target` makes
    something else of the sample; or a tuple of an image and what belongs to it, as of `ImageFolder(root, loader=str)`.
    An image is its file's bytes, or its path.

    Images are float tensors (N, 3, size, size), normalized by `mean` and `std`. What nvJPEG cannot decode is decoded on
    the CPU: `counts` says why. What nothing can decode raises ImageError, or is grey with `damaged="grey"`.
    """

    def __init__(
        self,
        loader: Iterable[Any],
        transform: Union[RandomResizedCrop, CenterCrop],
        *,
        device: Any = None,
        target: Optional[Callable[[dict[str, Any]], Any]] = None,
        mean: Sequence[float] = MEAN,
        std: Sequence[float] = STD,
        dtype: Any = None,
        seed: int = 0,
        threads: Optional[int] = None,
        damaged: str = "raise",
    ) -> None:
        torch = get_torch()
        if not isinstance(loader, torch.utils.data.DataLoader):
            raise TypeError(f"updraft.ImageLoader needs a DataLoader, not a {type(loader).__name__}")
        if damaged not in ("raise", "grey"):
            raise ValueError(f'damaged is "raise" or "grey", not {damaged!r}')
        self.loader: Any = loader
        self._is_listed = self.loader.collate_fn is torch.utils.data.default_collate
        if self._is_listed:
            # Samples that are not decoded need not have the same files.
            self.loader.collate_fn = list
        self.device = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        if self.device.type == "cuda" and self.device.index is None:
            # Threads begin with the first GPU, whichever is this process's.
            self.device = torch.device("cuda", torch.cuda.current_device())
        self._transform, self._target, self._seed, self._damaged = transform, target, seed, damaged
        self._dtype = dtype or torch.float32
        factor = 1 / (255 * torch.tensor(std))
        self._normal = [one.view(1, -1, 1, 1).to(self.device) for one in (factor, -255 * torch.tensor(mean) * factor)]
        with warnings.catch_warnings():
            # It warns once that the bytes of a file could be written to.
            warnings.simplefilter("ignore")
            torch.frombuffer(b"1", dtype=torch.uint8)
        self._decoder = Decoder(self.device)
        self._threads = threads or (2 if self._decoder.nvjpeg else _cores())
        self._epoch = 0
        self._pace = self._rest = self._asked = 0.0
        self.counts: collections.Counter[str] = collections.Counter()
        """Images so far: `all`, `gpu`, and those decoded on the CPU by what they are, such as `CMYK` or `PNG`."""
        if self._decoder.nvjpeg is not None and self.loader.num_workers == 0:
            threading.Thread(target=self._warm_up, name="updraft-images-start").start()

    def __getattr__(self, name: str) -> Any:
        # Such as `dataset` and `batch_size`. While it is unpickled, there is no loader yet.
        if name.startswith("__") or name == "loader":
            raise AttributeError(name)
        return getattr(self.loader, name)

    def __len__(self) -> int:
        return len(self.loader)

    def set_epoch(self, epoch: int) -> None:
        """Lets crops be those of this epoch. `run.batches` does it, and every pass over the loader counts one more."""
        self._epoch = epoch
        for one in (self.loader.dataset, self.loader.sampler):
            if hasattr(one, "set_epoch"):
                one.set_epoch(epoch)

    def __iter__(self) -> Iterator[Any]:
        return self.updraft_decoded(self.loader, 0, int(get_torch().initial_seed()), Share())

    def updraft_decoded(self, batches: Iterable[Any], done: int, run: int, share: Share) -> Iterator[Any]:
        """The batches of the loader, from the one after `done` on. Only a stream that is plain is read by a thread."""
        dataset = self.loader.dataset
        place: tuple[int, ...] = (run, self._epoch)
        # Batches of a batch sampler's own are of any size.
        size = (self.loader.batch_size or 1 << 20) * (share.count if share.is_taken else 1)
        first = done * size
        stream = dataset if isinstance(dataset, Stream) else None
        before = collections.Counter(self.counts)
        waiting: collections.deque[Future[Any]] = collections.deque()
        with contextlib.ExitStack() as stack:
            pool = ThreadPoolExecutor(self._threads, "updraft-images")
            stack.callback(pool.shutdown, wait=False, cancel_futures=True)
            if stream is not None:
                place, first = stream.updraft_place()
                if stream.updraft_is_plain() and self.loader.num_workers == 0:
                    ahead = _read_ahead(batches, self._threads, lambda: time.sleep(self._rest))
                    batches = stack.enter_context(contextlib.closing(ahead))
            given = first
            for batch in itertools.chain(batches, itertools.repeat(None, self._threads)):
                if batch is not None:
                    images, names, rest = self._parts(batch)
                    numbers = range(first + share.rank, first + size + share.rank, share.count)
                    waiting.append(pool.submit(self._work, images, names, rest, (self._seed, *place), numbers))
                    first += size
                if waiting and (batch is None or len(waiting) > self._threads):
                    made = self._arrived(waiting.popleft())
                    given += size
                    if stream is not None:
                        stream.updraft_note(given)
                    yield made
                    self._let_launch(waiting)
        self._epoch += 1
        if stream is not None:
            stream.set_epoch(place[-1] + 1)
        self._report(self.counts - before)

    def _let_launch(self, waiting: Sequence[Future[Any]]) -> None:
        """Waits for the GPU, if the next images are there; threads then leave Python to the training for part of a step.

        Where a training runs ahead, its launches fill the GPU's queue, and those of the threads wait with them; where it reads
        its loss, they would hold Python's lock while the GPU waits for the next step.
        """
        now = time.monotonic()
        self._pace += (min(1, now - self._asked) - self._pace) / 8
        self._asked, self._rest = now, 0.0
        if self.device.type == "cuda" and waiting and waiting[0].done():
            get_torch().cuda.current_stream(self.device).synchronize()
            self._rest = min(_MAX_REST, _LAUNCHING * self._pace)

    def _warm_up(self) -> None:
        """nvJPEG and the matrix products take half a second to start. Meanwhile, the training makes its model."""
        torch = get_torch()
        with contextlib.suppress(AttributeError, RuntimeError):
            grey = torch.ops.image.encode_jpeg(torch.zeros(3, 64, 64, dtype=torch.uint8), 75)
            self._work([bytes(grey.tolist())], [""], [], (0,), range(1))

    def _arrived(self, work: Future[Any]) -> Any:
        torch = get_torch()
        images, rest, ready, counts = work.result()
        self.counts.update(counts)
        if ready is not None:
            now = torch.cuda.current_stream(self.device)
            now.wait_event(ready)
            for one in (images, *rest):
                if isinstance(one, torch.Tensor):
                    one.record_stream(now)
        return (images, *rest) if rest else images

    def _report(self, counts: collections.Counter[str]) -> None:
        others = {why: many for why, many in counts.items() if why not in ("all", "gpu", "cpu")}
        if others and (counts["gpu"] or "damaged" in others):
            listed = ", ".join(f"{many} {why}" for why, many in sorted(others.items()))
            say(f"{sum(others.values())} of {counts['all']} images are none that nvJPEG decodes: {listed}")

    def _parts(self, batch: Any) -> tuple[list[Any], list[str], list[Any]]:
        """The images of a batch, their names, and what else is in it, a list for each."""
        if not self._is_listed:
            if isinstance(batch, dict):
                raise TypeError("updraft.ImageLoader needs a DataLoader with a batch_size, and no collate_fn for dicts")
            images, *rest = batch if isinstance(batch, (list, tuple)) and not _is_image(batch[0]) else [batch]
            return list(images), [_name(one) for one in images], rest
        if isinstance(batch[0], dict):
            found = [_image_in(sample) for sample in batch]
            return found, [sample.get("__key__", "") for sample in batch], [[self._label(sample) for sample in batch]]
        if isinstance(batch[0], (tuple, list)):
            images, *rest = map(list, zip(*batch))
            return images, [_name(one) for one in images], rest
        return batch, [_name(one) for one in batch], []

    def _label(self, sample: dict[str, Any]) -> Any:
        if self._target is not None:
            return self._target(sample)
        if "cls" not in sample:
            has = ", ".join(name for name in sample if name != "__key__")
            todo = "pass target=, which makes its label of the sample"
            raise ImageError(f"{sample.get('__key__')} has {has} and no cls: {todo}")
        return int(sample["cls"])

    def _work(self, images: list[Any], names: list[str], rest: list[Any], place: tuple[int, ...], numbers: range) -> Any:
        """In a thread of its own, with a stream of its own on the GPU."""
        torch = get_torch()
        time.sleep(self._rest)
        with contextlib.ExitStack() as stack:
            if self.device.type == "cuda":
                stack.enter_context(torch.cuda.device(self.device))
                stack.enter_context(torch.cuda.stream(_stream_of_thread(self.device)))
            stack.enter_context(torch.no_grad())
            files = [_read(one) if isinstance(one, str) else one for one in images]
            named = [name or f"sample {nth} of the epoch" for nth, name in zip(numbers, names)]
            pixels, counts = self._decoder.decode(files, named, self._damaged == "grey")
            sides = [(int(one.shape[1]), int(one.shape[2])) for one in pixels]
            views = [self._transform.view(h, w, draws((*place, nth))) for nth, (h, w) in zip(numbers, sides)]
            made = resample(pixels, views, self._transform.size, *self._normal).to(self._dtype)
            collate = torch.utils.data.default_collate
            others = [collate(one) if self._is_listed else one for one in rest]
            others = [one.to(self.device) if isinstance(one, torch.Tensor) else one for one in others]
            ready = None
            if self.device.type == "cuda":
                ready = torch.cuda.current_stream().record_event()
            return made, others, ready, counts


_of_thread = threading.local()


def _stream_of_thread(device: Any) -> Any:
    if getattr(_of_thread, "device", None) != device:
        _of_thread.device, _of_thread.stream = device, get_torch().cuda.Stream(device)
    return _of_thread.stream


def _read_ahead(batches: Iterable[Any], ahead: int, rest: Callable[[], None]) -> Generator[Any, None, None]:
    """The same, read in a thread: the training's own has its kernels to launch. It may wait for data when Python ends."""
    ready: queue.Queue[Any] = queue.Queue(ahead)
    is_over = threading.Event()

    def read() -> None:
        try:
            for batch in batches:
                ready.put((batch, None))
                if is_over.is_set():
                    return
                rest()
            ready.put((None, None))
        except BaseException as error:
            ready.put((None, error))

    threading.Thread(target=read, name="updraft-images-read", daemon=True).start()
    try:
        for batch, error in iter(ready.get, (None, None)):
            if error is not None:
                raise error
            yield batch
    finally:
        is_over.set()
        with contextlib.suppress(queue.Empty):
            while True:
                ready.get_nowait()


def _image_in(sample: dict[str, Any]) -> Any:
    for name, data in sample.items():
        if name.rpartition(".")[2].lower() in _ENDINGS and _is_image(data):
            return data
    has = ", ".join(name for name in sample if name != "__key__")
    raise ImageError(f"{sample.get('__key__')} has no image that is not decoded yet, only {has}")


def _is_image(value: Any) -> bool:
    return isinstance(value, (bytes, bytearray, str))


def _name(image: Any) -> str:
    if not _is_image(image):
        kind = type(image).__name__
        wants = "the bytes of a file, or its path, as of ImageFolder(root, loader=str)"
        raise TypeError(f"updraft.ImageLoader decodes images itself: a sample begins with {wants}, not with a {kind}")
    return image if isinstance(image, str) else ""


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _cores() -> int:
    known = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return max(1, int(os.environ.get("UPDRAFT_CPUS") or known or 1))
