import type { SlotFact, SlotFacts, Where } from '../../../check/facts.ts';
import { Fault } from '../../../fault/fault.ts';
import type { Plan } from '../../../job/plan.ts';
import type { CondorTools } from './condor-tools.ts';
import { slotConditions } from '../submit/slot-conditions.ts';

/** Slots that are parts of others would count a busy machine many times. */
const whole = 'SlotType =!= "Dynamic" && DynamicSlot =!= true';

/** Has HTCondor itself evaluate a plan's conditions over the ads of all machines of the pool. */
export async function askSlots(plan: Plan, where: Where, tools: CondorTools): Promise<SlotFacts> {
  const conditions = slotConditions(plan, where, await tools.setting('ARCH'));
  const columns = [
    'Name',
    '(TotalSlotMemory ?: Memory)',
    '(TotalSlotDisk ?: Disk)',
    ...conditions.map(({ ever }) => ever),
    conditions.map(({ now }) => `(${now})`).join(' && '),
  ];
  let text: string;
  try {
    text = await tools.ask('condor_status', ['-constraint', whole, '-af:t', ...columns]);
  } catch (error) {
    if (await isReadable(plan.spec.run.requirements, tools)) throw error;
    return { conditions: [], slots: [], largest: { memoryBytes: 0, diskBytes: 0 }, isUnreadable: true };
  }
  const rows = text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => line.trim().split('\t'));
  if (rows.length === 0)
    throw new Fault('pool-unreachable', 'condor_status lists no machine', {
      fix: 'see what condor_status prints',
    });
  const most = (column: number, unit: number): number =>
    Math.max(0, ...rows.map((row) => Number(row[column]) * unit).filter((size) => size > 0));
  return {
    conditions: conditions.map(({ words, place }) => ({ words, place })),
    slots: rows.map(readRow),
    largest: { memoryBytes: most(1, 2 ** 20), diskBytes: most(2, 2 ** 10) },
  };
}

/** Whether HTCondor can read the user's condition; without a word against it, it can. */
async function isReadable(requirements: string | undefined, tools: CondorTools): Promise<boolean> {
  if (requirements === undefined) return true;
  return await tools.ask('condor_status', ['-limit', '1', '-constraint', `(${requirements})`]).then(
    () => true,
    (error: unknown) => !(error instanceof Fault && error.message.includes('invalid constraint')),
  );
}

/** What is undefined for a machine does not match it, as in HTCondor. */
function readRow([name = '', , , ...values]: string[]): SlotFact {
  return {
    name,
    meets: values.slice(0, -1).map((value) => value === 'true'),
    fitsNow: values.at(-1) === 'true',
  };
}
