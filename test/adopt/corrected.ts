import assert from 'node:assert/strict';
import { withLines } from './advised-lines.ts';

/** A file that a rule finds something in, and the same file once the advice is followed. */
export interface Corrected {
  /** The lines after `executable = train.sh`; `queue` follows. */
  wrong: string[];
  /** Lines that the advice says to remove. */
  without?: RegExp;
  /** How to follow advice that is no complete line; default: its lines instead of those for the same names. */
  right?: (lines: string[], fix: string) => string[];
  /** What `condor_submit` says about the wrong file, and what the finding says, with its fix. */
  says?: { condor: RegExp; finding: RegExp };
  /** What HTCondor must have made of it, in the job's ad. */
  ad?: Record<string, RegExp>;
}

const instead = (...advised: string[]): Pick<Corrected, 'right'> => ({
  right: (lines) => withLines(lines, advised),
});

/** By rule: spellings of troubles that jobs on a pool prove. */
export const corrected: Record<string, Corrected[]> = {
  'replaced-command': [
    {
      wrong: ['request_gpus = 1', 'requirements = CUDACapability >= 8.6', 'requirements = KFlops > 1'],
      without: /^requirements/,
      ad: { requirements: /KFlops > 1(?!.*CUDA)/, gpusmincapability: /^8\.6/ },
    },
  ],
  'unquoted-attribute': [{ wrong: ["+ProjectName = 'UNL'"], ad: { projectname: /^"UNL"$/ } }],
  'comment-in-value': [
    { wrong: ['max_retries = 3 # three'], ad: { jobmaxretries: /^3$/ } },
    { wrong: ['initialdir = /tmp # x'], ad: { iwd: /^"\/tmp"$/ } },
    { wrong: ['transfer_input_files = key.sif # the input'], ad: { transferinput: /^"key\.sif"$/ } },
    { wrong: ['transfer_output_files = model.pt # x'], ad: { transferoutput: /^"model\.pt"$/ } },
    { wrong: ['arguments = "a #1" # x'], ad: { arguments: /^"a #1"$/ } },
    { wrong: ['+Colour = "#f00" # red'], ad: { colour: /^"#f00"$/ } },
  ],
  'command-as-attribute': [
    { wrong: ['+request_memory = "4GB"'], without: /^\+request/, ad: { requestmemory: /^4096$/ } },
    { wrong: ['+container_image = "key.sif"'], without: /^\+cont/, ad: { containerimage: /^"key\.sif"$/ } },
  ],
  'odd-amount': [
    { wrong: ['request_cpus = "4"'], ad: { requestcpus: /^4$/ } },
    { wrong: ['request_gpus = yes'], ad: { requestgpus: /^1$/ } },
    { wrong: [String.raw`requirements = "Name == \"a\""`], ad: { requirements: /^\(Name == "a"\)/ } },
  ],
  'transfer-off': [
    {
      wrong: ['should_transfer_files = NO', 'when_to_transfer_output = ON_EXIT'],
      ad: { whentotransferoutput: /^"ON_EXIT"$/ },
    },
  ],
  'docker-universe': [
    {
      wrong: ['docker_image = "a/b:1"'],
      without: /^docker_image/,
      ad: { containerimage: /^"docker:\/\/a\/b:1"/ },
    },
  ],
  'odd-resource': [
    {
      wrong: ['request_memry = 2048'],
      without: /memry/,
      says: { condor: /^$/, finding: /a resource named "memry": the job waits forever/ },
      ad: { requestmemory: /^2048$/ },
    },
    ...['request_gpu = 1', 'request_gpu = 1 GB'].map((line) => ({
      wrong: [line],
      without: /^request_gpu /,
      says: { condor: /did you mean request_gpus\?/, finding: /HTCondor warns about it, and ignores it/ },
      ...instead('request_gpus = 1'),
      ad: { requestgpus: /^1$/ },
    })),
  ],
  'unused-name': [
    {
      wrong: ['transfer_ouput_files = model.pt'],
      without: /ouput/,
      right: (lines, fix) => withLines(lines, [`${/write `(\w+)`/.exec(fix)?.[1] ?? ''} = model.pt`]),
      ad: { transferoutput: /^"model\.pt"$/ },
    },
    {
      wrong: ['Colour = "green"'],
      without: /^Colour/,
      ...instead('+Colour = "green"'),
      ad: { colour: /^"green"$/ },
    },
  ],
  'log-in-tmp': [
    ...['/tmp', '/scratch/me', '/lustre/x', '/global/scratch/me', '/nfs/scratch', '/staging/me'].map(
      (folder) => ({
        wrong: [`log = ${folder}/job.log`],
        ad: { userlog: /^"logs\/\d+\.log"$|(?<!\/scratch)\/logs\/\d+\.log"$/ },
      }),
    ),
    {
      wrong: ['initialdir = /tmp', 'log = job.log'],
      ad: { userlog: /^"\/home\/tester\/logs\/\d+\.log"$/ },
    },
  ],
  tilde: [{ wrong: ['output = ~/job.$(Cluster).out'], ad: { out: /^"\/home\/tester\/job/ } }],
  'old-gpu-attributes': [
    {
      wrong: [
        'request_gpus = 1',
        'requirements = CUDACapability >= 7 && CUDADeviceName == "A100" && CUDAGlobalMemoryMb > 1 && CUDADriverVersion > 1',
      ],
      without: /^requirements/,
      ad: {
        requiregpus: /(?=.*DeviceName == "A100")(?=.*GlobalMemoryMb > 1\b)(?=.*DriverVersion > 1\b)/,
        gpusmincapability: /^7/,
      },
    },
    {
      wrong: [
        'request_gpus = 1',
        'require_gpus = ECCEnabled || ClockMhz > 5',
        'requirements = (HasCHTCStaging == true) && (CUDACapability >= 8.0) && (CUDAGlobalMemoryMb >= 40000) && (CUDADeviceName == "a" || regexp("b", TARGET.CUDADeviceName))',
      ],
      ad: {
        requirements: /HasCHTCStaging == true(?!.*CUDA)/,
        requiregpus:
          /(?=.*\(ECCEnabled \|\| ClockMhz > 5\) && \(DeviceName == "a" \|\| regexp\("b", ?DeviceName\)\))/,
        gpusmincapability: /^8\.0/,
        gpusminmemory: /^40000$/,
      },
    },
    {
      wrong: ['request_gpus = 1', 'require_gpus = CUDADeviceName == "CUDADeviceName" && CUDACapability < 9'],
      ad: { requiregpus: /^\(?DeviceName == "CUDADeviceName" && Capability < 9/ },
    },
    // That is what a request asks for.
    {
      wrong: ['requirements = CUDADeviceName =!= UNDEFINED'],
      without: /^requirements/,
      ad: { requestgpus: /^1$/ },
    },
  ],
  'gpu-nowhere': [
    { wrong: ['request_gpus = 1', 'gpus_minimum_runtime = 535'], ad: { gpusminruntime: /^12010$/ } },
    { wrong: ['request_gpus = 1', 'gpus_minimum_memory = 9000 GB'], ad: { gpusminmemory: /^16384$/ } },
    { wrong: ['request_gpus = 1', 'gpus_minimum_memory = 16'], ad: { gpusminmemory: /^16384$/ } },
    {
      wrong: ['request_gpus = 1', 'gpus_minimum_capability = 8', 'gpus_maximum_capability = 7'],
      without: /^gpus_maximum/,
    },
  ],
  'no-image': [
    { wrong: ['container_image = "docker://a/b:1"'], ad: { containerimage: /^"docker:\/\/a\/b:1"/ } },
    { wrong: ['container_image = "key.sif"'], ad: { containerimage: /^"key\.sif"$/ } },
    // A file stays a file.
    {
      wrong: ['container_image = gone.sif'],
      right: (lines, fix) => {
        assert.doesNotMatch(fix, /docker/);
        return withLines(lines, ['container_image = key.sif']);
      },
    },
  ],
};
