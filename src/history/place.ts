import { isAd, type Ad } from '../classad/ad.ts';
import { siteIn } from '../classad/site.ts';

/** The site an event's attributes name, or an empty text. */
export const siteOf = (attributes: Ad): string => once(siteIn(attributes) ?? '');

/** Where an attempt ran, in one word: its site, or its machine where no site is named. */
export const placeOf = ({ site, machine }: { site: string; machine: string }): string => site || machine;

/** The models of the GPUs an event's attributes name (`GPUs_GPU_1a2b = [ DeviceName = …; ]`), or an empty text. */
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

/** The machine that the words of a hold or an eviction come from, where they name it or its slot. */
export function machineIn(reason: string): string {
  const [, from, slot] = /\berror from ([^\s:]+)|execution point (\S+@[^\s:]*[^\s:.])/i.exec(reason) ?? [];
  const name = from ?? slot ?? '';
  return name.includes('@') ? machineOf(name, undefined) : once(name);
}

const known = new Map<string, string>();
const maxKnown = 100_000;

/** The same text, kept in memory once however many jobs have it: the names of sites, machines and resources. */
export function once(text: string): string {
  const same = known.get(text);
  if (same !== undefined) return same;
  if (known.size < maxKnown) known.set(text, text);
  return text;
}
