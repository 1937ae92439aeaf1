"""Which part of an image is seen, and how it is resized, alone or together with others."""

import hashlib
import itertools
import math
import struct
from dataclasses import dataclass
from typing import Any, Iterator, NamedTuple, Optional

from .loaded import get_torch


class View(NamedTuple):
    """A part of an image, resized to `rows` and `columns`, of which a square from `y` and `x` on is what is seen."""

    top: int
    left: int
    height: int
    width: int
    rows: int
    columns: int
    y: int = 0
    x: int = 0
    flip: bool = False


@dataclass(frozen=True)
class RandomResizedCrop:
    """A part of the image, random in place, area and shape, resized to a square, and mirrored half of the time: what
    torchvision's `RandomResizedCrop(size)` and `RandomHorizontalFlip(hflip)` do, with `antialias=True`.
    """

    size: int
    scale: tuple[float, float] = (0.08, 1.0)
    ratio: tuple[float, float] = (3 / 4, 4 / 3)
    hflip: float = 0.5

    def view(self, height: int, width: int, draws: Iterator[float]) -> View:
        flip = next(draws) < self.hflip
        for _ in range(10):
            area = height * width * _between(*self.scale, draws)
            shape = math.exp(_between(math.log(self.ratio[0]), math.log(self.ratio[1]), draws))
            w, h = round(math.sqrt(area * shape)), round(math.sqrt(area / shape))
            if 0 < w <= width and 0 < h <= height:
                top, left = int(_between(0, height - h + 1, draws)), int(_between(0, width - w + 1, draws))
                return View(top, left, h, w, self.size, self.size, flip=flip)
        # As torchvision does: the center, in a shape that is allowed.
        shape = min(max(width / height, self.ratio[0]), self.ratio[1])
        w, h = min(width, max(1, round(height * shape))), min(height, max(1, round(width / shape)))
        return View((height - h) // 2, (width - w) // 2, h, w, self.size, self.size, flip=flip)


@dataclass(frozen=True)
class CenterCrop:
    """The center of the image, whose shorter side is first resized to `resize`: what torchvision's `Resize(resize)` and
    `CenterCrop(size)` do, with `antialias=True`. For validation.
    """

    size: int
    resize: Optional[int] = None
    """By default 8/7 of `size`: 256 for 224."""

    def view(self, height: int, width: int, _: Iterator[float]) -> View:
        short = max(self.size, self.resize or round(self.size * 8 / 7))
        rows, columns = max(short, int(short * height / width)), max(short, int(short * width / height))
        y, x = (round((side - self.size) / 2) for side in (rows, columns))
        return View(0, 0, height, width, rows, columns, y, x)


def _between(low: float, high: float, draws: Iterator[float]) -> float:
    return low + (high - low) * next(draws)


def draws(place: tuple[int, ...]) -> Iterator[float]:
    """Random numbers from 0 to 1 that belong to this place, and to no generator."""
    for more in itertools.count():
        digest = hashlib.blake2b(repr(("image", *place, more)).encode()).digest()
        for number in struct.unpack("<8Q", digest):
            yield (number >> 11) * 2.0**-53


_TOGETHER = 128
"""Images that are resized at once: more would need more memory."""


def resample(images: list[Any], views: list[View], size: int, factor: Any, summand: Any) -> Any:
    """What is seen of each image, times `factor`, plus `summand`: a tensor (N, 3, size, size) of floats."""
    torch = get_torch()
    if images[0].device.type == "cpu":
        return torch.cat([alone(*one, size) for one in zip(images, views)]).mul_(factor).add_(summand)
    made = torch.empty((len(images), 3, size, size), device=images[0].device)
    # The largest one of those at once makes all of them large.
    order = sorted(range(len(images)), key=lambda nth: max(views[nth].height, views[nth].width))
    for first in range(0, len(images), _TOGETHER):
        some = slice(first, first + _TOGETHER)
        for nth in order[some]:
            if max(views[nth].height, views[nth].width) > 3 * size:
                images[nth] = alone(images[nth], views[nth], size)[0].round_().byte()
                views[nth] = View(0, 0, size, size, size, size)
        seen = together([images[nth] for nth in order[some]], [views[nth] for nth in order[some]], size, torch.float16)
        torch.addcmul(summand, seen, factor, out=made[some])
    places = sorted(range(len(images)), key=order.__getitem__)
    return made.index_select(0, torch.tensor(places).to(made.device))


def alone(image: Any, view: View, size: int) -> Any:
    """What is seen of one image: (1, 3, size, size)."""
    part = image[:, view.top : view.top + view.height, view.left : view.left + view.width].unsqueeze(0).float()
    resize = get_torch().nn.functional.interpolate
    resized = resize(part, (view.rows, view.columns), mode="bilinear", align_corners=False, antialias=True)
    seen = resized[..., view.y : view.y + size, view.x : view.x + size]
    return seen.flip(-1) if view.flip else seen


def together(images: list[Any], views: list[View], size: int, dtype: Any) -> Any:
    """The same for images of different sizes in one go: resizing is a product with two matrices for each of them."""
    torch, device = get_torch(), images[0].device
    # Multiples of 8 are what matrix units are made for.
    high, wide = (-(-max(sides) // 8) * 8 for sides in zip(*((view.height, view.width) for view in views)))
    flat = torch.cat([image.reshape(-1) for image in images])
    begin, corners = 0, []
    for image, view in zip(images, views):
        _, rows, columns = image.shape
        corners.append((begin + view.top * columns + view.left, columns, rows * columns))
        begin += 3 * rows * columns
    corner, row, plane = torch.tensor(corners, dtype=torch.int32).to(device).t().view(3, -1, 1, 1)
    line, plane_of, step = (torch.arange(many, dtype=torch.int32, device=device) for many in (high, 3, wide))
    # What is beyond a part has no weight; bytes are numbers, whatever they are.
    lines = corner + line.view(-1, 1) * row + plane_of * plane
    places = (lines.unsqueeze(-1) + step).clamp_(max=len(flat) - 1).view(-1)
    parts = flat.index_select(0, places).to(dtype).view(len(images), high * 3, wide)
    numbers = [(v.height, v.rows, v.y, v.width, v.columns, v.x, v.flip) for v in views]
    each = torch.tensor(numbers, dtype=torch.float32).to(device).t().unsqueeze(-1)
    height, rows, y, width, columns, x, flip = each
    steps = torch.arange(size, device=device, dtype=torch.float32)
    down = _weights(height, height / rows, steps + y, high, dtype)
    across = _weights(width, width / columns, torch.where(flip > 0, size - 1 - steps, steps) + x, wide, dtype)
    narrow = torch.bmm(parts, across.transpose(1, 2))
    return torch.bmm(down, narrow.view(len(images), high, 3 * size)).view(-1, size, 3, size).transpose(1, 2)


def _weights(side: Any, scale: Any, steps: Any, longest: int, dtype: Any) -> Any:
    """How much of each pixel of a side, of `longest` at most, is in each of the steps: (N, steps, longest)."""
    torch, support = get_torch(), scale.clamp(min=1)
    pixels = torch.arange(longest, device=side.device, dtype=side.dtype) + 0.5
    centers = ((steps + 0.5) * scale / support).unsqueeze(2)
    weights = (torch.where(pixels < side, pixels / support, 1e9 + 0 * side).unsqueeze(1) - centers).abs_()
    # Minus a triangle; the sum is negative, too.
    weights.sub_(1).clamp_(max=0)
    return torch.div(weights, weights.sum(-1, keepdim=True), out=torch.empty_like(weights, dtype=dtype))
