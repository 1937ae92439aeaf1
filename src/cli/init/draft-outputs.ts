import path from 'node:path';
import { shellQuote } from '@updraft/base';
import type { ScriptSave } from '../../script/script-files.ts';
import { namePattern } from '../../script/static-value.ts';
import type { Chosen, Guess } from './choose-values.ts';
import type { Project } from './read-project.ts';

interface OutputChoice {
  names: string[];
  /** Words before the command, if it needs folders. */
  before: string[];
  /** Switches without which nothing would be saved. */
  switches: Set<string>;
  guesses: Guess[];
  open: Guess[];
}

/** Calls that save a model, rather than a log or a picture. */
const savesModel =
  /(^|\.)(save|save_pretrained|save_model|save_weights|save_file|save_state|savez?|savez_compressed|dump|export|copyfile|copy|\w*TrainingArguments|Trainer|ModelCheckpoint)$/;
const modelFile = /\.(pt|pth|ckpt|bin|pkl|joblib|safetensors|onnx|h5|keras)$/;
/** In a larger project, what a module writes says little about the training. */
const maxModules = 8;
/** What is overwritten or only kept for resuming. */
const passing = /(^|[\W_])(checkpoint|ckpt|last|latest|tmp|interrupt|epoch|optimizer|optim)([\W_]|$)/i;
/** Conditions that hold in some process of every training. */
const always = /rank|is_main|main_process|is_master|master|local_process|is_world/i;

interface Candidate extends ScriptSave {
  /** What can be declared: a whole name, or a folder; empty if there is neither. */
  output: string;
  /** As far as it is known, with `*`. */
  pattern: string;
  file: string;
}

/** The outputs that a valid result surely has: whole names of what the script writes. */
export function chooseOutputs(project: Project, values: ReadonlyMap<string, Chosen>): OutputChoice {
  const all = candidatesOf(project, values);
  const models = all.filter(({ call, pattern }) => savesModel.test(call) || modelFile.test(pattern));
  // What may never be written is no output, unless it is the model itself.
  const ranked = models.length > 0 ? models : all.filter(({ under }) => under === undefined);
  const usable = ranked.filter(({ output }) => output !== '');
  const lasting = usable.filter(({ output }) => !passing.test(output));
  const some = lasting.length > 0 ? lasting : usable;
  const certain = some.filter((save) => isCertain(project, save));
  const best = unique(certain.length > 0 ? certain : some).slice(0, 3);
  if (best.length === 0)
    return {
      names: ['model.pt'],
      before: [],
      switches: new Set(),
      guesses: [],
      open: [missing(project, ranked)],
    };
  return {
    names: best.map(({ output }) => output),
    before: foldersFirst(project, best),
    switches: new Set(best.flatMap((save) => switchIn(project, save) ?? [])),
    guesses: best.map((save) => ({ what: `outputs ${save.output}`, why: reason(project, save) })),
    open: [],
  };
}

const isCertain = (project: Project, save: Candidate): boolean =>
  save.under === undefined || always.test(save.under) || switchIn(project, save) !== undefined;

const reason = (project: Project, save: Candidate): string =>
  `${save.call} (${save.file}:${save.line})${isCertain(project, save) ? '' : `, written only ${save.under ?? ''}`}`;

function missing({ script }: Project, [first]: readonly Candidate[]): Guess {
  const why =
    first === undefined
      ? `what ${script} writes: no call that saves a file was found in it`
      : `${first.call} (${first.file}:${first.line}) writes ${first.pattern}: name a file that every training leaves`;
  return { what: 'outputs', why };
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
  const inModules = (modules.length > maxModules ? [] : modules).flatMap(({ file, facts: { saves } }) =>
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
    }));
  return [...trainer, ...own, ...inModules].map((save) => {
    const known = namePattern(save.value, (arg) => values.get(arg.flag)?.value ?? arg.default);
    const pattern = path.posix.normalize(known).replace(/\/+$/, '');
    const whole = pattern.includes('*')
      ? pattern.slice(0, pattern.indexOf('*')).replace(/\/?[^/]*$/, '')
      : pattern;
    const isUsable = whole !== '.' && !/^([~/]|\.\.)/.test(whole) && !/[{}\n]/.test(whole);
    return { ...save, pattern, output: isUsable ? whole : '' };
  });
}

/** The switch that a save depends on, like `--save-model` for `if args.save_model`. */
function switchIn({ facts }: Project, { under }: ScriptSave): string | undefined {
  const name = /^if (?:\w+\.)?(\w+)( and .*)?$/.exec(under ?? '')?.[1];
  return facts.args.find((arg) => arg.isSwitch && arg.dest === name)?.flag;
}

/** Each output once; a file below a folder that is an output belongs to it. */
const unique = (all: readonly Candidate[]): Candidate[] => {
  const once = [...new Map(all.map((one) => [one.output, one])).values()];
  return once.filter(
    ({ output }) => !once.some((other) => other.output !== output && output.startsWith(`${other.output}/`)),
  );
};
