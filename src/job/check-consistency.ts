import { isShardList, nearest, shardRange, numberOf, counted, parseDuration, parseSize } from '@updraft/base';
import { checkPoolSubmit } from './check-pool-submit.ts';
import { dataMethods } from './choices.ts';
import { seedName } from '@updraft/account/parameters';
import {
  fillText,
  isBuiltin,
  parameterVariable,
  parseTemplate,
  placeholderNames,
  shellContexts,
  isReserved,
} from './expand.ts';
import { filledTexts } from './fill-file.ts';
import { isInside, isLocal, overlap, plainPath } from './inside.ts';
import { combinations, type Matrix, isGroupEntry, parametersOf } from './matrix.ts';
import { poolTraits } from './pool-traits.ts';
import {
  entriesAt,
  type KeyPath,
  problemAt,
  problemAtKey,
  showKey,
  type SourceFile,
  type SpecProblem,
  textsAt,
  valueAt,
} from './source-file.ts';
import { checkSearch } from './search-trials.ts';
import type { Scalar } from './spec.ts';

/**
 * Finds problems that no single value shows: folders that collide, methods that do not fit. Works on the raw values, so
 * that its problems are reported together with those of the schema.
 */
export function checkConsistency(source: SourceFile): SpecProblem[] {
  return [
    ...checkFolders(source),
    ...checkMethods(source),
    ...checkCaches(source),
    ...checkEnvironment(source),
    ...checkRecovery(source, writtenMatrix(source)),
    ...checkCheckpoint(source),
    ...checkPoolSubmit(source),
    ...checkNodes(source),
    ...checkSecrets(source),
    ...checkDirections(source),
    ...checkSearch(source),
  ];
}

function checkNodes(source: SourceFile): SpecProblem[] {
  const at = ['resources', 'nodes'];
  const [nodes, name] = [valueAt(source.value, at), valueAt(source.value, ['run', 'pool']) ?? 'local'];
  const traits = Object.entries(poolTraits).find(([pool]) => pool === name)?.[1];
  if (traits === undefined || traits.hasNodes || nodes === undefined || nodes === 1) return [];
  const todo = 'request the GPUs of one machine (gpus = 4), or use pool = "slurm"';
  return [problemAt(source, at, `a job on ${traits.title} is on one machine; ${todo}`)];
}

/** A metric cannot be better both ways. */
function checkDirections(source: SourceFile): SpecProblem[] {
  const named = (key: string): unknown[] => [valueAt(source.value, ['results', key]) ?? []].flat();
  const smaller = named('smaller_is_better');
  const twice = [...named('larger_is_better').entries()].filter(([, name]) => smaller.includes(name));
  return twice.map(([at]) =>
    problemAt(source, ['results', 'larger_is_better', at], 'is in smaller_is_better too; keep one of them'),
  );
}

/** Finds problems of the matrix, and of the placeholders of its parameters. */
export function checkParameters(source: SourceFile): SpecProblem[] {
  const matrix = writtenMatrix(source);
  const hasRepeat = valueAt(source.value, ['run', 'repeat']) !== undefined;
  const tooMany = checkNumber(source, matrix);
  return [
    ...tooMany,
    ...checkNames(source, matrix, hasRepeat),
    ...checkGroups(source, matrix),
    ...(valueAt(source.value, ['search']) === undefined ? checkTwins(source, matrix) : []),
    ...(tooMany.length > 0 ? [] : checkTemplates(source, matrix, placeholderNames(matrix, hasRepeat))),
    ...checkFilled(source, placeholderNames(matrix, hasRepeat)),
  ];
}

/** The lists of the matrix, unchecked. */
export function writtenMatrix(source: SourceFile): Matrix {
  const isList = (entry: [string, unknown]): entry is [string, Matrix[string]] => Array.isArray(entry[1]);
  return Object.fromEntries(entriesAt(source.value, ['run', 'matrix']).filter(isList));
}

/** Placeholders outside [train] that name no parameter. */
const checkFilled = (source: SourceFile, known: string[]): SpecProblem[] =>
  filledTexts(source.value).flatMap(({ at, names }) =>
    [...new Set(names)]
      .filter((name) => !known.includes(name))
      .map((name) => problemAt(source, at, unknownParameter(name, known))),
  );

function checkSecrets(source: SourceFile): SpecProblem[] {
  return entriesAt(source.value, ['train', 'secrets']).flatMap(([name]) => {
    const at = ['train', 'secrets', name];
    const has = (key: string): boolean => valueAt(source.value, [...at, key]) !== undefined;
    const from = valueAt(source.value, [...at, 'from']);
    return [
      ...(valueAt(source.value, ['train', 'env', name]) === undefined
        ? []
        : [problemAtKey(source, at, `${name} is in [train.env] too; keep one of them`)]),
      ...(from === 'file' && !has('path') ? [problemAtKey(source, at, 'names no file; add path = "…"')] : []),
      ...(from === 'file' && has('name')
        ? [problemAt(source, [...at, 'name'], 'only applies to from = "env"; remove it')]
        : []),
      ...(from === 'env' && has('path')
        ? [problemAt(source, [...at, 'path'], 'only applies to from = "file"; remove it')]
        : []),
    ];
  });
}

/** Only a federation has caches. */
function checkCaches(source: SourceFile): SpecProblem[] {
  return entriesAt(source.value, ['data']).flatMap(([name]) => {
    const url = valueAt(source.value, ['data', name, 'url']);
    if (typeof url !== 'string' || !(isLocal(url) || /^https?:/i.test(url))) return [];
    return ['caches', 'avoid_caches']
      .map((key) => ['data', name, key])
      .filter((at) => valueAt(source.value, at) !== undefined)
      .map((at) => problemAtKey(source, at, 'only applies to osdf:// and pelican:// URLs; remove it'));
  });
}

function checkFolders(source: SourceFile): SpecProblem[] {
  const taken = textsAt(source.value, ['train', 'files']).map(([at, path]) => ({
    at,
    path: plainPath(path),
  }));
  const problems: SpecProblem[] = [];
  for (const [name] of entriesAt(source.value, ['data'])) {
    const at = ['data', name, 'into'];
    const written = valueAt(source.value, at) ?? 'data';
    if (typeof written !== 'string' || !isInside(written)) continue;
    const path = plainPath(written);
    const other = taken.find((one) => overlap(one.path, path));
    if (other !== undefined) {
      const message = `"${path}" collides with "${other.path}" of ${showKey(other.at)}; use a separate folder for each`;
      problems.push(problemAt(source, at, message));
    }
    taken.push({ at, path });
  }
  return problems;
}

function checkMethods(source: SourceFile): SpecProblem[] {
  return entriesAt(source.value, ['data']).flatMap(([name]) => {
    const url = valueAt(source.value, ['data', name, 'url']);
    if (typeof url !== 'string') return [];
    const at = ['data', name, 'method'];
    const unpack = valueAt(source.value, ['data', name, 'unpack']) ?? 'auto';
    const isList = typeof unpack === 'string' && isShardList({ url, unpack });
    const range = shardRange(url);
    const manifest = valueAt(source.value, ['data', name, 'manifest']);
    if (isList && isLocal(url))
      return [problemAt(source, ['data', name, 'url'], 'is a list of shards, but not in a federation')];
    if (range !== undefined || valueAt(source.value, at) === 'on-demand')
      return checkOnDemand(source, name, { url, isList, range });
    const keep = ['data', name, 'keep'];
    if (valueAt(source.value, keep) !== undefined)
      return [problemAtKey(source, keep, 'only applies to method = "on-demand"')];
    if (isList && typeof manifest === 'string' && manifest.includes('://'))
      return [problemAt(source, ['data', name, 'manifest'], 'is not needed: the list itself has the hashes')];
    const wrong = methodMismatch(valueAt(source.value, at), url, isList);
    return wrong === undefined ? [] : [problemAt(source, at, wrong)];
  });
}

/** Far more than a data set has, so that nobody's slip fills the memory. */
const maxRange = 100_000;

/** What does not fit to shards that come as the training asks for them. */
function checkOnDemand(
  source: SourceFile,
  name: string,
  { url, isList, range }: { url: string; isList: boolean; range: string[] | undefined },
): SpecProblem[] {
  const at = (...key: string[]): string[] => ['data', name, ...key];
  const has = (key: string): boolean => valueAt(source.value, at(key)) !== undefined;
  const wrongUrl = (message: string): SpecProblem[] => [problemAt(source, at('url'), message)];
  if (!isList && range === undefined)
    return wrongUrl(
      'is not a list of shards; with method = "on-demand", expected a ' +
        '.shards.json from `updraft stage`, or a range like train-{0000..0099}.tar',
    );
  if (isLocal(url))
    return wrongUrl('is a range of shards on this machine; expected an osdf://, pelican:// or https:// URL');
  if (range !== undefined && (range.length === 0 || range.length > maxRange))
    return wrongUrl(
      `is a range of ${range.length} shards; expected 1 to ${maxRange}, the lower number first`,
    );
  if (valueAt(source.value, at('method')) !== 'on-demand')
    return wrongUrl('is a range of shards, which only method = "on-demand" can fetch; add that line');
  const idle = ['unpack', 'arriving'].map((key) => [
    key,
    'does not apply to method = "on-demand": shards stay tar files, and come as the training asks for them; remove it',
  ]);
  const unlisted = ['expect', 'sha256', 'manifest'].map((key) => [
    key,
    'does not apply to a range of shards; remove it',
  ]);
  const problems = [...idle, ...(range === undefined ? [] : unlisted)]
    .filter(([key = '']) => has(key))
    .map(([key = '', message = '']) => problemAtKey(source, at(key), message));
  if (range !== undefined && !has('keep'))
    problems.push(
      problemAt(
        source,
        at('url'),
        'is a range of shards, whose sizes are unknown; add the disk for them, like keep = "20 GB"',
      ),
    );
  return problems;
}

/** Which methods can fetch which URLs. */
function methodMismatch(method: unknown, url: string, isList: boolean): string | undefined {
  const [kind, fitting]: [string, string[]] = isList
    ? ['a list of shards', ['stream']]
    : /^https?:/i.test(url)
      ? ['an https:// URL', ['https', 'stream']]
      : isLocal(url)
        ? ['a file on this machine', ['native']]
        : ['an object in a federation', ['osdf', 'stream']];
  const other = dataMethods.find((one) => one === method && one !== 'auto' && !fitting.includes(one));
  if (other === undefined) return undefined;
  const words = [...fitting, 'auto'].map((word) => `"${word}"`).join(' or ');
  return `"${other}" cannot fetch ${kind}; expected ${words}`;
}

/** Keys of `[environment]` that contradict each other. */
function checkEnvironment(source: SourceFile): SpecProblem[] {
  const at = (key: string): string[] => ['environment', key];
  const has = (key: string): boolean => valueAt(source.value, at(key)) !== undefined;
  const delivery = valueAt(source.value, at('delivery'));
  const problems: SpecProblem[] = [];
  const say = (key: string, message: string): void => void problems.push(problemAt(source, at(key), message));
  if (has('image') && has('pack'))
    say('pack', 'an image is set too; remove one of them: the training runs in one environment');
  if (delivery === 'pack' && !has('pack'))
    say('delivery', '"pack" needs the archive in `pack`; make one with: updraft env pack');
  if (delivery === 'container' && !has('image'))
    say(
      'delivery',
      '"container" needs the image in `image`; write its recipe with: updraft env image --write',
    );
  if (delivery === 'install' && !has('pixi'))
    say('delivery', '"install" needs the manifest in `pixi`, like "pixi.toml"');
  for (const key of ['image', 'pack'])
    if (delivery === 'install' && has(key))
      say('delivery', `is "install", but \`${key}\` names another environment; remove one of them`);
  if (delivery === 'container' && has('pack'))
    say('delivery', 'is "container", but `pack` names an archive; remove one of them');
  if (has('pixi') && delivery === undefined && !has('pack') && !has('image'))
    say(
      'pixi',
      'has no way to the worker; name an archive in `pack` (updraft env pack makes one) or an ' +
        '`image` made from it (updraft env image), or on the local pool set delivery = "install"',
    );
  for (const key of ['pixi_environment', 'platform', 'fallback'])
    if (has(key) && !has('pixi'))
      problems.push(
        problemAtKey(source, at(key), 'has no effect without `pixi`, the manifest it applies to'),
      );
  if (has('pixi_unpack') && !has('pack'))
    problems.push(problemAtKey(source, at('pixi_unpack'), 'has no effect without an archive in `pack`'));
  return [...problems, ...checkUnpacker(source)];
}

/** Whether a pack needs no program on the worker, by its name: it is self-extracting, or an installed environment. */
const isComplete = (url: string): boolean => /\.(?:sh|tar\.zst)$/i.test(url.replace(/[?#].*$/, ''));

function checkUnpacker(source: SourceFile): SpecProblem[] {
  const key = ['environment', 'pack'];
  const pack = valueAt(source.value, key);
  const url = typeof pack === 'string' ? pack : valueAt(pack, ['url']);
  const unpacker = valueAt(source.value, ['environment', 'pixi_unpack']);
  if (typeof url !== 'string' || isComplete(url) || unpacker !== undefined) return [];
  const message =
    `"${url}" is not self-extracting (.sh), and workers have no pixi-unpack; ` +
    'expected the program in `pixi_unpack`, or an archive made by: updraft env pack';
  return [problemAt(source, key, message)];
}

/** Placeholders that name no parameter, that cannot be quoted safely, or that lead a path out of its folder. */
function checkTemplates(source: SourceFile, matrix: Matrix, known: string[]): SpecProblem[] {
  const problems: SpecProblem[] = [];
  for (const [at, text] of templatesOf(source.value)) {
    const shell = at[1] === 'command' || at[1] === 'check';
    const found = templateProblems(text, known, shell);
    if (found.length === 0 && at[1] === 'outputs' && isInside(text))
      found.push(...filledPathProblems(text, matrix));
    problems.push(...found.map((message) => problemAt(source, at, message)));
  }
  return problems;
}

function templatesOf(value: unknown): [KeyPath, string][] {
  const places: KeyPath[] = [
    ['train', 'command'],
    ['train', 'check'],
    ...textsAt(value, ['train', 'outputs']).map(([at]) => at),
    ...entriesAt(value, ['train', 'env']).map(([name]) => ['train', 'env', name]),
  ];
  return places.flatMap((at): [KeyPath, string][] => {
    const text = valueAt(value, at);
    return typeof text === 'string' ? [[at, text]] : [];
  });
}

function templateProblems(text: string, known: string[], shell: boolean): string[] {
  const { parts, problem } = parseTemplate(text);
  if (problem !== undefined) return [`has ${problem}`];
  const contexts = shell ? shellContexts(parts) : [];
  const found = new Set<string>();
  for (const [index, part] of parts.entries()) {
    if ('literal' in part) continue;
    if (!known.includes(part.name)) found.add(unknownParameter(part.name, known));
    else if (contexts[index] === 'unclear') found.add(unclearPlace(part.name));
  }
  return [...found];
}

function unknownParameter(name: string, known: string[]): string {
  const close = nearest(name, known);
  const hint = close === undefined ? '' : ` (did you mean "{${close}}"?)`;
  const key = /\W/.test(name) ? `"${name}"` : name;
  return (
    `{${name}} is not a parameter; expected one of ${known.join(', ')}, a new one ` +
    `in [run], like matrix = { ${key} = [1, 2] }, or {{${name}}} for braces${hint}`
  );
}

function unclearPlace(name: string): string {
  const variable = isBuiltin(name) ? `UPDRAFT_${name.toUpperCase()}` : parameterVariable(name);
  return (
    `{${name}} cannot be quoted safely in a substitution, here-document, ` +
    `comment or after a backslash; use the variable $${variable} there`
  );
}

function filledPathProblems(text: string, matrix: Matrix): string[] {
  for (const values of combinations(matrix)) {
    const filled = fillText(text, { ...values, job: '0000', index: 0, [seedName]: 1 });
    if (!isInside(filled))
      return [`becomes ${JSON.stringify(filled)}; expected a relative path without ".." or line breaks`];
  }
  return [];
}

const maxJobs = 100_000;

function checkNumber(source: SourceFile, matrix: Matrix): SpecProblem[] {
  const times = ['jobs', 'repeat'].map((key) => valueAt(source.value, ['run', key]));
  const combined = Object.values(matrix).reduce((product, values) => product * values.length, 1);
  const total = times.reduce<number>((all, each) => all * (typeof each === 'number' ? each : 1), combined);
  if (total <= maxJobs || combined === 1) return [];
  const message = `${combined} combinations make ${total} jobs; expected at most ${maxJobs}`;
  return [problemAt(source, ['run', 'matrix'], message)];
}

function checkNames(source: SourceFile, matrix: Matrix, hasRepeat: boolean): SpecProblem[] {
  const problems: SpecProblem[] = [];
  const variables = new Map<string, string>();
  for (const { name, at } of placesOfNames(matrix)) {
    const same = variables.get(parameterVariable(name));
    const reserved = isReserved(name)
      ? 'every job has {job} and {index}, and its results have outcome, hours and tries'
      : hasRepeat && name === seedName && '`repeat` gives every job its {seed}';
    if (reserved !== false)
      problems.push(
        problemAtKey(source, at, `this name is reserved: ${reserved}; use another, such as my_${name}`),
      );
    if (same !== undefined)
      problems.push(
        problemAtKey(
          source,
          at,
          same === name
            ? `"${name}" is a parameter already; use another name`
            : `becomes the variable ${parameterVariable(name)}, as "${same}" does; use another name`,
        ),
      );
    variables.set(parameterVariable(name), name);
  }
  return problems;
}

/** Every parameter, and the key that introduces it. */
const placesOfNames = (matrix: Matrix): { name: string; at: KeyPath }[] =>
  Object.entries(matrix).flatMap(([group, entries]) =>
    parametersOf(group, entries).map((name) => {
      const first = entries.findIndex((entry) => isGroupEntry(entry) && Object.hasOwn(entry, name));
      return { name, at: ['run', 'matrix', group, ...(first < 0 ? [] : [first, name])] };
    }),
  );

/** Groups whose entries do not have the same parameters. */
function checkGroups(source: SourceFile, matrix: Matrix): SpecProblem[] {
  return Object.entries(matrix).flatMap(([group, entries]) => {
    if (!entries.some(isGroupEntry)) return [];
    const names = parametersOf(group, entries);
    return entries.flatMap((entry, index) => {
      const at = ['run', 'matrix', group, index];
      if (!isGroupEntry(entry)) {
        const message = `is no table, but other entries of "${group}" are; expected ${exampleEntry(names)}`;
        return [problemAt(source, at, message)];
      }
      if (names.length === 0) return [problemAt(source, at, 'is an empty table; expected parameters')];
      return names
        .filter((name) => !Object.hasOwn(entry, name))
        .map((name) => problemAt(source, at, missingValue(group, name)));
    });
  });
}

/** The same for `1`, `"1"`, `1.0` and `1e0`, but not for long numbers that differ in their last digits. */
const comparable = (value: Scalar): string =>
  String(Number.isSafeInteger(Math.trunc(numberOf(value) ?? NaN)) ? numberOf(value) : value);

/** The first entry of each list that gives its jobs what an earlier one gives, also as `1e-4` and `0.0001`. */
const checkTwins = (source: SourceFile, matrix: Matrix): SpecProblem[] =>
  Object.entries(matrix).flatMap(([name, entries]) => {
    const seen = new Map<string, number>();
    for (const [index, entry] of entries.entries()) {
      const values = isGroupEntry(entry) ? Object.entries(entry).sort() : [[name, entry] as const];
      const given = JSON.stringify(values.map(([key, value]) => [key, comparable(value)]));
      const first = seen.get(given);
      seen.set(given, index);
      if (first === undefined) continue;
      const message = `is the same as entry ${first + 1}; remove it: \`repeat\` runs each combination several times`;
      return [problemAt(source, ['run', 'matrix', name, index], message)];
    }
    return [];
  });

const exampleEntry = (names: readonly string[]): string =>
  `a table like { ${names.map((name) => `${name} = "…"`).join(', ')} }`;

const missingValue = (group: string, name: string): string =>
  `has no "${name}", which other entries of "${group}" have; ` +
  `add it, or ${name} = "" to leave out the key that {${name}} fills`;

/** Where `[recovery]` contradicts itself or the rest of the file. */
function checkRecovery(source: SourceFile, matrix: Matrix): SpecProblem[] {
  return [
    ...checkMax(source, 'memory'),
    ...checkMax(source, 'disk'),
    ...checkGiveUp(source),
    ...checkFailedJobs(source, matrix),
    ...checkSingle(source),
  ];
}

/** A problem if the value at `at` is less than the one at `other`. */
function lessThan(
  source: SourceFile,
  at: string[],
  other: string[],
  parse: (text: string) => number | undefined,
  messageOf: (value: string, other: string) => string,
): SpecProblem[] {
  const [text, min] = [valueAt(source.value, at), valueAt(source.value, other)];
  if (typeof text !== 'string' || typeof min !== 'string') return [];
  // The schema reports values that cannot be parsed.
  const isLess = (parse(text) ?? Infinity) < (parse(min) ?? -Infinity);
  return isLess ? [problemAt(source, at, messageOf(text, min))] : [];
}

const checkMax = (source: SourceFile, what: 'memory' | 'disk'): SpecProblem[] =>
  lessThan(
    source,
    ['recovery', `${what}_max`],
    ['resources', what],
    parseSize,
    (max, asked) =>
      `"${max}" is less than ${what} = "${asked}" of the first attempt; expected at least that much`,
  );

const checkGiveUp = (source: SourceFile): SpecProblem[] =>
  lessThan(
    source,
    ['recovery', 'give_up_after'],
    ['resources', 'time'],
    parseDuration,
    (giveUp, time) =>
      `"${giveUp}" is shorter than time = "${time}" of a single attempt; expected at least that long`,
  );

function checkFailedJobs(source: SourceFile, matrix: Matrix): SpecProblem[] {
  const at = ['recovery', 'failed_jobs'];
  const max = valueAt(source.value, at);
  const each = valueAt(source.value, ['run', 'jobs']) ?? 1;
  const repeat = valueAt(source.value, ['run', 'repeat']) ?? 1;
  if (typeof max !== 'number' || typeof each !== 'number' || typeof repeat !== 'number') return [];
  const jobs = Object.values(matrix).reduce((product, values) => product * values.length, each * repeat);
  if (max <= jobs) return [];
  const message =
    `${max} can never be reached: the run has ${counted(jobs, 'job')}; ` +
    `expected ${jobs} or fewer, or remove it`;
  return [problemAt(source, at, message)];
}

/** With a single attempt there is nothing to recover with. */
function checkSingle(source: SourceFile): SpecProblem[] {
  if (valueAt(source.value, ['run', 'attempts']) !== 1) return [];
  return ['avoid', 'memory_max', 'disk_max', 'give_up_after'].flatMap((key) => {
    const at = ['recovery', key];
    const value = valueAt(source.value, at);
    if (value === undefined || value === 'none') return [];
    const message =
      'applies to later attempts, and run.attempts = 1 allows none; set attempts to 2 or more, or remove it';
    return [problemAt(source, at, message)];
  });
}

/** Where the settings of checkpoints and limits contradict each other. */
function checkCheckpoint(source: SourceFile): SpecProblem[] {
  return [...checkAlone(source), ...checkLimits(source)];
}

function checkAlone(source: SourceFile): SpecProblem[] {
  if (valueAt(source.value, ['train', 'checkpoint']) !== undefined) return [];
  return ['checkpoint_keep', 'checkpoint_every'].flatMap((key) =>
    valueAt(source.value, ['train', key]) === undefined
      ? []
      : [
          problemAtKey(
            source,
            ['train', key],
            'has no effect without `checkpoint`, the folder it applies to',
          ),
        ],
  );
}

function checkLimits(source: SourceFile): SpecProblem[] {
  const limit = valueAt(source.value, ['resources', 'time']);
  const seconds = typeof limit === 'string' ? parseDuration(limit) : undefined;
  if (seconds === undefined) return [];
  return ['checkpoint_every', 'quiet_limit', 'idle_limit'].flatMap((key) => {
    const at = ['train', key];
    const value = valueAt(source.value, at);
    const span = typeof value === 'string' ? parseDuration(value) : undefined;
    if (span === undefined || span < seconds) return [];
    const message =
      `"${String(value)}" is never reached: an attempt has ` +
      `time = "${String(limit)}"; expected less, or remove it`;
    return [problemAt(source, at, message)];
  });
}
