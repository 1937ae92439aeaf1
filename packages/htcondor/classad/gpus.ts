import { attributeOf, isAd, type Ad } from './ad.ts';

/** The GPUs that a slot's attributes assign to it (`GPU-1a2b3c4d`); undefined if they do not say. */
export function assignedIn(attributes: Ad): string[] | undefined {
  const value = attributeOf(attributes, 'AssignedGPUs');
  return typeof value === 'string' ? value.split(',').map((name) => name.trim()) : undefined;
}

/**
 * The GPU models in the attributes of a machine or event (`GPUs_GPU_1a2b = [ DeviceName = …; ]`): those of the slot if
 * they say which it has, else all that they describe.
 */
export function gpuModelsIn(attributes: Ad): string[] {
  const names = Object.keys(attributes).filter((name) => /^(?:GPU|CUDA)/i.test(name));
  if (names.length === 0) return [];
  const own = assignedIn(attributes)?.map((name) => name.replaceAll('-', '_'));
  const [all, assigned] = [new Set<string>(), new Set<string>()];
  for (const name of names) {
    const value = attributes[name];
    const model = isAd(value) ? value['DeviceName'] : /DeviceName\d*$/i.test(name) ? value : undefined;
    if (typeof model !== 'string' || model === '' || model.startsWith('$$(')) continue;
    all.add(model);
    if (own?.some((gpu) => gpu !== '' && name.endsWith(gpu)) === true) assigned.add(model);
  }
  return [...(assigned.size > 0 ? assigned : all)].sort();
}

/** Attributes that name a site, the most reliable first. */
const siteAttributes = [
  'GLIDEIN_ResourceName',
  'JOBGLIDEIN_ResourceName',
  'MachineAttrGLIDEIN_ResourceName0',
  'GLIDEIN_Site',
  'MachineAttrGLIDEIN_Site0',
];

/** The site named by the attributes of a machine or event. */
export function siteIn(attributes: Ad): string | undefined {
  for (const name of siteAttributes) {
    const value = attributes[name] ?? attributeOf(attributes, name);
    if (typeof value === 'string' && value !== '' && !value.startsWith('$$(')) return value;
  }
  return undefined;
}
