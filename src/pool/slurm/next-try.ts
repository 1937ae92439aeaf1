import { kinds } from '../../fault/kinds.ts';
import { resultsFolder } from '../../job/layout.ts';
import { exitsWith } from '../../codes/answers.ts';
import type { Policy } from '../../recovery/policy.ts';

/** By which a job decides about its next attempt. */
export interface TaskRules {
  policy: Policy;
}

/** Any number: the answers do not change any more. */
const later = 1000;
/** A training that is killed while its job goes on was killed by the kernel, for want of memory. */
const killed = 128 + 9;
const { exit: evicted } = kinds.evicted;
const { exit: timeLimit } = kinds['time-limit'];
/** More nodes than this are not excluded: a small partition would have none left. */
const mostAvoided = 5;

/** What this script may take to leave: a start that is past by then Slurm puts off by two minutes. */
const leaveSeconds = 5;

const megabytes = (bytes: number): number => Math.ceil(bytes / 2 ** 20);

/**
 * The end of a job's script: how the attempt ended, and whether there is another one. As HTCondor's rules do, it goes by
 * the agent's exit code, which says what happened, and by how often the job has failed. Pure.
 */
export function nextTryLines({ policy }: TaskRules): string[] {
  return [
    ...movedOnLines,
    '',
    'outcome=failed again= delay=0 avoid= more= counts=',
    'if [ "$status" -eq 0 ]; then outcome=success',
    'elif moved_on; then again=1',
    `elif [ -n "$asked" ] || [ "$status" -eq ${evicted} ]; then outcome=evicted again=1`,
    'else',
    ...failureLines(policy).map((line) => `  ${line}`),
    'fi',
    ...giveUpLines(policy),
    String.raw`tell "\"kind\":\"attempt-ended\",\"attempt\":$attempt,\"outcome\":\"$outcome\",\"exit\":$status$counts"`,
    '',
    ...requeueLines(policy),
    '',
    'results=',
    String.raw`[ "$outcome" != success ] || results=",\"results\":\"${resultsFolder('.', '$job')}\""`,
    String.raw`tell "\"kind\":\"job-ended\",\"outcome\":\"$outcome\"$results"`,
    'exit "$status"',
  ];
}

const movedOnLines = [
  '# Only time was lacking: it saved something, and went past what it began with.',
  'moved_on() {',
  '  told=$folder/attempt-$attempt/agent.jsonl',
  `  [ "$status" -eq ${timeLimit} ] && grep -q '"checkpoint-saved"' "$told" || return 1`,
  `  ! grep -q '"checkpoint-restored"' "$told" || grep -q '"resume-checked".*"movedOn":true' "$told"`,
  '}',
];

function failureLines({ attempts, pace, memory, avoid }: Policy): string[] {
  const first = exitsWith(['elsewhere', 'more-disk'], 1);
  const always = exitsWith(['elsewhere', 'more-disk'], later).filter((exit) => first.includes(exit));
  const once = first.filter((exit) => !always.includes(exit));
  const waiting = exitsWith(['later'], later);
  const atOnce = `[ "$failures" -le ${pace.atOnce} ] || delay=$pause`;
  const place = avoid === 'none' ? '' : ' avoid=1';
  return [
    String.raw`counts=",\"counts\":$round"`,
    String.raw`failures=$(($(grep -c "\"counts\":$round}" "$journal") + 1))`,
    `pause=${pace.firstWait} doubled=1`,
    'while [ "$doubled" -lt "$failures" ]; do pause=$((pause * 2)) doubled=$((doubled + 1)); done',
    `[ "$pause" -le ${pace.mostWait} ] || pause=${pace.mostWait}`,
    'case $status in',
    `  ${waiting.join('|')}) again=1 delay=$pause ;;`,
    `  ${always.join('|')}) again=1${place}; ${atOnce} ;;`,
    `  ${once.join('|')}) [ "$failures" -gt 1 ] || again=1${place} ;;`,
    `  ${killed})`,
    `    has=\${SLURM_MEM_PER_NODE:-${megabytes(memory.asked)}} more=$((has * 2))`,
    `    [ "$more" -le ${megabytes(memory.most)} ] || more=${megabytes(memory.most)}`,
    '    if [ "$more" -gt "$has" ]; then again=1; else more=; fi ;;',
    'esac',
    `[ "$failures" -lt ${attempts} ] || again=`,
  ];
}

function giveUpLines({ giveUpSeconds }: Policy): string[] {
  if (giveUpSeconds === undefined) return [];
  return [
    'queued=$(date -r "$order" +%s)',
    `[ $(($(date +%s) + delay - queued)) -lt ${giveUpSeconds} ] || again=`,
  ];
}

/** A job that Slurm itself ends is left to it: asked to queue a cancelled one again, it would. */
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
  `      nodes=$(tail -n ${mostAvoided} "$folder/slurm.avoid" | sort -u | paste -s -d , -)`,
  '      scontrol update JobId="$id" ExcNodeList="$nodes" || scontrol update JobId="$id" ExcNodeList="$node" || true',
  '    fi',
];
