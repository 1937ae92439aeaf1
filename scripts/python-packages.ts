import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** What tests of `python/` need from PyPI: 60 MB to download, 240 MB on disk. All that is imported is listed. */
const packages = [
  'basedpyright==1.40.2',
  'mypy==2.4.1',
  'ast-serialize==0.13.1',
  'mypy_extensions==1.2.0',
  'pathspec==1.1.1',
  'librt==0.16.0',
  'typing_extensions',
  'transformers==4.41.2',
  'tokenizers==0.19.1',
  'huggingface-hub==0.23.5',
  'safetensors==0.4.5',
  'accelerate==0.30.1',
  ...['tqdm', 'regex', 'filelock', 'fsspec', 'packaging', 'pyyaml', 'requests', 'psutil'],
  ...['urllib3', 'idna', 'certifi', 'charset_normalizer'],
];

/** Their folder, whether it is there or not: it goes on PYTHONPATH. */
export const pythonPackages = path.join(
  process.env['XDG_CACHE_HOME'] ?? path.join(os.homedir(), '.cache'),
  'updraft/python-packages-1',
);

/** Installs them for this Python, once. */
export async function installPythonPackages(python: string): Promise<string> {
  if (existsSync(pythonPackages)) return pythonPackages;
  const part = `${pythonPackages}.${process.pid}.part`;
  mkdirSync(path.dirname(part), { recursive: true });
  const words = ['-m', 'pip', 'install', '--quiet', '--no-deps', '--only-binary', ':all:', '--target', part];
  try {
    await run(python, [...words, ...packages], { timeout: 300_000 });
    renameSync(part, pythonPackages);
  } finally {
    rmSync(part, { recursive: true, force: true });
  }
  return pythonPackages;
}
