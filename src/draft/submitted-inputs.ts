import path from 'node:path';
import { textWithoutSecrets, withoutSecrets } from '@updraft/base/secrets';
import {
  type Batch,
  fileList,
  isUrl,
  markedName,
  type SubmittedJob,
  wordsOf,
} from '@updraft/htcondor/submit';
import { isInside } from '../job/inside.ts';
import type { Guess } from './choose-values.ts';
import type { DraftData } from './draft-data.ts';

/** What the user of a draft must fill in, and what is lost. */
export interface Notes {
  open: Guess[];
  hints: string[];
}

/** Programs that every worker has are not sent. */
const ofSystem = /^\/(usr\/(local\/)?)?s?bin\//;

const isSent = ({ transfer_executable: sent = 'true', executable = '' }: Record<string, string>): boolean =>
  executable !== '' && !/^false$/i.test(sent.trim()) && !ofSystem.test(executable);

/** The first word of the command. */
export function programOf(commands: Record<string, string>): string {
  const name = textWithoutSecrets(commands['executable']?.trim() ?? '');
  if (!isSent(commands)) return name;
  return `./${isInside(name) ? path.posix.normalize(name) : path.posix.basename(name)}`;
}

interface Input {
  name: string;
  /** The name as the submit file has it, if only HTCondor knows the whole of it. */
  open?: string;
}

/** More objects than this are not meant for every job. */
const maxUrls = 10;

/** The files and objects of all jobs, since each job gets the same ones. */
export function draftInputs(all: readonly Batch[], notes: Notes): { files: string[]; data: DraftData[] } {
  const lists = all.flatMap(({ queue }) =>
    queue.jobs.map((job) => [...sentProgram(job), ...inputsOfJob(job, queue.template)]),
  );
  const inputs = [...new Map(lists.flat().map((input) => [input.name, input])).values()];
  for (const { name, open } of inputs)
    if (open !== undefined)
      notes.open.push([isUrl(name) ? 'data' : 'files', `${open} is known only to HTCondor`]);
  const known = inputs.filter(({ open }) => open === undefined).map(({ name }) => name);
  const local = known.filter((name) => !isUrl(name));
  if (local.length > Math.max(...lists.map((list) => list.filter(({ name }) => !isUrl(name)).length)))
    notes.hints.push('files: every job is sent the files of all jobs');
  const files = filesOf(local, notes);
  const keepsPaths = ({ job }: Batch): boolean =>
    /^true$/i.test(job.commands['preserve_relative_paths'] ?? '');
  if (!all.every(keepsPaths))
    for (const name of files.filter((one) => one.includes('/')))
      notes.hints.push(`files: ${name} stays in its folder, where HTCondor puts it at the top`);
  return { files, data: dataOf(known.filter(isUrl), files, notes) };
}

/** The program; of an interpreter, its script, which HTCondor finds where the worker shares the folder. */
function sentProgram({ commands }: SubmittedJob): Input[] {
  if (isSent(commands)) return [{ name: commands['executable']?.trim() ?? '' }];
  const [script = ''] = wordsOf('arguments', commands['arguments']);
  const isScript = isInside(script) && /^[^-].*\.(sh|bash|py|R|jl|pl|m)$/.test(script);
  return isScript ? [{ name: script }] : [];
}

function inputsOfJob({ commands }: SubmittedJob, template: SubmittedJob | undefined): Input[] {
  const folder = commands['initialdir']?.trim() ?? '';
  const marked = fileList(template?.commands['transfer_input_files']);
  return fileList(commands['transfer_input_files']).map((name, at) => {
    const full = isUrl(name) || path.posix.isAbsolute(name) ? name : path.posix.join(folder, name);
    const written = (marked[at] ?? '').replaceAll(markedName('cluster'), '$(Cluster)');
    if (written !== marked[at] && written !== '') return { name: full, open: written };
    return full.includes('$$(') ? { name: full, open: full.replaceAll('$$(', '$(') } : { name: full };
  });
}

function filesOf(local: readonly string[], notes: Notes): string[] {
  const inside = local.filter(isInside).map((name) => path.posix.normalize(name).replace(/\/$/, ''));
  for (const name of local.filter((one) => !isInside(one)))
    notes.open.push([
      'files',
      /^(?:\.\/*)+$/.test(name)
        ? `\`${name}\` is the whole folder: name what the job needs of it`
        : `${name} is not beside the job file: copy it there`,
    ]);
  return inside;
}

/** Schemes of the URLs that a job file takes. */
const fetched = /^(osdf|stash|pelican|https?|file):/i;

function dataOf(named: readonly string[], files: readonly string[], notes: Notes): DraftData[] {
  const urls = named
    .filter((url) => fetched.test(url))
    .map((url) => {
      const clean = withoutSecrets(url).replaceAll(/[?&][^?&=]+=…/g, '');
      if (clean !== url) notes.hints.push(`data: the secret in ${clean}: see \`updraft docs secrets\``);
      return clean;
    });
  for (const url of named.filter((one) => !fetched.test(one)))
    notes.open.push(['data', `${withoutSecrets(url)} needs a plugin of your pool: fetch it in the command`]);
  if (urls.length > maxUrls) {
    const why = `${urls.length} URLs, too many for every job, such as ${urls[0] ?? ''}`;
    notes.open.push(['data', why]);
    return [];
  }
  const folders = freeFolders(urls.length, files);
  if (urls.length > 0)
    notes.hints.push(
      `data: URLs arrive in ${folders.map((name) => `${name}/`).join(', ')}, where HTCondor puts them at the top`,
    );
  return urls.map((url, index) => {
    const name = path.posix.basename(url.replace(/[?#].*/, ''));
    const key = name
      .replaceAll(/[^A-Za-z0-9_-]+/g, '-')
      .replace(/^[^A-Za-z0-9]+/, '')
      .slice(0, 60);
    return {
      name: `${key === '' ? 'data' : key}-${index + 1}`,
      url,
      into: folders[index] ?? 'data',
      why: 'HTCondor puts it at the top',
      unpack: 'none',
    };
  });
}

/** Folders for objects, each of its own: no file of the job is in them. */
function freeFolders(count: number, files: readonly string[]): string[] {
  const taken = new Set(files.map((file) => file.split('/')[0]));
  const free: string[] = [];
  for (let number = 1; free.length < count; number += 1) {
    const name = number === 1 ? 'data' : `data-${number}`;
    if (!taken.has(name)) free.push(name);
  }
  return free;
}
