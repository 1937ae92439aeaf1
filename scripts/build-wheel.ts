import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import packageJson from '../package.json' with { type: 'json' };
import { readLibrary } from './agent-bundle.ts';
import type { Arch } from './bun.ts';
import { dist, makeOnce, root } from './compile.ts';
import { makeZip, type ZipFile } from './zip.ts';

const machines: Record<Arch, string> = { x64: 'x86_64', arm64: 'aarch64' };

/** Builds a Python wheel that installs the executable as a script; returns its path. */
export async function buildWheel(arch: Arch, executable: string): Promise<string> {
  const { name, version } = packageJson;
  const project = `${name.replaceAll('-', '_')}-${version}`;
  // glibc 2.28, which `pip` compares with the machine's.
  const tag = `py3-none-manylinux_2_28_${machines[arch]}`;
  const info = `${project}.dist-info`;
  const program = readFileSync(executable);
  const files: ZipFile[] = [
    { name: `${project}.data/scripts/updraft`, bytes: program, mode: 0o755 },
    ...Object.entries(readLibrary()).map(([name, text]) => textFile(`updraft/${name}`, text)),
    textFile(`${info}/METADATA`, metadata()),
    textFile(
      `${info}/WHEEL`,
      `Wheel-Version: 1.0\nGenerator: updraft\nRoot-Is-Purelib: false\nTag: ${tag}\n`,
    ),
    ...['LICENSE', 'LICENSES.txt'].map((license) =>
      textFile(`${info}/licenses/${license}`, readFileSync(path.join(root, license), 'utf8')),
    ),
  ];
  const record = textFile(`${info}/RECORD`, [...files.map(recordLine), `${info}/RECORD,,\n`].join(''));
  const parts = files.map(recordLine);
  return await makeOnce(`${project}-${tag}.whl`, parts, async () => {
    writeFileSync(path.join(dist, `${project}-${tag}.whl`), await makeZip([...files, record]));
  });
}

const textFile = (name: string, text: string): ZipFile => ({ name, bytes: Buffer.from(text), mode: 0o644 });

const recordLine = ({ name, bytes }: ZipFile): string =>
  `${name},sha256=${createHash('sha256').update(bytes).digest('base64url')},${bytes.length}\n`;

function metadata(): string {
  const { name, version, description, license, keywords } = packageJson;
  return `Metadata-Version: 2.4
Name: ${name}
Version: ${version}
Summary: ${description}
License-Expression: ${license}
License-File: LICENSE
License-File: LICENSES.txt
Keywords: ${keywords.join(',')}
Classifier: Environment :: Console
Classifier: Operating System :: POSIX :: Linux
Requires-Python: >=3.9
Description-Content-Type: text/markdown

${readFileSync(path.join(root, 'packaging', 'description.md'), 'utf8')}`;
}
