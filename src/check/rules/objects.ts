import { asFound, formatDuration, formatSize, type Found, type Rule, rule } from '@updraft/base';
import { keepProblem } from '../../job/on-demand.ts';
import { poolTraits } from '../../job/pool-traits.ts';
import type { Facts, ObjectFact, ObjectFacts, ServerFact } from '../facts.ts';

const each =
  (inspect: (object: ObjectFact) => Omit<Found, 'place'> | undefined) =>
  ({ objects }: ObjectFacts): Found[] =>
    objects.flatMap((object) => {
      const found = inspect(object);
      return found === undefined ? [] : [{ ...found, place: object.place }];
    });

/** Rules about the data on the servers. */
export const objectRules: Rule<ObjectFacts>[] = [
  rule('object-missing', 'error', 'No server has an object, not even the origin.', each(missing)),
  rule(
    'object-not-as-declared',
    'error',
    'On every server, the size or hash differs from what the job file or the manifest declares.',
    each((object) => {
      const answers = object.servers.filter(hasObject);
      const differing = answers
        .map((server) => contradiction(object, server))
        .filter((one) => one !== undefined);
      const [first] = differing;
      if (first === undefined || differing.length < answers.length) return undefined;
      return {
        message: `${object.label}: ${first.said}, but ${object.declared.by ?? 'the job file'} says ${first.declared}`,
        fix:
          'if the object was replaced on purpose, update what is declared; ' +
          'better give each version its own name: caches keep the old one',
      };
    }),
  ),
  rule(
    'object-unusable',
    'error',
    'An object is a folder, a web page, no archive, not as declared, or lacks its manifest or shards.',
    each(
      ({ label, archiveProblem }) =>
        archiveProblem && {
          message: `${label}: ${archiveProblem.message}`,
          fix: archiveProblem.fix ?? 'rebuild the archive, or set `unpack`',
        },
    ),
  ),
  rule(
    'keep-too-small',
    'error',
    'The disk for shards on demand does not hold two of them.',
    each(({ label, keep }) => {
      const problem = keep && keepProblem(keep.bytes, keep.largest);
      return problem && { ...problem, message: `${label}: ${problem.message}` };
    }),
  ),
  rule(
    'servers-differ',
    'warning',
    'The servers of an object disagree: some lack it or have a different size or hash.',
    each(differing),
  ),
  rule(
    'unproven',
    'note',
    'No size, hash or manifest is declared for an object, so a wrong or truncated one would go unnoticed.',
    each(({ label, isProven, servers, url }) => {
      const bytes = servers.find(hasObject)?.bytes;
      if (isProven || bytes === undefined || /^file:/i.test(url)) return undefined;
      return {
        message:
          `${label}: no size, hash or manifest is declared, ` +
          'so a truncated or replaced object would go unnoticed',
        fix: label.startsWith('data.')
          ? `add expect = { bytes = ${bytes} } to [${label}], or better sha256 or a manifest (\`updraft stage\`)`
          : `add bytes = ${bytes} to [${label}], or better sha256`,
      };
    }),
  ),
];

const hasObject = ({ status }: ServerFact): boolean => status === 200;
const named = ({ kind, host }: ServerFact): string => (kind === 'plain' ? host : `${kind} ${host}`);

function missing({ label, url, servers }: ObjectFact): Omit<Found, 'place'> | undefined {
  const isGone = ({ status }: ServerFact): boolean => status === 404 || status === 410;
  const origins = servers.filter(({ kind }) => kind !== 'cache');
  if (servers.some(hasObject) || !servers.some(isGone)) return undefined;
  // A cache's 404 may be temporary; a 404 of the origin, or of all servers, is final.
  if (!origins.some(isGone) && !servers.every(isGone)) return undefined;
  const asked = servers.map((server) => `${named(server)} ${server.status ?? 'no answer'}`).join(', ');
  const folder = url.replace(/[?#].*$/, '').replace(/\/[^/]*$/, '');
  return {
    message: `${label}: ${url} is not there (${asked})`,
    fix: `check the spelling: updraft ls ${folder}`,
  };
}

function contradiction(
  { declared }: ObjectFact,
  { host, bytes, digests }: ServerFact,
): { said: string; declared: string } | undefined {
  if (declared.bytes !== undefined && bytes !== undefined && bytes !== declared.bytes)
    return {
      said: `${host} has ${bytes} bytes (${formatSize(bytes)})`,
      declared: `${declared.bytes} (${formatSize(declared.bytes)})`,
    };
  const sha256 = digests?.['sha256'];
  if (declared.sha256 === undefined || sha256 === undefined || sha256 === declared.sha256.toLowerCase())
    return undefined;
  return {
    said: `${host} has SHA-256 ${sha256.slice(0, 12)}…`,
    declared: `${declared.sha256.slice(0, 12)}…`,
  };
}

function differing(object: ObjectFact): Omit<Found, 'place'> | undefined {
  const { servers, label, isProven } = object;
  const good = reference(object);
  if (good === undefined) return undefined;
  const odd = servers.flatMap((server) => {
    const said = differenceTo(good, server);
    return said === undefined ? [] : [`${named(server)} ${said}`];
  });
  if (odd.length === 0) return undefined;
  const size = good.bytes === undefined ? 'has it' : `has ${good.bytes} bytes`;
  return {
    message: `${label}: ${named(good)} ${size}, but ${odd.join(', ')}`,
    fix:
      "report it to the server's operator; jobs switch to another server, which costs " +
      `time${isProven ? '' : ', and only sha256 or a manifest shows them which bytes are right'}`,
  };
}

/** The server to trust: one that matches what is declared, else the origin, else the majority. */
function reference(object: ObjectFact): ServerFact | undefined {
  const { servers, declared } = object;
  const having = servers.filter(hasObject);
  const isDeclared = declared.bytes !== undefined || declared.sha256 !== undefined;
  const confirmed = isDeclared
    ? having.find((server) => server.bytes !== undefined && contradiction(object, server) === undefined)
    : undefined;
  if (
    isDeclared &&
    confirmed === undefined &&
    having.every((one) => contradiction(object, one) !== undefined)
  )
    return undefined;
  const votes = (server: ServerFact): number => having.filter(({ bytes }) => bytes === server.bytes).length;
  const [max] = having.toSorted((a, b) => votes(b) - votes(a));
  return confirmed ?? having.find(({ kind }) => kind === 'origin') ?? max;
}

function differenceTo(good: ServerFact, server: ServerFact): string | undefined {
  const { status, bytes, digests = {} } = server;
  // A server that is down or busy does not answer for the object.
  if (status === undefined || status >= 500 || status === 429) return undefined;
  if (status !== 200) return `answers ${status}`;
  if (good.bytes !== undefined && bytes !== undefined && bytes !== good.bytes) return `has ${bytes} bytes`;
  const other = Object.keys(digests).find(
    (name) => good.digests?.[name] !== undefined && good.digests[name] !== digests[name],
  );
  return other === undefined ? undefined : `has different content of the same size (${other} differs)`;
}

type TokenFacts = Pick<Facts, 'tokens' | 'now' | 'plan'>;

/** Assumed for waiting in the queue and for retries. */
const queueSeconds = 24 * 3600;
/** Assumed for an attempt without `time`. */
const attemptSeconds = 4 * 3600;

/** Rules about the tokens that protected objects are fetched with. */
export const tokenRules: Rule<TokenFacts>[] = [
  rule(
    'token-missing',
    'error',
    'An object needs a token, but the job would have none, or one that has expired or that its server refuses.',
    ({ tokens }) =>
      tokens.flatMap(({ problem, label, place }) =>
        problem === undefined ? [] : { ...problem, message: `${label}: ${problem.message}`, place },
      ),
  ),
  rule(
    'token-short',
    'warning',
    'A token expires before the jobs are likely to have run.',
    ({ tokens, now, plan }) => {
      const attempt = plan.spec.resources.timeSeconds ?? attemptSeconds;
      const isQueued = !poolTraits[plan.spec.run.pool].runsHere;
      const needed = attempt + (isQueued ? queueSeconds : 0);
      const takes = isQueued ? 'a day in the queue and an attempt take' : 'an attempt may take';
      return tokens.flatMap(({ label, place, expires }) => {
        const left = expires === undefined ? Infinity : (expires - now) / 1000;
        if (left >= needed || left <= 0) return [];
        return asFound(
          `the token for ${label} expires in ${formatDuration(Math.floor(left))}; ` +
            `${takes} ${formatDuration(needed)}`,
          "get a longer-lived token, or use the pool's credential service " +
            '(`updraft docs login`): each attempt gets what the file contains then',
          place,
        );
      });
    },
  ),
];
