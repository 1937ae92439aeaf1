import { isShardList, nearest, shardRange, numberOf, counted, parseDuration, parseSize } from '@updraft/base';
import { seedName } from '@updraft/account/parameters';
import { checkPoolSubmit } from './check-pool-submit.ts';
import { dataMethods } from './choices.ts';
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
  FileProblems,
  type KeyPath,
  showKey,
  type SourceFile,
  type SpecProblem,
} from './source-file.ts';
import { checkSearch } from './search-trials.ts';
import type { Scalar } from './spec.ts';

/**
 * Finds problems that no single value shows: folders that collide, methods that do not fit. Works on the raw values, so
 * that its problems are reported together with those of the schema.
 */
export function checkConsistency(source: SourceFile): SpecProblem[] {
  const file = new FileProblems(source);
  checkFolders(file);
  for (const name of file.keys('data')) checkMethod(file, name);
  checkCaches(file);
  checkEnvironment(file);
  checkRecovery(file, writtenMatrix(source));
  checkCheckpoint(file);
  checkPoolSubmit(file);
  checkNodes(file);
  checkSecrets(file);
  checkDirections(file);
  checkSearch(file);
  return file.found;
}

function checkNodes(file: FileProblems): void {
  const [nodes = 1, name = 'local'] = [file.get('resources', 'nodes'), file.get('run', 'pool')];
  const traits = Object.entries(poolTraits).find(([pool]) => pool === name)?.[1];
  if (traits === undefined || traits.hasNodes || nodes === 1) return;
  const todo = 'request the GPUs of one machine (gpus = 4), or use pool = "slurm"';
  file.say(`a job on ${traits.title} is on one machine; ${todo}`, 'resources', 'nodes');
}

/** A metric cannot be better both ways. */
function checkDirections(file: FileProblems): void {
  const named = (key: string): unknown[] => [file.get('results', key) ?? []].flat();
  const smaller = named('smaller_is_better');
  for (const [at, name] of named('larger_is_better').entries())
    if (smaller.includes(name))
      file.say('is in smaller_is_better too; keep one of them', 'results', 'larger_is_better', at);
}

/** Finds problems of the matrix, and of the placeholders of its parameters. */
export function checkParameters(source: SourceFile): SpecProblem[] {
  const file = new FileProblems(source);
  const matrix = writtenMatrix(source);
  const hasRepeat = file.has('run', 'repeat');
  const known = placeholderNames(matrix, hasRepeat);
  const isTooMany = checkNumber(file, matrix);
  checkNames(file, matrix, hasRepeat);
  checkGroups(file, matrix);
  if (!file.has('search')) checkTwins(file, matrix);
  if (!isTooMany) checkTemplates(file, matrix, known);
  // Placeholders outside [train] that name no parameter.
  for (const { at, names } of filledTexts(source.value))
    for (const name of new Set(names))
      if (!known.includes(name)) file.say(unknownParameter(name, known), ...at);
  return file.found;
}

/** The lists of the matrix, unchecked. */
export function writtenMatrix(source: SourceFile): Matrix {
  const isList = (entry: [string, unknown]): entry is [string, Matrix[string]] => Array.isArray(entry[1]);
  return Object.fromEntries(entriesAt(source.value, ['run', 'matrix']).filter(isList));
}

function checkSecrets(file: FileProblems): void {
  for (const name of file.keys('train', 'secrets')) {
    const at = ['train', 'secrets', name];
    const from = file.get(...at, 'from');
    if (file.has('train', 'env', name))
      file.sayOfKey(`${name} is in [train.env] too; keep one of them`, ...at);
    if (from === 'file' && !file.has(...at, 'path')) file.sayOfKey('names no file; add path = "…"', ...at);
    const [other, key] = from === 'file' ? ['env', 'name'] : ['file', 'path'];
    if ((from === 'file' || from === 'env') && file.has(...at, key))
      file.say(`only applies to from = "${other}"; remove it`, ...at, key);
  }
}

/** Only a federation has caches. */
function checkCaches(file: FileProblems): void {
  for (const name of file.keys('data')) {
    const url = file.get('data', name, 'url');
    if (typeof url !== 'string' || !(isLocal(url) || /^https?:/i.test(url))) continue;
    for (const key of ['caches', 'avoid_caches'])
      if (file.has('data', name, key))
        file.sayOfKey('only applies to osdf:// and pelican:// URLs; remove it', 'data', name, key);
  }
}

function checkFolders(file: FileProblems): void {
  const taken = file.texts('train', 'files').map(([at, path]) => ({ at, path: plainPath(path) }));
  for (const name of file.keys('data')) {
    const at = ['data', name, 'into'];
    const written = file.get(...at) ?? 'data';
    if (typeof written !== 'string' || !isInside(written)) continue;
    const path = plainPath(written);
    const other = taken.find((one) => overlap(one.path, path));
    if (other !== undefined)
      file.say(
        `"${path}" collides with "${other.path}" of ${showKey(other.at)}; use a separate folder for each`,
        ...at,
      );
    taken.push({ at, path });
  }
}

function checkMethod(file: FileProblems, name: string): void {
  const get = (key: string): unknown => file.get('data', name, key);
  const [url, method, unpack = 'auto', manifest] = [
    get('url'),
    get('method'),
    get('unpack'),
    get('manifest'),
  ];
  if (typeof url !== 'string') return;
  const isList = typeof unpack === 'string' && isShardList({ url, unpack });
  const range = shardRange(url);
  if (isList && isLocal(url)) file.say('is a list of shards, but not in a federation', 'data', name, 'url');
  else if (range !== undefined || method === 'on-demand') checkOnDemand(file, name, { url, isList, range });
  else if (get('keep') !== undefined)
    file.sayOfKey('only applies to method = "on-demand"', 'data', name, 'keep');
  else if (isList && typeof manifest === 'string' && manifest.includes('://'))
    file.say('is not needed: the list itself has the hashes', 'data', name, 'manifest');
  else {
    const wrong = methodMismatch(method, url, isList);
    if (wrong !== undefined) file.say(wrong, 'data', name, 'method');
  }
}

/** Far more than a data set has, so that nobody's slip fills the memory. */
const maxRange = 100_000;

/** What does not fit to shards that come as the training asks for them. */
function checkOnDemand(
  file: FileProblems,
  name: string,
  { url, isList, range }: { url: string; isList: boolean; range: string[] | undefined },
): void {
  const wrong = urlOnDemand(url, isList, range, file.get('data', name, 'method'));
  if (wrong !== undefined) {
    file.say(wrong, 'data', name, 'url');
    return;
  }
  const refuse = (keys: string[], message: string): void => {
    for (const key of keys) if (file.has('data', name, key)) file.sayOfKey(message, 'data', name, key);
  };
  refuse(
    ['unpack', 'arriving'],
    'does not apply to method = "on-demand": shards stay tar files, and come as the training asks for them; remove it',
  );
  if (range === undefined) return;
  refuse(['expect', 'sha256', 'manifest'], 'does not apply to a range of shards; remove it');
  if (!file.has('data', name, 'keep'))
    file.say(
      'is a range of shards, whose sizes are unknown; add the disk for them, like keep = "20 GB"',
      ...['data', name, 'url'],
    );
}

function urlOnDemand(
  url: string,
  isList: boolean,
  range: string[] | undefined,
  method: unknown,
): string | undefined {
  if (!isList && range === undefined)
    return (
      'is not a list of shards; with method = "on-demand", expected a ' +
      '.shards.json from `updraft stage`, or a range like train-{0000..0099}.tar'
    );
  if (isLocal(url))
    return 'is a range of shards on this machine; expected an osdf://, pelican:// or https:// URL';
  if (range !== undefined && (range.length === 0 || range.length > maxRange))
    return `is a range of ${range.length} shards; expected 1 to ${maxRange}, the lower number first`;
  return method === 'on-demand'
    ? undefined
    : 'is a range of shards, which only method = "on-demand" can fetch; add that line';
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
function checkEnvironment(file: FileProblems): void {
  const has = (key: string): boolean => file.has('environment', key);
  const say = (key: string, message: string): void => file.say(message, 'environment', key);
  const delivery = file.get('environment', 'delivery');
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
      file.sayOfKey('has no effect without `pixi`, the manifest it applies to', 'environment', key);
  if (has('pixi_unpack') && !has('pack'))
    file.sayOfKey('has no effect without an archive in `pack`', 'environment', 'pixi_unpack');
  const url = file.get('environment', 'pack', 'url') ?? file.get('environment', 'pack');
  if (typeof url === 'string' && !isComplete(url) && !has('pixi_unpack'))
    say(
      'pack',
      `"${url}" is not self-extracting (.sh), and workers have no pixi-unpack; ` +
        'expected the program in `pixi_unpack`, or an archive made by: updraft env pack',
    );
}

/** Whether a pack needs no program on the worker, by its name: it is self-extracting, or an installed environment. */
const isComplete = (url: string): boolean => /\.(?:sh|tar\.zst)$/i.test(url.replace(/[?#].*$/, ''));

/** Placeholders that name no parameter, that cannot be quoted safely, or that lead a path out of its folder. */
function checkTemplates(file: FileProblems, matrix: Matrix, known: string[]): void {
  const places: KeyPath[] = [
    ['train', 'command'],
    ['train', 'check'],
    ...file.texts('train', 'outputs').map(([at]) => at),
    ...file.keys('train', 'env').map((name) => ['train', 'env', name]),
  ];
  for (const at of places) {
    const text = file.get(...at);
    if (typeof text !== 'string') continue;
    const found = templateProblems(text, known, at[1] === 'command' || at[1] === 'check');
    if (found.length === 0 && at[1] === 'outputs' && isInside(text))
      found.push(...filledPathProblems(text, matrix));
    for (const message of found) file.say(message, ...at);
  }
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

/** Whether there are more jobs than a run may have. */
function checkNumber(file: FileProblems, matrix: Matrix): boolean {
  const times = ['jobs', 'repeat'].map((key) => file.get('run', key));
  const combined = Object.values(matrix).reduce((product, values) => product * values.length, 1);
  const total = times.reduce<number>((all, each) => all * (typeof each === 'number' ? each : 1), combined);
  if (total <= maxJobs || combined === 1) return false;
  file.say(`${combined} combinations make ${total} jobs; expected at most ${maxJobs}`, 'run', 'matrix');
  return true;
}

function checkNames(file: FileProblems, matrix: Matrix, hasRepeat: boolean): void {
  const variables = new Map<string, string>();
  for (const { name, at } of placesOfNames(file, matrix)) {
    const variable = parameterVariable(name);
    const same = variables.get(variable);
    const reserved = isReserved(name)
      ? 'every job has {job} and {index}, and its results have outcome, hours and tries'
      : hasRepeat && name === seedName && '`repeat` gives every job its {seed}';
    if (reserved !== false)
      file.sayOfKey(`this name is reserved: ${reserved}; use another, such as my_${name}`, ...at);
    if (same === name) file.sayOfKey(`"${name}" is a parameter already; use another name`, ...at);
    else if (same !== undefined)
      file.sayOfKey(`becomes the variable ${variable}, as "${same}" does; use another name`, ...at);
    variables.set(variable, name);
  }
}

/** Every parameter, and the key that introduces it. */
const placesOfNames = (file: FileProblems, matrix: Matrix): { name: string; at: KeyPath }[] =>
  Object.entries(matrix).flatMap(([group, entries]) =>
    parametersOf(group, entries).map((name) => {
      const first = entries.findIndex((entry) => isGroupEntry(entry) && Object.hasOwn(entry, name));
      if (file.has('search', 'ranges', name)) return { name, at: ['search', 'ranges', name] };
      return { name, at: ['run', 'matrix', group, ...(first < 0 ? [] : [first, name])] };
    }),
  );

/** Groups whose entries do not have the same parameters. */
function checkGroups(file: FileProblems, matrix: Matrix): void {
  for (const [group, entries] of Object.entries(matrix).filter(([, some]) => some.some(isGroupEntry))) {
    const names = parametersOf(group, entries);
    for (const [index, entry] of entries.entries()) {
      const say = (message: string): void => file.say(message, 'run', 'matrix', group, index);
      if (!isGroupEntry(entry))
        say(`is no table, but other entries of "${group}" are; expected ${exampleEntry(names)}`);
      else if (names.length === 0) say('is an empty table; expected parameters');
      else for (const name of names) if (!Object.hasOwn(entry, name)) say(missingValue(group, name));
    }
  }
}

/** The same for `1`, `"1"`, `1.0` and `1e0`, but not for long numbers that differ in their last digits. */
const comparable = (value: Scalar): string =>
  String(Number.isSafeInteger(Math.trunc(numberOf(value) ?? NaN)) ? numberOf(value) : value);

/** The first entry of each list that gives its jobs what an earlier one gives, also as `1e-4` and `0.0001`. */
function checkTwins(file: FileProblems, matrix: Matrix): void {
  for (const [name, entries] of Object.entries(matrix)) {
    const given = entries.map((entry) => {
      const values = isGroupEntry(entry) ? Object.entries(entry).sort() : [[name, entry] as const];
      return JSON.stringify(values.map(([key, value]) => [key, comparable(value)]));
    });
    const twin = given.findIndex((one, index) => given.indexOf(one) < index);
    if (twin < 0) continue;
    const first = given.indexOf(given[twin] ?? '') + 1;
    const message = `is the same as entry ${first}; remove it: \`repeat\` runs each combination several times`;
    file.say(message, 'run', 'matrix', name, twin);
  }
}

const exampleEntry = (names: readonly string[]): string =>
  `a table like { ${names.map((name) => `${name} = "…"`).join(', ')} }`;

const missingValue = (group: string, name: string): string =>
  `has no "${name}", which other entries of "${group}" have; ` +
  `add it, or ${name} = "" to leave out the key that {${name}} fills`;

/** Where `[recovery]` contradicts itself or the rest of the file. */
function checkRecovery(file: FileProblems, matrix: Matrix): void {
  for (const what of ['memory', 'disk'])
    checkLeast(
      file,
      ['recovery', `${what}_max`],
      ['resources', what],
      parseSize,
      (max, asked) =>
        `"${max}" is less than ${what} = "${asked}" of the first attempt; expected at least that much`,
    );
  checkLeast(
    file,
    ['recovery', 'give_up_after'],
    ['resources', 'time'],
    parseDuration,
    (giveUp, time) =>
      `"${giveUp}" is shorter than time = "${time}" of a single attempt; expected at least that long`,
  );
  checkFailedJobs(file, matrix);
  // With a single attempt there is nothing to recover with.
  for (const key of file.get('run', 'attempts') === 1
    ? ['avoid', 'memory_max', 'disk_max', 'give_up_after']
    : [])
    if (file.has('recovery', key) && file.get('recovery', key) !== 'none')
      file.say(
        'applies to later attempts, and run.attempts = 1 allows none; set attempts to 2 or more, or remove it',
        ...['recovery', key],
      );
}

/** A problem if the value at `at` is less than the one at `other`. */
function checkLeast(
  file: FileProblems,
  at: string[],
  other: string[],
  parse: (text: string) => number | undefined,
  messageOf: (value: string, other: string) => string,
): void {
  const [text, min] = [file.get(...at), file.get(...other)];
  if (typeof text !== 'string' || typeof min !== 'string') return;
  // The schema reports values that cannot be parsed.
  if ((parse(text) ?? Infinity) < (parse(min) ?? -Infinity)) file.say(messageOf(text, min), ...at);
}

function checkFailedJobs(file: FileProblems, matrix: Matrix): void {
  const max = file.get('recovery', 'failed_jobs');
  const [each = 1, repeat = 1] = [file.get('run', 'jobs'), file.get('run', 'repeat')];
  if (typeof max !== 'number' || typeof each !== 'number' || typeof repeat !== 'number') return;
  const jobs = Object.values(matrix).reduce((product, values) => product * values.length, each * repeat);
  if (max > jobs)
    file.say(
      `${max} can never be reached: the run has ${counted(jobs, 'job')}; expected ${jobs} or fewer, or remove it`,
      ...['recovery', 'failed_jobs'],
    );
}

/** Where the settings of checkpoints and limits contradict each other. */
function checkCheckpoint(file: FileProblems): void {
  for (const key of ['checkpoint_keep', 'checkpoint_every'])
    if (file.has('train', key) && !file.has('train', 'checkpoint'))
      file.sayOfKey('has no effect without `checkpoint`, the folder it applies to', 'train', key);
  const limit = file.get('resources', 'time');
  const secondsOf = (value: unknown): number | undefined =>
    typeof value === 'string' ? parseDuration(value) : undefined;
  for (const key of ['checkpoint_every', 'quiet_limit', 'idle_limit']) {
    const value = file.get('train', key);
    if ((secondsOf(value) ?? -Infinity) < (secondsOf(limit) ?? Infinity)) continue;
    const what = `"${String(value)}" is never reached: an attempt has time = "${String(limit)}"`;
    file.say(`${what}; expected less, or remove it`, 'train', key);
  }
}
