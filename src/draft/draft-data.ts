import path from 'node:path';
import { namePattern } from '../script/static-value.ts';
import { type Chosen, type Guess, isData, isOutput, leadingArg, readersOf } from './choose-values.ts';
import type { Project } from './read-project.ts';

/** A `[data]` table; without a URL the user must give one. */
export interface DraftData {
  name: string;
  url?: string;
  into: string;
  why: string;
  unpack?: 'none';
}

export interface DataChoice {
  tables: DraftData[];
  /** Files beside the script that it reads: they are sent with it. */
  files: string[];
  guesses: Guess[];
  /** What the user must fill in. */
  open: Guess[];
  /** What the user should know. */
  hints: string[];
}

/** What the script reads: folders become data, files are sent. */
export async function chooseData(project: Project, values: ReadonlyMap<string, Chosen>): Promise<DataChoice> {
  const choice: DataChoice = { tables: [], files: [], guesses: [], open: [], hints: [] };
  const fetches = project.facts.downloads.find(({ what }) => what === 'dataset');
  if (fetches !== undefined)
    choice.hints.push(
      `\`${fetches.shown}\` (${project.script}:${fetches.line}) downloads the data in every job, which fails ` +
        'on workers without network: a [data] table sends it',
    );
  await fromArguments(project, values, choice, fetches !== undefined);
  await fromLiterals(project, choice, fetches !== undefined);
  return choice;
}

async function fromArguments(
  project: Project,
  values: ReadonlyMap<string, Chosen>,
  choice: DataChoice,
  isFetched: boolean,
): Promise<void> {
  for (const arg of project.facts.args) {
    if (arg.isSwitch || arg.isNumber || isOutput(project, arg)) continue;
    const preset = arg.default ?? '';
    const given = values.get(arg.flag)?.value ?? preset;
    const source = /^[~/.]/.test(preset) ? project.expand(preset) : given;
    const found = source === '' ? undefined : await project.look(source);
    if (found === 'file' && isBelow(source)) {
      choice.files.push(plain(source));
      choice.guesses.push([`files ${plain(source)}`, `the default of ${arg.flag}`]);
    }
    const isMeant = isData(project, arg) || (arg.isTyped === true && found === 'folder');
    if (!isMeant || found === 'file' || given === '' || !isBelow(given)) continue;
    const [reader] = readersOf(project, arg);
    const why =
      reader === undefined ? `named by ${arg.flag}` : `read by ${reader.call} (line ${reader.line})`;
    if (found === 'folder') add(choice, { name: nameOf(given), url: plain(source), into: plain(given), why });
    else if (!isFetched && (reader !== undefined || values.has(arg.flag)))
      needed(choice, { name: nameOf(given), into: plain(given), why });
  }
}

async function fromLiterals(project: Project, choice: DataChoice, isFetched: boolean): Promise<void> {
  const { script, modules } = project;
  const isWritten = (file: string): boolean =>
    project.facts.saves.some(
      ({ name }) => name === file || plain(name).startsWith(`${path.posix.dirname(plain(file))}/`),
    );
  const reads = [{ file: script, facts: project.facts }, ...modules].flatMap(({ file: reader, facts }) =>
    facts.reads.map((read) => ({ ...read, reader })),
  );
  const seen = new Set<string>();
  for (const { value, call, line, reader } of reads) {
    if (leadingArg(value) !== undefined || value.some((piece) => 'arg' in piece)) continue;
    const pattern = namePattern(value);
    const file = pattern.includes('*')
      ? pattern.slice(0, pattern.indexOf('*')).replace(/[^/]*$/, '')
      : pattern;
    if (seen.size === seen.add(plain(file)).size) continue;
    if (file === '' || isWritten(pattern) || /^(https?|s3|gs|hf):/.test(file)) continue;
    const place = `${reader}:${line}`;
    const found = await project.look(file);
    // What a module reads may never be read.
    if (reader !== script && (found === undefined || !isBelow(file))) continue;
    if (!isBelow(file)) {
      if (isFetched && file.startsWith('..'))
        choice.hints.push(
          `${place} uses ${file}, outside the work folder: no job finds there what another left`,
        );
      else if (!/^\/(dev|proc|sys|etc)\//.test(file))
        choice.open.push([
          `${place} reads ${file}`,
          'no worker has it: make it an argument, or a folder below the script',
        ]);
    } else if (found === 'folder')
      add(choice, {
        name: nameOf(file),
        url: plain(file),
        into: plain(file),
        why: `read by ${call} (${place})`,
      });
    else if (found === 'file') choice.files.push(plain(file));
    else if (call === 'torch.load' || path.posix.dirname(file) === '.') {
      if (!isFetched && !isWritten(file) && path.posix.extname(file) !== '')
        choice.open.push([`files ${plain(file)}`, `read by ${call} (${place}), but not here`]);
    } else if (!isFetched && !isWritten(file)) {
      const into = plain(path.posix.extname(file) === '' ? file : path.posix.dirname(file));
      needed(choice, { name: nameOf(into), into, why: `read by ${call} (${place})` });
    }
  }
}

/** Whether the table is new, and was added: a folder for several is one, a folder below another belongs to it. */
function addTable({ tables }: DataChoice, table: DraftData): boolean {
  const isKnown = tables.some(({ into }) => table.into === into || table.into.startsWith(`${into}/`));
  if (table.into === '.' || isKnown) return false;
  tables.push(table);
  return true;
}

function add(choice: DataChoice, table: DraftData): void {
  if (addTable(choice, table)) choice.guesses.push([`data ${table.url ?? ''}`, table.why]);
}

function needed(choice: DataChoice, table: DraftData): void {
  if (!addTable(choice, table)) return;
  choice.open.push([
    `[data.${table.name}] url`,
    `where ${table.into} comes from, ${table.why}: a folder or archive here, or a URL`,
  ]);
}

const plain = (file: string): string => path.posix.normalize(file).replace(/\/+$/, '');
const isBelow = (file: string): boolean => !/^[~/]/.test(file) && !plain(file).startsWith('..');
const nameOf = (file: string): string =>
  path.posix
    .basename(plain(file))
    .replaceAll(/[^A-Za-z0-9_-]+/g, '-')
    .replace(/^-+|-+$/g, '') || 'train';
