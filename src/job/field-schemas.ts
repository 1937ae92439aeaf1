import { z } from 'zod';
import {
  cacheNameForms,
  defined,
  type Defined,
  durationPattern,
  formatSize,
  nearest,
  parseCacheName,
  parseDuration,
  parseSize,
  sizePattern,
} from '@updraft/base';
import { isInside, isPath, plainPath } from './inside.ts';
import { agentHash } from '@updraft/account/run-folder';

type ErrorMap = (issue: { input?: unknown }) => string;

/** A message with what was found and what was expected. */
const expected =
  (what: string): ErrorMap =>
  ({ input }) =>
    input === undefined ? `is missing; expected ${what}` : `is ${show(input)}; expected ${what}`;

export const entry = (what: string): { error: ErrorMap } => ({ error: expected(what) });

function show(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  if (value instanceof Date) return 'a date';
  if (value !== null && typeof value === 'object') return 'a table';
  const shown = typeof value === 'string' ? JSON.stringify(value) : String(value);
  return shown.length > 60 ? `${shown.slice(0, 59)}…` : shown;
}

/** Operating systems refuse NUL in arguments, variables and paths. */
const withoutNul = (value: string): boolean => !value.includes('\0');

export const nonEmptyText = (what: string) =>
  z.string(entry(what)).refine((value) => value.trim() !== '' && withoutNul(value), entry(what));

export const matching = (what: string, pattern: RegExp) => nonEmptyText(what).regex(pattern, entry(what));

export const urlOrPath = (what: string) =>
  nonEmptyText(what).refine((value) => URL.canParse(value) || isInside(value), entry(what));

const outside: ErrorMap = ({ input }) =>
  `is ${show(input)}; expected a relative path without ".." or line breaks, inside the job's folder`;

export const path = (what: string, error = outside) =>
  nonEmptyText(what).refine(isInside, { error }).overwrite(plainPath);

export const paths = (what: string) => z.array(path('the path of a file or folder'), entry(what));

/** Files to send: one that lies elsewhere can be moved. */
export const sentPaths = (what: string) =>
  z.array(
    path('the path of a file or folder', ({ input }) => {
      const name = String(input).replace(/\/+$/, '').replace(/^.*\//s, '');
      const isName = isInside(name) && /^(\/|~\/|\.\.\/|.*\/\.\.\/)/.test(String(input));
      return isName
        ? `is ${show(input)}; expected a path inside the job's folder: copy or move ` +
            `it there and write ${show(name)}, or make it a [data] table if it is large`
        : outside({ input });
    }),
    entry(what),
  );

export const count = (what: string, min: number, max = Number.MAX_SAFE_INTEGER) => {
  const range = entry(`${what}, ${max === Number.MAX_SAFE_INTEGER ? `${min} or more` : `${min} to ${max}`}`);
  return z.number(range).int(range).min(min, range).max(max, range);
};

/** `instead` is what to do about some other values. */
export function choiceOf<const Values extends readonly string[]>(
  values: Values,
  instead: (asked: string) => string | undefined = () => undefined,
) {
  const what = expected(`one of ${values.map((value) => `"${value}"`).join(', ')}`);
  return z.enum(values, {
    error: ({ input }) => {
      const asked = String(input);
      const close = nearest(asked, values);
      const hint = instead(asked) ?? (close === undefined ? undefined : `did you mean "${close}"?`);
      return `${what({ input })}${hint === undefined ? '' : ` (${hint})`}`;
    },
  });
}

/** Keys of a table that the user names. */
export const names = (what: string, pattern: RegExp) =>
  z.string().regex(pattern, { error: `this name cannot be used; expected a name for ${what}` });

export const scalar = () =>
  z
    .union([z.string(), z.number(), z.boolean()], entry('a string, a number, true or false'))
    .refine((value) => typeof value !== 'string' || withoutNul(value), { error: 'contains a NUL character' });

const sizeDescription = 'a size with a unit, like "16 GB" or "512 MiB"';

/** Bytes; `word` is accepted instead of a size, and returned unchanged. */
export function size<Word extends string = never>(word?: Word) {
  const what = word === undefined ? sizeDescription : `"${word}" or ${sizeDescription}`;
  return z
    .string({
      error: ({ input }) =>
        typeof input === 'number' ? withoutUnit(input, what) : expected(what)({ input }),
    })
    .transform((value, context): number | Word => {
      if (value === word) return value as Word;
      const bytes = parseSize(value);
      if (bytes !== undefined && bytes > 0) return bytes;
      context.addIssue(
        /^\s*[\d.]+\s*$/.test(value) ? withoutUnit(value.trim(), what) : expected(what)({ input: value }),
      );
      return z.NEVER;
    })
    .meta({ pattern: word === undefined ? sizePattern : `^${word}$|${sizePattern}`, examples: ['16 GB'] });
}

const withoutUnit = (found: number | string, what: string): string => {
  const meant = likelySizes(Number(found)).map((text) => `"${text}"`);
  const hint = meant.length === 0 ? '' : ` (did you mean ${meant.join(' or ')}?)`;
  return `is ${found} without a unit; add a unit: expected ${what}${hint}`;
};

/** Schedulers count memory in megabytes, people in gigabytes, programs in bytes. */
function likelySizes(figure: number): string[] {
  if (!(figure > 0)) return [];
  if (figure < 512) return [`${figure} GB`];
  return figure < 1e7 ? [`${figure} MB`, formatSize(figure * 1e6)] : [formatSize(figure)];
}

/** Seconds. */
export function duration() {
  const what = 'a duration with a unit, like "90s", "1h30m" or "2d"';
  return z
    .string({
      error: ({ input }) => `${expected(what)({ input })}${typeof input === 'number' ? `; add a unit` : ''}`,
    })
    .transform((value, context): number => {
      const seconds = parseDuration(value);
      if (seconds !== undefined && seconds > 0) return seconds;
      context.addIssue(expected(what)({ input: value }));
      return z.NEVER;
    })
    .meta({ pattern: durationPattern, examples: ['10h'] });
}

/** Caches of a federation. */
export const cacheList = () =>
  z.array(
    nonEmptyText(`a cache: ${cacheNameForms}`).refine(
      (value) => parseCacheName(value) !== undefined,
      entry(`a cache: ${cacheNameForms}`),
    ),
    entry('a list of caches, like ["cache.campus.edu:8443"]'),
  );

const schemes = ['osdf:', 'stash:', 'pelican:', 'https:', 'http:', 'file:'];

/**
 * URL of an object, or the path of a file or folder on this machine. It is shown and written to journals, so it may not
 * contain credentials.
 */
export const urlOrFile = () =>
  nonEmptyText('a URL or a path, like "osdf:///ospool/uc-shared/public/data.tar.gz" or "images/"').check(
    (payload) => {
      if (isPath(payload.value)) return;
      const report = (message: string): void =>
        void payload.issues.push({ code: 'custom', input: payload.value, message });
      const parsed = URL.parse(payload.value);
      // Pelican allows a credential's name before the scheme: igwn+osdf://.
      if (parsed === null || !schemes.includes(parsed.protocol.replace(/^.*\+/, '')))
        report(
          `is ${show(payload.value)}; expected a path, or a URL that ` +
            'begins with osdf://, pelican://, https://, http:// or file://',
        );
      else if (parsed.username !== '' || parsed.password !== '' || parsed.searchParams.has('authz'))
        report('contains a credential; put the token into a file and name it in token_file');
      else if (parsed.pathname.length < 2) report('names no object; expected a path after the host');
    },
  );

/** How the agent travels: `common`, or where one is whose name ends in its hash. */
export const agentPlace = () => {
  const what =
    '"common", or what `updraft env agent` or `updraft env image --agent` printed, which ends in the ' +
    'SHA-256 of the agent';
  return nonEmptyText(what).refine(
    (place) =>
      place === 'common' ||
      (/^(?:(osdf|pelican|stash|https?):\/\/[^\s,?#$]+|image:\/[\w./-]+)$/.test(place) &&
        agentHash(place) !== undefined),
    entry(what),
  );
};

/** Keys whose name in the spec is not simply camel case: most add their unit. */
const specNames = {
  memory: 'memoryBytes',
  memory_max: 'memoryMaxBytes',
  disk: 'diskBytes',
  disk_max: 'diskMaxBytes',
  keep: 'keepBytes',
  time: 'timeSeconds',
  quiet_limit: 'quietLimitSeconds',
  idle_limit: 'idleLimitSeconds',
  checkpoint_every: 'checkpointEverySeconds',
  give_up_after: 'giveUpSeconds',
  pixi_unpack: 'unpacker',
} as const;

type CamelCase<Key> = Key extends `${infer Head}_${infer Rest}`
  ? `${Head}${Capitalize<CamelCase<Rest>>}`
  : Key;
type SpecName<Key> = Key extends keyof typeof specNames ? (typeof specNames)[Key] : CamelCase<Key>;
type SpecTable<Fields> = Defined<{ [Key in keyof Fields as SpecName<Key> & string]: Fields[Key] }>;

/** A table of the file that refuses other keys. Its output uses the spec's names, without absent keys. */
export const table = <Shape extends z.ZodRawShape>(what: string, shape: Shape) =>
  z
    .strictObject(shape, entry(what))
    .transform(
      (fields) =>
        defined(
          Object.fromEntries(Object.entries(fields).map(([key, value]) => [specName(key), value])),
        ) as SpecTable<typeof fields>,
    );

const specName = (key: string): string =>
  key in specNames
    ? specNames[key as keyof typeof specNames]
    : key.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
