import { isAd, type Ad } from '../classad/ad.ts';
import { once } from './once.ts';

/** Names a pool gives a site under, the surest first. */
const siteAttributes = [
  'GLIDEIN_ResourceName',
  'JOBGLIDEIN_ResourceName',
  'MachineAttrGLIDEIN_ResourceName0',
];

/** The site an event's attributes name, or an empty text. */
export function siteOf(attributes: Ad): string {
  for (const name of siteAttributes) {
    const value = attributes[name];
    if (typeof value === 'string' && value !== '' && !value.startsWith('$$(')) return once(value);
  }
  return '';
}

/** The models of the GPUs an event's attributes tell of (`GPUs_GPU_1a2b = [ DeviceName = …; ]`), or an empty text. */
export function gpuOf(attributes: Ad): string {
  const models = new Set<string>();
  for (const [name, value] of Object.entries(attributes)) {
    if (!/^(?:GPUs?|CUDA)_?/i.test(name)) continue;
    const model = isAd(value) ? value['DeviceName'] : /DeviceName\d*$/i.test(name) ? value : undefined;
    if (typeof model === 'string' && model !== '' && !model.startsWith('$$(')) models.add(model);
  }
  return once([...models].sort().join(', '));
}

/** The machine in a slot's name (`slot1_2@machine`) or in an address (`<…&alias=machine&…>`). */
export function machineOf(slot: string | undefined, address: string | undefined): string {
  const at = slot?.indexOf('@') ?? -1;
  if (slot !== undefined && at !== -1) return once(slot.slice(at + 1));
  return once(/[?&]alias=([^&>]+)/.exec(address ?? '')?.[1] ?? /^<?([^:?>]+)/.exec(address ?? '')?.[1] ?? '');
}
