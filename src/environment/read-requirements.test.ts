import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lockMismatches } from './load-workspace.ts';
import { readLock } from './pixi-lock.ts';
import { readPixiManifest } from './read-manifest.ts';

const lock = readLock(
  `version: 6
environments:
  default:
    channels: []
    packages:
      linux-64:
      - conda: https://c.example.org/linux-64/python-3.12.8-0.conda
      - conda: https://c.example.org/noarch/py-opencv-4.10.0-0.conda
      - pypi: https://w.example.org/torch-2.4.1-cp312-cp312-linux_x86_64.whl
packages:
- conda: https://c.example.org/linux-64/python-3.12.8-0.conda
- conda: https://c.example.org/noarch/py-opencv-4.10.0-0.conda
  purls:
  - pkg:pypi/opencv-python?source=project-defined-mapping
- pypi: https://w.example.org/torch-2.4.1-cp312-cp312-linux_x86_64.whl
  name: torch
  version: 2.4.1
`,
  'pixi.lock',
);

/** What a lock with Python 3.12, OpenCV and PyTorch lacks for a project with these requirements. */
const lacks = (project: string): string[] => {
  const text = `[project]\nname = "mine"\n${project}\n[tool.pixi.workspace]\nplatforms = ["linux-64"]\n`;
  return lockMismatches(readPixiManifest(text, 'pyproject.toml'), lock, 'default', 'linux-64');
};

for (const [what, project, expected] of [
  ['that are locked', 'dependencies = ["torch >=2.4,<3", "opencv_python==4.*"]', []],
  [
    'of another version',
    'dependencies = [\n  "opencv-python",\n  "torch[opt] (>=2.5)",\n]',
    ['line 5: torch ">=2.5" is required, but 2.4.1 is locked'],
  ],
  ['that are new', 'dependencies = ["wandb~=0.17"]', ['line 3: wandb is required, but not locked']],
  ['of other machines', 'dependencies = ["pywin32; sys_platform == \'win32\'"]', []],
  ['by URL', 'dependencies = ["torch @ https://w.example.org/torch.whl"]', []],
  [
    'of another Python',
    'requires-python = ">=3.13"',
    ['line 3: python ">=3.13" is required, but 3.12.8 is locked'],
  ],
  [
    'overridden by Pixi dependencies',
    'requires-python = ">=3.13"\n[tool.pixi.dependencies]\npython = "3.12.*"',
    [],
  ],
  [
    'of a group',
    '[dependency-groups]\ndev = ["pytest"]\n[tool.pixi.environments]\ndefault = ["dev"]',
    ['line 4: pytest is required, but not locked'],
  ],
  [
    'that are optional, and named by the project itself',
    '[project.optional-dependencies]\nall = ["mine[gpu]", "pytest"]\n[tool.pixi.environments]\ndefault = ["all"]',
    ['line 4: pytest is required, but not locked'],
  ],
  ['of a group that is not used', '[dependency-groups]\ndev = ["pytest", { include-group = "x" }]', []],
] as const)
  test(`requirements of a project ${what}: those the lock lacks are reported with their lines`, () => {
    assert.deepEqual(lacks(project), expected);
  });
