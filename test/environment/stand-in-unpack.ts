import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { walkFiles } from '@updraft/base/disk';
import { openUnpacker } from '@updraft/archive';
import { placeholder } from './make-conda.ts';

// Fake pixi-unpack for tests: `[unpack] [-o FOLDER] [-e NAME] ARCHIVE`.
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    'output-directory': { type: 'string', short: 'o', default: process.cwd() },
    'env-name': { type: 'string', short: 'e', default: 'env' },
  },
});
const archive = positionals.at(-1) ?? 'environment.tar';
const prefix = path.resolve(values['output-directory'], values['env-name']);
const folder = await mkdtemp(path.join(process.env['TMPDIR'] ?? os.tmpdir(), 'pixi-pack-'));

async function unpack(file: string, into: string): Promise<void> {
  const unpacker = openUnpacker({ name: file, mode: 'auto', into });
  await unpacker.write(await readFile(file));
  await unpacker.finish();
}

async function install(file: string): Promise<void> {
  const parts = `${file}.d`;
  await unpack(file, parts);
  for (const name of await readdir(parts))
    if (/^pkg-.*\.tar\.zst$/.test(name)) await unpack(path.join(parts, name), prefix);
  for (const name of await walkFiles(prefix)) {
    const text = await readFile(path.join(prefix, name), 'utf8');
    await writeFile(path.join(prefix, name), text.replaceAll(placeholder, prefix));
  }
}

await unpack(archive, folder);
const channel = path.join(folder, 'channel', 'linux-64');
await mkdir(prefix, { recursive: true });
for (const name of await readdir(channel))
  if (name.endsWith('.conda')) await install(path.join(channel, name));
const scripts = path.join(prefix, 'etc', 'conda', 'activate.d');
const names = existsSync(scripts) ? await readdir(scripts) : [];
await writeFile(
  path.join(values['output-directory'], 'activate.sh'),
  [
    `export PATH="${prefix}/bin:$PATH"`,
    `export CONDA_PREFIX="${prefix}"`,
    ...names.sort().map((name) => `. "${path.join(scripts, name)}"`),
    '',
  ].join('\n'),
);
await rm(folder, { recursive: true });
