import assert from 'node:assert/strict';
import { test } from 'node:test';
import { applyRules } from '@updraft/base';
import { someFacts } from '../../../test/check/facts.ts';
import { commandRules } from './commands.ts';

const script =
  'import argparse\np = argparse.ArgumentParser()\np.add_argument("--lr")\np.add_argument("-b", "--batch-size")\n' +
  'p.add_argument("--seed")\np.parse_args()\n';

/** The rules that a command breaks, with the files that are sent. */
function broken(command: string, sent: Record<string, string> = {}, more = ''): string[] {
  const text = `name = "x"\n[train]\ncommand = ${JSON.stringify(command)}\noutputs = ["model.pt"]\n${more}`;
  return applyRules(commandRules, someFacts(text, { 'train.py': script, ...sent })).map(({ rule }) => rule);
}

test('an argument that the script does not take is an error, and the nearest is named', () => {
  const text = 'name = "x"\n[train]\ncommand = "python3 train.py --learning-rate 1"\noutputs = ["m"]\n';
  const [found] = applyRules(commandRules, someFacts(text, { 'train.py': script }));
  assert.equal(found?.rule, 'unknown-argument');
  assert.match(found.message, /train\.py takes no `--learning-rate`/);
  for (const command of ['--lr=1', '--batch 3', '-b 3', '--help', '--seed 1 && echo --other', ''])
    assert.deepEqual(broken(`python3 train.py ${command}`), [], command);
});

test('arguments of parsers that are not read are no error', () => {
  for (const more of [
    'p.parse_known_args()',
    'import hydra',
    'import fire',
    'import click',
    'p.add_argument(f"--{x}")',
  ])
    assert.deepEqual(broken('python3 train.py --other 1', { 'train.py': `${script}${more}\n` }), [], more);
  assert.deepEqual(broken('torchrun --nproc-per-node 2 train.py --lr 1'), []);
});

test('an option without its value, or with one that argparse refuses, is an error', () => {
  const own = `${script}p.add_argument("-n", type=int)\np.add_argument("--mix", nargs="*", choices=["a"])
p.add_argument("--opt", choices=["sgd", "adam"])\np.add_argument("--rate", type=float)
p.add_argument("--fast", action="store_true")\np.add_argument("--own", action=Own)\n`;
  const said = (command: string): string[] => broken(`python3 train.py ${command}`, { 'train.py': own });
  for (const command of [
    '--lr',
    '--lr --seed 1',
    '--lr > log',
    '--rate high',
    '--opt Adam',
    '-n 1.5',
    '-n index',
    '--rate 0,1',
    '–-lr 1',
    '-lr 1',
  ])
    assert.deepEqual(said(command), ['unknown-argument'], command);
  for (const command of [
    '--lr -1',
    '-n3',
    '--rate -.5',
    '--rate 1_0.',
    '--lr=',
    '--mix',
    '--mix b',
    '--fast --own',
    '--rate 1e-3',
    '--rate inf',
  ])
    assert.deepEqual(said(command), [], command);
  for (const command of ['--opt "$OPT" --lr 1', '-n $(nproc)', '-n {index}', '--opt sgd 2>&1'])
    assert.ok(!said(command).includes('unknown-argument'), command);
  assert.deepEqual(broken('torchrun --standalone train.py --other'), ['unknown-argument']);
  assert.deepEqual(broken('nohup python3 -u train.py --other'), ['unknown-argument']);
});

test('a variable that nothing sets is found', () => {
  assert.deepEqual(broken('python3 train.py --seed $SEED'), ['unset-variable']);
  assert.deepEqual(broken('python3 train.py --lr "${MY_LR}" --lr $MY_LR'), ['unset-variable']);
  for (const command of [
    'python3 train.py --seed $UPDRAFT_INDEX --lr ${LR:-1}',
    'S=1 && python3 train.py --seed $S',
    'for s in 1 2; do python3 train.py --seed $s; done',
    "awk '{{print $NF}}' x",
    'python3 train.py --lr \\$LR',
    '. ./env.sh && python3 train.py --lr $LR',
    'echo $LD_LIBRARY_PATH && python3 train.py --seed $OMP_NUM_THREADS',
  ])
    assert.deepEqual(broken(command), [], command);
  assert.deepEqual(broken('python3 train.py --lr $LR', {}, 'env.LR = "1"\n'), []);
  assert.deepEqual(broken("python3 train.py --lr '$LR'", {}, 'env.LR = "1"\n'), ['unset-variable']);
});

test('what init left open, virtual environments, `&` and notebooks are errors', () => {
  assert.deepEqual(broken('python3 train.py --lr CHANGE-ME'), ['placeholder']);
  assert.deepEqual(broken('source venv/bin/activate && python3 train.py'), ['activate']);
  assert.deepEqual(broken('. env/bin/activate; python3 train.py'), ['activate']);
  assert.deepEqual(broken('python3 train.py &'), ['background']);
  assert.deepEqual(broken('python3 train.py 2>&1'), []);
  assert.deepEqual(broken('conda activate x && python3 train.py'), ['activate']);
  assert.deepEqual(broken('. /opt/conda.sh && conda activate x && python3 train.py'), []);
  assert.deepEqual(broken('python3 a.ipynb', { 'a.ipynb': '{}' }), ['notebook']);
});

test('a file that hides a package, keys, one seed for several jobs, and a GPU that nobody requests are found', () => {
  assert.deepEqual(broken('python3 train.py', { 'torch.py': '' }), ['own-module']);
  assert.deepEqual(broken('python3 train.py', { 'models/torch.py': '', 'datasets.py': '' }), []);
  assert.deepEqual(broken('python3 train.py', { '.env': 'KEY=1' }), ['key-file']);
  assert.deepEqual(broken('python3 train.py --seed 1', {}, '[run]\njobs = 3\n'), ['same-seed']);
  assert.deepEqual(broken('python3 train.py --seed index', {}, '[run]\njobs = 3\n'), ['same-seed']);
  assert.deepEqual(broken('python3 train.py --seed {index}', {}, '[run]\njobs = 3\n'), []);
  const of = (text: string, more = ''): string[] => broken('python3 train.py', { 'train.py': text }, more);
  assert.deepEqual(of(`TOKEN = "${['hf', 'abcdefghijklmnopqrstuvwxyz'].join('_')}"\n`), ['key-file']);
  assert.deepEqual(of('names = sorted(found, key=lambda one: one.name)\ntoken = "[CLS]"\n'), []);
  const one = '[resources]\ngpus = 1\n';
  assert.deepEqual(broken('CUDA_VISIBLE_DEVICES=1 python3 train.py', {}, one), ['chosen-gpu']);
  assert.deepEqual(of('os.environ["CUDA_VISIBLE_DEVICES"] = "0"\n', one), ['chosen-gpu']);
  assert.deepEqual(of('print(os.environ["CUDA_VISIBLE_DEVICES"])\n', one), []);
  const gpu = { 'train.py': 'model.cuda()\n' };
  assert.deepEqual(broken('python3 train.py', gpu), ['no-gpu']);
  assert.deepEqual(broken('python3 train.py', gpu, '[resources]\ngpus = 1\n'), []);
  assert.deepEqual(
    broken('python3 train.py', { 'train.py': 'if torch.cuda.is_available(): model.cuda()\n' }),
    [],
  );
});
