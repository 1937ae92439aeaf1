import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeCode, someFacts } from '../../../test/check/facts.ts';
import { applyRules } from '@updraft/base';
import type { PlanLimits } from '../facts.ts';
import { resultRules, scriptFindings, timeRules } from './results.ts';
import { parameterRules } from './scripts.ts';

const ospool: PlanLimits = {
  title: 'the OSPool',
  wantsProject: true,
  durations: [
    { name: 'Medium', seconds: 36_000 },
    { name: 'Long', seconds: 72_000 },
  ],
};
const rules = [...timeRules, ...resultRules];

function found(text: string, code = 'save("model.pt")', limits?: PlanLimits) {
  return applyRules(rules, { ...someFacts(text, { 'train.py': code }), limits });
}
const names = (...args: Parameters<typeof found>): string[] => found(...args).map(({ rule }) => rule);
const time = (value: string): string => `checkpoint = "ckpt"\n[resources]\ntime = "${value}"\n`;

test('a job longer than the longest class is an error; the classes it fits are not', () => {
  const [only] = found(time('21h'), 'ckpt model.pt', ospool);
  assert.deepEqual([only?.rule, only?.level, only?.line], ['duration', 'error', 7]);
  assert.match(only?.message ?? '', /time = "21h" is longer than the limit of 20h on the OSPool/);
  assert.deepEqual(names(time('19h'), 'ckpt model.pt', ospool), []);
});

test('without a time the shortest class applies, which is a warning; without classes there is none', () => {
  const [only] = found('', undefined, ospool);
  assert.deepEqual([only?.rule, only?.level], ['no-time', 'warning']);
  assert.match(only?.message ?? '', /"Medium", for jobs up to 10h \(there is also "Long" up to 20h\)/);
  assert.deepEqual(names(''), []);
});

test('a long job without a checkpoint is a warning, a short one is not', () => {
  assert.deepEqual(names('[resources]\ntime = "3h"\n'), ['no-checkpoint']);
  assert.deepEqual(names('[resources]\ntime = "1h"\n'), []);
});

test('a checkpoint folder that no code mentions is a warning', () => {
  assert.deepEqual(names(time('3h')), ['checkpoint-unused']);
  assert.deepEqual(names(time('3h'), 'model.pt os.environ["UPDRAFT_CHECKPOINT"]'), []);
  assert.deepEqual(names(time('3h'), 'model.pt torch.save(x, "ckpt/last")'), []);
});

test('the folder may be in the command, and code that is not sent is not judged', () => {
  const own = (command: string) =>
    `name = "x"\n[train]\ncommand = "${command}"\noutputs = ["model.pt"]\ncheckpoint = "ckpt"\n`;
  assert.deepEqual(names(own('python3 train.py --save-to ckpt --out model.pt'), 'nothing'), []);
  assert.deepEqual(names(own('/opt/train')), []);
});

test('an output that nothing writes is a warning at its line; one built from parts is not', () => {
  const outputs = (list: string) =>
    `name = "x"\n[train]\ncommand = "python3 train.py"\noutputs = [${list}]\n`;
  const [only, ...others] = found(outputs('"model.pt", "weights.bin"'));
  assert.deepEqual([only?.rule, only?.line, others.length], ['output-unwritten', 4, 0]);
  assert.match(only?.message ?? '', /"weights\.bin"/);
  assert.deepEqual(names(outputs('"out/model.pt"')), []);
  assert.deepEqual(names(outputs('"model.pt"'), 'save(name + ".pt", name="model")'), []);
});

test('scripts are linted: a lost status is a warning, an option run as a command is an error', () => {
  const lint = (script: string) =>
    scriptFindings({ code: makeCode({ 'run.sh': `#!/bin/bash\n${script}` }, 'bash run.sh') }).map(
      ({ level, rule, file, line }) => `${level} ${rule} ${file ?? ''}:${line ?? 0}`,
    );
  assert.deepEqual(lint('python3 train.py\nrm -rf data\n'), ['warning status-lost run.sh:3']);
  assert.deepEqual(lint('set -e\npython3 train.py\n  --epochs 20\n'), ['error option-as-command run.sh:4']);
  assert.deepEqual(lint('set -e\npython3 train.py\n'), []);
});

test('a metric of a search that nothing mentions is named, with the line to write', () => {
  const said = (code: string): string[] => {
    const search = '[search]\nmetric = "val_acc"\nmethod = "grid"\nranges = { lr = [1, 2] }\n';
    const rules = resultRules.filter(({ name }) => name === 'search-metric');
    return applyRules(rules, someFacts(search, { 'train.py': code })).map(({ fix }) => fix);
  };
  for (const code of ['print("epoch", e, "val_acc", a)', 'print(f"Val: {a}")', 'import updraft'])
    assert.deepEqual(said(code), [], code);
  assert.match(said('print("epoch", e, loss)').join(), /^print\(f'epoch \{epoch\} val_acc \{value\}'\)/);
});

test('a range that nothing uses is named, though the trials differ in another', () => {
  const said = (code: string): string[] => {
    const search =
      '[search]\nmetric = "acc"\ntrials = 2\nranges = { lr = { log = [0.1, 1] }, width = [1, 2] }\n';
    return applyRules(parameterRules, someFacts(search, { 'train.py': code })).map(({ message }) => message);
  };
  assert.deepEqual(said('UPDRAFT_PARAM_LR UPDRAFT_PARAM_WIDTH'), []);
  const [only = '', ...others] = said('UPDRAFT_PARAM_LR');
  assert.match(only, /use the parameter "width": jobs that differ in nothing else are identical/);
  assert.deepEqual(others, []);
});

test('a pattern is no output, and what is written is named', () => {
  const [only, ...others] = found(
    'name = "x"\n[train]\ncommand = "python3 train.py"\noutputs = ["*.pt"]\n',
    'torch.save(m, "model.pt")\n',
  );
  assert.deepEqual([only?.rule, others.length], ['output-unwritten', 0]);
  assert.match(only?.fix ?? '', /such as "model\.pt"/);
});

test('an output that is also sent is named, since its old content may come back', () => {
  const sent = { 'train.py': 'torch.save(m, "model.pt")', 'old/a.pt': '' };
  const of = (outputs: string): string[] =>
    applyRules(
      resultRules,
      someFacts(`name = "x"\n[train]\ncommand = "python3 train.py"\noutputs = [${outputs}]\n`, sent),
    )
      .filter(({ rule }) => rule === 'output-sent')
      .map(({ message }) => message);
  assert.match(of('"old"').join(), /^the output "old" is also sent/);
  assert.deepEqual(of('"model.pt", "old2"'), []);
});
