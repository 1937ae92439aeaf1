import path from 'node:path';
import { kinds } from '@updraft/account/fault';
import { runFiles } from '@updraft/account/run-folder';
import { condorFiles } from './condor/condor-files.ts';
import type { AgentObject } from './condor/submit/job-inputs.ts';

const packed = path.posix.basename(condorFiles.agent);
const agent = packed.replace(/\.gz$/, '');
const authority = path.posix.basename(condorFiles.authority);
const { exit } = kinds['environment-broken'];

const byPython = `import gzip, shutil, sys; shutil.copyfileobj(gzip.open("${packed}"), sys.stdout.buffer)`;

const has = 'has() { command -v "$1" > /dev/null 2>&1; }';

/** Unpacks the agent once; needs a shell and gzip, or the Python of images without gzip. */
const unpack = [
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
  has,
  ...unpack,
  `why=$(./${agent} --version 2>&1 > .${agent}.version) || {`,
  '  echo "updraft: the agent does not run here: $why; it needs glibc 2.28 or newer, as in Debian 10 or RHEL 8" >&2',
  `  exit ${exit}`,
  '}',
];

const hashByPython = 'import hashlib, sys; print(hashlib.sha256(sys.stdin.buffer.read()).hexdigest())';

/**
 * Accepts a fetched agent only if it is the published one: whoever can change the object, or a cache's copy, must not
 * run code here. A machine that cannot check it does not run it.
 */
function checkLines({ url, name, sha256 }: AgentObject): string[] {
  if (url.startsWith('image:')) return linkLines(url.replace('image:', ''));
  return [
    has,
    `if [ -f ${name} ]; then`,
    `  if has sha256sum; then sum=$(sha256sum < ${name})`,
    `  elif has python3; then sum=$(python3 -c '${hashByPython}' < ${name})`,
    '  else',
    '    echo "updraft: the agent cannot be checked: this machine or ' +
      'image has neither sha256sum nor python3; add one to the image" >&2',
    `    exit ${exit}`,
    '  fi',
    `  if [ "\${sum%% *}" != ${sha256} ]; then`,
    `    echo "updraft: ${url} is not the agent that was published: ` +
      'its SHA-256 is ${sum%% *}; upload it again with updraft env agent" >&2',
    `    exit ${kinds['data-corrupt'].exit}`,
    '  fi',
    `  mv ${name} ${packed}`,
    'fi',
  ];
}

/** Takes the agent of the image, unless one was sent: whoever submitted has compared the two. */
const linkLines = (file: string): string[] => [
  `if [ ! -f ${packed} ]; then`,
  `  ln -sf ${file} ${agent}`,
  `  [ -x ${agent} ] || {`,
  `    echo "updraft: ${file} is not in the image; build it again: updraft env image --agent --build" >&2`,
  `    exit ${exit}`,
  '  }',
  'fi',
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
export const launcherScript = (object?: AgentObject): string =>
  [
    '#!/bin/sh',
    `mkdir -p ${runFiles.jobs} ${runFiles.results}`,
    ...(object === undefined ? [] : checkLines(object)),
    ...startLines('sandbox'),
  ].join('\n');

/** Unpacks and sets up the software of an interactive job; prints the path of the script that activates it. */
export const softwareScript = ['#!/bin/sh', ...startLines('software')].join('\n');

/** The agent as HTCondor's file-transfer plugin; it runs before the job, in the same sandbox. */
export const pluginScript = ['#!/bin/sh', has, ...unpack, `exec ./${agent} "$@"`, ''].join('\n');
