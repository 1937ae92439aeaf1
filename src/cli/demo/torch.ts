import { findPython, type PythonTried } from '../../environment/find-python.ts';
import { Fault } from '../../fault/fault.ts';
import { aptInstall, mayInstall, type Machine } from '../debian.ts';

const debianPackages = ['python3-torch', 'python3-torchvision'];
const modules = ['torch', 'torchvision', 'numpy'];

/** An interpreter with PyTorch: the one that is there, or Debian's, installed now where we may. */
export async function ensureTorch(machine: Machine): Promise<string> {
  const before = await findPython(modules, machine.env, { signal: machine.signal });
  if (before.found !== undefined) return before.found;
  if (!(await mayInstall(machine))) throw missing(before.tried);
  await aptInstall(machine, debianPackages, 'PyTorch is missing');
  const after = await findPython(modules, machine.env, { signal: machine.signal });
  if (after.found === undefined) throw missing(after.tried);
  return after.found;
}

function missing(tried: PythonTried[]): Fault {
  const list = tried.map(({ path, lacks }) => `\n    ${path} lacks ${lacks}`).join('');
  const what = `no Python here can import torch and torchvision${list || ' (there is no python3)'}`;
  return new Fault('self-test-failed', what, {
    fix: `as root on Debian or Ubuntu: apt-get install ${debianPackages.join(' ')}; elsewhere: python3 -m pip install torch torchvision numpy`,
  });
}
