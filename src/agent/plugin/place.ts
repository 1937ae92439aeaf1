import { readFileSync } from 'node:fs';
import os from 'node:os';
import type { Env } from '../../base/env.ts';

/** The machine as the pool calls it. */
export interface Place {
  host: string;
  site?: string;
}

/** Reads the names from the machine's ad, which HTCondor gives to every plugin. */
export function readPlace(env: Env): Place {
  const ad = textOf(env['_CONDOR_MACHINE_AD'] ?? '.machine.ad');
  const named = (name: string): string | undefined =>
    new RegExp(`^${name}\\s*=\\s*"([^"]+)"`, 'im').exec(ad)?.[1];
  const site = named('GLIDEIN_ResourceName') ?? named('GLIDEIN_Site');
  const host = named('K8SPhysicalHostName') ?? named('Machine') ?? os.hostname();
  return { host, ...(site === undefined ? {} : { site }) };
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
