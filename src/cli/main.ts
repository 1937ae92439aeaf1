import { statSync } from 'node:fs';
import { enableCompileCache } from 'node:module';
import path from 'node:path';
import process from 'node:process';
import { cacheFolder } from '../base/user-folders.ts';

/** V8 keeps up to 134 MB for new objects, unless a flag at its start says less: whoever reads a large log starts again. */
const largeBytes = 64e6;
const heapFlags = ['--max-semi-space-size=16', '--expose-gc'];
function isLarge(file: string): boolean {
  try {
    return statSync(file).size > largeBytes;
  } catch {
    // No file, or one that cannot be read: the command says so.
    return false;
  }
}
const { argv, execArgv, execPath } = process;
const isReading = argv[2] === 'report' || argv[2] === 'why';
if (isReading && !heapFlags.some((flag) => execArgv.includes(flag)) && argv.slice(3).some(isLarge))
  process.execve?.(execPath, [execPath, ...heapFlags, ...execArgv, ...argv.slice(1)]);

// First of all: with cached compilation the program starts in half the time. Never in a shared folder, where others
// could place code.
enableCompileCache(path.join(cacheFolder(process.env), 'node'));
const { runCommandLine } = await import('./command-line.ts');
process.exitCode = await runCommandLine({ process, self: [process.execPath, import.meta.filename] });
