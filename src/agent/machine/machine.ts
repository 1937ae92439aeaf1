import { readdirSync, readFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { Env } from '../../base/env.ts';

interface Machine {
  host: string;
  site?: string;
  /** Models of the GPUs, as the driver names them. */
  gpus: string[];
}

/** Where the attempt runs. Asks files and the environment only: no program has to exist. */
export function describeMachine(env: Env): Machine {
  const site = siteName(env);
  return { host: os.hostname(), ...(site === undefined ? {} : { site }), gpus: gpuModels() };
}

function siteName(env: Env): string | undefined {
  const named = env['GLIDEIN_ResourceName'] ?? env['OSG_SITE_NAME'];
  if (named !== undefined && named !== '') return named;
  const adFile = env['_CONDOR_MACHINE_AD'];
  const ad = adFile === undefined ? '' : textOf(adFile);
  return /^GLIDEIN_ResourceName\s*=\s*"([^"]+)"/m.exec(ad)?.[1];
}

function gpuModels(): string[] {
  const folder = '/proc/driver/nvidia/gpus';
  let names: string[];
  try {
    names = readdirSync(folder).sort();
  } catch {
    return [];
  }
  return names.map(
    (name) =>
      /^Model:\s*(.+)$/m.exec(textOf(path.join(folder, name, 'information')))?.[1]?.trim() ?? 'unknown GPU',
  );
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
