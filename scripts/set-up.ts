import os from 'node:os';
import { ensureTorch } from '../src/cli/demo/torch.ts';
import { asFault } from '../src/fault/fault.ts';
import { buildAgent } from './build-agent.ts';
import type { StepResult } from './gate.ts';

/** What the tests need besides npm's packages. What cannot be had is told here and skipped by name there. */
export async function setUp(say: (line: string) => void): Promise<StepResult[]> {
  const results: StepResult[] = [];
  for (const arch of ['x64', 'arm64'] as const) {
    const name = `agent for linux-${arch}`;
    try {
      await buildAgent(arch);
      results.push({ name, passed: true, output: '' });
    } catch (error) {
      results.push({ name, passed: false, output: asFault(error).message });
    }
  }
  const { uid } = os.userInfo();
  try {
    const python = await ensureTorch({
      env: process.env,
      uid,
      signal: new AbortController().signal,
      say: (line, transient = false) => {
        if (!transient) say(line);
      },
    });
    say(`PyTorch: ${python}`);
  } catch (error) {
    say(`no PyTorch, tests that train will be skipped: ${asFault(error).message}`);
  }
  return results;
}
