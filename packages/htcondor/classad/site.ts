import { attributeOf, type Ad } from './ad.ts';

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
