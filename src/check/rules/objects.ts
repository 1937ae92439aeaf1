import { counted } from '../../base/counted.ts';
import type { Found, Rule } from '../../base/finding.ts';
import { poolTraits } from '../../job/pool-traits.ts';
import { formatDuration, formatSize } from '../../job/units.ts';
import type { Facts, ObjectFact, ObjectFacts, ServerFact } from '../facts.ts';

const each =
  (inspect: (object: ObjectFact) => Omit<Found, 'place'> | undefined) =>
  ({ objects }: ObjectFacts): Found[] =>
    objects.flatMap((object) => {
      const found = inspect(object);
      return found === undefined ? [] : [{ ...found, place: object.place }];
    });

/** Rules about the data as the servers have it. */
export const objectRules: Rule<ObjectFacts>[] = [
  {
    name: 'object-missing',
    level: 'error',
    about: 'An object is at none of its servers, the origin included.',
    check: each(missing),
  },
  {
    name: 'object-is-folder',
    level: 'error',
    about: 'The URL names a folder, and a job fetches single objects.',
    check: each(({ label, url, isFolder }) =>
      isFolder === true
        ? {
            message: `${label}: ${url} is a folder`,
            fix: `name an object in it (\`updraft ls ${url}\`), or pack the folder with \`updraft stage\``,
          }
        : undefined,
    ),
  },
  {
    name: 'object-not-as-declared',
    level: 'error',
    about: 'Every server has another size or hash than the job file or the manifest declares.',
    check: each((object) => {
      const answers = object.servers.filter(hasObject);
      const differing = answers
        .map((server) => contradiction(object, server))
        .filter((one) => one !== undefined);
      const [first] = differing;
      if (first === undefined || differing.length < answers.length) return undefined;
      return {
        message: `${object.label}: ${first.said}, and ${object.declared.by ?? 'the job file'} says ${first.declared}`,
        fix: 'if the object was replaced on purpose, declare what it is now; better give each version a name of its own: caches keep the old one',
      };
    }),
  },
  {
    name: 'archive-unusable',
    level: 'error',
    about: 'The first bytes of an archive show that it cannot be unpacked.',
    check: each(({ label, archiveProblem }) =>
      archiveProblem === undefined
        ? undefined
        : {
            message: `${label}: ${archiveProblem.message}`,
            fix: archiveProblem.fix ?? 'make the archive again, or set `unpack`',
          },
    ),
  },
  {
    name: 'servers-differ',
    level: 'warning',
    about: 'The servers of an object do not agree: some lack it or have another size or hash.',
    check: each(differing),
  },
  {
    name: 'one-server',
    level: 'note',
    about: 'Only one server answers for an object: when it fails, every job does.',
    check: each(({ label, servers, url }) => {
      const [only, ...others] = servers.filter((server) => hasObject(server) || server.copy === 'none');
      if (only === undefined || others.length > 0 || /^(https?|file):/i.test(url)) return undefined;
      if (servers.length > 1 && servers.some(({ status }) => status === 404)) return undefined;
      return {
        message: `${label}: only ${only.host} answers for it, of ${servers.length} named`,
        fix: 'look again later with `updraft stat`; jobs go on when another server comes back',
      };
    }),
  },
  {
    name: 'manifest-missing',
    level: 'error',
    about: 'The manifest that should prove an object cannot be had, or is none.',
    check: each(({ label, manifestProblem }) =>
      manifestProblem === undefined
        ? undefined
        : {
            message: `${label}: ${manifestProblem}`,
            fix: '`updraft stage` uploads an object with its manifest; or declare sha256 instead',
          },
    ),
  },
  {
    name: 'unproven',
    level: 'note',
    about: 'Nothing declares what an object must be, so that a wrong or cut one is trained on.',
    check: each(({ label, isProven, servers, url }) => {
      const bytes = servers.find(hasObject)?.bytes;
      if (isProven || bytes === undefined || /^file:/i.test(url)) return undefined;
      return {
        message: `${label}: nothing says what it must be, so a cut or replaced object is not noticed`,
        fix: label.startsWith('data.')
          ? `expect = { bytes = ${bytes} } in [${label}], or better sha256 or a manifest (\`updraft stage\`)`
          : `bytes = ${bytes} in [${label}], or better sha256`,
      };
    }),
  },
];

const hasObject = ({ status }: ServerFact): boolean => status === 200;
const named = ({ kind, host }: ServerFact): string => (kind === 'plain' ? host : `${kind} ${host}`);

function missing({ label, url, servers }: ObjectFact): Omit<Found, 'place'> | undefined {
  const isGone = ({ status }: ServerFact): boolean => status === 404 || status === 410;
  const origins = servers.filter(({ kind }) => kind !== 'cache');
  if (servers.some(hasObject) || !servers.some(isGone)) return undefined;
  // A cache's 404 alone may pass; the origin's word is final, or that of all.
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
    fix: `tell whoever runs it; jobs that meet it change to another server, which costs time${isProven ? '' : ', and only sha256 or a manifest tells them which bytes are right'}`,
  };
}

/** The server to believe: one that the declared figures confirm, else the origin, else what most say. */
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
  // A server that is down or busy says nothing about the object.
  if (status === undefined || status >= 500 || status === 429) return undefined;
  if (status !== 200) return `answers ${status}`;
  if (good.bytes !== undefined && bytes !== undefined && bytes !== good.bytes) return `has ${bytes} bytes`;
  const other = Object.keys(digests).find(
    (name) => good.digests?.[name] !== undefined && good.digests[name] !== digests[name],
  );
  return other === undefined ? undefined : `has another content of the same size (${other} differs)`;
}

/** So many that the first of them would wait for each other's cold caches, and so much that it matters. */
const manyJobs = 20;
const largeBytes = 10_000_000;

/** Rules about caches that many jobs are about to ask. */
export const warmRules: Rule<Pick<Facts, 'objects' | 'plan'>>[] = [
  {
    name: 'caches-cold',
    level: 'note',
    about: 'Many jobs will ask for an object, and no cache that was asked has it yet.',
    check: ({ objects, plan }) => {
      const jobs = plan.jobs.length;
      return objects.flatMap(({ label, place, servers }) => {
        const bytes = servers.find(({ bytes: size }) => size !== undefined)?.bytes ?? 0;
        const caches = servers.filter(({ copy }) => copy === 'none' || copy === 'part' || copy === 'whole');
        const isCold = caches.length > 0 && caches.every(({ copy }) => copy !== 'whole');
        if (!isCold || jobs < manyJobs || bytes < largeBytes) return [];
        return {
          message: `${label}: ${jobs} jobs will ask for ${formatSize(bytes)} each, and none of the ${counted(caches.length, 'cache')} asked has it`,
          fix: 'fill them first with `updraft warm`; for sites far from here name their caches with --cache',
          place,
        };
      });
    },
  },
];

type TokenFacts = Pick<Facts, 'tokens' | 'now' | 'plan'>;

/** Taken for waiting in the queue and being tried again; nobody knows it before. */
const queueSeconds = 24 * 3600;
/** Taken for an attempt whose time is not said. */
const attemptSeconds = 4 * 3600;

/** Rules about the tokens that protected objects are fetched with. */
export const tokenRules: Rule<TokenFacts>[] = [
  {
    name: 'token-missing',
    level: 'error',
    about: 'An object asks for a token, and the job would have none.',
    check: (facts) => problems(facts, 'missing'),
  },
  {
    name: 'token-expired',
    level: 'error',
    about: 'The token for an object has expired.',
    check: (facts) => problems(facts, 'expired'),
  },
  {
    name: 'token-short',
    level: 'warning',
    about: 'A token expires before the jobs can be expected to have run.',
    check: ({ tokens, now, plan }) => {
      const attempt = plan.spec.resources.timeSeconds ?? attemptSeconds;
      const isQueued = !poolTraits[plan.spec.run.pool].runsHere;
      const needed = attempt + (isQueued ? queueSeconds : 0);
      const takes = isQueued ? 'a day in the queue and an attempt take' : 'an attempt may take';
      return tokens.flatMap(({ label, place, expires }) => {
        const left = expires === undefined ? Infinity : (expires - now) / 1000;
        if (left >= needed || left <= 0) return [];
        return {
          message: `the token of ${label} is good for ${formatDuration(Math.floor(left))} more; ${takes} ${formatDuration(needed)}`,
          fix: 'get a token that lives longer, or renew its file while jobs wait (`updraft login --renew` for one of a login): each attempt is sent what it holds then',
          place,
        };
      });
    },
  },
];

function problems({ tokens }: TokenFacts, kind: 'missing' | 'expired'): Found[] {
  return tokens.flatMap(({ problem, label, place }) =>
    problem?.kind === kind ? [{ message: `${label}: ${problem.message}`, fix: problem.fix, place }] : [],
  );
}
