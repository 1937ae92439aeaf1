/** Failures that many trainings have; `$1` stands for what a group of the expression found. */
const rows: readonly (readonly [said: RegExp, because: string, fix: string])[] = [
  // GPUs
  [
    /Torch not compiled with CUDA enabled/,
    'This PyTorch was built without CUDA.',
    'Write `device = "cuda" if torch.cuda.is_available() else "cpu"` in the script; for a GPU, name an image with ' +
      'a CUDA build in [environment] and write `gpus = 1` in [resources].',
  ],
  [
    /No CUDA GPUs are available|Found no NVIDIA driver|no CUDA-capable device is detected|only supported with GPUs/,
    'The job had no GPU.',
    'Write `gpus = 1` in [resources], or `device = "cuda" if torch.cuda.is_available() else "cpu"` in the script.',
  ],
  [
    /driver on your system is too old \(found version (\d+)0(\d)0\)/,
    "The machine's driver supports CUDA $1.$2 at most; PyTorch was built with a newer one.",
    'Write the CUDA that PyTorch was built with, like `gpu = { cuda = "12.4" }`, in [resources].',
  ],
  [
    /no kernel image is available for execution|PTX was compiled with an unsupported toolchain/,
    'PyTorch was not built for this GPU: it is older or newer than those that the build supports.',
    'Write `gpu = { capability = 7.5 }` in [resources] if the GPU is too old, or name an image with a newer PyTorch.',
  ],
  [
    /invalid device ordinal/,
    'The script uses a GPU by a number that the job does not have.',
    'Write `cuda:0`, or request more GPUs with `gpus` in [resources].',
  ],
  [
    /device-side assert triggered/,
    'A GPU found an index out of its range, usually a label outside 0 to the number of classes less one.',
    'To see where, write `env.CUDA_LAUNCH_BLOCKING = "1"` in [train], or run it on a CPU.',
  ],
  [
    /illegal memory access was encountered|unspecified launch failure|CUBLAS_STATUS_EXECUTION_FAILED/,
    'A GPU kernel failed; the line that is shown may come later than the one that failed.',
    'To see where, write `env.CUDA_LAUNCH_BLOCKING = "1"` in [train].',
  ],
  [
    /Cannot re-initialize CUDA in forked subprocess/,
    "A data loader's worker uses the GPU, which a forked process cannot.",
    'Keep tensors on the CPU in the data set, or write `multiprocessing_context="spawn"` in the DataLoader.',
  ],
  [
    /Expected all tensors to be on the same device|Input type \(.*\) and weight type \(.*\) should be the same/,
    'A tensor and the model are on different devices, or have different types.',
    'Write `x, y = x.to(device), y.to(device)` before the model is called.',
  ],
  [
    /can't convert cuda:\d+ device type tensor to numpy|Can't call numpy\(\) on Tensor that requires grad/,
    'NumPy cannot read a tensor that is on the GPU or has a gradient.',
    'Write `.detach().cpu().numpy()`.',
  ],
  [/Got unsupported ScalarType BFloat16/, 'NumPy has no bfloat16.', 'Write `.float().numpy()`.'],
  [
    /not implemented for 'Half'/,
    'A CPU cannot compute this in half precision.',
    'Write `model.float()`, or `gpus = 1` in [resources].',
  ],
  // Several processes
  [
    /Duplicate GPU detected/,
    'Two processes use the same GPU.',
    'Write `torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))`, and `processes = "gpus"` in [train].',
  ],
  [
    /Watchdog caught collective operation timeout/,
    'A process waited for another one in vain: that one failed, hangs, or has less data.',
    'Read what the other processes printed; all must make the same number of steps.',
  ],
  [
    /ncclSystemError|ncclUnhandledCudaError|ncclInternalError|ncclRemoteError|NCCL error/,
    'NCCL, which connects the processes, failed.',
    'To see why, write `env.NCCL_DEBUG = "WARN"` in [train].',
  ],
  [
    /No backend type associated with device type cpu/,
    'NCCL cannot send a tensor that is on the CPU.',
    'Move it to the GPU, or write `dist.init_process_group("cpu:gloo,cuda:nccl")`.',
  ],
  [
    /environment variable (\w+) expected, but not set|KeyError: '(?:LOCAL_)?(?:RANK|WORLD_SIZE)'/,
    'The script expects to be one of several processes, and nothing started them.',
    'Write `processes = 1` in [train], or "gpus" for one on each GPU: the agent starts them.',
  ],
  [
    /EADDRINUSE|[Aa]ddress already in use/,
    'The port of the processes was in use on that machine.',
    'Write `processes` in [train], which gives each attempt a port of its own, and no port in the script.',
  ],
  [
    /Default process group has not been initialized/,
    'The script uses torch.distributed before its processes are connected.',
    'Write `dist.init_process_group()` first, and `processes = 1` in [train].',
  ],
  [
    /Timed out after \d+ seconds waiting for clients\. (\d+)\/(\d+) clients/,
    'Of $2 processes only $1 came.',
    'Write `processes = $2` in [train], and let the command start the script alone.',
  ],
  [
    /Expected to have finished reduction in the prior iteration/,
    'Some parameters took no part in the loss.',
    'Write `DistributedDataParallel(model, find_unused_parameters=True)`.',
  ],
  // Checkpoints
  [
    /Weights only load failed[^]*Unsupported operand 60/,
    'The file is a web page, not a checkpoint: it was not downloaded as meant.',
    'Download it again and look at it, or name it in a [data] table with its sha256.',
  ],
  [
    /Weights only load failed/,
    'Since PyTorch 2.6, `torch.load` reads tensors only, and the file has more.',
    'If you trust the file, write `torch.load(path, weights_only=False)`.',
  ],
  [
    /Attempting to deserialize object on a CUDA device/,
    'The checkpoint was saved on a GPU, and the job had none.',
    'Write `torch.load(path, map_location="cpu")`.',
  ],
  [
    /EOF when reading a line|Inappropriate ioctl for device/,
    'The script asks for input, and nobody answers a job.',
    'Make what it asks for an argument, or a variable of [train.secrets].',
  ],
  [
    /failed finding central directory|not a ZIP archive|invalid load key|unexpected EOF, expected|^EOFError/,
    'The file is cut short, or no checkpoint.',
    'Remove it; save to another name first, then `os.replace(temporary, path)`.',
  ],
  [
    /(?:Missing|Unexpected) key\(s\) in state_dict: "module\./,
    'The checkpoint is of a model inside DataParallel, whose names begin with "module.".',
    'Write `state = {k.removeprefix("module."): v for k, v in state.items()}`, and save `model.module.state_dict()`.',
  ],
  [
    /size mismatch for (\S+): copying/,
    'The checkpoint is of another model: $1 has another shape, often another number of classes.',
    'Make the model as it was when it was saved, or remove the checkpoint and start fresh.',
  ],
  [
    /(?:Missing|Unexpected) key\(s\) in state_dict/,
    'The checkpoint is of another model, or holds more than its weights.',
    'Load the part that was saved, as in `model.load_state_dict(checkpoint["model"])`.',
  ],
  [
    /loaded state dict (?:has a different number of|contains a) parameter group/,
    'The optimizer is of other parameters than the checkpoint.',
    'Load the model first and make the optimizer as before, or start fresh.',
  ],
  [
    /Parent directory (\S+) does not exist|Cannot save file into a non-existent directory: '(.+)'/,
    'The folder to save to does not exist.',
    'Write `mkdir -p $1$2 && ` before the command, or `os.makedirs("$1$2", exist_ok=True)` in the script.',
  ],
  // Shapes and values
  [
    /mat1 and mat2 shapes cannot be multiplied/,
    'A linear layer got an input of another size than it was made for: the data differ from what the model expects.',
    'Print `x.shape` before it; write `nn.LazyLinear(out)` to take the size from the data.',
  ],
  [
    /mat1 and mat2 must have|Found dtype \w+ but|expected scalar type \w+ but found|expected m1 and m2/,
    'The data have another number type than the model, or the labels than the loss.',
    'Write `x.float()` for inputs, `y.long()` for classes.',
  ],
  [
    /to have (\d+) channels, but got (\d+) channels/,
    'The model expects $1 channels, the images have $2.',
    'Write `Image.open(path).convert("RGB")` for three, `.convert("L")` for one.',
  ],
  [
    /Target -?\d+ is out of bounds|index out of range in self/,
    'A label or token is larger than the model has classes or words.',
    'Count them, as in `num_classes = int(labels.max()) + 1`, and make the model with that many.',
  ],
  [
    /Expected input batch_size \((\d+)\) to match target batch_size/,
    'The model returned another number of results than there are labels: a reshape mixed the batch.',
    'Write `x.flatten(1)` instead of `x.view(-1, n)`.',
  ],
  [
    /stack expects each tensor to be equal size/,
    'The items of a batch have different sizes.',
    'Resize them (`transforms.Resize((224, 224))`), or write a `collate_fn` that pads.',
  ],
  [
    /Expected more than 1 value per channel when training/,
    'The last batch has one item, of which batch normalization cannot compute a variance.',
    'Write `drop_last=True` in the DataLoader.',
  ],
  [
    /num_samples should be a positive integer|optimizer got an empty parameter list/,
    'A data set or a model is empty: its folder or its parameters were not found.',
    'Check the path of the data against `into` in [data].',
  ],
  [
    /view size is not compatible with input tensor's size/,
    'The tensor is not contiguous.',
    'Write `.reshape(…)` instead of `.view(…)`.',
  ],
  [
    /returned nan values in its|found invalid values:|probability tensor contains either `inf`, `nan`|loss is nan/i,
    'The training diverged: values became NaN or infinite.',
    'Use a smaller learning rate, or write `torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)`.',
  ],
  // Gradients
  [
    /modified by an inplace operation|leaf Variable that requires grad is being used in an in-place operation/,
    'A tensor that a gradient needs was changed in place.',
    'Write `x = x + y` instead of `x += y`, and `with torch.no_grad():` around changes of parameters.',
  ],
  [
    /backward through the graph a second time/,
    'A gradient was asked for twice, usually because something is kept from one step to the next.',
    'Write `.detach()` on what is kept, such as `hidden = hidden.detach()`.',
  ],
  [
    /does not require grad and does not have a grad_fn/,
    'The loss does not depend on any parameter that is trained.',
    'Remove `torch.no_grad()`, `.detach()` or `.item()` between the model and the loss.',
  ],
  // Data loaders
  [
    /DataLoader worker \(pid\(s\) [\d, ]+\) exited unexpectedly/,
    'A worker of the data loader died, often for lack of memory.',
    'Write more `memory` in [resources], or `num_workers=0` to see its error.',
  ],
  [
    /Can't (?:pickle|get) local object|Can't pickle </,
    'What goes to another process cannot be a lambda or a function inside another.',
    'Define it at the top of the file.',
  ],
  [
    /before the current process has finished its bootstrapping phase/,
    'The script starts processes while it is imported.',
    'Write `if __name__ == "__main__":` before what starts the training.',
  ],
  [
    /Dataset not found\. You can use download=True|Dataset not found or corrupted/,
    'The data set is not where the script looks for it.',
    'Name it in a [data] table whose `into` is the folder that the script reads.',
  ],
  [
    /Couldn't find any class folder in (\S+?)\.?(?:\s|$)|Found no valid file for the classes/,
    'The folder of the images has no folder for each class.',
    'Look at what is in it: `into` in [data] may be one level too high or too low.',
  ],
  [
    /FileNotFoundError: .*No such file or directory: '([^'/].*)'/,
    'The job has no $1: its paths start at the work folder.',
    'Name it in `files` of [train], or let a [data] table bring it there by `into`.',
  ],
  [
    /FileNotFoundError: .*No such file or directory: '(\/.*)'/,
    '$1 is not on that machine.',
    'Send it by `files` or a [data] table, and name it by its path in the work folder.',
  ],
  // Network and keys
  [
    /KeyError: '(\w*(?:TOKEN|API_KEY|SECRET|PASSWORD))'/,
    'The script reads $1 from the environment, and the job has none.',
    'Write `secrets = { $1 = { from = "env" } }` in [train]: it is read here and goes with the job.',
  ],
  [
    /GatedRepoError|Access to model \S+ is restricted|401 Client Error[^]*huggingface/,
    'The model asks for a login that the job does not have.',
    'Write `secrets = { HF_TOKEN = { from = "env" } }` in [train].',
  ],
  [
    /LocalEntryNotFoundError|couldn't connect to 'https:\/\/huggingface|OfflineModeIs/,
    'The model is not on the machine, and the job could not or may not reach Hugging Face.',
    'Send it in a [data] table and name its folder, with `env.HF_HUB_OFFLINE = "1"` in [train].',
  ],
  [
    /URLError|Name or service not known|name resolution|Max retries exceeded with url|NewConnectionError|onnectTimeout/,
    'The script uses the network, which this machine does not give it.',
    'Name what it downloads in a [data] table, and read that folder.',
  ],
  // Software
  [
    /invalid index of a 0-dim tensor|'dict' object has no attribute 'iter\w+'|load\(\) missing .* 'Loader'/,
    'The script is older than its packages: it is for PyTorch 0.3, Python 2 or PyYAML 5.',
    'Write `loss.item()` for `loss.data[0]`, `.items()` for `.iteritems()`, `yaml.safe_load` for `yaml.load`.',
  ],
  [
    /cannot import name '(\w+)' from '([\w.]+)' \((?!unknown)/,
    'The installed $2 has no $1: it is another version than the script was written for.',
    'Write the version in requirements.txt, then `updraft env make requirements.txt`.',
  ],
  [
    /compiled using NumPy 1\.x cannot|dtype size changed|_ARRAY_API not found|has no attribute '(?:float|int|bool)'/,
    'PyTorch or another package was built for another NumPy.',
    'Write `numpy<2` (or an older one) in requirements.txt, then `updraft env make requirements.txt`.',
  ],
  [
    /operator torchvision::nms does not exist|undefined symbol: .*(?:c10|torch|at\d)|_ZN2at|_ZN3c10/,
    'torchvision, or another extension, was built for another PyTorch.',
    'Write the versions that belong together in requirements.txt, then `updraft env make requirements.txt`.',
  ],
  [
    /version `(GLIBC\w*_[\d.]+)' not found/,
    'A program needs $1, which is newer than that of the machine.',
    'Name an image in [environment].',
  ],
  [
    /(lib(?:cu|nv|nccl)\S*\.so[\d.]*): cannot open shared object file/,
    'PyTorch did not find $1, a library of CUDA.',
    'Name an image with PyTorch in [environment], or make a pack: `updraft env make requirements.txt -e gpu`.',
  ],
  [
    /No working C\+\+ compiler found|Failed to find C compiler|InvalidCxxCompiler/,
    '`torch.compile` needs a compiler, which the machine does not have.',
    'Write `env.TORCHDYNAMO_DISABLE = "1"` in [train], or name an image with gcc.',
  ],
  [
    /module 'torch' has no attribute '(\w+)'/,
    "This PyTorch has no `torch.$1`: it is older than the script, or a file torch.py of the job's own hides it.",
    'Write the version in requirements.txt, then `updraft env make requirements.txt`; rename an own torch.py.',
  ],
  [
    /No module named '([\w.]+)'/,
    'The Python of the job does not have $1.',
    'Write $1 in requirements.txt, then `updraft env make requirements.txt`.',
  ],
  // The command
  [
    /: source: not found/,
    'Commands run in sh, which has no `source`; and a virtual environment does not travel with the job.',
    'Remove it from `command`; `updraft env make requirements.txt` makes an environment that does.',
  ],
  [
    /error: unrecognized arguments: (.+)/,
    'The command has $1, which the script does not know.',
    'Correct `command` in the job file.',
  ],
  [
    /error: the following arguments are required: (.+)/,
    'The command lacks $1.',
    'Correct `command` in the job file.',
  ],
];

/** Under which name pip knows modules that have another one. */
const packages = new Map(
  Object.entries({
    cv2: 'opencv-python-headless',
    sklearn: 'scikit-learn',
    skimage: 'scikit-image',
    PIL: 'pillow',
    yaml: 'pyyaml',
    pytorch_lightning: 'pytorch-lightning',
    dateutil: 'python-dateutil',
    google: 'protobuf',
  }),
);

/** What the message of a failed training means, and what to write against it; undefined if it is none of the usual. */
export function explainTrainingError(message: string): { because: string; fix: string } | undefined {
  for (const [said, because, fix] of rows) {
    const found = said.exec(message);
    if (found === null) continue;
    const filled = (text: string, name = (word: string): string => word): string =>
      text.replaceAll(/\$(\d)/g, (_, at: string) => name(found[Number(at)] ?? ''));
    const module = (word: string): string => packages.get(word.split('.')[0] ?? '') ?? word;
    return { because: filled(because), fix: filled(fix, module) };
  }
  return undefined;
}
