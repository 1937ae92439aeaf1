import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseSubmit } from './parse-submit.ts';
import type { SubmitFiles } from './submit-files.ts';
import type { ReaderContext } from './submit-reader.ts';

function read(text: string, context: Partial<ReaderContext> = {}) {
  const submission = parseSubmit(text, { file: 'job.sub', ...context });
  return {
    submission,
    jobs: submission.queues.flatMap(({ jobs }) => jobs),
    problems: submission.problems.map(({ kind, message, place }) => `${kind} ${place.line}: ${message}`),
  };
}

/** Files that are only these. */
const filesOf = (texts: Record<string, string>): SubmitFiles => ({
  read: (name) => texts[name],
  stat: (name) => ({ kind: name in texts ? 'file' : 'missing', bytes: 0 }),
  list: () => Object.keys(texts).map((name) => ({ name, isFolder: false })),
});

const argumentsOf = (text: string, context: Partial<ReaderContext> = {}): (string | undefined)[] =>
  read(text, context).jobs.map(({ commands }) => commands['arguments']);

test('names are case-insensitive, and a later value replaces an earlier one', () => {
  assert.deepEqual(argumentsOf('X = 1\nArguments = $(x)$(Y:none)\nx = 2\nqueue'), ['2none']);
});

test('the attribute that a command sets is another name for the command', () => {
  const [job] = read('TransferInputFiles = a\nWhenToTransferOutput = ON_EXIT\nstdout = o\nqueue').jobs;
  assert.deepEqual(job?.commands, {
    transfer_input_files: 'a',
    when_to_transfer_output: 'ON_EXIT',
    output: 'o',
  });
});

test('a value that refers to itself grows, as do += and its separators', () => {
  assert.deepEqual(argumentsOf('a = 1\na = $(a)2\na +,= 3\na +&&= 4\narguments = $(a)\nqueue'), [
    '12,3 && 4',
  ]);
});

test('macros that refer to each other in a circle are refused, not followed', () => {
  const { problems } = read('a = $(b)\nb = $(a)\narguments = $(a)\nqueue');
  assert.equal(problems.length, 1);
  assert.match(problems[0] ?? '', /^syntax 4: .* refers to itself$/);
});

test('functions of file names, numbers, lists and the environment are evaluated', () => {
  const text = [
    'f = data/in/some.tar.gz',
    'n = 7',
    'list = red, green, blue',
    'arguments = $Fn(f) $Fx(f) $Fp(f) $Fd(f) $Fdb(f) $Fnx(f) $Fqa(f) $Ff(f) $BASENAME(f,.tar.gz) $DIRNAME(f) ' +
      '$INT(n,%03d) $INT(2*7) $REAL(n,%.1f) $CHOICE(1,list) $CHOICE(0,a,b) $SUBSTR(f,0,4) $SUBSTR(f,-2) $STRING(n) $ENV(WHO) $ENV(NOBODY:x)',
    'queue',
  ].join('\n');
  assert.deepEqual(argumentsOf(text, { env: { WHO: 'me' }, cwd: '/home/me' }), [
    "some.tar .gz data/in/ in/ in some.tar.gz 'data/in/some.tar.gz' /home/me/data/in/some.tar.gz some data/in/ " +
      '007 14 7.0 green a data gz 7 me x',
  ]);
});

test('machine macros and a dollar sign that starts no macro stay unchanged', () => {
  assert.deepEqual(
    argumentsOf('arguments = $$(Arch) $$([TARGET.Cpus]) $HOME $5 $(DOLLAR)(x) $lower(x)\nqueue'),
    ['$$(Arch) $$([TARGET.Cpus]) $HOME $5 $(x) $lower(x)'],
  );
});

test('a random value is one of its choices, and is reported', () => {
  const { jobs, problems } = read('arguments = $RANDOM_CHOICE(a,b) $RANDOM_INTEGER(3,9)\nqueue 2');
  assert.deepEqual(
    jobs.map(({ commands }) => commands['arguments']),
    ['a 3', 'a 3'],
  );
  assert.equal(problems.filter((problem) => problem.startsWith('chance')).length, 1);
});

test('branches depend on booleans, definitions and the version', () => {
  const branch = (condition: string): (string | undefined)[] =>
    argumentsOf(
      `yes = true\nif ${condition}\narguments = a\nelif defined yes\narguments = b\nelse\narguments = c\nendif\nqueue`,
      {
        version: [25, 14, 1],
      },
    );
  assert.deepEqual(
    [
      '$(yes)',
      '0',
      '! true',
      '$(nothing)',
      'version >= 24.0',
      'version < 25.14',
      'version == 25.14',
      'defined nope',
    ].map((one) => branch(one)[0]),
    ['a', 'b', 'b', 'b', 'a', 'b', 'a', 'b'],
  );
});

test('an invalid condition is refused with its line; an if may have no endif, as for HTCondor', () => {
  assert.match(read('if $(a) == 3\nendif\nqueue').problems[0] ?? '', /^syntax 1: /);
  assert.deepEqual(read('if true\nqueue').problems, []);
  assert.match(read('else\nqueue').problems[0] ?? '', /without `if`/);
});

test('files are included, but commands are not run', () => {
  const files = filesOf({ 'more.inc': 'arguments = included' });
  assert.deepEqual(argumentsOf('include : more.inc\nqueue', { files }), ['included']);
  assert.match(read('include command : ./evil.sh\nqueue', { files }).problems[0] ?? '', /^not-run 1: /);
  assert.match(read('include : ./evil.sh |\nqueue', { files }).problems[0] ?? '', /^not-run 1: /);
  assert.match(read('include : gone.inc\nqueue', { files }).problems[0] ?? '', /^syntax 1: .*gone\.inc/);
  assert.deepEqual(read('include ifexist : gone.inc\nqueue', { files }).problems, []);
});

test('reading a file that includes itself ends', () => {
  const { problems } = read('include : self\nqueue', { files: filesOf({ self: 'include : self' }) });
  assert.match(problems[0] ?? '', /nested too deep/);
});

test('attributes are kept apart from commands, in either spelling', () => {
  const [job] = read('+Project = "x"\nMY.Other = 3 + $(Process)\nqueue').jobs;
  assert.deepEqual([job?.commands, job?.attributes], [{}, { Project: '"x"', Other: '3 + 0' }]);
});

test('a multi-line value ends at its tag', () => {
  assert.deepEqual(argumentsOf('arguments @=end\n one\n# not this\n two\n@end\nqueue'), ['one\ntwo']);
  assert.match(read('arguments @=end\none').problems[0] ?? '', /no closing line/);
});

const queued = (queue: string, context: Partial<ReaderContext> = {}): (string | undefined)[] =>
  argumentsOf(`arguments = $(Process):$(Step):$(ItemIndex):$(Item)$(a),$(b)\n${queue}`, context);

test('every form of the queue statement makes its jobs', () => {
  assert.deepEqual(queued('queue'), ['0:0:0:,']);
  assert.deepEqual(queued('Queue 1 + 1'), ['0:0:0:,', '1:1:0:,']);
  assert.deepEqual(queued('queue in (x y)'), ['0:0:0:x,', '1:0:1:x,'.replace('x', 'y')]);
  assert.deepEqual(queued('queue 2 a in x, y'), ['0:0:0:x,', '1:1:0:x,', '2:0:1:y,', '3:1:1:y,']);
  assert.deepEqual(queued('queue a,b from (\n 1 2 3\n# none\n 4,5\n)'), ['0:0:0:1,2 3', '1:0:1:4,5']);
  assert.deepEqual(queued('queue a b from list', { files: filesOf({ list: '1, 2\n\n3\n' }) }), [
    '0:0:0:1,2',
    '1:0:1:1,2',
    '2:0:2:3,',
  ]);
  assert.deepEqual(queued('queue a in [1:] (x y z)'), ['0:0:1:y,', '1:0:2:z,']);
  assert.deepEqual(queued('queue a in [::2] (\n x\n y z\n)'), ['0:0:0:x,', '1:0:2:z,']);
  assert.deepEqual(
    queued('queue a matching files *.dat', { files: filesOf({ 'q.dat': '', x: '', 'p.dat': '' }) }),
    ['0:0:0:p.dat,', '1:0:1:q.dat,'],
  );
});

test('items separated by the unit separator may contain blanks and commas', () => {
  assert.deepEqual(queued('queue a,b from (\n one, two\x1fthree four\n)'), ['0:0:0:one, two,three four']);
});

test('a queue variable may be a command', () => {
  assert.deepEqual(argumentsOf('queue arguments from (\n--rate 1\n--rate 2\n)'), ['--rate 1', '--rate 2']);
});

test('lists that come from a program are reported, and the program is not run', () => {
  const { submission, problems } = read('queue a from ./list.sh |');
  assert.equal(submission.queues[0]?.total, undefined);
  assert.match(problems[0] ?? '', /^not-run 1: .*list\.sh/);
});

test('a list that the command line names is unknown, not wrong', () => {
  assert.deepEqual(read('queue 2 a, b from $(list)').problems, [
    'list-unread 1: the list of items $(list) was not read',
  ]);
  assert.match(read('queue a from').problems.join(), /names no file/);
});

test('several queue statements keep earlier values and continue the numbering', () => {
  assert.deepEqual(argumentsOf('arguments = $(Process)-$(x)\nx = 1\nqueue 2\nx = 2\nqueue'), [
    '0-1',
    '1-1',
    '2-2',
  ]);
});

test('the first jobs of a big batch are resolved, and all are counted', () => {
  const { submission } = read('queue 2000000', { maxJobs: 3 });
  assert.deepEqual([submission.queues[0]?.total, submission.queues[0]?.jobs.length], [2_000_000, 3]);
});

test('invalid queue statements are refused with the reason', () => {
  for (const queue of ['queue many', 'queue -1', 'queue a from (\n1', 'queue a from'])
    assert.match(read(queue).problems[0] ?? '', /^syntax 1: /, queue);
});

test('a blank line of a list is a job with the values of the line before, and is named', () => {
  const { jobs, problems } = read('arguments = [$(x)]\nqueue x from (\n\na\n\n)\n');
  assert.deepEqual(
    jobs.map(({ commands }) => commands['arguments']),
    ['[]', '[a]', '[a]'],
  );
  const why = 'the list has 2 blank lines: each makes a job, with the values of the line before';
  assert.deepEqual(problems, [`blank-item 2: ${why}`]);
  assert.deepEqual(read('queue x in (\n\na,,b\n)\nqueue\n').problems, []);
});

test('any text is read without an exception', () => {
  for (const text of [
    '',
    '\\',
    '=\n',
    'a = $(',
    'a = $(((\nqueue',
    '\0\0',
    'queue (((',
    '$(x) = 1',
    'a b c',
    '@=',
    '+ = 3',
    'a = $F(\nqueue\n',
    'if\nif\n',
  ])
    assert.doesNotThrow(() => read(text), text);
});

test('$ENV(PWD) is the folder where condor_submit runs, not the one of this process', () => {
  const { queues } = parseSubmit('initialdir = $ENV(PWD)/x\nqueue\n', {
    file: 'job.sub',
    cwd: '/home/me/project',
    env: { PWD: '/elsewhere' },
  });
  assert.equal(queues[0]?.jobs[0]?.commands['initialdir'], '/home/me/project/x');
});

test('a byte order mark is an error, and what follows it is read; UTF-16 is named as such', () => {
  const marked = read('\ufeffexecutable = a\nqueue 2\n');
  assert.match(
    marked.problems.join('\n'),
    /^byte-order-mark 1: an invisible byte order mark begins the file/,
  );
  assert.equal(marked.jobs[0]?.commands['executable'], 'a');
  const text = Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from('executable = a\nqueue\n', 'utf16le')]);
  const wide = read(text.toString('utf8'));
  assert.deepEqual(wide.problems, ['utf-16 1: the file is in UTF-16, which HTCondor cannot read']);
  assert.deepEqual(wide.jobs, []);
});
