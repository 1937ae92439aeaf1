import type { ScriptArg } from '../script/script-args.ts';
import type { Value } from '../script/static-value.ts';
import type { Project } from './read-project.ts';

/** Something in the job file, and where it comes from. */
export type Guess = [what: string, why: string];

/** The value that the command gives to an argument. */
export interface Chosen {
  value: string;
  why: string;
  /** Set if the value only holds its place. */
  open?: Guess;
}

const dataName = new RegExp(
  '^(data|dataroot|data_?(dir|path|root|folder|file)|dataset_?(dir|path|root|folder)|root|root_?dir|' +
    'train_?(dir|data|path|file|set)|(img|image)s?_?(dir|path|folder)?|input_?(dir|path|file|folder)?|' +
    'corpus|csv|file|files)$',
  'i',
);
const outName = new RegExp(
  '^(out|outf|output|results?|save|save_?model|save_?as|target|' +
    '(out|output|save|log|model|work|checkpoint|ckpt|results?|export|exp|experiment)_?' +
    '(dir|path|folder|directory|file|root|to))$',
  'i',
);
const isForeignPath = (text: string): boolean => /^(~|\/|\.\.(\/|$))/.test(text);

/** The argument that a path begins with. */
export const leadingArg = (value: Value): ScriptArg | undefined => {
  const [first] = value;
  return first !== undefined && 'arg' in first ? first.arg : undefined;
};

export const isOutput = (project: Project, arg: ScriptArg): boolean =>
  !arg.isSwitch &&
  !arg.isNumber &&
  !/^(load|resume|restore|pretrained)/.test(arg.dest) &&
  (project.facts.saves.some(({ value }) => leadingArg(value)?.dest === arg.dest) ||
    (outName.test(arg.dest) && readersOf(project, arg).length === 0));

export const isData = (project: Project, arg: ScriptArg): boolean =>
  !arg.isSwitch &&
  !arg.isNumber &&
  !isOutput(project, arg) &&
  !/resume|checkpoint|ckpt|weights|config|cfg/.test(arg.dest) &&
  // No folder takes the place of a file that only the user can name.
  !(arg.isRequired && (/files?$|^csv$/.test(arg.dest) || outName.test(arg.dest))) &&
  (readersOf(project, arg).length > 0 || dataName.test(arg.dest));

/** What reads the folder that an argument names. */
export const readersOf = (
  { facts, modules }: Project,
  { dest }: ScriptArg,
): { call: string; line: number }[] =>
  [facts, ...modules.map((module) => module.facts)].flatMap(({ reads }) =>
    reads.filter(({ value, call }) => leadingArg(value)?.dest === dest && call !== 'torch.load'),
  );

/** The folder for data of which only the argument is known. */
const dataFolder = 'data';
const outFolder = 'out';

/** Values for the arguments that need one: required ones, and paths that no worker has. */
export async function chooseValues(project: Project): Promise<Map<string, Chosen>> {
  const chosen = new Map<string, Chosen>();
  for (const arg of project.facts.args) {
    const value = await choose(project, arg);
    if (value !== undefined) chosen.set(arg.flag, value);
  }
  return chosen;
}

async function choose(project: Project, arg: ScriptArg): Promise<Chosen | undefined> {
  const { flag, isRequired, isSwitch, isTyped } = arg;
  if (isSwitch || isTyped === true) return undefined;
  if (isOutput(project, arg)) return chooseOutput(project, arg);
  if (arg.isComputed === true) return undefined;
  if (isData(project, arg)) return await chooseDataValue(project, arg);
  if (!isRequired) return undefined;
  const { help = '' } = arg;
  if (/name$/.test(arg.dest) && /\b(run|experiment)\b/i.test(help)) return { value: 'run', why: help };
  const [first] = arg.choices ?? [];
  if (first !== undefined)
    return { value: first, why: `the first of its choices: ${arg.choices?.join(', ') ?? ''}` };
  const value = arg.isNumber ? '1' : 'CHANGE-ME';
  return {
    value,
    why: '',
    open: [`${flag} ${value}`, help || `required by ${project.script}:${arg.line}`],
  };
}

/** A place for what is written, unless the default is one. */
function chooseOutput(
  { facts }: Project,
  { dest, default: preset = '', isRequired }: ScriptArg,
): Chosen | undefined {
  const isForeign = isForeignPath(preset);
  const written = facts.saves.filter(({ value }) => leadingArg(value)?.dest === dest);
  const isHere = /^\.?\/?$/.test(preset);
  if (!isRequired && !isForeign && (!isHere || written.length === 0)) return undefined;
  const isFile = written.some(({ value, isFolder }) => value.length === 1 && !isFolder);
  return {
    value: isFile ? 'model.pt' : outFolder,
    why: isForeign
      ? `instead of ${preset}, which no worker has`
      : `a ${isFile ? 'name' : 'folder'} for what it writes`,
  };
}

async function chooseDataValue(
  project: Project,
  { flag, dest, default: preset, isRequired, help, line }: ScriptArg,
): Promise<Chosen | undefined> {
  if (preset !== undefined && preset !== '' && !isForeignPath(preset)) return undefined;
  if (preset !== undefined && isForeignPath(preset))
    return {
      value: dataFolder,
      why: `instead of ${preset}, which no worker has`,
    };
  for (const name of [flag.replace(/^-+/, ''), dataFolder])
    if ((await project.look(name)) !== undefined) return { value: name, why: 'the folder here' };
  const isMeant = /^(data|dataroot|data_?(dir|path|root|folder))$/i.test(dest);
  const isFetched = project.facts.downloads.some(({ what }) => what === 'dataset');
  return isRequired || (isMeant && !isFetched)
    ? { value: dataFolder, why: help ?? `required by ${project.script}:${line}` }
    : undefined;
}
