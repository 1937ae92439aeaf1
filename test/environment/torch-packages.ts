import os from 'node:os';
import { condaPlatform } from '../../src/environment/pack-splitter.ts';
import { type CondaPackage, makeConda, placeholder } from './make-conda.ts';

/** Conda's name for this machine's platform. */
export const here = condaPlatform(os.arch());

/** PyTorch as in conda-forge: a CPU and a GPU build, distinguished by their build strings and `__cuda`. */
export function torchPackages(python = '3.12.8', version = '2.5.1', cuda = '12.6'): CondaPackage[] {
  const torch = (build: string, depends: string[]): CondaPackage =>
    makeConda('pytorch', version, {}, { build, depends: [`python ${python}`, ...depends], subdir: here });
  const kind = (name: string, build: string): CondaPackage =>
    makeConda(name, version, {}, { depends: [`pytorch ${version} ${build}`], subdir: here });
  const program = { 'bin/python': `#!/bin/sh\necho "python of ${placeholder}"\n` };
  return [
    makeConda('python', python, program, { build: 'h9e4cc4f_1_cpython', subdir: here }),
    makeConda('cuda-version', cuda, {}, { constrains: ['__cuda >=12'], subdir: 'noarch' }),
    torch('cpu_generic_h1_1', []),
    torch(`cuda${cuda.replace('.', '')}_generic_h2_301`, [`cuda-version >=${cuda},<13`, '__cuda']),
    kind('pytorch-cpu', 'cpu*'),
    kind('pytorch-gpu', 'cuda*'),
  ];
}
