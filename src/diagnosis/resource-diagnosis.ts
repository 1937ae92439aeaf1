import type { Diagnosis } from './diagnosis.ts';
import type { Account } from './account.ts';

type Said = Pick<Account, 'reason' | 'resources'>;

/** More memory used than asked for, with both figures where the log has them. */
export function memoryDiagnosis({ reason, resources }: Said, seenMb = 0): Diagnosis {
  const row = resources.find(({ name }) => name === 'Memory');
  const said =
    /limit of (\d+) megabytes\D+usage: (\d+) megabytes/i.exec(reason) ??
    /requested (\d+) ?MB, used (\d+) ?MB/i.exec(reason);
  const asked = row?.request ?? numberOf(said?.[1]);
  const used = Math.max(row?.usage ?? 0, numberOf(said?.[2]) ?? 0, seenMb);
  return {
    cause: 'memory-exceeded',
    because: [
      `It ran out of the memory it asked for${figures(asked, used, 'MB')}.`,
      ...(row?.allocated === undefined ? [] : [`The slot had ${row.allocated} MB.`]),
    ],
    outlook: 'lasting',
    advice: [
      used > 0 ? `Ask for more memory: at least ${roundUp(used * 1.25)} MB.` : 'Ask for more memory.',
      'The figure is what was seen before it was stopped: it may have wanted more.',
    ],
    submitAdvice: [
      'retry_request_memory (HTCondor 25.2 or newer) asks for more by itself after such an end.',
    ],
  };
}

/** More disk used than asked for, with both figures where the log has them. */
export function diskDiagnosis({ resources }: Said): Diagnosis {
  const row = resources.find(({ name }) => name === 'Disk');
  const megabytes = (kb: number | undefined): number | undefined =>
    kb === undefined ? undefined : Math.ceil(kb / 1000);
  return {
    cause: 'disk-exceeded',
    because: [
      `It used more disk than it asked for${figures(megabytes(row?.request), megabytes(row?.usage) ?? 0, 'MB')}.`,
    ],
    outlook: 'lasting',
    advice: [
      'Ask for more disk: archive and unpacked files lie there together, and the outputs and the image too.',
    ],
  };
}

/** A limit on the bytes that HTCondor itself moves. */
export function sizeDiagnosis(way: 'input' | 'output', reason: string): Diagnosis {
  const atSubmit = /\((\d+)\) is greater than \w+ \((\d+)\)/.exec(reason);
  const atRun = /max=(\d+) ?MB, this file=(\d+) ?MB/.exec(reason);
  const [size, limit] = atSubmit ? [atSubmit[1], atSubmit[2]] : [atRun?.[2], atRun?.[1]];
  const name = way === 'input' ? 'MAX_TRANSFER_INPUT_MB' : 'MAX_TRANSFER_OUTPUT_MB';
  const one = atRun === null ? '' : ' (the file that broke it; those before it count too)';
  const says =
    size === undefined || limit === undefined ? '' : `: ${size} MB${one}, and ${limit} MB are allowed`;
  return {
    cause: way === 'input' ? 'input-too-big' : 'output-too-big',
    because: [
      `The ${way} that HTCondor itself is to move is over the limit of the access point or the job (${name})${says}.`,
      'Splitting the files does not help: the limit is on their sum.',
    ],
    outlook: 'lasting',
    advice: [
      way === 'input'
        ? 'Put the data into the federation (updraft stage) and name it by URL: what plugins fetch does not count.'
        : 'Send large results to the federation, or bring back less.',
    ],
    submitAdvice: [`A job’s own ${name.toLowerCase()} overrides the default, where the staff allows it.`],
  };
}

/** A limit on time, with the limit. */
export function timeDiagnosis(code: number | undefined, reason: string): Diagnosis {
  const told = /duration of ((?:\d+[+:])?[\d:]+)/i.exec(reason)?.[1];
  // HTCondor leaves the hours out where there are none.
  const limit = told !== undefined && /^\d+:\d+$/.test(told) ? `${told} (minutes and seconds)` : told;
  const what = code === 46 ? 'on a slot, transfers included' : 'of running the program';
  return {
    cause: 'time-limit',
    because: [`It reached its time limit${limit === undefined ? '' : ` of ${limit}`} ${what}.`],
    outlook: 'lasting',
    advice: [
      'Save checkpoints and go on from them: then a limit, or a slow machine, costs minutes.',
      'Ask for more time if the pool has a longer category.',
    ],
    submitAdvice: [
      `The limit is ${code === 46 ? 'allowed_job_duration' : 'allowed_execute_duration'}; the job or the pool sets it.`,
    ],
  };
}

function figures(asked: number | undefined, used: number, unit: string): string {
  if (asked === undefined) return used > 0 ? `: ${used} ${unit} used` : '';
  return used > 0 ? `: ${asked} ${unit} asked for, ${used} ${unit} used` : `: ${asked} ${unit} asked for`;
}

const numberOf = (text: string | undefined): number | undefined =>
  text === undefined ? undefined : Number(text);
const roundUp = (megabytes: number): number => Math.ceil(megabytes / 128) * 128;
