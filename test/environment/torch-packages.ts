import os from 'node:os';
import { condaPlatform } from '../../src/environment/pack-splitter.ts';
import { type CondaPackage, makeConda, placeholder } from './make-conda.ts';

/** Conda's name for this machine's platform. */
export const here = condaPlatform(os.arch());

/** PyTorch as in conda-forge: a CPU and a GPU build, distinguished by their build strings and `__cuda`. */
export function torchPackages(): CondaPackage[] {
  const torch = (build: string, depends: string[]): CondaPackage =>
    makeConda('pytorch', '2.5.1', {}, { build, depends: ['python 3.12.*', ...depends], subdir: here });
  const kind = (name: string, build: string): CondaPackage =>
    makeConda(name, '2.5.1', {}, { depends: [`pytorch 2.5.1 ${build}`], subdir: here });
  const python = { 'bin/python': `#!/bin/sh\necho "python of ${placeholder}"\n` };
  return [
    makeConda('python', '3.12.8', python, { build: 'h9e4cc4f_1_cpython', subdir: here }),
    makeConda('cuda-version', '12.6', {}, { constrains: ['__cuda >=12'], subdir: 'noarch' }),
    torch('cpu_generic_py312_h1_1', []),
    torch('cuda126_generic_py312_h2_301', ['cuda-version >=12.6,<13', '__cuda']),
    kind('pytorch-cpu', 'cpu*'),
    kind('pytorch-gpu', 'cuda*'),
  ];
}
