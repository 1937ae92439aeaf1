import path from 'node:path';
import { kinds } from '../fault/kinds.ts';
import { runFiles } from '../job/layout.ts';
import { condorFiles } from './condor/condor-files.ts';

const packed = path.posix.basename(condorFiles.agent);
const agent = packed.replace(/\.gz$/, '');
const authority = path.posix.basename(condorFiles.authority);
const { exit } = kinds['environment-broken'];

const byPython = `import gzip, shutil, sys; shutil.copyfileobj(gzip.open("${packed}"), sys.stdout.buffer)`;

/** Unpacks the agent once; needs a shell and gzip, or the Python of images without gzip. */
const unpack = [
  'has() { command -v "$1" > /dev/null 2>&1; }',
  'unpacked() {',
  `  if has gzip; then gzip -dc ${packed}`,
  `  else python3 -c '${byPython}'`,
  '  fi',
  '}',
  `if [ ! -x ${agent} ]; then`,
  '  lacks=',
  '  has mv || lacks=mv',
  '  has chmod || lacks=chmod',
  '  has gzip || has python3 || lacks=gzip',
  '  if [ "$lacks" ]; then',
  '    echo "updraft: the agent cannot be unpacked: this machine or image has no $lacks; add it to the image" >&2',
  `    exit ${exit}`,
  '  fi',
  `  unpacked > .${agent}.$$ && chmod 755 .${agent}.$$ && mv .${agent}.$$ ${agent} || {`,
  `    echo "updraft: ${packed} cannot be unpacked: it is damaged, or the disk is full" >&2`,
  `    exit ${exit}`,
  '  }',
  'fi',
];

/** Unpacks the agent; exits as environment-broken if it does not run. */
export const unpackAgentLines: readonly string[] = [
  ...unpack,
  `./${agent} --version > .${agent}.version || {`,
  '  echo "updraft: the agent does not run here: it needs glibc 2.28 or newer, as in Debian 10 or RHEL 8" >&2',
  `  exit ${exit}`,
  '}',
];

/** Unpacks the agent and becomes it. */
function startLines(verb: 'sandbox' | 'software'): string[] {
  return [
    ...unpackAgentLines,
    `if [ -f ${authority} ]; then SSL_CERT_FILE=$PWD/${authority}; export SSL_CERT_FILE; fi`,
    `exec ./${agent} ${verb} "$1"`,
    '',
  ];
}

/**
 * The job's executable: a shell script, to halve the bytes to send. The folders that HTCondor returns exist from the
 * start: otherwise an attempt that is killed early would be held for missing outputs.
 */
export const launcherScript = [
  '#!/bin/sh',
  `mkdir -p ${runFiles.jobs} ${runFiles.results}`,
  ...startLines('sandbox'),
].join('\n');

/** Unpacks and sets up the software of an interactive job; prints the path of the script that activates it. */
export const softwareScript = ['#!/bin/sh', ...startLines('software')].join('\n');

/** The agent as HTCondor's file-transfer plugin; it runs before the job, in the same sandbox. */
export const pluginScript = ['#!/bin/sh', ...unpack, `exec ./${agent} "$@"`, ''].join('\n');
