import { defined } from '@updraft/base';
import type { Argument, Call, TokenRange, Syntax } from './python-syntax.ts';
import { namePattern, type StaticValues, type Value } from './static-value.ts';

/** A file or folder that a script writes. */
export interface ScriptSave {
  /** Its path, with `*` for what is not known and arguments at their defaults. */
  name: string;
  value: Value;
  /** The call that writes it, like `torch.save`. */
  call: string;
  isFolder: boolean;
  line: number;
  /** The condition under which it is written, like `if epoch % 10 == 0`. */
  under?: string;
}

/** A file or folder that a script reads. */
export interface ScriptRead {
  /** As `name` of a save. */
  path: string;
  value: Value;
  call: string;
  line: number;
}

/** Where a call names its file: the position of the argument, then its keywords; -1 is what the method is called on. */
interface Shape {
  /** Matches the whole dotted name of the call. */
  name: RegExp;
  at: number;
  keywords?: string[];
  isFolder?: true;
  /** What the library appends to a name without it. */
  suffix?: string;
  /** Where the library writes if the call does not say. */
  otherwise?: string;
}

const writers: Shape[] = [
  { name: /^(torch|xm|accelerator|paddle|th)\.save$|^torch\.jit\.save$/, at: 1, keywords: ['f'] },
  { name: /^(self\.)?fabric\.save$/, at: 0, keywords: ['path'] },
  { name: /(^|\.)(save_pretrained)$/, at: 0, keywords: ['save_directory'], isFolder: true },
  { name: /^(\w*trainer)\.save_model$/i, at: 0, keywords: ['output_dir'], isFolder: true },
  { name: /(^|\.)(save_state|save_checkpoint_dir)$/, at: 0, keywords: ['output_dir'], isFolder: true },
  { name: /(^|\.)(save_model|save_weights)$/, at: 0, keywords: ['filepath', 'fname'] },
  { name: /^(np|numpy|jnp)\.save$/, at: 0, keywords: ['file'], suffix: '.npy' },
  { name: /^(np|numpy|jnp)\.savez(_compressed)?$/, at: 0, keywords: ['file'], suffix: '.npz' },
  { name: /^(np|numpy)\.savetxt$/, at: 0, keywords: ['fname'] },
  { name: /\.to_(csv|json|parquet|pickle|hdf|excel|feather)$/, at: 0, keywords: ['path', 'path_or_buf'] },
  { name: /\.savefig$/, at: 0, keywords: ['fname'] },
  { name: /^joblib\.dump$|(^|\.)save_file$/, at: 1, keywords: ['filename'] },
  {
    name: /^(model|net|scripted\w*|traced\w*|\w+_model|tokenizer|clf|agent)\.save$/,
    at: 0,
    keywords: ['filepath'],
  },
  { name: /(^|\.)onnx\.export$/, at: 2, keywords: ['f'] },
  { name: /(^|\.)(save_image)$/, at: 1, keywords: ['fp'] },
  { name: /^(cv2\.)imwrite$|^imageio\.\w*imwrite$/, at: 0 },
  { name: /^shutil\.(copy|copyfile|copy2)$/, at: 1, keywords: ['dst'] },
  { name: /\.(write_text|write_bytes)$/, at: -1 },
  { name: /(^|\.)\w*TrainingArguments$/, at: 0, keywords: ['output_dir'], isFolder: true },
  {
    name: /^((L|pl|lightning|pytorch_lightning)\.Trainer|LightningCLI)$/,
    at: 99,
    keywords: ['default_root_dir'],
    isFolder: true,
    otherwise: 'lightning_logs',
  },
  { name: /^Trainer$/, at: 99, keywords: ['default_root_dir'], isFolder: true },
  { name: /(^|\.)ModelCheckpoint$/, at: 99, keywords: ['dirpath'], isFolder: true },
];

const readers: Shape[] = [
  { name: /(^|\.)(ImageFolder|DatasetFolder|ImageFolderDataset)$/, at: 0, keywords: ['root'] },
  { name: /(^|\.)datasets\.(?!FakeData)[A-Z]\w*$/, at: 0, keywords: ['root'] },
  {
    name: /^(MNIST|FashionMNIST|KMNIST|CIFAR10|CIFAR100|SVHN|STL10|ImageNet|CocoDetection|VOC\w+)$/,
    at: 0,
    keywords: ['root'],
  },
  {
    name: /^(torch|joblib|np|numpy)\.load$|^torch\.jit\.load$|(^|\.)load_checkpoint$/,
    at: 0,
    keywords: ['f', 'file'],
  },
  { name: /^(pd|pandas|pl)\.read_\w+$/, at: 0 },
  { name: /(^|\.)load_from_disk$/, at: 0 },
  { name: /(^|\.)load_dataset$/, at: 99, keywords: ['data_dir', 'data_files'] },
  { name: /^(os\.)?(listdir|scandir|walk)$|^glob\.i?glob$|^glob$/, at: 0 },
  {
    name: /^(PIL\.)?Image\.open$|^cv2\.imread$|^np\.(memmap|loadtxt|genfromtxt|fromfile)$/,
    at: 0,
    keywords: ['filename'],
  },
  { name: /\.(read_text|read_bytes|iterdir|glob|rglob)$/, at: -1 },
  { name: /(^|\.)WebDataset$/, at: 0 },
];

/** What a script writes, as far as its text shows. */
export function scriptSaves(
  syntax: Syntax,
  values: StaticValues,
  conditions: ReadonlyMap<number, string>,
): ScriptSave[] {
  return syntax.calls.flatMap((call) => {
    const shape = shapeOf(syntax, call, 'w') ?? writers.find(({ name }) => name.test(call.name));
    const value = fileOf(call, shape, values);
    if (call.isDefinition || shape === undefined || value === undefined) return [];
    const ending =
      shape.suffix !== undefined && !namePattern(value).endsWith(shape.suffix) ? shape.suffix : '';
    const whole = ending === '' ? value : [...value, { text: ending }];
    return [
      {
        name: namePattern(whole),
        value: whole,
        call: call.name.replace(/^\./, ''),
        isFolder: shape.isFolder === true,
        line: call.line,
        ...defined({ under: conditions.get(call.line) }),
      },
    ];
  });
}

/** What a script reads, as far as its text shows. */
export function scriptReads(syntax: Syntax, values: StaticValues): ScriptRead[] {
  return syntax.calls.flatMap((call) => {
    const shape = shapeOf(syntax, call, 'r') ?? readers.find(({ name }) => name.test(call.name));
    const value = fileOf(call, shape, values);
    if (call.isDefinition || value === undefined || /^[\d.]*$/.test(namePattern(value))) return [];
    return [{ path: namePattern(value), value, call: call.name.replace(/^\./, ''), line: call.line }];
  });
}

/** `open` and its like, which read or write by their mode. */
function shapeOf({ tokens }: Syntax, { name, args, receiver }: Call, wanted: 'r' | 'w'): Shape | undefined {
  const isMethod =
    receiver !== undefined &&
    /\.open$/.test(name) &&
    !/^(io|gzip|bz2|lzma|codecs|os|Image|PIL\.Image|zipfile|tarfile)\.open$/.test(name);
  if (!isMethod && !/^(io\.|gzip\.|bz2\.|lzma\.|codecs\.)?open$|^h5py\.File$/.test(name)) return undefined;
  const plain = args.filter((one) => one.name === undefined);
  const given = args.find((one) => one.name === 'mode') ?? plain[isMethod ? 0 : 1];
  const mode = given === undefined ? 'r' : (tokens[given.from]?.text ?? 'r');
  if (!/^[rwaxbt+]{1,3}$/.test(mode)) return undefined;
  return (/[wax]/.test(mode) ? 'w' : 'r') === wanted
    ? { name: /./, at: isMethod ? -1 : 0, keywords: ['file'] }
    : undefined;
}

/** The value of the file's name, unless nothing of it is known. */
function fileOf({ args, receiver }: Call, shape: Shape | undefined, values: StaticValues): Value | undefined {
  if (shape === undefined) return undefined;
  const plain = args.filter((one): one is Argument => one.name === undefined);
  const span: TokenRange | undefined =
    shape.at < 0
      ? receiver
      : (args.find(({ name }) => name !== undefined && shape.keywords?.includes(name) === true) ??
        plain[shape.at]);
  if (span === undefined) return shape.otherwise === undefined ? undefined : [{ text: shape.otherwise }];
  const value = values.of(span);
  return value.some((piece) => !('unknown' in piece)) ? value : undefined;
}
