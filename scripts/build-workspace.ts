import { spawnSync } from 'node:child_process';
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { emit, packageJson, withNeeded, withPaths } from './emit.ts';

const root = path.dirname(import.meta.dirname);

/** Makes a folder that `npm pack` packs: a package as JavaScript with declarations, and the packages that it needs. */
export function buildWorkspace(name: string, into: string): void {
  rmSync(into, { recursive: true, force: true });
  const all = withNeeded(name);
  const placeOf = (file: string): string => file.replace(/^packages/, 'lib');
  emit({ sources: all.map((one) => `packages/${one}/**/*.ts`), exclude: ['**/testing.ts'], placeOf, into });
  declare(all, into);
  const { exports, dependencies: _, ...rest } = packageJson(name);
  const doors = Object.entries(exports).filter(([door]) => door !== './testing');
  const needed = Object.fromEntries(
    all
      .flatMap((one) => Object.entries(packageJson(one).dependencies ?? {}))
      .filter(([one]) => !one.startsWith('@updraft/')),
  );
  const json = {
    ...{ ...rest, private: undefined },
    // `await using` is newer than Node 22.
    engines: { node: '>=24' },
    exports: Object.fromEntries(
      doors.map(([door, file]) => {
        const stem = path.posix.join('lib', name, file).replace(/\.ts$/, '');
        return [door, { types: `./${stem}.d.ts`, default: `./${stem}.js` }];
      }),
    ),
    dependencies: needed,
  };
  writeFileSync(path.join(into, 'package.json'), `${JSON.stringify(json, null, 2)}\n`);
}

function declare(names: string[], into: string): void {
  const draft = path.join(into, '.types');
  mkdirSync(draft, { recursive: true });
  const config = path.join(root, 'node_modules', '.cache', `tsconfig-${process.pid}.json`);
  writeFileSync(
    config,
    JSON.stringify({
      extends: '../../tsconfig.json',
      compilerOptions: {
        noEmit: false,
        emitDeclarationOnly: true,
        declaration: true,
        incremental: false,
        noCheck: true,
        tsBuildInfoFile: null,
        rootDir: '../../packages',
        outDir: draft,
        types: ['node'],
      },
      include: names.map((one) => `../../packages/${one}/**/*.ts`),
      exclude: ['../../packages/**/*.test.ts', '../../packages/**/testing.ts'],
    }),
  );
  const tsc = path.join(root, 'node_modules/typescript/bin/tsc');
  const done = spawnSync(process.execPath, [tsc, '-p', config], { cwd: root, encoding: 'utf8' });
  if (done.status !== 0) throw new Error(done.stdout);
  for (const file of globSync('**/*.d.ts', { cwd: draft })) {
    const target = path.join(into, 'lib', file);
    mkdirSync(path.dirname(target), { recursive: true });
    writeFileSync(
      target,
      withPaths(readFileSync(path.join(draft, file), 'utf8'), `lib/${file}`, (one) =>
        one.replace(/^packages/, 'lib'),
      ),
    );
  }
  rmSync(draft, { recursive: true });
  rmSync(config);
}

if (import.meta.main) {
  const [name = '', into = ''] = process.argv.slice(2);
  buildWorkspace(name, path.resolve(into));
}
