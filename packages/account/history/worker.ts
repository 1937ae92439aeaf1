import { type Ad, gpuModelsIn, siteIn } from '@updraft/htcondor/classad';
import { remembering } from '@updraft/htcondor/eventlog';

/** The site in an event's attributes, or an empty string. */
export const siteOf = (attributes: Ad): string => intern(siteIn(attributes) ?? '');

export const siteOrMachine = ({ site, machine }: { site: string; machine: string }): string =>
  site || machine;

/** The GPU models in an event's attributes, or an empty string. */
export const gpuModels = (attributes: Ad): string => intern(gpuModelsIn(attributes).join(', '));

/** The machine in a slot's name (`slot1_2@machine`) or in an address (`<…&alias=machine&…>`). */
export function machineOf(slot: string | undefined, address: string | undefined): string {
  const at = slot?.indexOf('@') ?? -1;
  if (slot !== undefined && at !== -1) return intern(slot.slice(at + 1));
  return intern(
    /[?&]alias=([^&>]+)/.exec(address ?? '')?.[1] ?? /^<?([^:?>]+)/.exec(address ?? '')?.[1] ?? '',
  );
}

/** The machine or slot that the reason of a hold or eviction names, if any. */
export function machineInReason(reason: string): string {
  const [, from, slot] = /\berror from ([^\s:]+)|execution point (\S+@[^\s:]*[^\s:.])/i.exec(reason) ?? [];
  const name = from ?? slot ?? '';
  return name.includes('@') ? machineOf(name, undefined) : intern(name);
}

/** Keeps one copy of a string that many jobs have, such as the name of a site. */
export const intern = remembering((text) => text, 100_000);
