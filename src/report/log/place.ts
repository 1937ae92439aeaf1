import type { Ad } from '../../eventlog/classad.ts';
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

/** The machine in a slot's name (`slot1_2@machine`) or in an address (`<…&alias=machine&…>`). */
export function machineOf(slot: string | undefined, address: string | undefined): string {
  const at = slot?.indexOf('@') ?? -1;
  if (slot !== undefined && at !== -1) return once(slot.slice(at + 1));
  return once(/[?&]alias=([^&>]+)/.exec(address ?? '')?.[1] ?? /^<?([^:?>]+)/.exec(address ?? '')?.[1] ?? '');
}
