import type { Diagnosis } from './diagnosis.ts';
import { pluginDiagnosis } from './plugin-diagnosis.ts';
import { serverDiagnosis } from './server-diagnosis.ts';
import { namedUrl, short, type TransferWords, type Way } from './transfer-words.ts';

const noSpace = 28;
const quota = 122;

/**
 * Which way the bytes went, by the words first: until 2021 HTCondor gave output the code that input has today. The
 * access point's shadow sends input and receives output; the execution point's starter does the opposite.
 */
export function transferDirection(reason: string, code: number | undefined): 'input' | 'output' | undefined {
  if (/transfer input files failure|SHADOW\b.{0,80}failed to send|STARTER failed to receive/is.test(reason))
    return 'input';
  if (/transfer output files failure|STARTER\b.{0,80}failed to send|SHADOW failed to receive/is.test(reason))
    return 'output';
  if (code === 12) return 'output';
  if (code === 13) return 'input';
  // The words of the part of HTCondor that moves files, where no code comes with them.
  if (code !== undefined || !/\bFILETRANSFER\b/.test(reason)) return undefined;
  return /\boutput\b|\bupload/i.test(reason) ? 'output' : 'input';
}

/** Why input did not arrive. */
export function inputDiagnosis(words: TransferWords): Diagnosis {
  const { reason, subcode } = words;
  const file = namedFile(reason);
  const atAccessPoint =
    /at access point|SHADOW\b.{0,80}failed to send/is.test(reason) && namedUrl(reason) === undefined;
  if (atAccessPoint && (subcode === 2 || /errno 2\b|no such file/i.test(reason)))
    return {
      cause: 'input-missing',
      because: [`The access point was to send ${file ?? 'an input file'}, which is not there.`],
      outlook: 'lasting',
      advice: ['Put the file back, or correct its name.'],
      submitAdvice: [
        'Names in transfer_input_files are relative to initialdir (or to the folder of condor_submit).',
      ],
    };
  return pluginDiagnosis(words, 'input') ?? serverDiagnosis(words, 'input') ?? unnamed(words, 'input');
}

/** Why output did not come back. */
export function outputDiagnosis(words: TransferWords): Diagnosis {
  return (
    outputFileDiagnosis(words) ??
    pluginDiagnosis(words, 'output') ??
    serverDiagnosis(words, 'output') ??
    unnamed(words, 'output')
  );
}

function outputFileDiagnosis({ reason, subcode }: TransferWords): Diagnosis | undefined {
  const file = namedFile(reason);
  if (subcode === noSpace || subcode === quota || /no space left|quota exceeded/i.test(reason))
    return {
      cause: 'disk-full',
      because: [`The output could not be written on the access point: its disk or your quota is full.`],
      outlook: 'lasting',
      advice: ['Make room there. The job will run again from its start, or from its last checkpoint.'],
    };
  if (/(?:reading|error reading) from/i.test(reason) && /errno 2\b|no such file/i.test(reason))
    return {
      cause: 'output-missing',
      because: [`The program ended without writing ${file ?? 'a file'}, which it was to bring back.`],
      outlook: 'lasting',
      advice: [
        'Read what the program printed: it most likely failed, or it writes under another name or folder.',
      ],
      submitAdvice: [
        'Let the wrapper end with the program’s own exit code, so that a failure is seen as one.',
        'Name in transfer_output_files only what is always written.',
      ],
    };
  if (
    /failed to write|failed to receive|writing to file/i.test(reason) &&
    /errno/i.test(reason) &&
    namedUrl(reason) === undefined
  )
    return {
      cause: 'output-failed',
      because: [`The access point could not write ${file ?? 'the output'}${errnoWords(reason)}.`],
      outlook: 'lasting',
      advice: ['Check that the folder of the output exists there and is yours to write.'],
    };
  return undefined;
}

function unnamed({ reason, subcode }: TransferWords, way: Way): Diagnosis {
  const words = /details:\s*(.*)$/is.exec(reason)?.[1] ?? reason;
  const exit = subcode !== undefined && subcode >= 256 && subcode % 256 === 0 ? subcode / 256 : undefined;
  return {
    cause: way === 'input' ? 'transfer-failed' : 'output-failed',
    because: [
      `The ${way} could not be transferred${words.trim() === '' ? ', and no reason is given' : `: ${short(words)}`}`,
      ...(exit === undefined ? [] : [`The plugin ended with exit code ${exit}.`]),
    ],
    outlook: 'unclear',
    advice: ['Another try, elsewhere, may do; if it fails the same way, the words above name what to mend.'],
  };
}

/** The file a transfer could not read or write. */
function namedFile(reason: string): string | undefined {
  const file =
    /(?:reading from(?: file)?|(?:failed to write|writing) to file|sending file) (.+?)(?:: \(?errno|: max|:? \(errno|$)/is.exec(
      reason,
    )?.[1];
  return file === undefined ? undefined : short(file.replace(/^.*\/(?:dir_\d+)\/(?:scratch\/)?/, ''));
}

function errnoWords(reason: string): string {
  const said = /errno \d+\)\s*([^;|]+)/i.exec(reason)?.[1];
  return said === undefined ? '' : ` (${short(said)})`;
}
