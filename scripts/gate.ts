import { spawn } from 'node:child_process';
import path from 'node:path';

export const root = path.dirname(import.meta.dirname);

interface Step {
  name: string;
  command: string[];
}

const node = process.execPath;
const bin = (name: string, ...args: string[]): string[] => [
  node,
  path.join(root, 'node_modules', '.bin', name),
  ...args,
];

/** Everything that must hold besides the tests. */
const steps: Step[] = [
  { name: 'types and lint', command: bin('oxlint', '--deny-warnings', '.') },
  { name: 'format', command: bin('oxfmt', '--check') },
  { name: 'rooms', command: [node, 'scripts/check-rooms.ts'] },
  { name: 'dead exports', command: bin('knip') },
  { name: 'schema', command: [node, 'scripts/write-schema.ts', '--check'] },
  { name: 'docs', command: [node, 'scripts/write-docs.ts', '--check'] },
  { name: 'licences', command: [node, 'scripts/write-licenses.ts', '--check'] },
  { name: 'size and pools', command: [node, 'scripts/count-house.ts'] },
  { name: 'words', command: [node, 'scripts/check-words.ts'] },
  { name: 'agent bundle', command: [node, 'scripts/check-agent.ts'] },
];

export interface StepResult {
  name: string;
  passed: boolean;
  output: string;
}

function runStep(step: Step, signal: AbortSignal | undefined): Promise<StepResult> {
  return new Promise((resolve) => {
    const [command = node, ...args] = step.command;
    const child = spawn(command, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'], signal });
    let output = '';
    const collect = (chunk: Buffer): void => void (output += chunk.toString());
    child.stdout.on('data', collect);
    child.stderr.on('data', collect);
    child.on('error', (error) => resolve({ name: step.name, passed: false, output: error.message }));
    child.on('close', (code) => resolve({ name: step.name, passed: code === 0, output }));
  });
}

/** Runs all steps, two at a time, and reports each result as it comes. */
export async function gate(
  onResult: (result: StepResult) => void,
  signal?: AbortSignal,
): Promise<StepResult[]> {
  const waiting = [...steps];
  const results: StepResult[] = [];
  const worker = async (): Promise<void> => {
    for (let step = waiting.shift(); step !== undefined; step = waiting.shift()) {
      const result = await runStep(step, signal);
      results.push(result);
      onResult(result);
    }
  };
  await Promise.all([worker(), worker()]);
  return results;
}
