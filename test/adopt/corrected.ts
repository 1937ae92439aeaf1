import assert from 'node:assert/strict';
import type { PastUsage } from '../../src/adopt/submit-facts.ts';
import type { ProfileName } from '../../src/job/spec.ts';
import { linesIn, withLines } from './advised-lines.ts';

/** A file that a rule finds something in, and the same file once the advice is followed. */
export interface Corrected {
  /** The lines after `executable = train.sh`; `queue` follows. */
  wrong: string[];
  /** Lines that the advice says to remove. */
  without?: RegExp;
  /** How to follow advice that is no complete line; default: its lines instead of those for the same names. */
  right?: (lines: string[], fix: string) => string[];
  pool?: ProfileName;
  usage?: PastUsage;
  /** What HTCondor must have made of it, in the job's ad. */
  ad?: Record<string, RegExp>;
}

const instead = (...advised: string[]): Pick<Corrected, 'right'> => ({
  right: (lines) => withLines(lines, advised),
});

/** By rule. */
export const corrected: Record<string, Corrected[]> = {
  'replaced-command': [
    {
      wrong: ['requirements = Mips > 1', 'requirements = KFlops > 1'],
      ad: { requirements: /Mips > 1.*KFlops > 1/ },
    },
    {
      wrong: ['request_gpus = 1', 'requirements = CUDACapability >= 8.6', 'requirements = KFlops > 1'],
      without: /^requirements/,
      ad: { requirements: /KFlops > 1(?!.*CUDA)/, gpusmincapability: /^8\.6/ },
    },
  ],
  'no-queue': [{ wrong: [], right: (lines) => [...lines, 'queue'] }],
  'bad-quoting': [
    { wrong: ['arguments = "say "hello""'] },
    { wrong: [`environment = "A='open"`], ad: { environment: /A=1 B=two' 'words/ } },
  ],
  'several-queues': [
    {
      wrong: ['arguments = $(n)', 'n = 1', 'queue', 'n = 2', 'queue'],
      right: ([program = '', words = '']) => [program, words, 'queue n from (', '1', '2', ')'],
    },
  ],
  'unused-name': [
    {
      wrong: ['transfer_ouput_files = model.pt'],
      without: /ouput/,
      right: (lines, fix) => withLines(lines, [`${/write `(\w+)`/.exec(fix)?.[1] ?? ''} = model.pt`]),
      ad: { transferoutput: /^"model\.pt"$/ },
    },
    {
      wrong: ['is_resumable = true'],
      without: /^is_resumable/,
      ...instead('+is_resumable = true'),
      ad: { is_resumable: /^true$/ },
    },
    {
      wrong: ['Colour = "green"'],
      without: /^Colour/,
      ...instead('+Colour = "green"'),
      ad: { colour: /^"green"$/ },
    },
  ],
  'undefined-macro': [
    {
      wrong: ['arguments = --tag $(tag)'],
      right: (lines, fix) =>
        withLines(lines, [`arguments = --tag ${/`(\$\(tag:value\))`/.exec(fix)?.[1] ?? ''}`]),
      ad: { args: /--tag value/ },
    },
    {
      wrong: ['arguments = --tag $ENV(NO_TAG)'],
      right: (lines, fix) =>
        withLines(lines, [`arguments = --tag ${/`(\$ENV\(NO_TAG:value\))`/.exec(fix)?.[1] ?? ''}`]),
      ad: { args: /--tag value/ },
    },
  ],
  'comment-in-continuation': [
    {
      wrong: ['arguments = one \\', '  # two words'],
      ...instead('# two words', 'arguments = one'),
      ad: { args: /^"one"$/ },
    },
  ],
  'getenv-all': [
    {
      wrong: ['getenv = true'],
      right: (lines, fix) => withLines(lines, [/`(getenv = .*?)`/.exec(fix)?.[1] ?? '']),
    },
  ],
  'unquoted-attribute': [
    { wrong: ['+WantFlocking = maybe'], ad: { wantflocking: /^"maybe"$/ } },
    { wrong: ["+ProjectName = 'UNL'"], ad: { projectname: /^"UNL"$/ } },
  ],
  'bad-value': [
    { wrong: ['universe = standard'], ...instead('universe = vanilla') },
    {
      wrong: ['universe = standard'],
      ...instead('universe = container', 'container_image = docker://a/b:1'),
    },
    ...['FOO', '64'].map((word) => ({
      wrong: [`kill_sig = ${word}`],
      ...instead('kill_sig = SIGTERM'),
    })),
    ...['usr1', '"SIGTERM"'].map((word) => ({
      wrong: [`kill_sig = ${word}`],
      ad: { killsig: /^"SIG(TERM|USR1)"$/ },
    })),
    // What is meant is clear.
    { wrong: ['universe = "vanilla"'], ad: { jobuniverse: /^5$/ } },
    { wrong: ['should_transfer_files = "NO"'], ad: { shouldtransferfiles: /^"NO"$/ } },
    { wrong: ['notification = "never"'], ad: { jobnotification: /^0$/ } },
    { wrong: ['max_retries = "3"'], ad: { jobmaxretries: /^3$/ } },
    { wrong: ['max_retries = 1,000'], ad: { jobmaxretries: /^1000$/ } },
    { wrong: ['priority = 3;'], ad: { jobprio: /^3$/ } },
    { wrong: ['nice_user = yes'], ad: { niceuser: /^(true)?$/ } },
    { wrong: ['universe = container'], ad: { containerimage: /docker:/ } },
    { wrong: ['universe = docker'], ad: { dockerimage: /pytorch/ } },
    { wrong: ['universe = parallel'], ad: { maxhosts: /^2$/ } },
    { wrong: ['universe = grid'], ad: { gridresource: /slurm/ } },
    ...['YES', 'NO', 'IF_NEEDED'].map((word): Corrected => ({
      wrong: ['should_transfer_files = MAYBE'],
      right: (lines, fix) => {
        assert.ok(fix.includes(word), fix);
        return withLines(lines, [`should_transfer_files = ${word}`]);
      },
    })),
  ],
  'comment-in-value': [
    { wrong: ['output = out.1 # one per job'], ad: { out: /^"out\.1"$/ } },
    { wrong: ['max_retries = 3 # three'], ad: { jobmaxretries: /^3$/ } },
    { wrong: ['request_cpus = 4 # two for loading'], ad: { requestcpus: /^4$/ } },
    { wrong: ['initialdir = /tmp # x'], ad: { iwd: /^"\/tmp"$/ } },
    { wrong: ['transfer_input_files = key.txt # the input'], ad: { transferinput: /^"key\.txt"$/ } },
    { wrong: ['transfer_output_files = model.pt # x'], ad: { transferoutput: /^"model\.pt"$/ } },
    { wrong: ['arguments = "a #1" # x'], ad: { arguments: /^"a #1"$/ } },
    { wrong: ['+Colour = "#f00" # red'], ad: { colour: /^"#f00"$/ } },
  ],
  'command-as-attribute': [
    { wrong: ['+request_gpus = 1'], without: /^\+request/, ad: { requestgpus: /^1$/ } },
    { wrong: ['+request_memory = "4GB"'], without: /^\+request/, ad: { requestmemory: /^4096$/ } },
    { wrong: ['+container_image = "key.sif"'], without: /^\+cont/, ad: { containerimage: /^"key\.sif"$/ } },
  ],
  'environment-secret': [
    {
      wrong: ['environment = "WANDB_API_KEY=0123456789abcdef"'],
      without: /^environment/,
      ...instead('transfer_input_files = key.txt', 'should_transfer_files = YES'),
      ad: { environment: /^(?!.*0123456789abcdef)/ },
    },
  ],
  'bad-expression': [
    { wrong: ['request_memory = 8 gigs'], ad: { requestmemory: /^8192$/ } },
    { wrong: ['request_memory = 16 GB per node'], ad: { requestmemory: /^16384$/ } },
    { wrong: ['request_memory = 4 GB.'], ad: { requestmemory: /^4096$/ } },
    { wrong: ['request_memory = 16 per node'], ad: { requestmemory: /^4096$/ } },
    { wrong: ['+RequestDisk = 20GB'], without: /^\+Request/, ad: { requestdisk: /^20971520$/ } },
    { wrong: ['+WantGPULab = True;'], ad: { wantgpulab: /^true$/i } },
    { wrong: ['cpus = 4 # two', 'request_cpus = $(cpus)'], without: /^cpus/, ad: { requestcpus: /^4$/ } },
    { wrong: ['+SingularityBind = /data:/data'], ad: { singularitybind: /^"\/data:\/data"$/ } },
    { wrong: ['periodic_hold_reason = too long'] },
  ],
  'odd-amount': [
    { wrong: ['request_disk = "8 GB"'], ad: { requestdisk: /^8388608$/ } },
    { wrong: ['request_cpus = "4"'], ad: { requestcpus: /^4$/ } },
    { wrong: ['request_gpus = yes'], ad: { requestgpus: /^1$/ } },
    { wrong: [String.raw`requirements = "Name == \"a\""`], ad: { requirements: /^\(Name == "a"\)/ } },
    { wrong: ['request_memory = 1,500 MB'], ad: { requestmemory: /^1500$/ } },
  ],
  'log-in-tmp': [
    ...['/tmp', '/scratch/me', '/lustre/x', '/global/scratch/me', '/nfs/scratch', '/staging/me'].map(
      (folder) => ({
        wrong: [`log = ${folder}/job.log`],
        ad: { userlog: /^"logs\/\d+\.log"$|[^h]\/logs\/\d+\.log"$/ },
      }),
    ),
    {
      wrong: ['initialdir = /tmp', 'log = job.log'],
      ad: { userlog: /^"\/home\/tester\/logs\/\d+\.log"$/ },
    },
  ],
  'fixed-names': [{ wrong: ['output = job.out'], ad: { out: /"job\.\d+\.0\.out"/ } }],
  'executable-missing': [
    {
      wrong: [],
      right: (lines, fix) => {
        assert.deepEqual(linesIn(fix), ['executable = train.sh']);
        return withLines(lines, linesIn(fix));
      },
    },
  ],
  'input-missing': [
    {
      wrong: ['transfer_input_files = key.txt more.txt'],
      right: (lines, fix) =>
        withLines(lines, [`transfer_input_files = ${/by commas: (.*)$/.exec(fix)?.[1] ?? ''}`]),
      ad: { transferinput: /^"key\.txt, ?more\.txt"$/ },
    },
  ],
  'input-too-large': [
    {
      wrong: ['transfer_input_files = large.tar', 'max_transfer_input_mb = 100', 'request_disk = 9 GB'],
      ...instead('transfer_input_files = osdf:///demo/large.tar'),
    },
  ],
  'input-large': [
    {
      wrong: ['transfer_input_files = large.tar', 'request_disk = 9 GB'],
      ...instead('transfer_input_files = osdf:///demo/large.tar'),
    },
  ],
  'disk-below-input': [
    {
      wrong: ['transfer_input_files = large.tar', 'request_disk = 1 GB'],
      ad: { requestdisk: /^[2-9]\d{6}$/ },
    },
  ],
  'transfer-off': [
    { wrong: ['should_transfer_files = NO', 'transfer_input_files = key.txt'] },
    {
      wrong: ['should_transfer_files = NO', 'when_to_transfer_output = ON_EXIT'],
      ad: { whentotransferoutput: /^"ON_EXIT"$/ },
    },
  ],
  'transfer-if-needed': [
    { wrong: ['should_transfer_files = IF_NEEDED'], ad: { shouldtransferfiles: /^"YES"$/ } },
  ],
  'on-success-without-code': [
    {
      wrong: ['when_to_transfer_output = ON_SUCCESS', 'should_transfer_files = YES'],
      ad: { whentotransferoutput: /ON_SUCCESS/, jobmaxretries: /^0$/ },
    },
  ],
  'no-units': [
    { wrong: ['request_memory = 4'], ad: { requestmemory: /^4096$/ } },
    {
      // The amount is the same.
      wrong: ['request_disk = 5242880'],
      right: (lines, fix) => {
        assert.deepEqual(linesIn(fix), ['request_disk = 5 GB']);
        return withLines(lines, linesIn(fix));
      },
    },
  ],
  'odd-resource': [
    { wrong: ['request_memry = 2 GB'], without: /memry/, ad: { requestmemory: /^2048$/ } },
    { wrong: ['request_gpu = 1'], without: /^request_gpu /, ad: { requestgpus: /^1$/ } },
  ],
  'below-use': [
    {
      wrong: ['request_memory = 3 GB', 'request_disk = 1 GB'],
      usage: { log: 'earlier.log', memoryMegabytes: 4100, diskKilobytes: 2_000_000 },
      ad: { requestmemory: /^[5-9]\d{3}$/, requestdisk: /^[2-9]\d{6}$/ },
    },
  ],
  'gpu-any': [{ wrong: ['request_gpus = 1'], ad: { requiregpus: /7\.0.*12\.1|Capability/ } }],
  'gpu-condition-ignored': [{ wrong: ['gpus_minimum_memory = 8 GB'], ad: { requestgpus: /^1$/ } }],
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
    { wrong: ['request_gpus = 80'], ad: { requestgpus: /^1$/ } },
    { wrong: ['request_gpus = 1', 'gpus_minimum_capability = 80'], ad: { gpusmincapability: /^8\.0/ } },
    { wrong: ['request_gpus = 1', 'gpus_minimum_runtime = 535'], ad: { gpusminruntime: /^12010$/ } },
    { wrong: ['request_gpus = 1', 'gpus_minimum_memory = 9000 GB'], ad: { gpusminmemory: /^16384$/ } },
    { wrong: ['request_gpus = 1', 'gpus_minimum_memory = 16'], ad: { gpusminmemory: /^16384$/ } },
    {
      wrong: ['request_gpus = 1', 'gpus_minimum_capability = 8', 'gpus_maximum_capability = 7'],
      without: /^gpus_maximum/,
    },
  ],
  'duration-category': [
    { wrong: [], pool: 'ospool', ad: { jobdurationcategory: /^"Medium"$/ } },
    {
      wrong: ['+JobDurationCategory = "Short"'],
      pool: 'ospool',
      ad: { jobdurationcategory: /^"Medium"$/ },
    },
  ],
  'gpu-lines': [
    { wrong: ['request_gpus = 1'], pool: 'chtc', ad: { wantgpulab: /^true$/ } },
    {
      wrong: ['request_gpus = 1', '+WantGPULab = true', '+GPUJobLength = "weeks"'],
      pool: 'chtc',
      ad: { gpujoblength: /^"short"$/ },
    },
  ],
  'streamed-output': [
    {
      wrong: ['output = out.$(Cluster)', 'stream_output = true'],
      without: /^stream/,
      ad: { streamout: /^(false)?$/ },
    },
  ],
  'no-image': [
    { wrong: ['container_image = a/b:1'], ad: { containerimage: /docker:\/\/a\/b:1/ } },
    { wrong: ['container_image = docker:a/b:1'], ad: { containerimage: /^"docker:\/\/a\/b:1"/ } },
    { wrong: ['container_image = "docker://a/b:1"'], ad: { containerimage: /^"docker:\/\/a\/b:1"/ } },
    { wrong: ['container_image = "key.sif"'], ad: { containerimage: /^"key\.sif"$/ } },
    {
      wrong: ['container_image = library://a/b:1'],
      right: (lines, fix) => {
        assert.deepEqual(linesIn(fix), ['container_image = image.sif']);
        return withLines(lines, ['container_image = key.sif']);
      },
    },
    // A file stays a file.
    {
      wrong: ['container_image = gone.sif'],
      right: (lines, fix) => {
        assert.doesNotMatch(fix, /docker/);
        return withLines(lines, ['container_image = key.sif']);
      },
    },
  ],
  'two-images': [
    {
      wrong: ['+SingularityImage = "docker://a/b:1"', 'container_image = docker://a/b:1'],
      without: /^\+Sing/,
      ad: { singularityimage: /^$/ },
    },
    { wrong: ['container_image = docker://a/b:1', 'docker_image = a/b:1'], without: /^docker_image/ },
    { wrong: ['container_image = docker://a/b:1', 'universe = docker'], without: /^universe/ },
  ],
  'singularity-image': [
    {
      wrong: ['+SingularityImage = "docker://a/b:1"'],
      without: /^\+Sing/,
      ad: { containerimage: /docker:\/\/a\/b:1/ },
    },
  ],
  'docker-universe': [
    {
      wrong: ['universe = docker', 'docker_image = a/b:1'],
      without: /^(universe|docker_image)/,
      ad: { containerimage: /docker:\/\/a\/b:1/ },
    },
    {
      wrong: ['docker_image = "a/b:1"'],
      without: /^docker_image/,
      ad: { containerimage: /^"docker:\/\/a\/b:1"/ },
    },
  ],
  'mutable-image': [
    { wrong: ['container_image = docker://a/b'], ...instead('container_image = docker://a/b:1.0') },
    {
      wrong: ['container_image = docker://a/b:latest'],
      ...instead(`container_image = docker://a/b@sha256:${'0'.repeat(64)}`),
    },
  ],
};
