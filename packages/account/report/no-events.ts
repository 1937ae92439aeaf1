import { firstFew, printable, shellQuote } from '@updraft/base';
import { latin1Text } from '@updraft/htcondor/eventlog';
import { Fault } from '../fault/fault.ts';
import { isJobAds } from '../history/read-ads.ts';

/** What files without an event are, as far as their first bytes show it. */
export function noEventsFault(names: readonly string[], beginning: Uint8Array): Fault {
  const logs = firstFew(names.map(printable), maxNamed);
  const [only = '', ...more] = names;
  const file = more.length === 0 ? shellQuote(printable(only)) : 'FILE';
  const text = latin1Text(beginning, 0, beginning.length);
  if (isJobAds(text))
    return new Fault('file-invalid', `${logs} has ads of jobs, as condor_q -l prints them, and no events`, {
      about: logs,
      fix: `to explain the jobs: updraft why ${file}; a report needs their event log (\`log\` in their submit file)`,
    });
  if (
    /^\s*[[{][^]*"ClusterId"\s*:/.test(text) ||
    /^\s*(?:<a n="ClusterId">)|^\s*\d+\.\d+\s.*\s\d+\+\d\d:\d\d:\d\d\s/m.test(text)
  )
    return new Fault(
      'file-invalid',
      `${logs} has jobs as condor_q or condor_history prints them, and no events`,
      {
        about: logs,
        fix: 'print it in the form that Updraft reads: condor_q -l | updraft why -, or condor_history -l',
      },
    );
  return new Fault('file-invalid', `no HTCondor event in ${logs}`, { about: logs, fix: fixOf(names) });
}

/** What to use instead, as far as names show what the files are. */
function fixOf(names: readonly string[]): string {
  const areAll = (pattern: RegExp): boolean => names.every((name) => pattern.test(name));
  if (areAll(/\.(?:py|sh|ipynb)$/))
    return 'a script is checked with the submit file that runs it: name that, or choose both on the page';
  if (areAll(/\.(?:zip|(?:sub|dag)\.gz)$/i)) return 'unpack it first';
  const [, dag] = /^(.*)\.(?:dagman\.out|rescue\d{3})$/.exec(names[0] ?? '') ?? [];
  if (dag !== undefined)
    return `use the DAG file, ${printable(dag)}: what DAGMan wrote beside it is read too`;
  return areAll(/^stdin$/)
    ? 'give it the event log of the jobs (`log` in their submit file); a hold reason: updraft why --reason -'
    : 'use the event log of the jobs (`log` in their submit file), not their output';
}

const maxNamed = 8;
