import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeCode } from '../../../test/check/facts.ts';
import { applyRules } from '@updraft/base';
import { downloadRules, type DownloadFacts } from './downloads.ts';

function lines(
  sent: Record<string, string>,
  more: Partial<DownloadFacts> & { command?: string } = {},
): string[] {
  const { command, ...rest } = more;
  const facts = { code: makeCode(sent, command), env: {}, folders: [], ...rest };
  return applyRules(downloadRules, facts).map(({ file, line }) => `${file ?? ''}:${line ?? 0}`);
}
const inPython = (source: string, more: Partial<DownloadFacts> = {}): string[] =>
  lines({ 'train.py': source }, more);

test('pretrained weights and pip install, which cost the original runs jobs, are found by line', () => {
  const sent = {
    'run.sh': '#!/bin/sh\npip install scipy\npython3 train.py\n',
    'train.py': 'import torchvision\n\nmodel = torchvision.models.resnet50(pretrained=True)\n',
  };
  assert.deepEqual(lines(sent, { command: 'sh run.sh' }), ['run.sh:2', 'train.py:3']);
});

test('every common way to download in Python is found', () => {
  const each = [
    'm = resnet50(weights="DEFAULT")',
    'm = resnet50(weights=ResNet50_Weights.IMAGENET1K_V2)',
    'd = CIFAR10(root, train=True, download=True)',
    'm = torch.hub.load("pytorch/vision", "resnet18")',
    's = load_state_dict_from_url(url)',
    't = AutoTokenizer.from_pretrained("bert-base-uncased")',
    'd = load_dataset("imdb")',
    'p = snapshot_download("org/model")',
    'urllib.request.urlretrieve(url, name)',
    'subprocess.run(["pip", "install", "scipy"])',
    'os.system("wget http://x/y")',
    'nltk.download("punkt")',
  ];
  assert.deepEqual(
    inPython(each.join('\n')),
    each.map((_, index) => `train.py:${index + 1}`),
  );
});

test('code that downloads nothing is no finding', () => {
  const source = `"""Never say download=True."""
# pretrained=True
from torchvision.models import ResNet50_Weights
m = resnet50(weights=None)
m = resnet50(pretrained=False)
t = ResNet50_Weights.DEFAULT.transforms()
d = CIFAR10(root, download=False)
parser.add_argument("--pretrained", help="pretrained=True")
t = AutoModel.from_pretrained("./model")
t = AutoModel.from_pretrained("bert/base")
t = AutoModel.from_pretrained(args.model)
t = AutoModel.from_pretrained("x", local_files_only=True)
h = torch.hub.load("repo", "net", source="local")
`;
  assert.deepEqual(inPython(source, { folders: ['bert'] }), []);
});

test('weights and models that the job provides are no finding', () => {
  assert.deepEqual(inPython('resnet50(weights="DEFAULT")', { env: { TORCH_HOME: 'weights' } }), []);
  assert.deepEqual(inPython('A.from_pretrained("x")', { env: { HF_HUB_OFFLINE: '1' } }), []);
  assert.deepEqual(inPython('A.from_pretrained("x")', { env: { TORCH_HOME: 'weights' } }), ['train.py:1']);
});

test('the command itself is checked, and files that the job does not run are not', () => {
  const sent = { 'train.py': '', 'make_data.py': 'CIFAR10(root, download=True)' };
  assert.deepEqual(lines(sent, { command: 'git clone https://x/y && python3 train.py' }), ['updraft.toml:3']);
  assert.deepEqual(lines(sent), []);
});
