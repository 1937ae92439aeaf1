import { attributeOf, type Ad } from './ad.ts';

/** Names a pool gives a site under, the surest first. */
const siteAttributes = [
  'GLIDEIN_ResourceName',
  'JOBGLIDEIN_ResourceName',
  'MachineAttrGLIDEIN_ResourceName0',
  'GLIDEIN_Site',
  'MachineAttrGLIDEIN_Site0',
];

/** The site that the attributes of a machine or of an event name; undefined where they name none. */
export function siteIn(attributes: Ad): string | undefined {
  for (const name of siteAttributes) {
    const value = attributes[name] ?? attributeOf(attributes, name);
    if (typeof value === 'string' && value !== '' && !value.startsWith('$$(')) return value;
  }
  return undefined;
}
