import { readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import path from 'node:path';
import { bundleAgent } from './agent-bundle.ts';

/** Guards what the worker has to carry: the agent's bundle holds its own rooms and no npm package. */
const root = path.dirname(import.meta.dirname);
const rooms = JSON.parse(readFileSync(path.join(root, 'rooms.json'), 'utf8')) as { agent: string[] };
const allowed = new Set(['agent', ...rooms.agent]);

const isAllowed = (input: string): boolean => {
  const [top, room = ''] = input.split('/');
  return input === 'package.json' || (top === 'src' && allowed.has(room));
};

const { code, inputs, imports } = await bundleAgent();
const strangers = [
  ...inputs.filter((input) => !isAllowed(input)).map((input) => `${input} must not be in the agent's bundle`),
  ...imports
    .filter((name) => !isBuiltin(name))
    .map((name) => `the agent's bundle needs ${name} when it runs`),
];
for (const stranger of strangers) console.error(stranger);
console.log(`agent bundle: ${inputs.length} files, ${(Buffer.byteLength(code) / 1000).toFixed(0)} kB`);
process.exitCode = strangers.length === 0 ? 0 : 1;
