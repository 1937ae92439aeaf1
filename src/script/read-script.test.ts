import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { readScript } from './read-script.ts';

const argsIn = (source: string): string[] =>
  readScript(source).args.map(
    ({ flag, default: value, isRequired, isSwitch, line }) =>
      `${line} ${flag}${value === undefined ? '' : `=${value}`}${isRequired ? ' required' : ''}${isSwitch ? ' switch' : ''}`,
  );
const savesIn = (source: string): string[] =>
  readScript(source).saves.map(({ name, call, isFolder }) => `${call} ${name}${isFolder ? '/' : ''}`);
const readsIn = (source: string): string[] =>
  readScript(source).reads.map(({ call, path }) => `${call} ${path}`);

test('arguments of argparse have their flags, defaults and lines', () => {
  const source = `
parser.add_argument("data", metavar="DIR", nargs="?", default="imagenet",
                    help="path to dataset (default: %(default)s)")
parser.add_argument('-b', '--batch-size', type=int, default=64)  # add_argument("--no")
parser.add_argument("--lr", default=1e-3, type=float)
parser.add_argument("--no-cuda", action="store_true", default=False)
parser.add_argument("--out", required=True)
parser.add_argument("file")
parser.add_argument("--betas", nargs=2, default=(0.9, 0.999))
parser.add_argument("--root", default=os.path.expanduser("~"))
"""parser.add_argument("--never")"""
`;
  assert.deepEqual(argsIn(source), [
    '2 data=imagenet',
    '4 --batch-size=64',
    '5 --lr=1e-3',
    '6 --no-cuda switch',
    '7 --out required',
    '8 file required',
    '9 --betas=0.9 0.999',
    '10 --root',
  ]);
  const [data, batch] = readScript(source).args;
  assert.equal(data?.help, 'path to dataset (default: %(default)s)');
  assert.equal(batch?.dest, 'batch_size');
});

test('arguments of click and sys.argv are found', () => {
  const source = `
@click.option("--epochs", "-e", default=10, help="how many")
@click.option("--amp/--no-amp", is_flag=True)
@click.argument("folder")
def main(epochs, amp, folder): pass
name = sys.argv[1]
count = int(sys.argv[2])
`;
  assert.deepEqual(argsIn(source), [
    '2 --epochs=10',
    '3 --amp switch',
    '4 folder required',
    '6 name required',
    '7 count required',
  ]);
});

test('what is saved is found through constants, arguments, joins and formats', () => {
  const source = `
OUT = "results"
folder = Path(args.out_dir) / "models"
parser.add_argument("--out-dir", default="runs")
parser.add_argument("--name", required=True)
torch.save(model.state_dict(), "model.pt")
torch.save({"a": (1, 2)}, os.path.join(OUT, f"epoch_{epoch:03d}.pt"))
torch.save(obj=state, f=folder / "last.pt")
model.save_pretrained(args.out_dir)
np.save("loss", losses)
df.to_csv(OUT + "/log.csv")
with open("%s/metrics-%d.json" % (OUT, n), mode="w") as f: json.dump(x, f)
(folder / "a.txt").write_text("x")
Path("done").open("w").close()
plt.savefig("{}.png".format(args.name))
torch.save(state, args.name + ".pt")
torch.save(state, compute())
open("input.txt")
open(os.path.join(OUT, "log"), "a")
def torch_save(x): pass
`;
  assert.deepEqual(savesIn(source), [
    'torch.save model.pt',
    'torch.save results/epoch_*.pt',
    'torch.save runs/models/last.pt',
    'model.save_pretrained runs/',
    'np.save loss.npy',
    'df.to_csv results/log.csv',
    'open results/metrics-*.json',
    'write_text runs/models/a.txt',
    'open done',
    'plt.savefig *.png',
    'torch.save *.pt',
    'open results/log',
  ]);
});

test('what must be given for a file to be written is known, however its condition is written', () => {
  const needs = (body: string): string | undefined => {
    const [save] = readScript(`
parser.add_argument("--save-model", action="store_true")
parser.add_argument("--no-save", action="store_true")
parser.add_argument("--keep", dest="kept", action="store_false")
parser.add_argument("--every", type=int, default=5)
${body}`).saves;
    return save?.open === 0 ? save.needs.map(({ flag }) => flag).join(' ') : undefined;
  };
  const save = 'torch.save(m, "a.pt")';
  assert.equal(needs(`if args.save_model: ${save}`), '--save-model');
  assert.equal(needs(`if args.save_model:\n    ${save}`), '--save-model');
  assert.equal(needs(`if (args.save_model == True):\n  for x in y:\n    ${save}`), '--save-model');
  assert.equal(needs(`if rank == 0 and args.save_model: ${save}`), '--save-model');
  assert.equal(needs(`args.save_model and ${save}`), '--save-model');
  assert.equal(needs(`${save} if args.save_model else None`), '--save-model');
  assert.equal(needs(`if not args.save_model: pass\nelse: ${save}`), '--save-model');
  assert.equal(needs(`wanted = args.save_model\nif wanted: ${save}`), '--save-model');
  assert.equal(needs(`def keep(m):\n  ${save}\nif args.save_model: keep(m)`), '--save-model');
  assert.equal(needs(`if not args.no_save and args.kept and args.every is not None: ${save}`), '');
  assert.equal(needs(`if loss < best: ${save}`), undefined);
  assert.equal(needs(`try: pass\nexcept KeyboardInterrupt: ${save}`), undefined);
});

test('arguments are followed through functions, classes, dictionaries and other files', () => {
  const source = `
parser.add_argument("--data", default="x")
parser.add_argument("--out", default="m.pt")
hp = parser.parse_args()
class Set:
    def __init__(self, root, *, train): self.root = Path(root) / "train"
    def load(self): return datasets.ImageFolder(self.root)
def name(folder): return os.path.join(folder, "last.pt")
def run(target, data): torch.save(m, name(target)); np.save(CONFIG["log"], data)
CONFIG = {"a": 1, "log": "log.npy"}
Set(hp.data, train=True)
run(target=hp.out, data=1)
`;
  assert.deepEqual(readsIn(source), ['datasets.ImageFolder x/train']);
  assert.deepEqual(savesIn(source), ['torch.save m.pt/last.pt', 'np.save log.npy']);
  const { passed } = readScript(
    'from own import load\nparser.add_argument("--data")\nload(1, root=args.data)',
  );
  const [read] = readScript('def load(n, root): datasets.ImageFolder(root)', { importer: passed }).reads;
  assert.deepEqual(
    read?.value.flatMap((piece) => ('arg' in piece ? [piece.arg.flag] : [])),
    ['--data'],
  );
});

test('paths from the place of the file are known', () => {
  const { reads } = readScript(
    `HERE = os.path.dirname(os.path.abspath(__file__))
open(os.path.join(HERE, "data", "x.csv"))
open(Path(__file__).resolve().parent.parent / "y.csv")
open(os.path.dirname(args.x) + "/z.csv")
`,
    { file: 'src/train.py' },
  );
  assert.deepEqual(
    reads.map(({ path }) => path),
    ['src/data/x.csv', './y.csv', '*/z.csv'],
  );
});

test('what a module saves needs what its caller and the maker of its object need', () => {
  const { passed } = readScript(`from own import Small, Large
parser.add_argument("--model", default="small")
parser.add_argument("--save-model", action="store_true")
one = Small() if args.model == "small" else Large()
if args.save_model: one.save(f"models/{args.model}")
`);
  const body = '\n  def save(self, file): torch.save(self.state(), file + "_net")\n';
  const [small, large] = ['Small', 'Large'].map(
    (name) => readScript(`import torch\nclass ${name}:${body}`, { importer: passed }).saves[0],
  );
  assert.deepEqual(
    [small?.name, small?.open, small?.needs.map(({ flag }) => flag)],
    ['models/small_net', 0, ['--save-model']],
  );
  assert.equal(large?.open, 1);
});

test('what the command line gives an argument overrides its default', () => {
  const { args, saves } = readScript(
    `parser.add_argument("data")\nparser.add_argument("-m", "--model", default="a")
parser.add_argument("--save", action="store_true")
if args.save and args.model == "b": torch.save(m, args.data + ".pt")`,
    { words: ['--model=b', '--save', '--other', 'x'] },
  );
  assert.deepEqual(
    args.slice(0, 2).map(({ default: value, isRequired }) => [value, isRequired]),
    [
      ['x', false],
      ['b', false],
    ],
  );
  assert.deepEqual(
    saves.map(({ name, needs, open }) => [name, needs.length, open]),
    [['x.pt', 0, 0]],
  );
});

test('the libraries that save by themselves name their folder', () => {
  const source = `
args = TrainingArguments(output_dir="out", num_train_epochs=3)
trainer = L.Trainer(max_epochs=3, default_root_dir="logs")
checkpoint = ModelCheckpoint(dirpath="ckpt", monitor="loss")
`;
  assert.deepEqual(savesIn(source), ['TrainingArguments out/', 'L.Trainer logs/', 'ModelCheckpoint ckpt/']);
});

test('what is read is found, with the argument that names it', () => {
  const source = `
parser.add_argument("--data", default="data/images")
train = datasets.ImageFolder(os.path.join(args.data, "train"), transform)
test = datasets.MNIST("../data", train=False)
cifar = torchvision.datasets.CIFAR10(root="./data")
frame = pd.read_csv("labels.csv")
text = open("corpus.txt").read()
`;
  assert.deepEqual(readsIn(source), [
    'datasets.ImageFolder data/images/train',
    'datasets.MNIST ../data',
    'torchvision.datasets.CIFAR10 ./data',
    'pd.read_csv labels.csv',
    'open corpus.txt',
  ]);
  const [first] = readScript(source).reads;
  assert.deepEqual(
    first?.value.flatMap((piece) => ('arg' in piece ? [piece.arg.flag] : [])),
    ['--data'],
  );
});

test('paths of one machine are found with their lines; URLs, suffixes and comparisons are not', () => {
  const source = `"""/home/doc"""
root = "/home/me/data"  # "/home/comment"
cache = "~/cache"
x = base + "/suffix"
if path.startswith("/api") or path == "/x": pass
url = "https://x/y"; slash = "/"; null = open("/dev/null")
f"/scratch/{user}/x"
`;
  assert.deepEqual(readScript(source).paths, [
    { text: '/home/me/data', line: 2 },
    { text: '~/cache', line: 3 },
    { text: '/scratch/{user}/x', line: 7 },
  ]);
});

test('a script that can resume is recognized by how it does', () => {
  const how = (source: string): string | undefined => readScript(source).checkpoint?.how;
  assert.equal(how('os.environ["UPDRAFT_CHECKPOINT"]'), 'updraft');
  assert.equal(how('import updraft\nwith updraft.training(model) as run: pass'), 'updraft');
  assert.equal(how('parser.add_argument("--resume", default="")'), 'argument');
  assert.equal(how('torch.save(s, "last.pt")\ns = torch.load("last.pt")'), 'reads back');
  assert.equal(how('torch.save(s, "last.pt")\ns = torch.load("weights.pt")'), undefined);
  const ifSo = (condition: string) =>
    how(`start = "scratch"\n${condition}:\n  s = torch.load("last.pt")\ntorch.save(s, "last.pt")`);
  assert.equal(ifSo('if os.path.exists("last.pt")'), 'reads back');
  assert.equal(ifSo('if start == "resume"'), 'argument', 'it starts from scratch unless somebody asks');
});

test('the use of a GPU is found in its usual spellings', () => {
  for (const source of ['m.cuda()', 'd = torch.device("cuda:0")', 'd = "cuda" if ok else "cpu"'])
    assert.deepEqual(readScript(`\n${source}`).cuda, { line: 2 }, source);
  assert.equal(readScript('device = "cpu"  # cuda').cuda, undefined);
});

test('a bracket or string that is not closed hides only its own statement', () => {
  const source = 'x = foo(1,\ndef main():\n  torch.save(m, "a.pt")\ny = "open\ntorch.save(m, "b.pt")\n';
  assert.deepEqual(savesIn(source), ['torch.save a.pt', 'torch.save b.pt']);
});

const pieces =
  'import |from |"""|\'|"|\\|\n|    |#|(|)|[|]|{|}|.|,|=|:|/|+|%|f"|{x}|x|args.x|torch.save|open|parser.add_argument|"--x"|default=|Path|def |if | or |sys.argv[1]'.split(
    '|',
  );

test('the reader accepts any text', () => {
  const text = fc.oneof(
    fc.string(),
    fc.array(fc.constantFrom(...pieces), { maxLength: 60 }).map((parts) => parts.join('')),
  );
  fc.assert(
    fc.property(text, (source) => {
      readScript(source);
    }),
    { numRuns: 1000 },
  );
});

test('reading takes linear time', () => {
  const hard = [
    ...pieces,
    'a.b(c).',
    'x = x + y\n',
    'x = (',
    'open(x, ',
    'f(',
    'y = x\nx = y\n',
    'a + ',
    '"a" ',
    "f'{x}' ",
    '/a',
  ];
  for (const piece of hard) {
    const took = (length: number): number => {
      const source = piece.repeat(Math.ceil(length / piece.length));
      const before = process.cpuUsage().user;
      readScript(source);
      return (process.cpuUsage().user - before) / 1000;
    };
    took(4_000);
    const [short, ms] = [took(4_000), took(20_000)];
    // Usually below 50 ms; the parser needs 0.6 s to recover from the worst. The square would be 25 times as much.
    assert.ok(ms < 600 || ms < 12 * short, `20 kB of ${JSON.stringify(piece)} took ${ms} ms`);
  }
});
