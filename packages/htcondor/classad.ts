export { type Ad, type AdValue, Expression, attributeOf, formatAd, formatReal, isAd } from './classad/ad.ts';
export { assignedIn, gpuModelsIn, siteIn } from './classad/gpus.ts';
export { parseAdLines, parseAds } from './classad/parse.ts';
