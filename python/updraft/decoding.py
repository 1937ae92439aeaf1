"""Files of images, as tensors: decoded by nvJPEG where it can, by torchvision or Pillow on the CPU elsewhere."""

import collections
import contextlib
import glob
import importlib
import importlib.util
import io
import os
import sys
from typing import Any

from .errors import ImageError, say
from .loaded import get_torch


class Decoder:
    """Turns files into tensors of bytes (3, height, width) on a device."""

    def __init__(self, device: Any) -> None:
        self._device = device
        self.nvjpeg: Any = None
        """Of a list of files, the pixels."""
        self._has_worked = False
        if device.type == "cuda":
            try:
                self.nvjpeg = _nvjpeg(device)
            except (ImportError, AttributeError):
                say("torchvision is missing, so images are decoded on the CPU; with it, the GPU decodes them")

    def decode(self, files: list[bytes], names: list[str], may_be_grey: bool) -> tuple[list[Any], dict[str, int]]:
        torch = get_torch()
        kinds = [kind_of(data) for data in files]
        found = self._on_gpu([nth for nth, kind in enumerate(kinds) if kind == ""], files)
        counts = collections.Counter({"all": len(files), "gpu": len(found)})
        for nth, data in enumerate(files):
            if nth not in found:
                kind = kinds[nth] or ("refused by nvJPEG" if self.nvjpeg is not None else "cpu")
                try:
                    found[nth] = decode_on_cpu(data, kind).to(self._device)
                except Exception as error:
                    kind = "damaged"
                    said = f"{names[nth]} cannot be decoded: {str(error) or type(error).__name__}"
                    if not may_be_grey:
                        raise ImageError(said) from error
                    say(f"{said}; it is grey")
                    found[nth] = torch.full((3, 1, 1), 124, dtype=torch.uint8, device=self._device)
                counts[kind] += 1
        return [found[nth] for nth in range(len(files))], counts

    def _on_gpu(self, numbers: list[int], files: list[bytes]) -> dict[int, Any]:
        torch, nvjpeg = get_torch(), self.nvjpeg
        if nvjpeg is None or not numbers:
            return {}
        data = [torch.frombuffer(files[nth], dtype=torch.uint8) for nth in numbers]
        try:
            found = dict(zip(numbers, nvjpeg(data)))
        except (RuntimeError, TypeError, ValueError) as error:
            # One that it refuses, or a torchvision that takes one at a time.
            said, found = str(error).strip().split("\n")[0], {}
            for nth, one in zip(numbers, data):
                with contextlib.suppress(RuntimeError):
                    [found[nth]] = nvjpeg([one])
            if not found and not self._has_worked and self.nvjpeg is not None:
                self.nvjpeg = None
                say(f"images are decoded on the CPU, because nvJPEG does not work here: {said}")
        self._has_worked = self._has_worked or len(found) > 0
        return found


def _nvjpeg(device: Any) -> Any:
    """torchvision's decoder, without all of torchvision, which takes over a second of each start."""
    torch = get_torch()
    with contextlib.suppress(AttributeError, OSError, TypeError):
        if "torchvision" not in sys.modules:
            [folder] = importlib.util.find_spec("torchvision").submodule_search_locations  # type: ignore[union-attr, misc]
            # `image.so`, and `image_stable.so` since 0.29.
            for library in glob.glob(os.path.join(folder, "image*.so")):
                torch.ops.load_library(library)
            decode = torch.ops.image.decode_jpegs_cuda
            return lambda files: decode(files, 3, device)
    whole, rgb = importlib.import_module("torchvision.io").decode_jpeg, _rgb()
    # Before 0.19 it takes one at a time.
    return lambda files: whole(files, rgb, device) if len(files) > 1 else [whole(files[0], rgb, device)]


def decode_on_cpu(data: bytes, kind: str) -> Any:
    """By torchvision's decoder, if it is loaded or Pillow is missing; by Pillow what is rare, or may be cut off."""
    torch = get_torch()
    if sys.modules.get("torchvision") and kind in ("", "cpu", "refused by nvJPEG"):
        with contextlib.suppress(RuntimeError):
            return _by_torchvision(data)
    try:
        image = importlib.import_module("PIL.Image")
    except ImportError:
        return _by_torchvision(data)
    with image.open(io.BytesIO(data)) as opened:
        pixels = opened.convert("RGB")
    flat = torch.frombuffer(bytearray(pixels.tobytes()), dtype=torch.uint8)
    return flat.view(pixels.height, pixels.width, 3).permute(2, 0, 1)


def _by_torchvision(data: bytes) -> Any:
    torch = get_torch()
    decode = importlib.import_module("torchvision.io").decode_image
    return decode(torch.frombuffer(data, dtype=torch.uint8), _rgb())


def _rgb() -> Any:
    return importlib.import_module("torchvision.io").ImageReadMode.RGB


def kind_of(data: bytes) -> str:
    """Why a file is not for nvJPEG; nothing if it is."""
    if data[:2] != b"\xff\xd8":
        return "PNG" if data[:4] == b"\x89PNG" else "other format"
    at, end, is_rgb = 2, len(data) - 10, False
    while at < end:
        mark = data[at + 1]
        if data[at] != 0xFF or mark == 0xDA:
            break
        if mark == 0xEE and data[at + 4 : at + 9] == b"Adobe":
            is_rgb = data[at + 15 : at + 16] == b"\0"
        if 0xC0 <= mark <= 0xCF and mark not in (0xC4, 0xC8, 0xCC):
            channels = data[at + 9]
            if channels == 4:
                return "CMYK"
            # It would take red, green and blue for brightness and colour.
            is_rgb = channels == 3 and (is_rgb or data[at + 10 : at + 19 : 3] == b"RGB")
            if mark > 0xC2 or channels not in (1, 3) or is_rgb or data[at + 4] != 8:
                return "other JPEG"
            return "" if b"\xff\xd9" in data[-64:] else "cut off"
        at += 1 if mark == 0xFF else 2 + int.from_bytes(data[at + 2 : at + 4], "big")
    return "cut off"
