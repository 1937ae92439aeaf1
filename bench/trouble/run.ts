import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { type MiniFederation, serverModels, startFederation } from '@updraft/mini/federation';
import { manifestOf } from '../manifest-of.ts';
import { markdownTable } from '../markdown-table.ts';
import { measure } from '../measure.ts';
import { scratchFolder, sha256OfFile, writeRandomFile } from '../scratch.ts';
import { clients, type DownloadTask } from './clients.ts';
import { type Obstacle, troubleCourse } from './course.ts';

/**
 * `node bench/trouble/run.ts [--limit 60] [--only Updraft …] [--like pelican-go | xrootd] [--cold]`: each client over
 * the same course; prints a Markdown table. With `--cold` no cache holds the object when a client starts.
 */
const { values } = parseArgs({
  options: {
    limit: { type: 'string', default: '60' },
    only: { type: 'string', multiple: true },
    like: { type: 'string' },
    cold: { type: 'boolean', default: false },
  },
});
const like = serverModels.find((each) => each === values.like);
if (values.like !== undefined && like === undefined) throw new Error(`--like ${serverModels.join(' or ')}`);
const limitSeconds = Number(values.limit);
const mebibytes = 64;
const course = troubleCourse(mebibytes << 20);
const folder = scratchFolder('disk');
for (const name of ['open', 'closed']) mkdirSync(path.join(folder, name));
const [open, closed] = [path.join(folder, 'open', 'object.bin'), path.join(folder, 'closed', 'object.bin')];
const expected = { open: writeRandomFile(open, mebibytes), closed: writeRandomFile(closed, mebibytes) };
for (const file of [open, closed]) writeFileSync(`${file}.json`, JSON.stringify(manifestOf(file)));
const target = path.join(folder, 'copy.bin');
const token = { file: path.join(folder, 'token'), headerFile: path.join(folder, 'header') };

await using federation = await startFederation({
  namespaces: [
    { prefix: '/open', folder: path.dirname(open), public: true },
    { prefix: '/closed', folder: path.dirname(closed), public: false },
  ],
  caches: 3,
  like,
});
renewToken(federation);
const rows: string[][] = [];
let names: string[] = [];
const succeeded = new Map<string, number>();
for (const obstacle of course) {
  const row = [obstacle.name];
  const errand = taskFor(obstacle, federation);
  const variants = clients(errand).filter(({ name }) => values.only?.includes(name) ?? true);
  names = variants.map(({ name }) => name);
  for (const { name, command, env } of variants) {
    const result = await attempt(obstacle, errand.sha256, command, env);
    if (result.good) succeeded.set(name, (succeeded.get(name) ?? 0) + 1);
    row.push(result.text);
    process.stderr.write(`${obstacle.name} | ${name}: ${result.text}\n`);
  }
  rows.push(row);
}
rows.push(['**succeeded**', ...names.map((name) => `**${succeeded.get(name) ?? 0} of ${course.length}**`)]);
const servers = `three ${values.cold ? 'empty ' : ''}caches${like === undefined ? '' : ` like ${like}`}`;
const title = `### ${mebibytes} MiB, ${servers} of 50 MB/s each, at most ${limitSeconds} s`;
console.log(`\n${title}\n\n${markdownTable(['', ...names], rows)}`);
process.exitCode = succeeded.get('Updraft') === course.length ? 0 : 1;

function taskFor({ token: needsToken }: Obstacle, of: MiniFederation): DownloadTask {
  const closedOne = needsToken === true;
  return {
    federation: of,
    target,
    object: closedOne ? '/closed/object.bin' : '/open/object.bin',
    manifestFile: `${closedOne ? closed : open}.json`,
    token: closedOne ? token : undefined,
    compileCache: path.join(folder, 'compiled'),
    sha256: closedOne ? expected.closed : expected.open,
  };
}

async function attempt(
  { rules, token: needsToken }: Obstacle,
  sha256: string,
  command: string[],
  env?: NodeJS.ProcessEnv,
): Promise<{ good: boolean; text: string }> {
  for (const rest of ['', '.updraft-part', '.updraft-part.json', '.aria2'])
    rmSync(target + rest, { force: true });
  await (values.cold ? federation.evict() : fillCaches(federation));
  await federation.trouble.add('caches: limit 50MB/s');
  for (const rule of rules) await federation.trouble.add(rule);
  renewToken(federation);
  const renewing = setInterval(() => renewToken(federation), needsToken === true ? 1000 : 1 << 30);
  const cost = await measure(command, { limitSeconds, ...(env !== undefined && { env }) });
  clearInterval(renewing);
  await federation.trouble.clear();
  const seconds = `${cost.wall.toFixed(1)} s`;
  if (cost.wall >= limitSeconds) return { good: false, text: `not in ${limitSeconds} s` };
  if (!cost.succeeded) return { good: false, text: `failed, ${seconds}` };
  const right = existsSync(target) && (await sha256OfFile(target)) === sha256;
  return right ? { good: true, text: seconds } : { good: false, text: `wrong bytes, ${seconds}` };
}

/** Writes a new token to where each client reads it. */
function renewToken(of: MiniFederation): void {
  const fresh = of.issueToken({ namespace: '/closed' });
  writeFileSync(`${token.file}.new`, fresh);
  renameSync(`${token.file}.new`, token.file);
  writeFileSync(token.headerFile, `Authorization: Bearer ${fresh}\n`);
  writeFileSync(`${token.headerFile}.aria`, `header=Authorization: Bearer ${fresh}\n`);
  writeFileSync(`${token.headerFile}.wget`, `header = Authorization: Bearer ${fresh}\n`);
}

/** Every cache holds the objects before a client starts. */
async function fillCaches(of: MiniFederation): Promise<void> {
  const headers = { Authorization: `Bearer ${of.issueToken({ namespace: '/closed' })}` };
  for (const { httpUrl } of of.caches)
    for (const object of ['/open/object.bin', '/closed/object.bin'])
      await (await fetch(httpUrl + object, { headers })).arrayBuffer();
}
