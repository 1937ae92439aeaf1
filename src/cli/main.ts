import { enableCompileCache } from 'node:module';
import path from 'node:path';
import process from 'node:process';
import { cacheFolder } from '../base/user-folders.ts';

// First of all: with cached compilation the program starts in half the time. Never in a shared folder, where others
// could place code.
enableCompileCache(path.join(cacheFolder(process.env), 'node'));
const { runCommandLine } = await import('./command-line.ts');
process.exitCode = await runCommandLine({ process, self: [process.execPath, import.meta.filename] });
