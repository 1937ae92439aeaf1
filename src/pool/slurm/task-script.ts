import path from 'node:path';
import { shellQuote, given } from '@updraft/base';
import { kinds } from '@updraft/account/fault';
import { resultsFolder, runFiles, sandboxFiles } from '@updraft/account/run-folder';
import type { Policy } from '@updraft/account/recovery';
import { unpackAgentLines } from '../launcher.ts';
import { slurmFiles, slurmRoundFiles, taskJournalName } from './slurm-files.ts';

/** The input of a round's job script. */
export interface TaskInput {
  round: number;
  policy: Policy;
  image?: TaskImage | undefined;
  secrets?: string | undefined;
  hasAuthority?: boolean | undefined;
  /** Whether a job has several nodes, of which this script's leads. */
  hasNodes?: boolean;
}

/** The image in which the agent and the training run. */
export interface TaskImage {
  /** A path that the nodes see, or a URL that Apptainer supports. */
  place: string;
  gpus: boolean;
  /** Folders to read besides the run's. */
  reads: string[];
  /** Variables that point to the node's software. */
  hiddenVariables: readonly string[];
}

const agent = path.posix.basename(slurmRoundFiles(1).agent).replace(/\.gz$/, '');
const { exit: noScratch } = kinds['scratch-unusable'];
const { exit: noSoftware } = kinds['environment-broken'];
/** A warning this long before the time limit is ours: the agent keeps the time itself and needs no second signal. */
export const warningSeconds = 120;

/**
 * What each job of the array runs: one attempt, recorded in the job's own journal on the shared file system, and then,
 * if another can help, a requeue. So nothing of ours has to run elsewhere. Pure.
 */
export function taskScript(input: TaskInput): string[] {
  return given(
    ...settingLines(input),
    '',
    ...journalLines,
    '',
    ...(input.hasNodes === true ? otherNodeLines : []),
    ...attemptLines,
    input.hasNodes === true && 'fi',
    '',
    ...signalLines,
    '',
    ...agentLines(input),
    '',
    ...nextLines(input),
    '',
    ...requeueLines(input.policy),
    '',
    ...endLines,
  );
}

const settingLines = ({ round }: TaskInput): string[] => [
  'run=$SLURM_SUBMIT_DIR',
  'id=${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID',
  'job=$(printf %04d "$SLURM_ARRAY_TASK_ID")',
  'node=${SLURMD_NODENAME:-$(uname -n)}',
  `round=${round}`,
  `order=$run/${slurmRoundFiles(round).orders}/$job.json`,
  `folder=$run/${runFiles.jobs}/$job`,
  `journal=$folder/${taskJournalName}`,
  `mkdir -p "$folder" "$run/${slurmFiles.arrays}" && touch "$journal" || {`,
  '  echo "updraft: $node cannot write to $run: the run folder must be on a file system that all nodes share" >&2',
  `  exit ${noScratch}`,
  '}',
  `[ -e "$run/${slurmFiles.arrays}/$round" ] || echo "$SLURM_ARRAY_JOB_ID" > "$run/${slurmFiles.arrays}/$round"`,
];

const journalLines = [
  // Seconds since boot: setting the clock during an attempt changes no times.
  'read -r up _ < /proc/uptime',
  'zero=$(($(date +%s) - ${up%.*}))',
  '# Appends an entry to the journal of the job.',
  'record() {',
  '  read -r up _ < /proc/uptime',
  '  at=$(date -u -d "@$((zero + ${up%.*}))" +%Y-%m-%dT%H:%M:%S.000Z)',
  String.raw`  printf '{"v":1,"t":"%s","seq":%d,"job":"%s",%s}\n' ` +
    '"$at" "$(wc -l < "$journal")" "$job" "$1" >> "$journal"',
  '}',
];

const lost =
  String.raw`\"outcome\":\"lost\",\"exit\":null,\"fault\":{\"kind\":\"evicted\",` +
  String.raw`\"message\":\"Slurm took the job off its node and restarted it\"}`;

const attemptLines = [
  'attempt=1',
  'while [ -d "$folder/attempt-$attempt" ]; do attempt=$((attempt + 1)); done',
  'before=$((attempt - 1))',
  String.raw`if [ "$before" -gt 0 ] && ! grep -q "\"attempt-ended\".*\"attempt\":$before," "$journal"; then`,
  String.raw`  record "\"kind\":\"attempt-ended\",\"attempt\":$before,${lost}"`,
  'fi',
  `mkdir "$folder/attempt-$attempt" || exit ${noScratch}`,
  'why="first attempt"',
  '[ "$before" -eq 0 ] || why="requeued after attempt $before"',
  String.raw`record "\"kind\":\"attempt-started\",\"attempt\":$attempt,\"why\":\"$why\""`,
  String.raw`record "\"kind\":\"attempt-phase\",\"attempt\":$attempt,\"phase\":\"preparing\",\"host\":\"$node\""`,
  'said=$folder/attempt-$attempt/agent.log',
];

/** On another node than the first, which passes the number of the attempt, and hears how the agent here has ended. */
const otherNodeLines = [
  'attempt=${1:-}',
  'peer=',
  'if [ -n "$attempt" ]; then',
  '  peer=$((SLURM_PROCID + 1))',
  // What is started in the background would have none.
  '  exec 3<&0',
  '  said=$folder/attempt-$attempt/agent-$peer.log',
  '  status=',
  '  scratch=',
  '  leave() {',
  '    [ -z "$scratch" ] || { cd / && rm -rf "$scratch"; }',
  String.raw`    echo "{\"node\":$peer,\"host\":\"$node\",\"gone\":$status}"`,
  '  }',
  '  trap leave EXIT',
  'else',
];

const signalLines = [
  '# Slurm sends TERM to this script, on some clusters also to the agent; USR1 only to this script.',
  'asked=',
  'agent=',
  'ask() {',
  '  asked=1',
  // Not TERM: a second one would mean that there is no time to save.
  '  [ -z "$agent" ] || kill -USR2 "$agent"',
  '}',
  'trap ask TERM',
  'warned() {',
  '  [ -z "${SLURM_JOB_END_TIME:-}" ] || [ "$(date +%s)" -lt ' +
    `$((SLURM_JOB_END_TIME - ${warningSeconds + 60})) ] || return 0`,
  '  ask',
  '}',
  'trap warned USR1',
];

const agentLines = ({ round, image, secrets, hasAuthority, hasNodes = false }: TaskInput): string[] =>
  given(
    `status=${noScratch}`,
    'disk=${UPDRAFT_SCRATCH:-${SLURM_TMPDIR:-${TMPDIR:-/tmp}}}' +
      (hasNodes ? '/updraft-$id.${peer:-0}-' : '/updraft-$id-'),
    // Leftovers of an attempt that was killed with all its processes.
    'rm -rf "$disk"*',
    'if scratch=$(mktemp -d "${disk}XXXXXX" 2>> "$said") && cd "$scratch"; then',
    `  ${hasNodes ? '[ -n "$peer" ] || ' : ''}trap 'cd / && rm -rf "$scratch"' EXIT`,
    `  ln -s "$run/${slurmRoundFiles(round).agent}" .`,
    // Only this user can read the folder; the agent removes the copy before the training starts.
    secrets !== undefined && `  cp ${shellQuote(secrets)} ${sandboxFiles.secrets} 2>> "$said"`,
    '  (',
    ...unpackAgentLines.map((line) => `    ${line}`),
    '  ) >> "$said" 2>&1',
    '  status=$?',
    'fi',
    ...(image === undefined ? [] : findRunner),
    'if [ "$status" -eq 0 ]; then',
    // By default, numerical libraries use all cores of the node.
    '  export OMP_NUM_THREADS="${OMP_NUM_THREADS:-$SLURM_CPUS_PER_TASK}"',
    hasAuthority === true && `  export SSL_CERT_FILE="$run/${slurmFiles.authority}"`,
    `  set -- ./${agent} shared "$order" "$run" "$attempt"${hasNodes ? ' $peer' : ''}`,
    ...(image === undefined ? [] : imageLines(image)),
    ...(hasNodes ? wiredLines(round) : ['  "$@" >> "$said" 2>&1 &']),
    '  agent=$!',
    '  while wait "$agent"; status=$?; [ "$status" -gt 128 ] && kill -0 "$agent" 2> /dev/null; do :; done',
    'fi',
    "trap '' TERM USR1",
    ...(hasNodes ? leaveLines : []),
  );

/**
 * Starts the agent of this node; the first node also starts the others. The agents talk through srun, which is no
 * child of this script: where Slurm signals every process, srun would pass TERM on as KILL.
 */
const wiredLines = (round: number): string[] => [
  '  if [ -n "$peer" ]; then "$@" <&3 2>> "$said" &',
  '  else',
  '    mkfifo to from',
  '    others=$((SLURM_JOB_NUM_NODES - 1))',
  '    (',
  '      setsid srun --relative=1 --nodes=$others --ntasks=$others --ntasks-per-node=1 \\',
  '        --cpus-per-task="$SLURM_CPUS_PER_TASK" --mpi=none --kill-on-bad-exit=1 --wait=0 \\',
  `        sh "$run/${slurmRoundFiles(round).script}" "$attempt" < to > from 2>> "$said" &`,
  '    )',
  '    "$@" > to < from 2>> "$said" &',
  '  fi',
];

const leaveLines = [
  // Where Slurm follows processes by their parents, they outlive an agent that was killed.
  '[ "$status" -le 128 ] || [ -z "$scratch" ] ||',
  '  grep -lsz "^UPDRAFT_SCRATCH=$scratch/" /proc/[0-9]*/environ | cut -d/ -f3 | xargs -r kill -KILL',
  '[ -z "$peer" ] || exit 0',
  // The node that the agent blames is avoided.
  '[ ! -s "$scratch/blame" ] || node=$(cat "$scratch/blame")',
];

const findRunner = [
  'runner=$(command -v apptainer || command -v singularity)',
  'if [ "$status" -eq 0 ] && [ -z "$runner" ]; then',
  '  echo "updraft: the job runs in an image, but $node has neither apptainer nor singularity on the PATH" >> "$said"',
  `  status=${noSoftware}`,
  'fi',
];

const imageLines = ({ place, gpus, reads, hiddenVariables }: TaskImage): string[] => [
  `  unset ${hiddenVariables.join(' ')}`,
  `  set -- ${shellQuote(place)} "$@"`,
  ...reads.map((folder) => `  set -- --bind ${shellQuote(`${folder}:${folder}`)} "$@"`),
  `  set -- "$runner" --silent exec --no-home${gpus ? ' --nv' : ''} ` +
    '--bind "$run:$run" --bind "$scratch:$scratch" --pwd "$scratch" "$@"',
];

/** The agent decides; if it cannot run, the script may only avoid this node, a few times. */
const nextLines = ({ round, policy: { attempts, backoff } }: TaskInput): string[] => [
  'outcome=failed again= delay=0 avoid= more= moved=',
  'if [ "$status" -eq 0 ]; then outcome=success',
  `elif decided=$("$scratch/${agent}" next "$run/${slurmRoundFiles(round).policy}" ` +
    '"$journal" "$folder/attempt-$attempt" "$status" "$asked" 2>> "$said"); then',
  '  eval "$decided"',
  'elif [ -n "$asked" ]; then outcome=evicted again=1',
  'else',
  `  failures=$(awk '/"round-started"/ { n = 0 } ` +
    `/"attempt-ended".*"failed"/ && !/"movedOn":true/ { n++ } END { print n + 1 }' "$journal")`,
  '  case $status in',
  `    ${noScratch}) [ "$failures" -ge ${attempts} ] || again=1 avoid=1 ;;`,
  `    ${noSoftware}) [ "$failures" -ge ${Math.min(2, attempts)} ] || again=1 avoid=1 ;;`,
  '  esac',
  `  [ "$failures" -le ${backoff.immediateRetries} ] || delay=${backoff.initialBackoff}`,
  'fi',
  `[ -z "$moved" ] || moved=',"movedOn":true'`,
  String.raw`record "\"kind\":\"attempt-ended\",\"attempt\":$attempt,\"outcome\":\"$outcome\",\"exit\":$status$moved"`,
  // Last, because a million files outlast the time that Slurm allows.
  'cd /',
  '[ -z "$scratch" ] || rm -rf "$scratch"',
];

/** At most this many nodes are excluded: a small partition would have none left. */
const maxAvoided = 5;
/** Time for this script to exit: Slurm delays a start time that has passed by two minutes. */
const leaveSeconds = 5;

/** A job that Slurm itself ends is not requeued: Slurm would requeue even a cancelled one. */
function requeueLines({ avoid }: Policy): string[] {
  return [
    'if [ -n "$again" ]; then',
    '  state=$(squeue -h -r -j "$id" -o %T 2> /dev/null)',
    '  case $state in',
    '    RUNNING) ;;',
    '    "") [ -z "$asked" ] || exit "$status" ;;',
    '    *) exit "$status" ;;',
    '  esac',
    '  if scontrol requeue "$id"; then',
    ...(avoid === 'none' ? [] : avoidLines),
    '    [ -z "$more" ] || scontrol update JobId="$id" MinMemoryNode="$more"',
    `    scontrol update JobId="$id" StartTime="now+$((delay + ${leaveSeconds}))"`,
    '    exit "$status"',
    '  fi',
    'fi',
  ];
}

const avoidLines = [
  '    if [ -n "$avoid" ]; then',
  '      echo "$node" >> "$folder/slurm.avoid"',
  `      nodes=$(tail -n ${maxAvoided} "$folder/slurm.avoid" | sort -u | paste -s -d , -)`,
  '      scontrol update JobId="$id" ExcNodeList="$nodes" || scontrol update JobId="$id" ExcNodeList="$node" || true',
  '    fi',
];

const endLines = [
  'results=',
  String.raw`[ "$outcome" != success ] || results=",\"results\":\"${resultsFolder('.', '$job')}\""`,
  String.raw`record "\"kind\":\"job-ended\",\"outcome\":\"$outcome\"$results"`,
  'exit "$status"',
];
