import { defined, given } from '@updraft/base';
import { isMain, type PythonImport, pythonImports } from './python-imports.ts';
import { childOf, isString, type PythonNode, stringParts } from './python-tree.ts';
import { readSyntax, type Syntax, type Call } from './python-syntax.ts';
import { literalText, type ScriptArg, scriptArgs, typed } from './script-args.ts';
import {
  type Condition,
  isKnown,
  lastOf,
  namePattern,
  ownCalls,
  type Passed,
  StaticValues,
  type Value,
} from './static-value.ts';

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
  /** What it passes to its own modules. */
  passed: Passed;
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
const longestScript = 1 << 19;

/** How a script is started. */
interface Started {
  /** Its path from where it is started. */
  file?: string;
  /** What the file that imports it passes. */
  importer?: Passed | undefined;
  /** What its command line has. */
  words?: readonly string[];
}

/** Reads a Python script without running it. Any text is accepted, in linear time. */
export function readScript(source: string, { file, importer, words = [] }: Started = {}): ScriptFacts {
  const syntax = readSyntax(source.slice(0, longestScript), importer !== undefined);
  const args = typed(scriptArgs(syntax), words);
  const allArgs = [...(importer?.args ?? []), ...args];
  const values = new StaticValues(syntax, allArgs, { file, ...importer });
  const conditions = new Conditions(syntax, values, importer?.calls);
  const passed = syntax.calls.map((call) => ({
    name: lastOf(call.name),
    values: values.valuesOf(call.args),
    conditions: conditions.around(call.node),
  }));
  const saves = scriptSaves(syntax, values, conditions);
  const reads = scriptReads(syntax, values, conditions);
  return {
    imports: pythonImports(syntax.nodes),
    args,
    saves,
    reads,
    paths: scriptPaths(syntax),
    downloads: syntax.nodes.flatMap(downloadsIn),
    passed: { calls: Map.groupBy(passed, ({ name }) => name), args: allArgs },
    ...defined({
      checkpoint: checkpointOf(syntax, { args, saves, reads }),
      cuda: cudaOf(syntax),
      ranks: ranksOf(syntax),
    }),
    makesFolders: syntax.calls.some(({ name }) => /(^|\.)(makedirs|mkdir)$/.test(name)),
    isProgram: args.length > 0 || saves.length > 0 || syntax.nodes.some(isMain),
  };
}

const resumes =
  /^--?(resume|resume[-_]from\w*|resume[-_]from[-_]checkpoint|load[-_]checkpoint|ckpt[-_]path|checkpoint[-_]path)$/;

/** Conditions that need nobody's wish: the file is there, or this is the process that loads it. */
const resumesByItself = /exist|is_?file|listdir|glob|find|latest|last|rank|main|master/i;

function checkpointOf(
  { nodes }: Syntax,
  { args, saves, reads }: Pick<ScriptFacts, 'args' | 'saves' | 'reads'>,
): ScriptCheckpoint | undefined {
  const ours = nodes.find((node) =>
    isString(node)
      ? node.text.includes('UPDRAFT_CHECKPOINT')
      : node.kind === 'VariableName' && node.text === 'updraft',
  );
  if (ours !== undefined) return { how: 'updraft', name: 'UPDRAFT_CHECKPOINT', line: ours.line };
  const trainer = nodes.find(({ kind, text }) => kind === 'VariableName' && text === 'get_last_checkpoint');
  if (trainer !== undefined) return { how: 'trainer', name: 'get_last_checkpoint', line: trainer.line };
  const arg = args.find(({ flag }) => resumes.test(flag));
  if (arg !== undefined) return { how: 'argument', name: arg.flag, line: arg.line };
  const loaded = reads.find(({ call, path }) => /load/.test(call) && saves.some(({ name }) => name === path));
  if (loaded === undefined) return undefined;
  const { path, line, under = '' } = loaded;
  const wish = /^(?:el)?if (.+)/.exec(under)?.[1];
  return wish === undefined || resumesByItself.test(wish)
    ? { how: 'reads back', name: path, line }
    : { how: 'argument', name: wish, line };
}

/** `.cuda()`, `torch.device("cuda")`, `.to("cuda")`, `device = "cuda" if …`. */
function cudaOf({ nodes, calls }: Syntax): { line: number } | undefined {
  const called = calls.find(({ name }) =>
    /(^|\.)cuda$|^torch\.cuda\.\w+$|(^|\.)(Accelerator|Fabric)$|(^|\.)init_process_group$/.test(name),
  );
  const named = nodes.find((node) => isString(node) && /^(cuda|gpu)(:\d+)?$/.test(stringParts(node).text));
  const lines = given(called?.line, named?.line);
  return lines.length === 0 ? undefined : { line: Math.min(...lines) };
}

/** torch.distributed, accelerate, or Lightning's `devices=`; not where the script starts its processes itself. */
function ranksOf({ calls }: Syntax): { line: number } | undefined {
  const joins = /(^|\.)(init_process_group|DistributedDataParallel|DDP|fully_shard|FSDP|Accelerator)$/;
  const takesDevices = /(^|\.)(Trainer|Fabric)$/;
  const starts = /(^|\.)(spawn|start_processes|\w+_launcher)$/;
  if (calls.some(({ name }) => starts.test(name))) return undefined;
  const found = calls.find(
    ({ name, args }) =>
      joins.test(name) || (takesDevices.test(name) && args.some((one) => one.name === 'devices')),
  );
  return found && { line: found.line };
}

const longestShown = 60;
/** Functions that call each other are not followed further. */
const deepestCalls = 3;

/** Under which conditions code runs. */
class Conditions {
  readonly #syntax: Syntax;
  readonly #values: StaticValues;
  readonly #calls: ReadonlyMap<string, Call[]>;
  readonly #passed: Passed['calls'];

  constructor(syntax: Syntax, values: StaticValues, passed: Passed['calls'] = new Map()) {
    [this.#syntax, this.#values, this.#passed] = [syntax, values, passed];
    this.#calls = ownCalls(syntax);
  }

  placeOf({ node, shown, line }: Call): CallPlace {
    const around = this.around(node);
    const open = around.filter(({ needs }) => needs === undefined);
    const under = (open[0] ?? around[0])?.text;
    const needs = around.flatMap((one) => one.needs ?? []);
    return { call: shown, line, needs, open: open.length, ...defined({ under }) };
  }

  /** Those around a node, innermost first, around the only call of its function, and where its class is used. */
  around(node: PythonNode, depth = 0): Condition[] {
    const found: Condition[] = [];
    let inner = node;
    for (; inner.parent !== undefined && inner !== node.scope; inner = inner.parent)
      found.push(...this.#between(inner.parent, inner));
    const { name = '', owner = name } = (node.scope && this.#syntax.functionOf.get(node.scope)) ?? {};
    return [...found, ...[...new Set([name, owner])].flatMap((called) => this.#ofCall(called, depth))];
  }

  #ofCall(name: string, depth: number): Condition[] {
    const [own, outer] = [this.#calls.get(name) ?? [], this.#passed.get(name) ?? []];
    if (own.length + outer.length !== 1 || depth >= deepestCalls) return [];
    return outer[0]?.conditions ?? own.flatMap(({ node }) => this.around(node, depth + 1));
  }

  #between({ kind, children }: PythonNode, inner: PythonNode): Condition[] {
    if (!/^((Binary|Conditional)Expression|(Try|If)Statement|MatchClause)$/.test(kind)) return [];
    const at = children.indexOf(inner);
    const needed = (node: PythonNode | undefined, wanted = true): Condition['needs'] =>
      this.#values.needed(node, wanted);
    const shown = (word: string, node: PythonNode | undefined): string =>
      `${word} ${(node?.text ?? '').replaceAll(/\s+/g, ' ')}`.slice(0, longestShown);
    if (kind === 'BinaryExpression' && children[1]?.text === 'and' && at === 2)
      return [{ text: shown('if', children[0]), needs: needed(children[0]) }];
    if (kind === 'ConditionalExpression' && at !== 2)
      return [{ text: shown('if', children[2]), needs: needed(children[2], at === 0) }];
    if (kind === 'TryStatement' && children.slice(0, at).some((one) => one.kind === 'except'))
      return children[at - 1]?.kind === 'finally' ? [] : [{ text: 'except', needs: undefined }];
    if (kind === 'MatchClause') return [{ text: 'case', needs: undefined }];
    if (kind !== 'IfStatement' || inner.kind !== 'Body') return [];
    const tests = children
      .slice(0, at)
      .filter((_, index) => /^(if|elif)$/.test(children[index - 1]?.kind ?? ''));
    const isElse = children[at - 1]?.kind === 'else';
    const own = isElse ? undefined : tests.at(-1);
    if (own !== undefined && /__name__/.test(own.text)) return [];
    const before = isElse ? tests : tests.slice(0, -1);
    const all = [...(own === undefined ? [] : [needed(own)]), ...before.map((test) => needed(test, false))];
    const needs = all.every((one) => one !== undefined) ? all.flat() : undefined;
    const word = isElse ? 'else' : tests.length > 1 ? 'elif' : 'if';
    return [{ text: isElse ? word : shown(word, own), needs }];
  }
}

/** A path of one machine in a string literal. */
interface ScriptPath {
  text: string;
  line: number;
}

/** A path with at least one named part; not a division sign or a pattern. */
const machinePath = /^(~[\w-]*(\/[\w.@ {}+-]+)*\/?|(\/[\w.@ {}+-]*[\w@}][\w.@ {}+-]*)+\/?)$/;
/** Files that every Linux has, and pieces of URLs. */
const everywhere = /^\/(dev|proc|sys|bin|usr\/bin)(\/|$)/;
/** Calls whose text is compared or matched, not opened. */
const comparing =
  /(^|\.)(startswith|endswith|split|rsplit|strip|replace|find|index|route|get|post|sub|match|compile|count)$/;

/** Absolute paths and those below `~` that stand at the start of a string. */
function scriptPaths({ nodes, callOf }: Syntax): ScriptPath[] {
  return nodes.flatMap((node) => {
    if (!isString(node)) return [];
    const { text, prefix, quote } = stringParts(node);
    if (quote.length === 3 || prefix.includes('b') || text.length > 300) return [];
    if (!machinePath.test(text) || text === '~' || everywhere.test(text)) return [];
    const { parent } = node;
    // `folder + "/name"` is not absolute; a comparison opens nothing.
    const isLater = parent?.children[0] !== node;
    if (isLater && /^(Binary|ContinuedString)/.test(parent?.kind ?? '') && parent?.children[1]?.text !== 'or')
      return [];
    if (/^CompareOp|^in$/.test(parent?.children[1]?.kind ?? '')) return [];
    const call =
      parent?.kind === 'ArgList' && parent.parent !== undefined ? callOf.get(parent.parent) : undefined;
    return call !== undefined && comparing.test(call.name) ? [] : [{ text, line: node.line }];
  });
}

/** Where a call is, and when it runs. */
interface CallPlace {
  /** As written, like `torch.save`. */
  call: string;
  line: number;
  /** The condition under which it runs, like `if epoch % 10 == 0`. */
  under?: string;
  /** The arguments that must be given for that. */
  needs: ScriptArg[];
  /** How many conditions the text does not decide. */
  open: number;
}

/** A file or folder that a script writes. */
export interface ScriptSave extends CallPlace {
  /** Its path, with `*` for what is not known and arguments at their defaults. */
  name: string;
  value: Value;
  isFolder: boolean;
}

/** A file or folder that a script reads. */
interface ScriptRead extends CallPlace {
  /** As `name` of a save. */
  path: string;
  value: Value;
}

/** Where a call names its file: the position of the argument, then its keywords; -1 is what the method is called on. */
interface Shape {
  /** Matches the whole dotted name of the call. */
  name: RegExp;
  at: number;
  keywords: string[];
  isFolder?: boolean;
  /** What the library appends to a name without it. */
  suffix?: string | undefined;
  /** Where the library writes if the call does not say. */
  otherwise?: string | undefined;
}

/** A line each: the name, position, keywords, `folder`, suffix and default; 99 is no position. */
const shapes = (table: string): Shape[] =>
  table
    .trim()
    .split('\n')
    .map((line) => {
      const [name = '', at, keywords = '', ...more] = line.trim().split(/\s+/);
      const suffix = more.find((word) => word.startsWith('.'));
      const otherwise = more.find((word) => /^[a-z]+_/.test(word));
      const isFolder = more.includes('folder');
      return {
        name: new RegExp(name),
        at: Number(at),
        keywords: keywords.split(','),
        isFolder,
        suffix,
        otherwise,
      };
    });

const writers = shapes(String.raw`
  ^(torch|xm|accelerator|paddle|th)\.save$|^torch\.jit\.save$ 1 f
  ^(self\.)?fabric\.save$ 0 path
  (^|\.)(save_pretrained)$ 0 save_directory folder
  ^(\w*[Tt]rainer)\.save_model$ 0 output_dir folder
  (^|\.)(save_state|save_checkpoint_dir)$ 0 output_dir folder
  (^|\.)(save_model|save_weights)$ 0 filepath,fname
  ^(np|numpy|jnp)\.save$ 0 file .npy
  ^(np|numpy|jnp)\.savez(_compressed)?$ 0 file .npz
  ^(np|numpy)\.savetxt$ 0 fname
  \.to_(csv|json|parquet|pickle|hdf|excel|feather)$ 0 path,path_or_buf
  \.savefig$ 0 fname
  ^joblib\.dump$|(^|\.)save_file$ 1 filename
  ^(model|net|scripted\w*|traced\w*|\w+_model|tokenizer|clf|agent)\.save$ 0 filepath
  (^|\.)onnx\.export$ 2 f
  (^|\.)(save_image)$ 1 fp
  ^(cv2\.)imwrite$|^imageio\.\w*imwrite$ 0
  ^shutil\.(copy|copyfile|copy2)$ 1 dst
  \.(write_text|write_bytes)$ -1
  (^|\.)\w*TrainingArguments$ 0 output_dir folder
  ^((L|pl|lightning|pytorch_lightning)\.Trainer|LightningCLI)$ 99 default_root_dir folder lightning_logs
  ^Trainer$ 99 default_root_dir folder
  (^|\.)ModelCheckpoint$ 99 dirpath folder
`);

const readers = shapes(String.raw`
  (^|\.)(ImageFolder|DatasetFolder|ImageFolderDataset)$ 0 root
  (^|\.)datasets\.(?!FakeData)[A-Z]\w*$ 0 root
  ^(MNIST|FashionMNIST|KMNIST|CIFAR10|CIFAR100|SVHN|STL10|ImageNet|CocoDetection|VOC\w+)$ 0 root
  ^(torch|joblib|np|numpy)\.load$|^torch\.jit\.load$|(^|\.)load_checkpoint$ 0 f,file
  ^(pd|pandas|pl)\.read_\w+$ 0
  (^|\.)load_from_disk$ 0
  (^|\.)load_dataset$ 99 data_dir,data_files
  ^(os\.)?(listdir|scandir|walk)$|^glob\.i?glob$|^glob$ 0
  ^(PIL\.)?Image\.open$|^cv2\.imread$|^(np|numpy)\.(memmap|loadtxt|genfromtxt|fromfile)$ 0 filename
  \.(read_text|read_bytes|iterdir|glob|rglob)$ -1
  (^|\.)WebDataset$ 0
`);

/** What a script writes, as far as its text shows. */
function scriptSaves({ calls }: Syntax, values: StaticValues, conditions: Conditions): ScriptSave[] {
  return calls.flatMap((call) => {
    const shape = shapeOf(call, 'w') ?? writers.find(({ name }) => name.test(call.name));
    const value = fileOf(call, shape, values);
    if (shape === undefined || value === undefined) return [];
    const ending =
      shape.suffix !== undefined && !namePattern(value).endsWith(shape.suffix) ? shape.suffix : '';
    const whole = ending === '' ? value : [...value, { text: ending }];
    const { isFolder = false } = shape;
    return [{ name: namePattern(whole), value: whole, isFolder, ...conditions.placeOf(call) }];
  });
}

/** Names of folders that only hold data. */
const dataFolder = /^(\.{0,2}\/)*(data|datasets?|inputs?|images?)\//;

/** What a script reads, as far as its text shows: in calls, and in constants that name a folder for data. */
function scriptReads(
  { calls, assignments }: Syntax,
  values: StaticValues,
  conditions: Conditions,
): ScriptRead[] {
  const constants = assignments.flatMap(({ name, value: node }): ScriptRead[] => {
    const value = node.scope === undefined ? values.of(node) : [];
    const path = namePattern(value);
    const isData = value.length === 1 && dataFolder.test(path) && !/\.\w+$/.test(path);
    return isData ? [{ path, value, call: name, line: node.line, needs: [], open: 0 }] : [];
  });
  const called = calls.flatMap((call) => {
    const shape = shapeOf(call, 'r') ?? readers.find(({ name }) => name.test(call.name));
    const value = fileOf(call, shape, values);
    if (value === undefined || /^[\d.]*$/.test(namePattern(value))) return [];
    return [{ path: namePattern(value), value, ...conditions.placeOf(call) }];
  });
  return [...called, ...constants];
}

/** `open` and its like, which read or write by their mode. */
function shapeOf({ name, args, receiver }: Call, wanted: 'r' | 'w'): Shape | undefined {
  const isMethod =
    receiver !== undefined &&
    /\.open$/.test(name) &&
    !/^(io|gzip|bz2|lzma|codecs|os|Image|PIL\.Image|zipfile|tarfile)\.open$/.test(name);
  if (!isMethod && !/^(io\.|gzip\.|bz2\.|lzma\.|codecs\.)?open$|^h5py\.File$/.test(name)) return undefined;
  const plain = args.filter((one) => one.name === undefined);
  const given = args.find((one) => one.name === 'mode') ?? plain[isMethod ? 0 : 1];
  const mode = given === undefined ? 'r' : (literalText(given.value) ?? 'r');
  if (!/^[rwaxbt+]{1,3}$/.test(mode)) return undefined;
  return (/[wax]/.test(mode) ? 'w' : 'r') === wanted
    ? { name: /./, at: isMethod ? -1 : 0, keywords: ['file'] }
    : undefined;
}

/** The value of the file's name, unless nothing of it is known. */
function fileOf({ args, receiver }: Call, shape: Shape | undefined, values: StaticValues): Value | undefined {
  if (shape === undefined) return undefined;
  const plain = args.filter(({ name }) => name === undefined);
  const given =
    args.find(({ name }) => name !== undefined && shape.keywords.includes(name)) ?? plain[shape.at];
  const node = shape.at < 0 ? receiver : given?.value;
  if (node === undefined) return shape.otherwise === undefined ? undefined : [{ text: shape.otherwise }];
  const value = values.of(node);
  return isKnown(value) ? value : undefined;
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

/** What a statement would download, if recognizable. */
function downloadsIn(node: PythonNode): ScriptDownload[] {
  if (!/^(?!Import|Raise|Assert).*Statement$/.test(node.kind) || node.children.some(isString)) return [];
  const end = childOf(node, 'Body')?.from ?? node.to;
  const head = node.text.slice(0, Math.min(end - node.from, longestStatement));
  const found = downloadIn(head.replaceAll(/#[^"'\n]*$/gm, '').replaceAll(/\s+/g, ' '));
  return found === undefined ? [] : [{ ...found, line: node.line }];
}

/** Longer statements are data. */
const longestStatement = 2000;

function downloadIn(text: string): Omit<ScriptDownload, 'line'> | undefined {
  // A hint for people, such as "please pip install it", installs nothing.
  if (/add_argument\(|^(print|warnings\.warn|(_?logger|logging|log)\.\w+)\b/.test(text)) return undefined;
  if (/local_files_only\s*=\s*True/.test(text)) return undefined;
  for (const [pattern, what] of patterns) {
    const found = pattern.exec(text)?.[0];
    if (found !== undefined) return { what, shown: found.replace(/\($/, '(…)').trim().slice(0, 60) };
  }
  const [shown, name] = /\bfrom_pretrained\(\s*["']([^"']+)["']/.exec(text) ?? [];
  if (shown === undefined || name === undefined || /^[./~]/.test(name)) return undefined;
  return { what: 'hugging face', shown: `${shown})`, name };
}
