import { globSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import path from 'node:path';

const root = path.dirname(import.meta.dirname);
const scope = '@updraft/';

interface Emission {
  /** Globs of sources, and what not to take. */
  sources: string[];
  exclude?: string[];
  /** Where a source goes, relative to `into`. */
  placeOf: (name: string) => string;
  into: string;
}

/**
 * Writes sources as JavaScript, because Node runs no TypeScript below `node_modules`. Packages of this house are not
 * published on their own: who needs one has its files, and names become paths.
 */
export function emit({ sources, exclude = [], placeOf, into }: Emission): void {
  for (const name of globSync(sources, { cwd: root, exclude: ['**/*.test.ts', '**/*.d.ts', ...exclude] })) {
    const place = placeOf(name).replace(/\.ts$/, '.js');
    const target = path.join(into, place);
    mkdirSync(path.dirname(target), { recursive: true });
    const code = stripTypeScriptTypes(readFileSync(path.join(root, name), 'utf8'));
    writeFileSync(
      target,
      withPaths(code, place, placeOf).replaceAll(/((?:from|import)\s*\(?\s*'\.{1,2}\/[^']*)\.ts'/g, "$1.js'"),
    );
  }
}

/** Names of our packages as paths, also in declarations. */
export function withPaths(text: string, place: string, placeOf: (name: string) => string): string {
  return text.replaceAll(
    /((?:from|import)\s*\(?\s*)['"](@updraft\/[^'"]+)['"]/g,
    (_, before: string, name: string) => {
      const way = path.posix.relative(path.posix.dirname(place), placeOf(fileOf(name)));
      return `${before}'${way.startsWith('.') ? way : `./${way}`}'`;
    },
  );
}

/** The file that a name such as `@updraft/base` stands for. */
function fileOf(specifier: string): string {
  const [name = '', door] = specifier.slice(scope.length).split('/');
  const { exports } = packageJson(name);
  return path.posix.join('packages', name, exports[door === undefined ? '.' : `./${door}`] ?? '');
}

interface PackageJson {
  name: string;
  version: string;
  license: string;
  exports: Record<string, string>;
  dependencies?: Record<string, string>;
}

export const packageJson = (name: string): PackageJson =>
  JSON.parse(readFileSync(path.join(root, 'packages', name, 'package.json'), 'utf8')) as PackageJson;

/** A package and those it needs. */
export function withNeeded(name: string): string[] {
  const needed = Object.keys(packageJson(name).dependencies ?? {}).filter((one) => one.startsWith(scope));
  return [...new Set([name, ...needed.flatMap((one) => withNeeded(one.slice(scope.length)))])];
}

export const allPackages = (): string[] => readdirSync(path.join(root, 'packages'));
