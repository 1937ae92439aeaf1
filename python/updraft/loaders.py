"""What can be known of a loader from outside."""

from typing import Any, Optional

from .loaded import get_torch
from .state import items_of


def loaders_in(loaders: Any) -> list[Any]:
    """Those of a dict or list, in Lightning's order."""
    if isinstance(loaders, (dict, list, tuple)):
        return [one for each in items_of(loaders) for one in loaders_in(each[1])]
    return [loaders]


def can_begin_anywhere(loader: Any) -> bool:
    """Whether it is a torch DataLoader that another one can stand for, which begins at any batch.

    A subclass may have a `collate_fn` or a dataset of its own, as PyTorch Geometric's has, but no way of its own to read,
    unless that is known: timm's and Ultralytics' reads one endless epoch, torchdata's also skips.
    """
    torch = get_torch()
    if torch is None or not isinstance(loader, torch.utils.data.DataLoader):
        return False
    if isinstance(loader.dataset, torch.utils.data.IterableDataset):
        return False
    plain, kind = torch.utils.data.DataLoader, type(loader)
    reads = ("__iter__", "_get_iterator", "_index_sampler", "_auto_collation")
    is_plain = all(getattr(kind, name, None) is getattr(plain, name, None) for name in reads)
    is_torchdatas = "StatefulDataLoader" in [one.__name__ for one in kind.__mro__]
    return is_plain or is_torchdatas or order_of(loader)[0] is not None


def loader_inside(loader: Any) -> tuple[str, Any]:
    """The DataLoader with workers in one of accelerate, timm or tqdm, and the name it has there.

    Whatever else has loaders may combine their batches, or read one of them only.
    """
    loaders = loaders_of(loader)
    if type(loader).__module__.split(".")[0] in ("accelerate", "timm", "tqdm") and len(loaders) == 1:
        [(name, inner)] = loaders.items()
        if can_begin_anywhere(inner) and inner.num_workers > 0 and length_of(inner) == length_of(loader):
            return name, inner
    return "", None


def loaders_of(loader: Any) -> dict[str, Any]:
    """The DataLoaders that are attributes of another loader."""
    torch = get_torch()
    if torch is None:
        return {}
    own: dict[str, Any] = getattr(loader, "__dict__", {})
    return {name: one for name, one in own.items() if isinstance(one, torch.utils.data.DataLoader)}


def order_of(loader: Any) -> tuple[Optional[Any], Any, bool]:
    """What repeats the order of an epoch without end, if anything does; the order itself; and whether it is of batches."""
    by_batch = loader.batch_sampler is not None
    order = loader.batch_sampler if by_batch else loader.sampler
    # The usual way to keep workers from epoch to epoch, before PyTorch had one.
    repeats = order if type(order).__name__ == "_RepeatSampler" else None
    return repeats, order if repeats is None else repeats.sampler, by_batch


def without_bar(loader: Any) -> Any:
    """A loader without the progress bar around it: tqdm's has it as `iterable`."""
    return getattr(loader, "iterable", loader)


def undecoded(loader: Any) -> Any:
    """What an `ImageLoader` reads from."""
    return loader.loader if hasattr(loader, "updraft_decoded") else loader


def dataset_of(loader: Any) -> Any:
    """What a loader reads: its dataset, or itself if it has none."""
    return getattr(without_bar(loader), "dataset", without_bar(loader))


def check_batch_size(size: int, other: Optional[int], whose: str) -> None:
    """Positions are counted in batches, and workers share the samples of a stream by batches."""
    if other not in (None, size):
        raise SystemExit(f"updraft: the loader has batch_size={size}, {whose} has batch_size={other}; use the same")


def is_shared(loader: Any) -> bool:
    """Whether each of several processes has its own part already, as with DistributedSampler, timm's and accelerate's."""
    bare = getattr(undecoded(without_bar(loader)), "base_dataloader", undecoded(without_bar(loader)))
    batches = getattr(bare, "batch_sampler", None)
    known = (getattr(bare, "sampler", None), batches, getattr(batches, "sampler", None))
    return any(max(getattr(one, "num_replicas", 1), getattr(one, "num_processes", 1)) > 1 for one in known)


def options_of(loader: Any, persists: bool) -> dict[str, Any]:
    """Of another DataLoader that reads as this one does, all but its dataset and order."""
    names = ["num_workers", "collate_fn", "pin_memory", "timeout", "worker_init_fn", "generator"]
    names += ["multiprocessing_context", "prefetch_factor"] if loader.num_workers > 0 else []
    names += ["in_order"] if hasattr(loader, "in_order") else []
    options = {name: getattr(loader, name) for name in names}
    return {**options, "persistent_workers": persists} if loader.num_workers > 0 else options


def check_share(loader: Any, count: int) -> None:
    """Of a loader whose batches are those of all processes together."""
    size = loader.batch_size
    if size is None and loader.batch_sampler is None:
        raise SystemExit(f"updraft: a loader without batches cannot be shared by {count} processes: give it a batch_size")
    if size is not None and size % count > 0:
        near = size // count * count
        sizes = f"{near} or {near + count}" if near > 0 else str(count)
        raise SystemExit(f"updraft: batch_size={size} is that of {count} processes, who cannot share it evenly: use {sizes}")


def length_of(loader: Any) -> Optional[int]:
    try:
        return len(loader)
    except TypeError:
        return None
