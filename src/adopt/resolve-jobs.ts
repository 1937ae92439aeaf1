import { CircularMacro, expandMacros } from './expand-macros.ts';
import type { Place } from '../base/finding.ts';
import type { QueueStatement, Slice } from './queue-statement.ts';
import type { SubmittedJob } from './submission.ts';
import { canonicalCommand } from './submit-commands.ts';
import type { SubmitReader } from './submit-reader.ts';

/** The first jobs of a queue statement with everything expanded, and how many there are in all. */
export function resolveJobs(
  reader: SubmitReader,
  queue: QueueStatement,
  items: readonly string[] | undefined,
  place: Place,
): { jobs: SubmittedJob[]; total: number } {
  const variables = items !== undefined && queue.variables.length === 0 ? ['Item'] : queue.variables;
  const selected = sliceItems(items ?? [''], queue.slice);
  const total = selected.length * queue.count;
  const jobs: SubmittedJob[] = [];
  const first = reader.nextProcess;
  reader.nextProcess += total;
  for (let number = 0; number < Math.min(total, reader.mostJobs); number++) {
    const row = selected[Math.floor(number / queue.count)];
    if (row === undefined) break;
    const item = items === undefined ? {} : splitItem(row.item, variables);
    const step = number % queue.count;
    try {
      jobs.push(resolveJob(reader, { process: first + number, step, row: row.index, item }, place));
    } catch (error) {
      if (!(error instanceof CircularMacro)) throw error;
      reader.stop(`\`${error.message}\` refers to itself`, place);
      break;
    }
  }
  return { jobs, total };
}

interface Turn {
  process: number;
  step: number;
  row: number;
  item: Record<string, string>;
}

function resolveJob(reader: SubmitReader, turn: Turn, place: Place): SubmittedJob {
  const noteChance = (): void => {
    const message = 'a value is chosen by chance when the file is submitted; here one of them stands for all';
    if (!reader.submission.problems.some(({ kind }) => kind === 'chance'))
      reader.note('chance', message, place);
  };
  const scope = reader.scope(liveValues(turn, String(reader.world.cluster ?? 1)), noteChance);
  const commands: Record<string, string> = {};
  const attributes: Record<string, string> = {};
  // A queue variable may itself be a command, as in `queue arguments from list.txt`.
  const items = Object.entries(turn.item).map(([name, value]) => ({ name, value }));
  for (const { name, value } of [...reader.macros.all(), ...items]) {
    const attribute = /^MY\.(.+)$/i.exec(name)?.[1];
    const command = attribute === undefined ? canonicalCommand(name) : undefined;
    if (attribute !== undefined) attributes[attribute] = expandMacros(value, scope);
    else if (command !== undefined) commands[command] = expandMacros(value, scope);
  }
  return { process: turn.process, item: turn.item, commands, attributes };
}

function liveValues({ process, step, row, item }: Turn, cluster: string): Record<string, string> {
  const live: Record<string, string> = {
    cluster,
    clusterid: cluster,
    process: String(process),
    procid: String(process),
    jobid: `${cluster}.${process}`,
    step: String(step),
    row: String(row),
    itemindex: String(row),
  };
  for (const [name, value] of Object.entries(item)) live[name.toLowerCase()] = value;
  return live;
}

/** The items that a slice `[start:end:step]` selects, with their index among all of them. */
function sliceItems(items: readonly string[], slice: Slice | undefined): { index: number; item: string }[] {
  const { start = 0, end = items.length, step = 1 } = slice ?? {};
  const from = start < 0 ? start + items.length : start;
  const until = end < 0 ? end + items.length : end;
  return items
    .map((item, index) => ({ index, item }))
    .filter(
      ({ index }) => index >= from && index < until && (index - from) % Math.max(1, Math.abs(step)) === 0,
    );
}

/** Splits an item over its variables: at commas or blanks, or at the byte 0x1F where there is one; the last takes the rest. */
function splitItem(item: string, variables: readonly string[]): Record<string, string> {
  const separator = item.includes('\x1f') ? /\x1f/ : /[, \t]/;
  const trim = (text: string): string => text.replaceAll(/^[ \t]+|[ \t]+$/g, '');
  const values: Record<string, string> = {};
  let rest = trim(item);
  for (const [index, name] of variables.entries()) {
    const cut = index === variables.length - 1 ? -1 : rest.search(separator);
    values[name] = cut < 0 ? rest : trim(rest.slice(0, cut));
    rest = cut < 0 ? '' : trim(rest.slice(cut + 1));
  }
  return values;
}
