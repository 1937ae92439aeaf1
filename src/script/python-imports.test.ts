import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pythonImports } from './python-imports.ts';
import { parsePython } from './python-tree.ts';

const imports = (source: string): string[] =>
  pythonImports(parsePython(source)).map(({ module, line, when }) => `${line} ${module} ${when}`);

test('imports are found with their lines, in every form', () => {
  const source = `import os, numpy as np  # import fake
from torch.utils.data import (
    DataLoader,
)
import a.b.c; import json
from . import helper
from ..pkg import thing
`;
  assert.deepEqual(imports(source), [
    '1 os always',
    '1 numpy always',
    '2 torch.utils.data always',
    '5 a.b.c always',
    '5 json always',
    '6 . always',
    '7 ..pkg always',
  ]);
});

test('imports in comments and strings are ignored', () => {
  const source = `"""Usage:
import nothing
"""
# import nothing
text = """
import nothing
"""
print("import nothing")
'''one line''' ; import sys
x = '# no comment'; y = "it's"
import real
`;
  assert.deepEqual(imports(source), ['9 sys always', '11 real always']);
});

test('an import that may fail or never runs is guarded, one in a function is perhaps', () => {
  const source = `try:
    import wandb
except ImportError:
    import fallback
if TYPE_CHECKING:
    from x import y
def main():
    import tqdm
    if True:
        import deep
import top
if __name__ == "__main__":
    import argparse
`;
  assert.deepEqual(imports(source), [
    '2 wandb guarded',
    '4 fallback guarded',
    '6 x guarded',
    '8 tqdm perhaps',
    '10 deep perhaps',
    '11 top always',
    '13 argparse always',
  ]);
});

test('an import is not optional because something else may fail', () => {
  const source = 'try:\n    import torch\n    train()\nexcept KeyboardInterrupt: pass\n';
  assert.deepEqual(imports(source), ['2 torch always']);
});

test('names imported with `from` are kept, since they may be modules', () => {
  const found = pythonImports(parsePython('from pkg import (one, two as t)\nfrom p import *\n'));
  assert.deepEqual(
    found.map(({ names }) => names),
    [['one', 'two'], []],
  );
});
