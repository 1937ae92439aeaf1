const parameter =
  '(?:authz|access_token|token|key|password|sig|[\\w-]*signature|[\\w-]*credential|x-amz-[\\w-]+)';
/** Only where a query's parameter can begin: folders may well be called `key=1`. */
const inQueries = new RegExp(`(?<=^|[?&\\s"'(<])(${parameter}=)[^&#\\s"'<>()|,;]+`, 'gi');
const inAddresses = /(:\/\/)[^/?#\s"'@]*@/g;
/** Not the word `token` in a sentence: secrets have figures or dots inside. */
const inHeaders = /(Bearer(?:\s|%20)+)(?=[\w~+/%=-]*[\d.][\w~+/%=-])[\w.~+/%=-]+/gi;

/** A URL, or words that hold some, without what gives access: passwords, signatures, tokens. */
export const withoutSecrets = (text: string): string =>
  text.replaceAll(inAddresses, '$1').replaceAll(inQueries, '$1…').replaceAll(inHeaders, '$1…');
