import {
  accessToken,
  any,
  hide,
  name,
  namedSecrets,
  password,
  placedSecrets,
  secretForms,
} from './in-messages.ts';

// On command lines: in a shell, a list or text in quotes.

/** Where an option begins: also right after a quote, as in `arguments = "--token …"`. */
export const option = '(?<![\\w-])-';
/** Between an option and its value; not the end of a line, unless it continues. */
export const gap = '(?:\\\\+[nrt]|[\\\\"\'`=, \\t]|(?<=[\\\\,][ \\t]*)\\r?\\n){1,40}';
export const word = '(?:[^\\s"\'`\\\\<]|\\\\(?!["\'])|<(?!/))+';
/** Up to the end of quotes that begin just before it, or a word. */
const quotedOrWord = any('(?<=")[^"\\n\\\\]+', "(?<=')[^'\\n]+", '(?<=`)[^`\\n]+', word);
/** The end of an option's name whose value is a secret. `--pwd /folder` is a folder. */
const secretOption =
  `-?[\\w-]${name}?(?:${accessToken}|${password}|passphrase|passin|passout|secret|credentials?|` +
  '(?:api|access)[_-]?key|(?<=[_-])(?:key|auth|pass|pw)|(?<=[_-])pwd(?![\\s"\'=,]{1,6}/))';
const verb = any(
  'is|are|was|were|has|had|must|may|can|cannot|should|needs?|requires?|required|expects?|expected|missing|not',
  'and|or|to|in|for|from|with|without',
);
/** After an option in a sentence (`--token is required`), or a count: no secret. */
const noValue = `(?!["'\`]? ${verb}(?=[\\s.,;:)]|$))(?![ =]\\d{1,3}(?![^\\s.,;:)]))`;
/** `--token …`, `--wandb_key=…`. */
export const secretInOption = new RegExp(
  `(${option}${secretOption}${noValue}${gap})(?!--|…|\\[removed\\])${quotedOrWord}`,
  'gi',
);

const userName = '[^\\s:"\'`/,]';
/** `-u me:word`, `--user 'me:two words'`. */
export const userOption = `${option}(?:u(?:${gap})?|-user${gap})${userName}+:`;
export const userPassword = any(
  `(?<='${userName}{1,64}:)[^'\\n]+`,
  `(?<="${userName}{1,64}:)[^"\\n\\\\]+`,
  quotedOrWord,
);
const rest = '[^\\n|;]{0,200}?';
const withPassword =
  '(?:mysql|mariadb|mongo|psql|pg_|sqlcmd|sshpass|(?:docker|podman|apptainer|singularity)[\\s"\',]+login)';
const passwordOption = any(
  `\\b${withPassword}${rest}${option}[pP](?:${gap})?`,
  `\\bredis-cli\\b${rest}${option}a${gap}`,
  `\\bldap\\w+\\b${rest}${option}w${gap}`,
);
/** `curl -u me:word`, `mysql -pword`, `redis-cli -a word`, `wandb login key`. */
const logins: readonly RegExp[] = [
  new RegExp(
    `((?<![\\w/.-])(?:curl|wget|https?(?!:))${rest}${userOption})(?!//|\\[removed\\])${userPassword}`,
    'g',
  ),
  new RegExp(`(${passwordOption})(?!-|\\[removed\\])${quotedOrWord}`, 'g'),
  /(\bwandb\b[^\n]{0,200}\s)[\w-]{40,}/g,
  /(\bmachine\s+\S+\s+login\s+\S+\s+password\s+)\S+/gi,
];

/** Found on command lines. */
export const givenSecrets: readonly RegExp[] = [secretInOption, ...logins];

/** Text of a log without the secrets of its URLs, headers, variables, commands and sentences. */
export const withoutSecrets = (text: string): string =>
  hide(text, [...secretForms, ...placedSecrets, ...givenSecrets, ...namedSecrets]);
