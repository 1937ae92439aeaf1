import { appendFileSync } from 'node:fs';
import fc, { type IRawProperty, type Parameters, type RunDetails } from 'fast-check';

/** Stands in for fast-check: each property gets a slice of time and a random seed, and its inputs are counted. */
const slice = Number(process.env['UPDRAFT_FUZZ_SLICE_MS']);
// Kept: Bun replaces the module here too.
const { assert: assertReal, defaultReportMessage } = fc;
const log = process.env['UPDRAFT_FUZZ_LOG'] ?? '';

function report<Ts>(details: RunDetails<Ts>): void {
  const { user, system } = process.cpuUsage();
  const message = details.failed ? defaultReportMessage(details) : undefined;
  const line = { inputs: details.numRuns, skipped: details.numSkips, cpu: (user + system) / 1e6, message };
  appendFileSync(log, `${JSON.stringify(line)}\n`);
  if (message !== undefined) throw new Error(message);
}

/** With a seed of its own, a property tries the same inputs each time. */
function assertSliced<Ts>(property: IRawProperty<Ts>, { examples }: Parameters<Ts> = {}): unknown {
  const reporter = property.isAsync() ? { asyncReporter: ended } : { reporter: report };
  const settings = { numRuns: 1e9, interruptAfterTimeLimit: slice, ...(examples && { examples }) };
  return assertReal(property, { ...settings, ...reporter } as Parameters<Ts>);
}

const ended = async (details: RunDetails<unknown>): Promise<void> => report(await Promise.resolve(details));

// oxlint-disable-next-line import/no-default-export -- as fast-check is imported
export default { ...fc, assert: assertSliced };
