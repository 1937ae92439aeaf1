import type { Diagnosis } from './diagnosis.ts';
import { short, type TransferWords, type Way } from './transfer-words.ts';

interface PluginCase {
  /** What became of the plugin, after its name. */
  what: string;
  advice: string;
}

const tryIt =
  'Try the plugin by hand on one file (`-infile`, `-outfile`), and see that it writes its answer even when it fails.';
const elsewhere =
  'Ask for machines that have it (HasFileTransferPluginMethods), or send one with the job (transfer_plugins).';

/** By subcode. */
const cases: Partial<Record<number, PluginCase>> = {
  [-1001]: { what: 'is not installed on that machine', advice: elsewhere },
  [-1002]: { what: 'does not work on that machine, or is not allowed there', advice: elsewhere },
  [-1003]: { what: 'could not be started', advice: tryIt },
  62: {
    what: 'took longer than the pool allows and was ended',
    advice: 'Use a cache near the machine, or smaller objects.',
  },
};

/** A plugin that could not do its work at all; undefined where it could and told of a failure. */
export function pluginDiagnosis({ reason, subcode }: TransferWords, way: Way): Diagnosis | undefined {
  const plugin = /plugin ["']?([^\s"',;]+\.[^\s"',;]+|\S+_plugin)\b/i.exec(reason)?.[1]?.split('/').at(-1);
  const found = silence(reason, subcode, way) ?? (subcode === undefined ? undefined : cases[subcode]);
  if (found === undefined) return undefined;
  return {
    cause: 'plugin-failed',
    because: [`The file-transfer plugin${plugin === undefined ? '' : ` ${short(plugin)}`} ${found.what}.`],
    outlook: found.advice === tryIt && subcode === -1004 ? 'lasting' : 'unclear',
    advice: [found.advice],
  };
}

/** A plugin that ended without an answer. */
function silence(reason: string, subcode: number | undefined, way: Way): PluginCase | undefined {
  const signal = /exited \(signal (\d+)\)/.exec(reason)?.[1];
  if (signal !== undefined)
    return { what: `was ended by signal ${signal} before it could answer`, advice: tryIt };
  if (subcode !== -1004 && !/no valid classads in output/i.test(reason)) return undefined;
  const exit = /exit code (\d+)/.exec(reason)?.[1];
  const how = exit === undefined ? 'ended' : `ended with exit code ${exit}`;
  return { what: `${how} without saying what became of the ${way} files`, advice: tryIt };
}
