import { firstFew, printable } from '../base/printable.ts';
import { shellQuote } from '../base/shell-quote.ts';
import { latin1Text } from '../eventlog/log-text.ts';
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
  if (text.trim() === '[' || /^\s*(?:<a n="ClusterId">)|^\s*\d+\.\d+\s.*\s\d+\+\d\d:\d\d:\d\d\s/m.test(text))
    return new Fault(
      'file-invalid',
      `${logs} has jobs as condor_q or condor_history prints them, and no events`,
      {
        about: logs,
        fix: 'print it in the form that Updraft reads: condor_q -l | updraft why -, or condor_history -l',
      },
    );
  const [, dag] = /^(.*)\.dagman\.out$/.exec(only) ?? [];
  const isScript = names.every((name) => /\.(?:py|sh|ipynb)$/.test(name));
  return new Fault('file-invalid', `no HTCondor event in ${logs}`, {
    about: logs,
    fix:
      dag !== undefined
        ? `name the DAG file, ${printable(dag)}: what DAGMan wrote beside it is read too`
        : isScript
          ? 'a script is checked with the submit file that runs it: name that, or choose both on the page'
          : only === 'stdin'
            ? 'give it the event log of the jobs (`log` in their submit file); a hold reason: updraft why --reason -'
            : 'name the event log of the jobs (`log` in their submit file), not their output',
  });
}

const maxNamed = 8;
