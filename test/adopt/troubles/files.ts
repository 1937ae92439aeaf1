import { filesNamed } from './files-named.ts';
import type { Fateful, Trouble } from './trouble.ts';

const fates: Fateful[] = [
  {
    rule: 'transfer-if-needed',
    does: 'cat a.txt',
    lines: [
      'should_transfer_files = IF_NEEDED',
      'transfer_input_files = a.txt',
      // The access point and the worker say that they share their files; they do not.
      '+FileSystemDomain = "spark-a001.chtc.example"',
      'requirements = GLIDEIN_ResourceName == "CHTC-Spark-CE1"',
    ],
    files: { 'a.txt': '' },
    before: 'cannot start',
  },
  {
    rule: 'input-missing',
    does: 'cat key.txt more.txt',
    lines: ['transfer_input_files = key.txt more.txt'],
    files: { 'key.txt': '', 'more.txt': '' },
    right: (lines, fix) =>
      lines.map((line) => line.replace('= key.txt more.txt', `= ${/by commas: (.*)$/.exec(fix)?.[1] ?? ''}`)),
    before: 'is held (13)',
  },
  {
    // Of the home that the pool's tools have.
    rule: 'tilde',
    does: 'test -s condor_config',
    lines: ['transfer_input_files = ~/condor_config'],
    before: 'is held (13)',
  },
  {
    rule: 'flat-path',
    lines: ['arguments = code/run.sh', 'transfer_input_files = code/run.sh'],
    files: { 'code/run.sh': '' },
    before: 'fails',
  },
];

const left: Trouble[] = [
  {
    rule: 'no-log',
    lacks: /^log =/,
    sees: filesNamed(/\.log$/),
    before: '',
    after: 'logs/N.log',
  },
  {
    rule: 'jobs-overwrite',
    lines: ['output = out.txt'],
    queue: 'queue 2',
    right: (lines, fix) => lines.map((line) => line.replace('out.txt', /such as (.*)$/.exec(fix)?.[1] ?? '')),
    sees: filesNamed(/^out/),
    before: 'out.txt',
    after: 'out.N.0.txt, out.N.1.txt',
  },
  {
    rule: 'results-overwrite',
    does: 'echo $(Process) > model.pt',
    lines: ['transfer_output_files = model.pt'],
    queue: 'queue 2',
    sees: filesNamed(/\.pt$/),
    before: 'model.pt',
    after: 'results/N.0-model.pt, results/N.1-model.pt',
  },
  {
    rule: 'no-outputs',
    does: 'echo $(Process) > model.pt; echo > left.txt',
    queue: 'queue 2',
    sees: filesNamed(/\.pt$|^left/),
    before: 'left.txt, model.pt',
    after: 'results/N.0.pt, results/N.1.pt',
  },
  {
    rule: 'fixed-names',
    lines: ['output = job.out'],
    times: 2,
    sees: filesNamed(/\.out$/),
    before: 'job.out',
    after: 'job.N.0.out, job.N.0.out',
  },
  {
    // What a failed attempt leaves replaces the results of an earlier one.
    rule: 'on-success-without-code',
    does: 'echo > model.pt; false',
    lines: ['when_to_transfer_output = ON_SUCCESS', 'transfer_output_files = model.pt'],
    sees: filesNamed(/\.pt$/),
    before: 'model.pt',
    after: '',
  },
];

export const aboutFiles: Trouble[] = [...fates, ...left];
