import assert from 'node:assert/strict';
import { test } from 'node:test';
import { explainTrainingError } from './training-errors.ts';

/** What a failed training said, and a part of what must be said about it. */
type Case = readonly [message: string, words: string];

/** Caused on purpose, under PyTorch 2.8 without a GPU. */
const recent: Case[] = [
  [
    'RuntimeError: Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and installed a driver from http://www.nvidia.com/Download/index.aspx',
    'gpus = 1',
  ],
  [
    '_pickle.UnpicklingError: Weights only load failed. This file can still be loaded, to do so you have two options, \u001b[1mdo those steps only if you trust the source of the checkpoint\u001b[0m. \n\t(1) In PyTorch 2.6, we changed the default value of the `weights_only` argument in `torch.load` from `False` to `True`. Re-running `torch.load` with `weights_only` set to `False` will likely succeed, but it can result in arbitrar\n\t(2) Alternatively, to load with `weights_only=True` please check the recommended steps in the following error message.\n\tWeightsUnpickler error: Unsupported global: GLOBAL __main__.C was not an allowed global by default. Please use `torch.serialization.add_safe_globals([__main__.C])` or the `torch.serialization.safe_globals([__main__.C])` context m',
    'weights_only=False',
  ],
  [
    'RuntimeError: Error(s) in loading state_dict for Sequential:\n\tMissing key(s) in state_dict: "0.weight", "0.bias". \n\tUnexpected key(s) in state_dict: "1.weight".',
    'checkpoint["model"]',
  ],
  [
    'RuntimeError: Error(s) in loading state_dict for Sequential:\n\tsize mismatch for 0.weight: copying a param with shape torch.Size([3, 5]) from checkpoint, the shape in current model is torch.Size([3, 4]).',
    '0.weight',
  ],
  ['RuntimeError: mat1 and mat2 shapes cannot be multiplied (2x5 and 4x3)', 'LazyLinear'],
  [
    'RuntimeError: Given groups=1, weight of size [4, 3, 3, 3], expected input[1, 1, 8, 8] to have 3 channels, but got 1 channels instead',
    'convert("RGB")',
  ],
  ['IndexError: Target 5 is out of bounds.', 'num_classes'],
  ['EOFError: EOF when reading a line', 'asks for input'],
  ["termios.error: (25, 'Inappropriate ioctl for device')", 'asks for input'],
  ['RuntimeError: expected scalar type Long but found Float', 'y.long()'],
  ['ValueError: Expected input batch_size (2) to match target batch_size (3).', 'flatten(1)'],
  ['RuntimeError: mat1 and mat2 must have the same dtype, but got Double and Float', 'x.float()'],
  ['IndexError: index out of range in self', 'num_classes'],
  [
    'RuntimeError: stack expects each tensor to be equal size, but got [0] at entry 0 and [1] at entry 1',
    'collate_fn',
  ],
  ["FileNotFoundError: [Errno 2] No such file or directory: 'data/1.png'", 'no data/1.png'],
  ['RuntimeError: DataLoader worker (pid(s) 20853) exited unexpectedly', 'num_workers=0'],
  ["AttributeError: Can't pickle local object 'pickle_lambda.<locals>.<lambda>'", 'top of the file'],
  [
    'RuntimeError: one of the variables needed for gradient computation has been modified by an inplace operation: [torch.FloatTensor [2]], which is output 0 of ExpBackward0, is at version 1; expected version 0 instead. Hint: enable an',
    'x = x + y',
  ],
  [
    'RuntimeError: Trying to backward through the graph a second time (or directly access saved tensors after they have already been freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad().',
    '.detach()',
  ],
  ['RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn', '.item()'],
  [
    "RuntimeError: Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.",
    '.cpu().numpy()',
  ],
  ['ValueError: ProcessGroupNCCL is only supported with GPUs, no GPUs found!', 'gpus = 1'],
  [
    'ValueError: Error initializing torch.distributed using env:// rendezvous: environment variable RANK expected, but not set',
    'processes = 1',
  ],
  [
    'torch.distributed.DistNetworkError: The server socket has failed to listen on any local network address. port: 29512, useIpv6: false, code: -98, name: EADDRINUSE, message: address already in use',
    'processes',
  ],
  [
    'ValueError: Default process group has not been initialized, please make sure to call init_process_group.',
    'init_process_group()',
  ],
  [
    'torch.distributed.DistStoreError: Timed out after 5 seconds waiting for clients. 1/2 clients joined.',
    'processes = 2',
  ],
  ["RuntimeError: Function 'SqrtBackward0' returned nan values in its 0th output.", 'clip_grad_norm_'],
  [
    'ValueError: Expected parameter logits (Tensor of shape (1,)) of distribution Categorical(logits: tensor([nan])) to satisfy the constraint IndependentConstraint(Real(), 1), but found invalid values:\ntensor([nan])',
    'clip_grad_norm_',
  ],
  ["KeyError: 'HF_TOKEN'", 'HF_TOKEN = { from = "env" }'],
  ['RuntimeError: PytorchStreamReader failed reading zip archive: not a ZIP archive', 'os.replace'],
  ['EOFError', 'os.replace'],
  [
    '_pickle.UnpicklingError: Weights only load failed. In PyTorch 2.6, we changed the default value of the `weights_only` argument.\nPlease file an issue with the following: WeightsUnpickler error: Unsupported operand 60',
    'web page',
  ],
  ["ModuleNotFoundError: No module named 'cv2'", 'Write opencv-python-headless'],
  ['urllib.error.URLError: <urlopen error [Errno -2] Name or service not known>', '[data]'],
  ['RuntimeError: Dataset not found. You can use download=True to download it', 'into'],
  ["FileNotFoundError: [Errno 2] No such file or directory: '/tmp/none-here'", '/tmp/none-here is not'],
  ["FileNotFoundError: Couldn't find any class folder in /tmp/emptyf.", 'into'],
  ['RuntimeError: Parent directory /tmp/no-folder does not exist.', 'mkdir -p /tmp/no-folder'],
  ['ValueError: num_samples should be a positive integer value, but got num_samples=0', 'empty'],
  ['ValueError: optimizer got an empty parameter list', 'empty'],
  ['ValueError: loaded state dict has a different number of parameter groups', 'optimizer'],
  [
    'ValueError: Expected more than 1 value per channel when training, got input size torch.Size([1, 3])',
    'drop_last=True',
  ],
  ['RuntimeError: probability tensor contains either `inf`, `nan` or element < 0', 'NaN'],
  [
    "RuntimeError: view size is not compatible with input tensor's size and stride (at least one dimension spans across two contiguous subspaces). Use .reshape(...) instead.",
    '.reshape',
  ],
  ['TypeError: Got unsupported ScalarType BFloat16', '.float().numpy()'],
  [
    'RuntimeError: a leaf Variable that requires grad is being used in an in-place operation.',
    'torch.no_grad',
  ],
];

/** Caused on purpose, under PyTorch 1.13 built without CUDA. */
const elder: Case[] = [
  ['AssertionError: Torch not compiled with CUDA enabled', 'without CUDA'],
  ['RuntimeError: Found dtype Long but expected Float', 'y.long()'],
  [
    'IndexError: invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a 0-dim tensor to a number',
    'loss.item()',
  ],
  ["AttributeError: 'dict' object has no attribute 'iteritems'", '.items()'],
  ["TypeError: load() missing 1 required positional argument: 'Loader'", 'yaml.safe_load'],
  [
    "ImportError: cannot import name 'ImageOps' from 'torchvision.transforms' (/usr/lib/python3/dist-packages/torchvision/transforms/__init__.py)",
    'torchvision.transforms has no ImageOps',
  ],
  ["AttributeError: module 'numpy' has no attribute 'int'.", 'numpy<2'],
  ['RuntimeError: "slow_conv2d_cpu" not implemented for \'Half\'', 'model.float()'],
];

/** As people report them from machines with GPUs, several processes or older libraries. */
const reported: Case[] = [
  ['RuntimeError: CUDA error: no kernel image is available for execution on the device', 'capability'],
  [
    'RuntimeError: The NVIDIA driver on your system is too old (found version 11040). Please update your GPU driver',
    'supports CUDA 11.4',
  ],
  [
    "RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the 'spawn' start method",
    'spawn',
  ],
  [
    'RuntimeError: CUDA error: device-side assert triggered\nCUDA kernel errors might be asynchronously reported',
    'CUDA_LAUNCH_BLOCKING',
  ],
  ['RuntimeError: CUDA error: an illegal memory access was encountered', 'CUDA_LAUNCH_BLOCKING'],
  ['RuntimeError: CUDA error: invalid device ordinal', 'cuda:0'],
  [
    'torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:1691, invalid usage (run with NCCL_DEBUG=WARN for details), NCCL version 2.19.3\nncclInvalidUsage: This usually reflects invalid usage of NCCL library.\nLast error:\nDuplicate GPU detected : rank 0 and rank 1 both on CUDA device 1000',
    'set_device',
  ],
  [
    'torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:1333, unhandled system error\nncclSystemError: System call (e.g. socket, malloc) or external library call failed',
    'NCCL_DEBUG',
  ],
  [
    'RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!',
    '.to(device)',
  ],
  [
    "TypeError: can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first.",
    '.detach().cpu()',
  ],
  [
    'RuntimeError: Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False.',
    'map_location',
  ],
  [
    'RuntimeError: Expected to have finished reduction in the prior iteration before starting a new one.',
    'find_unused_parameters=True',
  ],
  [
    'RuntimeError: Error(s) in loading state_dict for Net:\n\tMissing key(s) in state_dict: "0.weight". \n\tUnexpected key(s) in state_dict: "module.0.weight".',
    'removeprefix',
  ],
  [
    "OSError: We couldn't connect to 'https://huggingface.co' to load the files, and couldn't find them in the cached files.",
    'HF_HUB_OFFLINE',
  ],
  ['RuntimeError: operator torchvision::nms does not exist', 'belong together'],
  ["AttributeError: module 'torch' has no attribute 'compile'", 'older than the script'],
  ['OSError: libcudnn.so.9: cannot open shared object file: No such file or directory', 'libcudnn.so.9'],
  [
    'usage: train.py [-h] [--lr LR]\ntrain.py: error: unrecognized arguments: --learning-rate 0.1',
    '--learning-rate 0.1',
  ],
  ['sh: 1: source: not found', 'virtual environment'],
];

for (const [message, words] of [...recent, ...elder, ...reported])
  test(`explained: ${message.split('\n', 1)[0]?.slice(0, 80) ?? ''}`, () => {
    const found = explainTrainingError(message);
    assert.ok(`${found?.because ?? ''} ${found?.fix ?? ''}`.includes(words), JSON.stringify(found));
    assert.doesNotMatch(found?.fix ?? '', /\$\d/);
  });

test('what the program itself raises is left alone', () => {
  for (const message of ['ValueError: bad epoch', 'KeyError: 3', 'AssertionError', '', 'FileExistsError: x'])
    assert.equal(explainTrainingError(message), undefined, message);
});
