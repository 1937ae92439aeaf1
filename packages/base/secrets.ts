export {
  isSecretName,
  knownSecretsRemoved,
  removed,
  secretsIn,
  textWithoutSecrets,
  wordsWithoutSecrets,
} from './secrets/in-files.ts';
export { messageWithoutSecrets, secretInVariable } from './secrets/in-messages.ts';
export { secretInOption, withoutSecrets } from './secrets/in-text.ts';
export { type Redact, createRedact, replacePieces } from './secrets/redact.ts';
