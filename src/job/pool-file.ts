import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { type Env, isTable, nearest, unlessGone } from '@updraft/base';
import { configFolder } from '@updraft/base/user-folders';
import { Fault } from '@updraft/account/fault';
import { readAsset } from './assets.ts';
import { count, duration, entry, matching, nonEmptyText, size, table } from './field-schemas.ts';
import { overlay } from './layers.ts';
import { schemaProblems } from './read-spec.ts';
import { readToml } from './read-toml.ts';
import { type SourceFile, SpecFault } from './source-file.ts';

/** The profiles that come with the program; `pools/` has their files. */
export const builtinProfiles = ['ospool', 'chtc', 'htcondor', 'mini'] as const;

const attribute = () => matching('the name of a ClassAd attribute', /^[A-Za-z_]\w*$/);
const attributes = () => z.record(attribute(), nonEmptyText('a ClassAd expression in quotes')).default({});
const flag = () => z.boolean(entry('true or false'));

const timeClasses = () =>
  table('a table of time classes', {
    attribute: attribute().optional().describe('The attribute that names the class of a job.'),
    classes: z
      .array(
        table('a class', { name: nonEmptyText('a name'), within: duration() }),
        entry('a list of classes'),
      )
      .nonempty({ error: 'is empty; expected the classes, the shortest first' })
      .describe('Classes of running time, the shortest first; the pool holds jobs that take longer.'),
  });

/** The file of a pool's profile, with that of the profile it is like beneath it. */
const poolSchema = table('the profile of a pool', {
  like: nonEmptyText('the name of a profile')
    .optional()
    .describe('The profile that has what this file does not say (default: "htcondor").'),
  title: nonEmptyText('what its users call the pool').describe('What its users call the pool.'),
  hosts: z
    .array(nonEmptyText('a part of a host name'), entry('a list of parts of host names'))
    .default([])
    .describe(
      "A part of the name of the pool's central manager, or of its access points: who is there has this profile.",
    ),
  shared_folders: flag()
    .default(false)
    .describe('Its machines may share a file system with the access point.'),
  chirp: flag()
    .default(true)
    .describe(
      'Running jobs reach the access point over chirp. Without it, the rungs of a search are rounds.',
    ),
  advice: z
    .array(nonEmptyText('a sentence'), entry('a list of sentences'))
    .default([])
    .describe('What `updraft check` says to those who submit there.'),
  limits: table('a table of limits', {
    input: size()
      .optional()
      .describe('All that a job may send from the access point: jobs with more are held.'),
    file: size().optional().describe('A larger file belongs in the federation.'),
    object_advised: size().optional().describe('Caches serve objects up to this size well.'),
    object: size().optional().describe('For a larger object the staff must be asked.'),
    queued: count('a number of jobs', 1).describe(
      'Beyond this many, jobs are materialized as others leave the queue.',
    ),
    idle: count('a number of jobs', 1).describe('How many may wait at a time.'),
  }),
  durations: timeClasses().optional(),
  gpu_durations: timeClasses().optional().describe('For jobs with GPUs, if these have their own classes.'),
  submit: table('a table of submit lines', {
    project: flag().default(false).describe('The pool accounts by project and wants its name.'),
    attributes: attributes().describe('Attributes that every job must have.'),
    gpu_attributes: attributes().describe('Attributes that GPU jobs must have.'),
    resumable: attribute()
      .optional()
      .describe('An attribute that gives jobs with checkpoints more machines.'),
    commands: z
      .array(attribute(), entry('a list of submit commands'))
      .default([])
      .describe("Submit commands that the pool adds to HTCondor's."),
  }).default({ project: false, attributes: {}, gpuAttributes: {}, commands: [] }),
  retry: table('a table of waits', {
    first: duration().describe('How long a failed job waits before its next attempt.'),
    most: duration().describe('The wait doubles up to this.'),
    at_once: count('a number of attempts', 0).describe('Attempts that are made without waiting.'),
    forget_after: duration().describe('Failures before an attempt that lasted longer do not count.'),
    report_every: duration().describe('How often a running attempt may report.'),
  }),
});

export type PoolFile = z.output<typeof poolSchema> & { name: string };

/** The JSON Schema of a pool's file. */
export const poolJsonSchema = (): Record<string, unknown> =>
  z.toJSONSchema(poolSchema, { io: 'input', target: 'draft-7' });

/** Where the files of pools are: later ones change those before. */
export const profileFolders = (env: Env): string[] => [
  '/etc/updraft/pools',
  path.join(configFolder(env), 'pools'),
];

/** A pool's profile and everything wrong with its files; `folders` has files that add to or change ours. */
export async function readPoolFile(name: string, folders: readonly string[]): Promise<PoolFile> {
  const source = await layered(name, folders, []);
  const parsed = source.problems.length > 0 ? undefined : poolSchema.safeParse(source.value);
  const problems =
    parsed?.error === undefined ? source.problems : schemaProblems(parsed.error, source, poolJsonSchema());
  if (parsed?.data === undefined)
    throw new SpecFault(problems, 'correct it; `updraft docs pool-rules` has all keys');
  return { ...parsed.data, name };
}

/** The names of all profiles. */
export async function poolNames(folders: readonly string[]): Promise<string[]> {
  const found = await Promise.all(folders.map((folder) => unlessGone(readdir(folder))));
  const names = found.flatMap((files = []) => files.filter((file) => file.endsWith('.toml')));
  return [...new Set([...builtinProfiles, ...names.map((file) => path.basename(file, '.toml')).sort()])];
}

/** A file over the one of the same name in an earlier folder, and over the one that it is `like`. */
async function layered(
  name: string,
  folders: readonly string[],
  above: readonly string[],
): Promise<SourceFile> {
  const written = await sourcesOf(name, folders);
  if (written.length === 0 || above.includes(name)) throw await cannotBeLike(name, folders, above);
  const likes = written.map(likeOf);
  const from = Math.max(
    0,
    likes.findLastIndex((like) => like !== undefined && like !== name),
  );
  const like = likes[from] ?? (name === 'htcondor' ? undefined : 'htcondor');
  const sources = written.slice(from);
  if (like === undefined) return sources.reduce(overlay);
  return sources.reduce(overlay, await layered(like, folders, [...above, name]));
}

function likeOf({ value }: SourceFile): string | undefined {
  const like = isTable(value) ? value['like'] : undefined;
  return typeof like === 'string' ? like : undefined;
}

async function sourcesOf(name: string, folders: readonly string[]): Promise<SourceFile[]> {
  const builtin = { file: `pools/${name}.toml`, text: await readAsset(`pools/${name}.toml`) };
  const own = folders.map(async (folder) => {
    const file = path.join(folder, `${name}.toml`);
    return { file, text: await unlessGone(readFile(file, 'utf8')) };
  });
  const texts = [builtin, ...(await Promise.all(own))];
  return texts.flatMap(({ file, text }) => (text === undefined ? [] : [readToml(text, file)]));
}

async function cannotBeLike(
  name: string,
  folders: readonly string[],
  above: readonly string[],
): Promise<Fault> {
  const [by] = above.slice(-1);
  if (above.includes(name))
    return new Fault('file-invalid', `the pool profiles ${above.join(', ')} are like each other`, {
      about: name,
      fix: 'name one that comes with Updraft: like = "htcondor"',
    });
  const names = await poolNames(folders);
  const close = nearest(name, names);
  return new Fault(
    'file-invalid',
    `there is no pool profile "${name}"${by === undefined ? '' : `, which "${by}" is like`}`,
    {
      about: name,
      fix:
        `choose one of ${names.join(', ')}${close === undefined ? '' : ` (did you mean "${close}"?)`}, ` +
        `or write ${path.join(folders.at(-1) ?? '', `${name}.toml`)}`,
    },
  );
}
