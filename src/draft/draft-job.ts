import path from 'node:path';
import { defined, given, shellQuote } from '@updraft/base';
import type { Matrix } from '../job/matrix.ts';
import type { Scalar } from '../job/spec.ts';
import type { ScriptArg } from '../script/script-args.ts';
import { isLocalModule } from '../script/python-imports.ts';
import type { ScriptSave } from '../script/read-script.ts';
import { namePattern } from '../script/static-value.ts';
import { chooseValues, type Chosen, type Guess, leadingArg } from './choose-values.ts';
import { chooseData, type DataChoice, type DraftData } from './draft-data.ts';
import type { Module, Project } from './read-project.ts';

/** A job file in the making. */
export interface JobDraft extends Omit<DataChoice, 'tables'> {
  name: string;
  command: string;
  outputs: string[];
  checkpoint?: string;
  /** It imports what Python does not look for beside it. */
  importsFromAbove?: boolean;
  data: DraftData[];
  /** Modules that the worker's Python must have. */
  python: string[];
  /** Where a GPU is used. */
  gpu?: string;
  /** Where it expects to be one of several processes. */
  ranks?: string;
  cpus: number;
  memory: string;
  /** What a sweep may vary, with the value that it has. */
  swept?: ScriptArg;
  /** What only a submit file says. */
  submitted?: SubmittedParts;
}

export interface SubmittedParts {
  env: Record<string, string>;
  image?: string;
  gpus?: number;
  disk?: string;
  timeSeconds?: number;
  requirements?: string;
  project?: string;
  jobs?: number;
  matrix?: Matrix;
  /** Minimum capability, memory and CUDA of each GPU, as text of the job file. */
  gpu?: string;
  /** Lines for `[pool.submit]`. */
  lines: Record<string, Scalar>;
  /** Commands that Updraft does not need. */
  needless: string[];
}

/** Makes the best job file that the script and its folder allow. */
export async function draftJob(project: Project, more: readonly string[], args = ''): Promise<JobDraft> {
  const { facts, script, subcommand } = project;
  const values = await chooseValues(project);
  const data = await chooseData(project, values);
  const outputs = chooseOutputs(project, values);
  const guesses = [...data.guesses, ...outputs.guesses];
  const passed = facts.args.filter(
    (arg) =>
      arg.isTyped !== true &&
      (values.has(arg.flag) || outputs.needs.has(arg) || (arg.isSwitch && arg.isRequired)),
  );
  const words = passed
    .toSorted((a, b) => Number(a.flag.startsWith('-')) - Number(b.flag.startsWith('-')))
    .flatMap((arg) => wordsOf(arg, values.get(arg.flag)));
  const epochs = facts.args.find(({ dest }) => /^(num_|n_|max_)?(train_)?epochs?$/.test(dest));
  const isShown = epochs?.default !== undefined && epochs.isTyped !== true && !values.has(epochs.flag);
  const files = filesOf(project, [...more, ...data.files]);
  const python = foreign([{ file: script, facts }, ...project.modules]);
  return {
    name: nameOf(project),
    command: [
      ...outputs.before,
      'python3',
      shellQuote(script),
      ...(subcommand === undefined ? [] : [subcommand]),
      ...words,
      ...(isShown ? [epochs.flag, epochs.default] : []),
      ...(args === '' ? [] : [args]),
    ]
      .join(' ')
      .replaceAll(/[{}]/g, '$&$&'),
    files,
    outputs: outputs.names,
    ...checkpointOf(project, values),
    importsFromAbove: project.importsFromAbove,
    // A package of this name goes as a whole.
    data: data.tables.filter(
      ({ into }) => !files.some((file) => isInside(file, into) || isInside(into, file)),
    ),
    python,
    ...(facts.cuda !== undefined && { gpu: `${script}:${facts.cuda.line}` }),
    ...(facts.ranks !== undefined && { ranks: `${script}:${facts.ranks.line}` }),
    cpus: cpusOf(facts.args),
    memory: '4 GB',
    ...defined({ swept: sweepable(facts.args) }),
    guesses: [...argumentGuesses(passed, values), ...guesses],
    open: [...given(...[...values.values()].map(({ open }) => open)), ...data.open, ...outputs.open],
    hints: [
      ...data.hints,
      ...otherParser(project),
      ...(await foundAbove(project)),
      ...checkpointHint(project),
    ],
  };
}

const wordsOf = (arg: ScriptArg, chosen: Chosen | undefined): string[] => {
  if (arg.isSwitch) return [arg.flag];
  const word = shellQuote(chosen?.value ?? (arg.isNumber ? '1' : arg.default === 'False' ? 'True' : 'yes'));
  return arg.flag.startsWith('-') ? [arg.flag, word] : [word];
};

const argumentGuesses = (passed: readonly ScriptArg[], values: ReadonlyMap<string, Chosen>): Guess[] =>
  passed.flatMap(({ flag }) => {
    const chosen = values.get(flag);
    return chosen === undefined || chosen.open !== undefined ? [] : [[`${flag} ${chosen.value}`, chosen.why]];
  });

/** A script that is called `train` says less than its folder. */
function nameOf({ folder, script }: Project): string {
  const stem = path.posix.basename(script, '.py');
  const name = /^(train|main|run|finetune)$/.test(stem) ? path.basename(folder) : stem;
  const clean = name
    .replaceAll(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/^[^A-Za-z0-9]+/, '')
    .slice(0, 64);
  return clean === '' ? stem : clean;
}

/** The script and what it imports; a package goes as a whole, since it may hold more than Python. */
function filesOf({ script, modules }: Project, more: readonly string[]): string[] {
  const topOf = (file: string): string => {
    const near = path.posix.relative(path.posix.dirname(script), file);
    const beside = near.startsWith('..') ? '.' : path.posix.dirname(script);
    const [first = file, ...rest] = path.posix.relative(beside, file).split('/');
    return rest.length === 0 ? file : path.posix.join(beside, first);
  };
  const all = [...new Set([script, ...modules.map(({ file }) => topOf(file)), ...more])];
  return all.filter((file) => !all.some((other) => other !== file && isInside(file, other)));
}

const isInside = (name: string, folder: string): boolean => `${name}/`.startsWith(`${folder}/`);
const sweepable = (args: readonly ScriptArg[]): ScriptArg | undefined =>
  [/^(random_|manual_)?seed$/, /^(lr|learning_rate|base_lr)$/]
    .map((name) => args.find(({ dest, flag }) => name.test(dest) && flag.startsWith('-')))
    .find((arg) => arg !== undefined);

/** Loading needs a core of its own beside the training; more is the user's choice. */
function cpusOf(args: readonly ScriptArg[]): number {
  const workers = Number(args.find(({ dest }) => /^(num_)?workers$|^n_workers$/.test(dest))?.default ?? 0);
  return Number.isInteger(workers) ? Math.min(Math.max(workers, 1), 4) : 1;
}

function checkpointOf(
  { facts: { checkpoint } }: Project,
  values: ReadonlyMap<string, Chosen>,
): Pick<JobDraft, 'checkpoint'> {
  if (checkpoint?.how === 'updraft') return { checkpoint: 'checkpoints' };
  const trainers = checkpoint?.how === 'trainer' ? values.get('--output_dir')?.value : undefined;
  if (trainers !== undefined) return { checkpoint: trainers };
  const folder = checkpoint?.how === 'reads back' ? path.posix.dirname(checkpoint.name) : '.';
  return /^[\w][\w./-]*$/.test(folder) && !folder.includes('..') ? { checkpoint: folder } : {};
}

/** Nothing outside the folder of the job file is sent. */
async function foundAbove(project: Project): Promise<string[]> {
  const { folder, script, facts, modules } = project;
  const place = path.posix.join(path.basename(folder), script);
  const found: string[] = [];
  for (const name of foreign([{ file: script, facts }, ...modules], true))
    for (const file of [`${name}/__init__.py`, `${name}.py`])
      if ((await project.look(`../${file}`)) !== undefined)
        found.push(`${name} is in the folder above, and is not sent from here: updraft init ${place}, there`);
  return found;
}

/** Parsers of arguments that few trainings use are not read. */
const otherParser = ({ facts }: Project): string[] =>
  facts.imports
    .filter(({ module }) => /^(?:typer|absl|fire|hydra|tyro)\b/.test(module))
    .slice(0, 1)
    .map(
      ({ module }) =>
        `its arguments are those of ${module}, which init does not read: write them into \`command\``,
    );

function checkpointHint({ script, facts }: Project): string[] {
  const { checkpoint } = facts;
  if (checkpoint === undefined)
    return [
      'it saves no checkpoint to resume from: an attempt that is interrupted starts over. A few lines change ' +
        'that: updraft docs checkpoints',
    ];
  if (checkpoint.how !== 'argument') return [];
  return [
    `${checkpoint.name} (${script}:${checkpoint.line}) resumes a training: to have every attempt do so, see ` +
      'updraft docs checkpoints',
  ];
}

/** Modules that come with Python. */
const standard = new Set(
  `
  __future__ abc aifc argparse array ast asyncio atexit base64 bdb binascii bisect builtins bz2 calendar cmath
  cmd code codecs codeop collections colorsys compileall concurrent configparser contextlib contextvars copy
  copyreg cProfile csv ctypes curses dataclasses datetime dbm decimal difflib dis distutils doctest email
  encodings enum errno faulthandler fcntl filecmp fileinput fnmatch fractions ftplib functools gc getopt
  getpass gettext glob graphlib grp gzip hashlib heapq hmac html http imaplib imp importlib inspect io
  ipaddress itertools json keyword linecache locale logging lzma mailbox marshal math mimetypes mmap
  multiprocessing netrc numbers operator optparse os pathlib pdb pickle pickletools pkgutil platform plistlib
  posix pprint profile pstats pty pwd py_compile queue quopri random re readline reprlib resource runpy sched
  secrets select selectors shelve shlex shutil signal site smtplib socket socketserver sqlite3 ssl stat
  statistics string stringprep struct subprocess symtable sys sysconfig syslog tarfile tempfile termios
  textwrap threading time timeit tkinter token tokenize tomllib trace traceback tracemalloc tty turtle types
  typing unicodedata unittest urllib uuid venv warnings wave weakref webbrowser winreg xml xmlrpc zipapp
  zipfile zipimport zlib zoneinfo
  `.split(/\s+/),
);

/** The modules that the files import at their start, or perhaps, and that neither Python nor the project has. */
function foreign(files: readonly Module[], isPerhaps = false): string[] {
  const own = files.map(({ file }) => file);
  const found = files.flatMap(({ file, facts, isOptional }) =>
    facts.imports
      .filter(({ when }) => (isOptional !== true && when === 'always') || (isPerhaps && when === 'perhaps'))
      .filter((one) => !isLocalModule(one, file, own))
      .map(({ module }) => module.split('.')[0] ?? ''),
  );
  return [...new Set(found)].filter((name) => !standard.has(name)).sort();
}

interface OutputChoice {
  names: string[];
  /** Words before the command, if it needs folders. */
  before: string[];
  /** Arguments without which nothing would be saved. */
  needs: Set<ScriptArg>;
  guesses: Guess[];
  open: Guess[];
}

/** Calls that save a model, rather than a log or a picture. */
const savesModel = new RegExp(
  '(^|\\.)(save(_pretrained|_model|_weights|_file|_state|z|z_compressed)?|dump|export|copyfile|copy|' +
    '\\w*TrainingArguments|Trainer|ModelCheckpoint)$',
);
/** Conditions under which a download or a cache is written. */
const keepsData = /\bdownload\b|\bnot .*(exists|is_?file|is_?dir)\b/;
const modelFile = /\.(pt|pth|ckpt|bin|pkl|joblib|safetensors|onnx|h5|keras)$/;
/** What is overwritten or only kept for resuming. */
const passing = /(^|[\W_])(checkpoint|ckpt|last|latest|tmp|interrupt|epoch|optimizer|optim)([\W_]|$)/i;
interface Candidate extends ScriptSave {
  /** What can be declared: a whole name, or a folder; empty if there is neither. */
  output: string;
  /** As far as it is known, with `*`. */
  pattern: string;
  file: string;
}

/** The outputs that a valid result surely has: whole names of what the script writes. */
function chooseOutputs(project: Project, values: ReadonlyMap<string, Chosen>): OutputChoice {
  const all = candidatesOf(project, values).filter(({ under = '' }) => !keepsData.test(under));
  const models = all.filter(
    ({ call, pattern }) => modelFile.test(pattern) || (savesModel.test(call) && !/^(np|numpy)\./.test(call)),
  );
  // What may never be written is an output only if it is the model itself, or all there is.
  const sure = all.some(isCertain) ? all.filter(isCertain) : all;
  const ranked = models.some(({ output }) => output !== '') ? models : sure;
  const usable = ranked.filter(({ output }) => output !== '');
  const lasting = usable.filter(({ output }) => !passing.test(output));
  const some = lasting.length > 0 ? lasting : usable;
  // Arguments of two outputs may exclude each other: those of the one with the fewest count.
  const sorted = some.toSorted((a, b) => a.open - b.open || a.needs.length - b.needs.length);
  const fewest = sorted.filter(
    ({ open, needs }) => open === sorted[0]?.open && needs.every((arg) => sorted[0]?.needs.includes(arg)),
  );
  const best = unique(fewest).slice(0, 3);
  // Of modules that write different files, perhaps only one is used.
  const writers = new Set(best.map(({ file }) => file));
  if (best.length === 0 || (writers.size > 1 && !writers.has(project.script)))
    return {
      names: ['CHANGE-ME'],
      before: [],
      needs: new Set(),
      guesses: [],
      open: [missing(project, [...models, ...sure])],
    };
  return {
    names: best.map(({ output }) => output),
    before: foldersFirst(project, best),
    needs: new Set(best.flatMap(({ needs }) => needs)),
    guesses: best.map((save) => [`outputs ${save.output}`, reason(save)]),
    open: [],
  };
}

const isCertain = ({ open }: Candidate): boolean => open === 0;

const reason = (save: Candidate): string =>
  `${save.call} (${save.file}:${save.line})${isCertain(save) ? '' : `, written only ${save.under ?? ''}`}`;

function missing({ script }: Project, [first]: readonly Candidate[]): Guess {
  const why =
    first === undefined
      ? `${script} saves nothing that init can see, and a job is its files: name what it writes, or end it with ` +
        'a line such as torch.save(model.state_dict(), "model.pt"), and name model.pt'
      : `${first.call} (${first.file}:${first.line}) writes ${first.pattern}: name a file that every training leaves`;
  return ['outputs', why];
}

/** Folders that exist here, perhaps, but not on a worker: the command makes them if the script does not. */
function foldersFirst({ facts, modules }: Project, best: readonly Candidate[]): string[] {
  if ([facts, ...modules.map((module) => module.facts)].some(({ makesFolders }) => makesFolders)) return [];
  const folders = best
    .filter(({ isFolder }) => !isFolder)
    .map(({ output, pattern }) => (output === pattern ? path.posix.dirname(output) : output))
    .filter((folder) => folder !== '.');
  return folders.length === 0 ? [] : ['mkdir', '-p', ...new Set(folders.map(shellQuote)), '&&'];
}

/** What the script and the modules that it imports itself write. */
function candidatesOf(project: Project, values: ReadonlyMap<string, Chosen>): Candidate[] {
  const { script, facts, modules } = project;
  const own = facts.saves.map((save) => ({ ...save, file: script }));
  const inModules = modules.flatMap(({ file, facts: { saves } }) =>
    saves.filter(({ call }) => savesModel.test(call)).map((save) => ({ ...save, file })),
  );
  const trainer = facts.args
    .filter(({ by, dest }) => by === 'hugging face' && dest === 'output_dir')
    .map((arg) => ({
      name: '',
      value: [{ arg }],
      call: 'Trainer',
      isFolder: true,
      line: arg.line,
      file: script,
      needs: [],
      open: 0,
    }));
  return [...trainer, ...own, ...inModules].map((save) => {
    const named = (isFixed: boolean): string => {
      const first = leadingArg(save.value);
      const valueOf = (arg: ScriptArg): string | undefined =>
        values.get(arg.flag)?.value ?? (isFixed || arg === first ? arg.default : undefined);
      return path.posix.normalize(namePattern(save.value, valueOf)).replace(/\/+$/, '');
    };
    // A name made of arguments is another one as soon as they change: its folder stays.
    const pattern = named(true);
    return { ...save, pattern, output: usable(named(false)) || usable(pattern) };
  });
}

/** The part of a pattern that can be declared: all of it, or its folder; empty if there is none. */
function usable(pattern: string): string {
  const whole = pattern.includes('*')
    ? pattern.slice(0, pattern.indexOf('*')).replace(/\/?[^/]*$/, '')
    : pattern;
  return whole === '.' || /^([~/]|\.\.)/.test(whole) || /[{}\n]/.test(whole) ? '' : whole;
}

/** Each output once; a file below a folder that is an output belongs to it. */
const unique = (all: readonly Candidate[]): Candidate[] => {
  const once = [...new Map(all.map((one) => [one.output, one])).values()];
  return once.filter(
    ({ output }) => !once.some((other) => other.output !== output && isInside(output, other.output)),
  );
};
