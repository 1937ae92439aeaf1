import { asFound, type Found, type Rule, type RuleResult, rule, given } from '@updraft/base';
import {
  fileList,
  isUrl,
  perBatch,
  whereSet,
  valueOf,
  type Batch,
  type SubmitFacts,
  attributeValue,
  batches,
  transfersNothing,
} from '../../submit/submit-facts.ts';

const has = (batch: Batch, ...names: string[]): boolean =>
  names.some((name) => valueOf(batch, name) !== undefined);

/** Rules about what happens when something goes wrong. */
export const recoveryRules: Rule<SubmitFacts>[] = [
  rule(
    'hidden-retries',
    'warning',
    '`success_exit_code` without `max_retries` silently enables two retries.',
    perBatch((batch) =>
      has(batch, 'success_exit_code') && !has(batch, 'max_retries', 'retry_until')
        ? asFound(
            '`success_exit_code` alone enables 2 retries; each overwrites the output of the previous one',
            'set the number of retries; 0 means none:\nmax_retries = 2',
            whereSet(batch, 'success_exit_code'),
          )
        : undefined,
    ),
  ),
  rule(
    'endless-release',
    'warning',
    'A release rule has no limit, so a job that can never work is restarted forever.',
    perBatch(endlessRelease),
  ),
  rule(
    'never-true',
    'warning',
    'A condition uses an attribute of machines that jobs do not have, so it is never true.',
    perBatch((batch) => policies.flatMap((command) => neverTrue(batch, command))),
  ),
  rule(
    'endless-restart',
    'warning',
    '`on_exit_remove` has no limit, so a job that always fails runs again forever.',
    perBatch(endlessRestart),
  ),
  rule(
    'evicted-output',
    'warning',
    '`ON_EXIT_OR_EVICT` without a checkpoint exit code: an eviction saves files in whatever state they are.',
    perBatch((batch) =>
      /^on_exit_or_evict$/i.test(valueOf(batch, 'when_to_transfer_output') ?? '') &&
      !has(batch, 'checkpoint_exit_code')
        ? asFound(
            'ON_EXIT_OR_EVICT without a checkpoint: an eviction saves ' +
              'half-written files, and a machine that disappears saves none',
            'write `when_to_transfer_output = ON_EXIT`; or make the training ' +
              'exit with 85 after saving a checkpoint, and write:\n' +
              'checkpoint_exit_code = 85\ntransfer_checkpoint_files = checkpoints',
            whereSet(batch, 'when_to_transfer_output'),
          )
        : undefined,
    ),
  ),
  rule(
    'streamed-output',
    'warning',
    'Output is streamed: every write goes to the access point, and a broken connection stalls the job.',
    perBatch((batch) =>
      ['stream_output', 'stream_error']
        .filter((name) => /^true$/i.test(valueOf(batch, name) ?? ''))
        .slice(0, 1)
        .map((name) =>
          asFound(
            `\`${name}\`: every write goes to the access point, and a broken connection stalls the job`,
            `remove it, and look into a running job with condor_tail`,
            whereSet(batch, name),
          ),
        ),
    ),
  ),
  rule(
    'checkpoint-without-files',
    'warning',
    'There is a checkpoint exit code, but nothing says which files are the checkpoint.',
    perBatch((batch) =>
      has(batch, 'checkpoint_exit_code') && !has(batch, 'transfer_checkpoint_files', 'checkpoint_destination')
        ? asFound(
            '`checkpoint_exit_code` without `transfer_checkpoint_files`: ' +
              'the declared outputs are saved instead, and maybe not the checkpoint',
            'transfer_checkpoint_files = checkpoints',
            whereSet(batch, 'checkpoint_exit_code'),
          )
        : undefined,
    ),
  ),
  rule(
    'checkpoint-without-code',
    'warning',
    'Checkpoint files are named, but without an exit code HTCondor never saves them.',
    perBatch((batch) =>
      has(batch, 'transfer_checkpoint_files') && !has(batch, 'checkpoint_exit_code')
        ? asFound(
            '`transfer_checkpoint_files` without `checkpoint_exit_code`: no checkpoint is ever saved',
            'make the training exit with 85 after saving a checkpoint, and write:\ncheckpoint_exit_code = 85',
            whereSet(batch, 'transfer_checkpoint_files'),
          )
        : undefined,
    ),
  ),
  rule(
    'checkpoint-slash',
    'warning',
    'A folder in `transfer_checkpoint_files` ends in a slash: ' +
      'its files are saved without the folder, so a resumed job does not find them.',
    perBatch((batch) => {
      const files = fileList(valueOf(batch, 'transfer_checkpoint_files'));
      const folder = files.find((name) => /[^/]\/+$/.test(name) && !isUrl(name));
      if (folder === undefined) return [];
      return asFound(
        `\`${folder}\` ends in a slash: HTCondor saves the files in it, not the folder, ` +
          'so after an eviction they are beside the folder and the training starts over',
        'transfer_checkpoint_files = ' +
          files.map((name) => (isUrl(name) ? name : name.replace(/(?<=[^/])\/+$/, ''))).join(', '),
        whereSet(batch, 'transfer_checkpoint_files'),
      );
    }),
  ),
];

const isFalse = (rule: string | undefined): boolean => /^(?:false|0)$/i.test(rule ?? 'false');

function endlessRestart(batch: Batch): RuleResult {
  const rule = valueOf(batch, 'on_exit_remove');
  // `max_retries` is a limit, also if another command implies it; a job that is held or removed does not run again.
  const endsOtherwise =
    has(batch, 'max_retries', 'retry_until', 'success_exit_code') ||
    ['on_exit_hold', 'periodic_remove'].some((name) => !isFalse(valueOf(batch, name)));
  const counts = /Num\w+|JobRunCount|time\(|CurrentTime|RemoteWallClockTime|QDate/i;
  if (rule === undefined || endsOtherwise || /^(?:true|[1-9]\d*)$/i.test(rule) || counts.test(rule))
    return [];
  return asFound(
    `\`on_exit_remove\` has no limit: a job ${isFalse(rule) ? '' : 'that always fails '}runs again forever`,
    `on_exit_remove = (${isFalse(rule) ? 'ExitCode == 0' : rule}) || NumJobCompletions > 3`,
    whereSet(batch, 'on_exit_remove'),
  );
}

/** They rise with every hold or attempt, also if the input did not arrive; `QDate` is as good a limit. */
const limited = /\b(?:NumHolds|NumSystemHolds|NumShadowStarts|JobRunCount|QDate)\b/i;
/** Holds that come only after a start: of results, memory, a checkpoint, the time of execution. */
const afterStart = new Set(['12', '33', '34', '36', '47']);

/** Whether a rule only releases holds that come after a start, which `NumJobStarts` counts. */
function releasesOnlyStarted(rule: string, batch: Batch): boolean {
  const codes = [...rule.matchAll(/\bHoldReasonCode\s*(?:=\?=|==|(\S+))\s*(\d+)/gi)];
  const isAfter = (code: string): boolean =>
    // Of `on_exit_hold`, unless there is `periodic_hold`, too.
    afterStart.has(code) || (code === '3' && !has(batch, 'periodic_hold'));
  return codes.length > 0 && codes.every(([, other, code = '']) => other === undefined && isAfter(code));
}

function endlessRelease(batch: Batch): RuleResult {
  const rule = valueOf(batch, 'periodic_release');
  if (rule === undefined || isFalse(rule) || limited.test(rule)) return [];
  const countsStarts = /\bNumJobStarts\b/i.test(rule);
  if (countsStarts && releasesOnlyStarted(rule, batch)) return [];
  // Then it releases nothing, which is another finding.
  if (misnamed.test(rule) && !rule.includes('||')) return [];
  return asFound(
    countsStarts
      ? '`periodic_release` counts `NumJobStarts`, which stays the same ' +
          'if the input does not arrive: such a job is released forever'
      : '`periodic_release` has no limit: a job that can never work is restarted forever',
    `periodic_release = (${rule}) && NumHolds < 5`,
    whereSet(batch, 'periodic_release'),
  );
}

const policies = ['periodic_release', 'periodic_hold', 'periodic_remove'];
/** Those of machines: `EnteredCurrentState`, `EnteredCurrentActivity`. */
const misnamed = /\bEnteredCurrent(?!Status\b)\w+/i;

function neverTrue(batch: Batch, command: string): Found | [] {
  const rule = valueOf(batch, command) ?? '';
  const name = misnamed.exec(rule)?.[0];
  if (name === undefined) return [];
  const right = rule.replaceAll(new RegExp(misnamed, 'gi'), 'EnteredCurrentStatus');
  const isEndless = command === 'periodic_release' && !limited.test(rule);
  return asFound(
    `\`${command}\` uses \`${name}\`, which jobs do not have: it is UNDEFINED, ` +
      `so ${rule.includes('||') ? 'its part of the condition' : 'the condition'} is never true`,
    `${command} = ${isEndless ? `(${right}) && NumHolds < 5` : right}`,
    whereSet(batch, command),
  );
}

/** Advice that half of all files would get: one finding, whatever it lists. */
export const worthAddingRules: Rule<SubmitFacts>[] = [
  rule(
    'worth-adding',
    'note',
    'Lines that most jobs gain from are missing: requests, outputs, a limit on retries, the project.',
    (facts) => {
      const jobs = batches(facts);
      const [first] = jobs;
      const missing = advice.filter(({ lacks }) => jobs.some((batch) => lacks(batch, facts)));
      if (first === undefined || missing.length === 0) return [];
      const all = missing.map((one) => ({ ...one, lines: one.lines(first, facts) }));
      const texts = all.map(({ lines, why }) => `\`${lines.join('` and `')}\` (${why})`);
      return asFound(
        `also worth adding: ${texts.join('; ')}`,
        ['add the lines that fit your jobs:', ...all.flatMap(({ lines }) => lines)].join('\n'),
        first.queue.place,
      );
    },
  ),
];

const lacks = (batch: Batch, ...names: string[]): boolean =>
  names.every((name) => valueOf(batch, name) === undefined);

const advice: {
  lacks: (batch: Batch, facts: SubmitFacts) => boolean;
  lines: (batch: Batch, facts: SubmitFacts) => string[];
  why: string;
}[] = [
  {
    lacks: (batch) => lacks(batch, 'request_memory') || lacks(batch, 'request_disk'),
    lines: (batch) =>
      given(
        lacks(batch, 'request_memory') && 'request_memory = 4 GB',
        lacks(batch, 'request_disk') && 'request_disk = 10 GB',
      ),
    why: 'the default is 128 MB of memory, and disk for the input',
  },
  {
    lacks: (batch) =>
      !transfersNothing(batch) &&
      ['transfer_output_files', 'output_destination', 'transfer_output_remaps'].every(
        (name) => !(name in batch.job.commands),
      ),
    lines: () => ['transfer_output_files = model.pt'],
    why: 'a job without its result is then held, and files in folders are returned',
  },
  {
    lacks: (batch) =>
      lacks(batch, 'periodic_release', 'max_retries', 'retry_until', 'success_exit_code', 'on_exit_remove'),
    lines: () => [
      'max_retries = 3',
      'periodic_release = (HoldReasonCode == 12 || HoldReasonCode == ' +
        '13) && NumHolds < 5 && (time() - EnteredCurrentStatus) > 600',
    ],
    why: 'one stalled transfer or bad machine then does not end a job',
  },
  {
    lacks: (batch, { limits }) =>
      limits.wantsProject &&
      attributeValue(batch, 'ProjectName') === undefined &&
      lacks(batch, 'project_name'),
    lines: () => ['+ProjectName = "YourProject"'],
    why: 'the pool accounts by project',
  },
  {
    lacks: (batch, { limits: { resumable } }) =>
      resumable !== undefined &&
      !lacks(batch, 'checkpoint_exit_code') &&
      attributeValue(batch, resumable) === undefined,
    lines: (_, { limits }) => [`+${limits.resumable ?? ''} = true`],
    why: 'opens backfill slots to jobs with checkpoints',
  },
];
