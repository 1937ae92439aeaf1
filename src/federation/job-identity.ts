import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import type { Env } from '../base/env.ts';

/** Who is asking, as servers like to know it for their accounts. */
export interface JobIdentity {
  /** HTCondor's GlobalJobId, or a made-up one outside of a job. */
  jobId: string;
  userAgent: string;
}

/** Reads the job's id and project from HTCondor's job ad, where there is one. */
export function readJobIdentity(env: Env, cwd: string, version: string): JobIdentity {
  const ad = readAd(path.resolve(cwd, env['_CONDOR_JOB_AD'] ?? '.job.ad'));
  const project = headerSafe(attribute(ad, 'ProjectName'));
  return {
    jobId: headerSafe(attribute(ad, 'GlobalJobId')) ?? randomUUID(),
    // Directors check the version of everything that calls itself pelican-something.
    userAgent: `updraft/${version}${project === undefined ? '' : ` project/${project}`}`,
  };
}

function readAd(file: string): string {
  try {
    return fs.readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

function attribute(ad: string, name: string): string | undefined {
  return new RegExp(`^\\s*${name}\\s*=\\s*"([^"]*)"`, 'im').exec(ad)?.[1];
}

function headerSafe(value: string | undefined): string | undefined {
  return value?.replace(/[^\x21-\x7e]+/g, '_').slice(0, 200) || undefined;
}
