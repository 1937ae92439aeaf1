import os from 'node:os';
import { defined, type Env } from '@updraft/base';
import { attributeOf, siteIn } from '@updraft/htcondor/classad';
import { readAd } from '../machine/condor-ads.ts';

/** HTCondor passes those of a job's variables to a plugin that start with the plugin's name. */
const prefixes = ['UPDRAFT', 'OSDF', 'PELICAN', 'STASH'];
const settings = [
  'SSL_CERT_FILE',
  'X509_CERT_DIR',
  'NODE_EXTRA_CA_CERTS',
  'UPDRAFT_BEARER_TOKEN_FILE',
  'UPDRAFT_OSDF_HOST',
  'UPDRAFT_FEDERATION_HTTP',
  'UPDRAFT_STALL_SECONDS',
  'UPDRAFT_OVERWRITE',
  'UPDRAFT_CACHES',
  'UPDRAFT_AVOID_CACHES',
];

/**
 * The environment in which `UPDRAFT_SSL_CERT_FILE` means `SSL_CERT_FILE`, and, for a plugin called `osdf_plugin`,
 * `OSDF_STALL_SECONDS` means `UPDRAFT_STALL_SECONDS`. The job's settings override the machine's.
 */
export function pluginEnv(env: Env): Env {
  const fromJob = settings.flatMap((name) => {
    const own = name.replace(/^UPDRAFT_/, '');
    const value = prefixes.map((prefix) => env[`${prefix}_${own}`]).find((each) => each !== undefined);
    return value === undefined ? [] : [[name, value] as const];
  });
  return { ...env, ...Object.fromEntries(fromJob) };
}

/** The machine, as the pool names it. */
export interface Worker {
  host: string;
  site?: string;
}

/** Reads the names from the machine ad, which HTCondor gives to every plugin. */
export function readWorker(env: Env): Worker {
  const file = env['_CONDOR_MACHINE_AD'] ?? '.machine.ad';
  const ad = readAd({ _CONDOR_MACHINE_AD: file }, '_CONDOR_MACHINE_AD');
  const host = ['K8SPhysicalHostName', 'Machine']
    .map((name) => attributeOf(ad, name))
    .find((name) => typeof name === 'string');
  return { host: host ?? os.hostname(), ...defined({ site: siteIn(ad) }) };
}
