import { isBuiltin } from 'node:module';
import { bundleAgent } from './agent-bundle.ts';

/**
 * Limits what is sent to a worker. The lists are explicit on purpose: a new arrow in rooms.json does not add to the
 * agent. Raise the budget only with a reason in the commit.
 */
const allowedRooms = new Set([
  'agent',
  'base',
  'classad',
  'codes',
  'environment',
  'fault',
  'federation',
  'http',
  'job',
  'journal',
  'recovery',
  'transfer',
  'unpack',
]);
const allowedPackages = new Set(['@openpgp/unbzip2-stream', 'xz-decompress']);
const budgetBytes = 755_000;

const isAllowed = (input: string): boolean => {
  const [top, name = '', rest] = input.split('/');
  if (top === 'node_modules') return allowedPackages.has(name.startsWith('@') ? `${name}/${rest}` : name);
  return input === 'package.json' || (top === 'src' && allowedRooms.has(name));
};

const { code, inputs, imports } = await bundleAgent();
const bytes = Buffer.byteLength(code);
const problems = [
  ...inputs.filter((input) => !isAllowed(input)).map((input) => `${input} must not be in the agent's bundle`),
  ...imports.filter((name) => !isBuiltin(name)).map((name) => `the agent's bundle needs ${name} at run time`),
  ...(bytes > budgetBytes
    ? [
        `the agent's bundle has ${bytes.toLocaleString('en-US')} bytes, more than ${budgetBytes.toLocaleString('en-US')}`,
      ]
    : []),
];
for (const problem of problems) console.error(problem);
console.log(`agent bundle: ${inputs.length} files, ${(bytes / 1000).toFixed(0)} kB`);
process.exitCode = problems.length === 0 ? 0 : 1;
