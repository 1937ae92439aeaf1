import { defined } from '@updraft/base';
import {
  type PythonImport,
  pythonImports,
  pythonLines,
  pythonTokens,
  type Token,
  type PythonLine,
} from './python-tokens.ts';
import { readSyntax, type Syntax, type Argument, type Call, type TokenRange } from './python-syntax.ts';
import { type ScriptArg, scriptArgs } from './script-args.ts';
import { StaticValues, namePattern, type Value } from './static-value.ts';

/** What the text of a Python script shows about running it. */
export interface ScriptFacts {
  imports: PythonImport[];
  args: ScriptArg[];
  saves: ScriptSave[];
  reads: ScriptRead[];
  /** Absolute paths and those below `~`, in string literals. */
  paths: ScriptPath[];
  downloads: ScriptDownload[];
  /** How it continues an interrupted training, if it does. */
  checkpoint?: ScriptCheckpoint;
  /** Where it first uses a GPU. */
  cuda?: { line: number };
  /** Where it first expects to be one of several processes that others start. */
  ranks?: { line: number };
  /** Whether it makes folders to write to. */
  makesFolders: boolean;
  /** Whether it does something when it is started, rather than only define things. */
  isProgram: boolean;
}

export interface ScriptCheckpoint {
  /**
   * `updraft`: imports `updraft` or reads UPDRAFT_CHECKPOINT; `trainer`: Hugging Face's resumes from its output
   * folder; `argument`: has one like `--resume`, or a condition that somebody must ask for; `reads back`: loads what
   * it saved.
   */
  how: 'updraft' | 'trainer' | 'argument' | 'reads back';
  /** The flag, or the file. */
  name: string;
  line: number;
}

/** Larger than any script written by hand. */
const longestScript = 1 << 20;

/** Reads a Python script without running it. Any text is accepted, in linear time. */
export function readScript(source: string): ScriptFacts {
  const text = source.slice(0, longestScript);
  const tokens = pythonTokens(text);
  const lines = pythonLines(text, tokens);
  const syntax = readSyntax(tokens);
  const args = scriptArgs(syntax);
  const values = new StaticValues(syntax, args);
  const conditions = enclosingConditions(text, tokens);
  const saves = scriptSaves(syntax, values, conditions);
  const reads = scriptReads(syntax, values);
  const imports = pythonImports(lines);
  return {
    imports,
    args,
    saves,
    reads,
    paths: scriptPaths(syntax),
    downloads: scriptDownloads(lines),
    ...defined({
      checkpoint: checkpointOf(syntax.tokens, { args, saves, reads, conditions }),
      cuda: cudaOf(syntax),
      ranks: ranksOf(syntax),
    }),
    makesFolders: syntax.calls.some(({ name }) => /(^|\.)(makedirs|mkdir)$/.test(name)),
    isProgram:
      args.length > 0 || lines.some((line) => /^if\s+__name__\s*==/.test(line.text)) || saves.length > 0,
  };
}

const resumes =
  /^--?(resume|resume[-_]from\w*|resume[-_]from[-_]checkpoint|load[-_]checkpoint|ckpt[-_]path|checkpoint[-_]path)$/;

/** Conditions that need nobody's wish: the file is there, or this is the process that loads it. */
const resumesByItself = /exist|is_?file|listdir|glob|find|latest|last|rank|main|master/i;

function checkpointOf(
  tokens: readonly Token[],
  {
    args,
    saves,
    reads,
    conditions,
  }: Pick<ScriptFacts, 'args' | 'saves' | 'reads'> & { conditions: ReadonlyMap<number, string> },
): ScriptCheckpoint | undefined {
  const ours = tokens.find(({ kind, text }) =>
    kind === 'string' ? text.includes('UPDRAFT_CHECKPOINT') : kind === 'name' && text === 'updraft',
  );
  if (ours !== undefined) return { how: 'updraft', name: 'UPDRAFT_CHECKPOINT', line: ours.line };
  const trainer = tokens.find(({ kind, text }) => kind === 'name' && text === 'get_last_checkpoint');
  if (trainer !== undefined) return { how: 'trainer', name: 'get_last_checkpoint', line: trainer.line };
  const arg = args.find(({ flag }) => resumes.test(flag));
  if (arg !== undefined) return { how: 'argument', name: arg.flag, line: arg.line };
  const loaded = reads.find(({ call, path }) => /load/.test(call) && saves.some(({ name }) => name === path));
  if (loaded === undefined) return undefined;
  const { path, line } = loaded;
  const wish = /^(?:el)?if (.+)/.exec(conditions.get(line) ?? '')?.[1];
  return wish === undefined || resumesByItself.test(wish)
    ? { how: 'reads back', name: path, line }
    : { how: 'argument', name: wish, line };
}

/** `.cuda()`, `torch.device("cuda")`, `.to("cuda")`, `device = "cuda" if …`. */
function cudaOf({ tokens, calls }: Syntax): { line: number } | undefined {
  const called = calls.find(({ name }) =>
    /(^|\.)cuda$|^torch\.cuda\.\w+$|(^|\.)(Accelerator|Fabric)$|(^|\.)init_process_group$/.test(name),
  );
  const named = tokens.find(({ kind, text }) => kind === 'string' && /^(cuda|gpu)(:\d+)?$/.test(text));
  const lines = [called?.line, named?.line].filter((line) => line !== undefined);
  return lines.length === 0 ? undefined : { line: Math.min(...lines) };
}

/** torch.distributed, accelerate, or Lightning's `devices=`; not where the script starts its processes itself. */
function ranksOf({ calls }: Syntax): { line: number } | undefined {
  const joins = /(^|\.)(init_process_group|DistributedDataParallel|DDP|fully_shard|FSDP|Accelerator)$/;
  const takesDevices = /(^|\.)(Trainer|Fabric)$/;
  const starts = /(^|\.)(spawn|start_processes|\w+_launcher)$/;
  if (calls.some(({ name }) => starts.test(name))) return undefined;
  return calls.find(
    ({ name, args }) =>
      joins.test(name) || (takesDevices.test(name) && args.some((one) => one.name === 'devices')),
  );
}

interface Block {
  indent: number;
  /** Undefined: what is inside always runs, once its function is called. */
  condition?: string;
  isFunction: boolean;
}

const conditional = /^(if|elif|else|except|case)$/;
const opening = /^(if|elif|else|except|case|def|class|for|while|with|try|finally|match|async)$/;
const longestShown = 60;

/** The innermost condition under which each line runs, by its number; lines that always run are absent. */
function enclosingConditions(source: string, tokens: readonly Token[]): Map<number, string> {
  const open: Block[] = [];
  const found = new Map<number, string>();
  let first = 0;
  for (const [at, { kind }] of tokens.entries()) {
    if (kind !== 'newline' && at < tokens.length - 1) continue;
    const start = tokens
      .slice(first, at + 1)
      .find((token) => token.kind !== 'comment' && token.kind !== 'newline');
    const last = tokens[at];
    first = at + 1;
    if (start === undefined || last === undefined) continue;
    const indent = start.column;
    while ((open.at(-1)?.indent ?? -1) >= indent) open.pop();
    const inner = open.slice(open.findLastIndex(({ isFunction }) => isFunction) + 1);
    const condition = inner.findLast((block) => block.condition !== undefined)?.condition;
    if (condition !== undefined)
      for (let line = start.line; line <= last.line; line++) found.set(line, condition);
    if (start.kind === 'name' && opening.test(start.text)) open.push(blockOf(source, start, last, indent));
  }
  return found;
}

function blockOf(source: string, start: Token, last: Token, indent: number): Block {
  const text = source.slice(start.start, Math.min(last.start, start.start + 300));
  const head = text.replace(/:\s*(#.*)?$/s, '').replaceAll(/\s+/g, ' ');
  const isMain = /__name__/.test(head);
  return {
    indent,
    ...(conditional.test(start.text) && !isMain && { condition: head.slice(0, longestShown) }),
    isFunction: /^(def|class|async)$/.test(start.text),
  };
}

/** A path of one machine in a string literal. */
interface ScriptPath {
  text: string;
  line: number;
}

/** A path with at least one named part; not a division sign, a pattern or a switch of Windows. */
const machinePath = /^(~[\w-]*(\/[\w.@ {}+-]+)*\/?|(\/[\w.@ {}+-]*[\w@}][\w.@ {}+-]*)+\/?)$/;
/** Files that every Linux has, and pieces of URLs. */
const everywhere = /^\/(dev|proc|sys|bin|usr\/bin)(\/|$)/;
/** Calls whose text is compared or matched, not opened. */
const comparing =
  /(^|\.)(startswith|endswith|split|rsplit|strip|replace|find|index|route|get|post|sub|match|compile|count)$/;

/** Absolute paths and those below `~` that stand at the start of a string. */
function scriptPaths({ tokens, callAt }: Syntax): ScriptPath[] {
  const open: number[] = [];
  return tokens.flatMap(({ kind, text, line, quote = '', prefix = '' }, at) => {
    if (kind === 'op' && '([{'.includes(text)) open.push(at);
    if (kind === 'op' && ')]}'.includes(text)) open.pop();
    if (kind !== 'string' || quote.length === 3 || prefix.includes('b') || text.length > 300) return [];
    if (!machinePath.test(text) || text === '~' || everywhere.test(text)) return [];
    const before = tokens[at - 1]?.text ?? '';
    // `folder + "/name"` is not absolute; a comparison opens nothing.
    if (/^(\+|==|!=|in)$/.test(before) || tokens[at - 1]?.kind === 'string') return [];
    const call = callAt.get(open.at(-1) ?? -1);
    return call !== undefined && comparing.test(call.name) ? [] : [{ text, line }];
  });
}

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
interface ScriptRead {
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
function scriptSaves(
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
function scriptReads(syntax: Syntax, values: StaticValues): ScriptRead[] {
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

export type ScriptFetch = 'weights' | 'dataset' | 'hub' | 'hugging face' | 'file' | 'packages';

/** Something that a script would download while it runs. */
interface ScriptDownload {
  what: ScriptFetch;
  /** The code that does it, shortened. */
  shown: string;
  /** The model that `from_pretrained` names, which may be a folder of the job. */
  name?: string;
  line: number;
}

const patterns: [RegExp, ScriptFetch][] = [
  [/\b(system|popen|run|call|check_call|check_output|Popen)\(.*\bpip3?\b.*\binstall\b/, 'packages'],
  [/\bpip\.main\(|^\s*[!%]pip3? install\b/, 'packages'],
  [/\bpretrained\s*=\s*True\b/, 'weights'],
  [/\bweights\s*=\s*["'](DEFAULT|IMAGENET\w*|COCO\w*|KINETICS\w*)["']/, 'weights'],
  [/\b(weights(_backbone)?\s*=\s*)?(\w+\.)*\w+_Weights\.\w+\b(?!\.transforms)/, 'weights'],
  [/\bdownload\s*=\s*True\b/, 'dataset'],
  [/\bload_dataset\(\s*["'][\w.-]+(\/[\w.-]+)?["']/, 'dataset'],
  [/\bnltk\.download\(/, 'dataset'],
  [/\btorch\.hub\.load\((?!.*source\s*=\s*["']local["'])/, 'hub'],
  [/\b(load_state_dict_from_url|download_url_to_file|model_zoo\.load_url)\(/, 'hub'],
  [/\b(snapshot_download|hf_hub_download)\(/, 'hugging face'],
  [/\b(urlretrieve|urlopen|download_url|download_and_extract_archive)\(/, 'file'],
  [/\b(requests|httpx)\.get\(|\b(gdown|wget)\.download\(/, 'file'],
  [/\b(os\.system|subprocess\.\w+)\(.*\b(wget|curl|git["',\s]+clone)\b/, 'file'],
];

/** What the lines of a script would download, if recognizable. */
function scriptDownloads(lines: readonly PythonLine[]): ScriptDownload[] {
  return lines.flatMap(({ text, line }) => {
    const found = downloadIn(text);
    return found === undefined ? [] : [{ ...found, line }];
  });
}

function downloadIn(text: string): Omit<ScriptDownload, 'line'> | undefined {
  if (/^\s*(import|from|def|class)\b/.test(text) || /add_argument\(/.test(text)) return undefined;
  // A hint for people, such as "please pip install it", installs nothing.
  if (/^\s*(raise|print|assert|warnings\.warn|(_?logger|logging|log)\.\w+)\b/.test(text)) return undefined;
  if (/local_files_only\s*=\s*True/.test(text)) return undefined;
  for (const [pattern, what] of patterns) {
    const found = pattern.exec(text)?.[0];
    if (found !== undefined) return { what, shown: found.replace(/\($/, '(…)').trim().slice(0, 60) };
  }
  const [shown, name] = /\bfrom_pretrained\(\s*["']([^"']+)["']/.exec(text) ?? [];
  if (shown === undefined || name === undefined || /^[./~]/.test(name)) return undefined;
  return { what: 'hugging face', shown: `${shown})`, name };
}
