import { mkdir, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { condaPlatform } from '../../src/environment/pack-splitter.ts';
import type { CondaPackage } from './make-conda.ts';

/** Writes a conda channel into a folder; returns its URL. */
export async function writeChannel(folder: string, packages: CondaPackage[]): Promise<string> {
  for (const subdir of new Set(['noarch', ...packages.map(({ record }) => String(record['subdir']))])) {
    const inside = packages.filter(({ record }) => record['subdir'] === subdir);
    await mkdir(path.join(folder, 'channel', subdir), { recursive: true });
    for (const { file, bytes } of inside) await writeFile(path.join(folder, 'channel', subdir, file), bytes);
    const index = Object.fromEntries(inside.map(({ file, record }) => [file, record]));
    const repodata = { info: { subdir }, packages: {}, 'packages.conda': index, repodata_version: 2 };
    await writeFile(path.join(folder, 'channel', subdir, 'repodata.json'), JSON.stringify(repodata));
  }
  return pathToFileURL(path.join(folder, 'channel')).href;
}

/** Writes a conda channel into a folder, and a Pixi workspace beside it whose lock names its packages. */
export async function makeChannel(folder: string, given: CondaPackage[]): Promise<void> {
  const here = condaPlatform(os.arch());
  const packages = given.map((one): CondaPackage => ({ ...one, record: { ...one.record, subdir: here } }));
  const channel = await writeChannel(folder, packages);
  await writeFile(
    path.join(folder, 'pixi.toml'),
    `[workspace]\nname = "tiny"\nchannels = ["${channel}"]\nplatforms = ["${here}"]\n\n[dependencies]\n${packages.map(({ record }) => `${String(record['name'])} = "*"\n`).join('')}`,
  );
  const urls = packages.map((one) => ({ ...one, url: `${channel}/${here}/${one.file}` }));
  const described = urls.map(({ url, record, bytes }) =>
    [
      `- conda: ${url}`,
      ...['name', 'version', 'build'].map((key) => `  ${key}: "${String(record[key])}"`),
      `  subdir: ${here}`,
      '  build_number: 0',
      ...['sha256', 'md5'].map((key) => `  ${key}: ${String(record[key])}`),
      `  size: ${bytes.length}`,
    ].join('\n'),
  );
  const used = urls.map(({ url }) => `      - conda: ${url}\n`).join('');
  await writeFile(
    path.join(folder, 'pixi.lock'),
    `version: 6\nenvironments:\n  default:\n    channels:\n    - url: ${channel}/\n    packages:\n      ${here}:\n${used}packages:\n${described.join('\n')}\n`,
  );
}
