import { defined } from '@updraft/base';
import path from 'node:path';

/** The folders of a pool, all under `home`. */
export interface PoolFolders {
  home: string;
  config: string;
  log: string;
  spool: string;
  execute: string;
  bin: string;
}

/**
 * Where the daemons see the pool's folder. Always the same short path: socket names are limited to about a hundred
 * characters, and a folder below /tmp would be hidden by the /tmp of images.
 */
export const insideHome = '/pool';

export const poolFolders = (home: string): PoolFolders => ({
  home,
  config: path.join(home, 'condor_config'),
  log: path.join(home, 'log'),
  spool: path.join(home, 'spool'),
  execute: path.join(home, 'execute'),
  bin: path.join(home, 'bin'),
});

/** Intervals of minutes in a real pool, one second here: a job starts within two seconds. */
const fast = [
  'UPDATE_INTERVAL',
  'POLLING_INTERVAL',
  'NEGOTIATOR_INTERVAL',
  'NEGOTIATOR_MIN_INTERVAL',
  'SCHEDD_INTERVAL',
  'SCHEDD_MIN_INTERVAL',
  'STARTER_UPDATE_INTERVAL',
  'STARTER_INITIAL_UPDATE_INTERVAL',
  'SHADOW_QUEUE_UPDATE_INTERVAL',
];

/** Holds jobs over their requests within seconds, by measured use: only root may set up the kernel's own limits. */
const enforced = [
  'use policy:HOLD_IF_MEMORY_EXCEEDED',
  'use policy:HOLD_IF_DISK_EXCEEDED',
  // HTCondor gives a slot that keeps common files less disk than they take, and would drop them.
  'DISK_EXCEEDED = (!regexp("^data", Name) && DiskUsage =!= UNDEFINED && DiskUsage > Disk)',
  // Each reads every process of the machine: once a second takes a third of all CPU of HTCondor's own.
  'PROCD_MAX_SNAPSHOT_INTERVAL = 3',
  // Pages that processes share count once: a training and its data loaders have most of theirs in common.
  'USE_PSS = True',
  'MEMORY_USAGE_METRIC = (((ProportionalSetSizeKb ?: ResidentSetSize) + 1023) / 1024)',
];

/** The pool's configuration: all daemons as one ordinary user, on loopback, on free ports. Pure. */
export function condorConfig(sites: Site[], extra: string[] = []): string {
  const folders = poolFolders(insideHome);
  const names = sites.map((site) => `STARTD_${localName(site)}`);
  return [
    `LOCAL_DIR = ${folders.home}`,
    'RELEASE_DIR = /usr',
    'LIB = /usr/lib/condor',
    'LIBEXEC = /usr/libexec/condor',
    'SBIN = /usr/sbin',
    `LOG = ${folders.log}`,
    `SPOOL = ${folders.spool}`,
    `EXECUTE = ${folders.execute}`,
    'LOCK = $(LOCAL_DIR)/lock',
    'RUN = $(LOCAL_DIR)/run',
    'ETC = $(LOCAL_DIR)',
    'SEC_PASSWORD_DIRECTORY = $(LOCAL_DIR)/passwords.d',
    'SEC_TOKEN_SYSTEM_DIRECTORY = $(LOCAL_DIR)/tokens.d',
    'SEC_TOKEN_DIRECTORY = $(LOCAL_DIR)/tokens.d',
    'use security:user_based',
    // Tools prove who they are by a folder that daemons of both sides see; /tmp is another one on each worker.
    'FS_LOCAL_DIR = $(LOCK)',
    // Workers do not see this one: as in a real pool, a job cannot submit or remove jobs.
    'SCHEDD.FS_LOCAL_DIR = $(SPOOL)',
    'CONDOR_HOST = 127.0.0.1',
    'NETWORK_INTERFACE = 127.0.0.1',
    // Without this, daemons only announce that interface and listen on all of them.
    'BIND_ALL_INTERFACES = False',
    'ENABLE_IPV6 = False',
    'COLLECTOR_HOST = $(CONDOR_HOST):0',
    'SHARED_PORT_PORT = 0',
    `DAEMON_LIST = MASTER COLLECTOR NEGOTIATOR SCHEDD ${names.join(' ')}`,
    ...sites.flatMap(siteConfig),
    // Debian's package lacks the image with which HTCondor tests that Apptainer supports SIF files.
    'HasSIF = True',
    'STARTD_ATTRS = $(STARTD_ATTRS) GLIDEIN_ResourceName HasSIF',
    'MACHINE_RESOURCE_INVENTORY_GPUs = $(LOCAL_DIR)/gpus.sh $(ADVERTISED_GPUS:none)',
    'SINGULARITY = /usr/bin/apptainer',
    'DOCKER =',
    // Debian's list has three Python plugins that cost seconds in every job with a URL.
    'FILETRANSFER_PLUGINS = $(LIBEXEC)/curl_plugin',
    'USE_PROCD = True',
    'PROCD_ADDRESS = $(LOCAL_DIR)/run/procd_pipe',
    'DISCARD_SESSION_KEYRING_ON_STARTUP = False',
    'RUNBENCHMARKS = 0',
    'MAIL = /bin/true',
    ...fast.map((knob) => `${knob} = 1`),
    'NEGOTIATOR_CYCLE_DELAY = 0',
    'PERIODIC_EXPR_INTERVAL = 2',
    'MachineMaxVacateTime = 5',
    ...enforced,
    ...extra,
    '',
  ].join('\n');
}

function siteConfig(site: Site): string[] {
  const name = localName(site);
  const settings = {
    STARTD_NAME: name,
    STARTD_LOG: `$(LOG)/StartLog.${name}`,
    STARTD_CLAIM_ID_FILE: `$(LOCAL_DIR)/run/claimid.${name}`,
    STARTD_ADDRESS_FILE: `$(LOG)/.startd_address.${name}`,
    STARTD_HISTORY: `$(LOG)/startd_history.${name}`,
    NETWORK_HOSTNAME: site.hostname,
    GLIDEIN_ResourceName: `"${site.name}"`,
    NUM_CPUS: String(site.cpus),
    MEMORY: String(site.memoryMegabytes),
    ...defined({ ADVERTISED_GPUS: site.gpu && name }),
  };
  return [
    `STARTD_${name} = $(LOCAL_DIR)/startd.sh`,
    `STARTD_${name}_ARGS = -f -local-name ${name}`,
    // The starter does not see its startd's local name, so it learns these through the environment.
    // Another file system than the access point's: without `should_transfer_files`, HTCondor transfers too.
    `STARTD_${name}_ENVIRONMENT = "_CONDOR_STARTER_LOG=$(LOG)/StarterLog.${name} ` +
      `_CONDOR_FILESYSTEM_DOMAIN=${site.hostname}"`,
    ...Object.entries(settings).map(([key, value]) => `${name}.${key} = ${value}`),
  ];
}

/** A CUDA version as drivers number it: 12.4 is 12040. */
const cudaNumber = (version: number): number =>
  Math.trunc(version) * 1000 + Math.round((version % 1) * 10) * 10;

/** The script that reports GPUs to a startd, as `condor_gpu_discovery` would. */
export function gpuScript(sites: Site[]): string {
  const cases = sites.flatMap((site) => {
    if (site.gpu === undefined) return [];
    const { model, capability, memoryMegabytes, driver, count } = site.gpu;
    const ids = Array.from({ length: count }, (_, index) => `GPU-${localName(site)}${index}`);
    const common =
      `Capability=${capability.toFixed(1)}; DeviceName="${model}"; DriverVersion=${driver}; ` +
      `GlobalMemoryMb=${memoryMegabytes}; MaxSupportedVersion=${cudaNumber(driver)};`;
    const each = ids.map((id) => `${id.replace('-', '_')}=[ id="${id}"; ]`);
    return [
      `${localName(site)}) cat <<'END'`,
      `DetectedGPUs="${ids.join(', ')}"`,
      `Common=[ ${common} ]`,
      ...each,
      'END',
      ';;',
    ];
  });
  return ['#!/bin/sh', 'case "$1" in', ...cases, '*) echo "DetectedGPUs=0" ;;', 'esac', ''].join('\n');
}

/** A site of the mini pool: one startd with its own name, execute folder and slots. */
export interface Site {
  /** What jobs read as `GLIDEIN_ResourceName`. */
  name: string;
  hostname: string;
  cpus: number;
  memoryMegabytes: number;
  /** A GPU that the site advertises; it does not exist. */
  gpu?: { model: string; capability: number; memoryMegabytes: number; driver: number; count: number };
}

/** Pools whose limits a mini pool can have: what is refused or held there is refused or held here. */
export const poolModels: Record<string, string[]> = {
  ospool: [
    'MAX_TRANSFER_INPUT_MB = 5000',
    'MAX_JOBS_PER_OWNER = 10000',
    'JOB_TRANSFORM_NAMES = $(JOB_TRANSFORM_NAMES) Duration',
    'JOB_TRANSFORM_Duration @=end',
    '  COPY AllowedExecuteDuration OwnDuration',
    '  EVALSET AllowedExecuteDuration min({OwnDuration ?: 72000, JobDurationCategory =?= "Long" ? 72000 : 36000})',
    '  DELETE OwnDuration',
    '@end',
  ],
};

/** The three sites where most of the benchmark's hundred jobs ran. */
export const sites: Site[] = [
  {
    name: 'CHTC-Spark-CE1',
    hostname: 'spark-a001.chtc.example',
    cpus: 8,
    memoryMegabytes: 16000,
    gpu: { model: 'NVIDIA A100-SXM4-80GB', capability: 8, memoryMegabytes: 81000, driver: 12.4, count: 2 },
  },
  {
    name: 'PDX-Coeus-CE1',
    hostname: 'coeus-17.pdx.example',
    cpus: 8,
    memoryMegabytes: 16000,
    gpu: { model: 'Tesla V100-PCIE-16GB', capability: 7, memoryMegabytes: 16160, driver: 11.8, count: 1 },
  },
  { name: 'GP-ARGO-ksu-backfill', hostname: 'ksu-3.gp-argo.example', cpus: 8, memoryMegabytes: 16000 },
];

/** HTCondor's local name of a site's startd: letters and digits only. */
export const localName = (site: Site): string => site.name.replace(/[^A-Za-z0-9]/g, '');
