import { poolModels } from '@updraft/mini/pool';
import { type Fateful, untilOthersAreHeld } from './trouble.ts';

const project = '+ProjectName = "Cats"';
const onBackfill = 'requirements = GLIDEIN_ResourceName == "GP-ARGO-ksu-backfill"';

/**
 * A pool with the limits that the OSPool and CHTC describe: a project is required, and a job of the category Medium is
 * held after seconds instead of ten hours; GPUs of the GPU Lab and backfill slots only take jobs that name them.
 */
export const likeThosePools = [
  ...(poolModels['ospool'] ?? []).map((line) => line.replace(': 36000', ': 3')),
  'SUBMIT_REQUIREMENT_NAMES = Project',
  'SUBMIT_REQUIREMENT_Project = ProjectName =!= undefined',
  'SUBMIT_REQUIREMENT_Project_REASON = "Name your project."',
  'IsForLab = TARGET.WantGPULab =?= true && stringListMember(TARGET.GPUJobLength ?: "short", "short,medium,long")',
  'START = ((TARGET.RequestGPUs ?: 0) == 0 || $(IsForLab)) && (MY.GLIDEIN_ResourceName != "GP-ARGO-ksu-backfill" || TARGET.is_resumable =?= true)',
];

export const aboutPoolLines: Fateful[] = [
  ...[[], ['+JobDurationCategory = "Short"']].map((lines): Fateful => ({
    rule: 'duration-category',
    pool: 'ospool',
    does: untilOthersAreHeld,
    lines: [project, ...lines],
    // It says to choose this one or "Medium".
    line: '+JobDurationCategory = "Long"',
    before: 'is held (47)',
  })),
  {
    rule: 'gpu-lines',
    pool: 'chtc',
    lines: [project, 'request_gpus = 1'],
    before: 'finds no machine',
  },
  {
    rule: 'gpu-lines',
    pool: 'chtc',
    lines: [project, 'request_gpus = 1', '+WantGPULab = true', '+GPUJobLength = "weeks"'],
    before: 'finds no machine',
  },
  { rule: 'worth-adding', pool: 'ospool', line: /^\+ProjectName.*$/gm, before: 'is refused' },
  {
    rule: 'worth-adding',
    pool: 'chtc',
    lines: [project, onBackfill, 'checkpoint_exit_code = 85', 'transfer_checkpoint_files = checkpoints'],
    line: /^\+is_resumable.*$/gm,
    before: 'finds no machine',
  },
  {
    rule: 'unused-name',
    lines: [project, onBackfill, 'is_resumable = true'],
    without: /^is_resumable/,
    before: 'finds no machine',
  },
];
