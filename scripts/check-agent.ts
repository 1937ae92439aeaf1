import { isBuiltin } from 'node:module';
import { bundleAgent } from './agent-bundle.ts';

/**
 * Limits what is sent to a worker. The lists are explicit on purpose: a new arrow in rooms.json does not add to the
 * agent. `count-house.ts` limits its bytes.
 */
const allowedFolders = [
  ...['agent', 'environment', 'job', 'search'].map((room) => `src/${room}/`),
  ...['archive', 'base', 'htcondor/classad', 'pelican', 'view/tables'].map((name) => `packages/${name}`),
  ...['codes', 'fault', 'journal', 'recovery', 'run-folder'].map((name) => `packages/account/${name}`),
  // Its faults.
  'packages/htcondor/fault.ts',
];

const isAllowed = (input: string): boolean =>
  input === 'package.json' || allowedFolders.some((folder) => input.startsWith(folder));

const { inputs, imports } = await bundleAgent();
const problems = [
  ...inputs.filter((input) => !isAllowed(input)).map((input) => `${input} must not be in the agent's bundle`),
  ...imports.filter((name) => !isBuiltin(name)).map((name) => `the agent's bundle needs ${name} at run time`),
];
for (const problem of problems) console.error(problem);
console.log(`agent bundle: ${inputs.length} files`);
process.exitCode = problems.length === 0 ? 0 : 1;
