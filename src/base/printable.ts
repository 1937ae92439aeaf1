// Controls (C0, DEL, C1) could control the terminal; bidirectional marks, line separators and invisible characters could disguise text.
const unsafe =
  /[\p{Cc}\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;

/** Text from a log, journal or server as one line that is safe on a terminal. */
export const printable = (text: string): string => text.replaceAll(/\s+/gu, ' ').replaceAll(unsafe, '\ufffd');

/** The same for many lines: line ends, tabs and the carriage returns of progress bars stay. */
export const printableLines = (text: string): string =>
  text.replaceAll(unsafe, (mark) => (/[\n\t\r]/.test(mark) ? mark : '\ufffd'));

/**
 * Filters everything a command prints: no controls except line ends and tabs. In JSON they are escaped instead of
 * replaced.
 */
export const safeOutput = (text: string, isJson: boolean): string =>
  text.replaceAll(unsafe, (mark, at: number) => {
    if (mark === '\n' || mark === '\t' || (mark === '\r' && text[at + 1] === '\n')) return mark;
    return isJson ? mark.split('').map(escaped).join('') : '\ufffd';
  });

/** The text with escapes for what is unsafe and not `kept`, so that different texts stay different: `x\u202ey`. */
export const withEscapes = (text: string, kept = ''): string =>
  text.replaceAll(unsafe, (mark) =>
    kept.includes(mark) ? mark : (lineMarks[mark] ?? mark.split('').map(escaped).join('')),
  );
const lineMarks: Record<string, string> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

const escaped = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;

const parameter =
  '(?:authz|access_token|token|key|password|sig|[\\w-]*signature|[\\w-]*credential|x-amz-[\\w-]+)';
const inQuery = '[^&#\\s"\'<>()|,;]';
/** Only where a query parameter can begin: folders may be called `key=1`. */
const secretInQuery = new RegExp(`(?<=^|[?&;\\s"'(<])(${parameter}=)${inQuery}+`, 'gi');
/** The same in a URL that is itself a parameter. */
const secretInEncodedQuery = new RegExp(
  `(?<=%(?:25)*(?:3F|26))(${parameter}%(?:25)*3D)(?:(?!%(?:25)*26)${inQuery})+`,
  'gi',
);
export const secretInAddress = /(:\/\/)[^/?#\s"'@]*@/g;
/** Not the word after "bearer" in a sentence: secrets contain digits or dots. */
const secretInHeader = /(Bearer(?:\s|%20)+)(?=[\w~+/%=-]*[\d.][\w~+/%=-])[\w.~+/%=-]+/gi;

/** Not the words of a language model: `tokenizer`, `max_token`, `pad_token`. */
export const accessToken =
  '(?<!(?:^|[^a-z])(?:max|min|num|per|pad|eos|bos|sep|cls|unk|mask)[_-]?)token(?!i[sz])';

/** `WANDB_API_KEY=…`; not a path, a URL or a macro, which only name a secret. */
export const secretInVariable = new RegExp(
  `(?<![\\w/])(\\w*(?:${accessToken}|secret|passw(?:or)?d|_pass|_pw|api_?key|access_?key)=)(?![./~$]|\\w+://)[^\\s"';]{8,}`,
  'gi',
);

/** A kind of secret, and how to find it: the pattern's first group, if it has one, stays. */
export interface SecretRule {
  what: string;
  pattern: RegExp;
}

export const rule = (what: string, ...patterns: RegExp[]): SecretRule[] =>
  patterns.map((pattern) => ({ what, pattern }));

/** Found by their form, wherever they are; also after an underscore, as in names of files. */
export const secretForms: readonly SecretRule[] = [
  { what: 'token (JWT)', pattern: /(?<![A-Za-z0-9])eyJ[\w-]{10,}(?:\.[\w-]*){0,2}/g },
  { what: 'AWS key', pattern: /(?<![A-Za-z0-9])(?:AKIA|ASIA|AIDA|AROA|AGPA)[A-Z0-9]{16}(?![A-Za-z0-9])/g },
  ...rule(
    'service key',
    /(?<![A-Za-z0-9])(?:hf_[A-Za-z0-9]{20,}|gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|(?:sk-|pypi-)(?=\w*[\dA-Z])\w{16,}[\w-]*|sk-(?:proj|ant|admin|svcacct|or)-[\w-]{16,}|xox[abprs]-[\w-]{10,}|AIza[\w-]{30,}|npm_\w{30,}|wandb_v\d_\w{16,}|do[opr]_v1_\w{20,}|[sr]k_(?:live|test)_\w{10,}|SG\.[\w-]{16,}\.[\w-]{16,})/g,
    /(https:\/\/(?:hooks\.slack\.com\/\w+|(?:\w+\.)?discord(?:app)?\.com\/api\/webhooks)\/)[\w/-]+/g,
  ),
  ...rule(
    'private key',
    // The end may be missing, or the line ends escaped.
    /-----BEGIN [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----(?:[A-Za-z0-9+/=\s]|\\+[nrt]|(?:Proc-Type|DEK-Info):[^\n\\]*)*(?:-----END [A-Z0-9 ]*-----)?/g,
    /(\bPrivate-Lines: \d+\r?\n)(?:[A-Za-z0-9+/=]+\r?(?:\n|$))+/g,
  ),
];

const inWord = '[^\\s"\'`,;()<>]';
/** Not a plain word, the name of an error, code (`token: List[Int64]`), a path or a URL. Looks ahead only so far: a word may be huge. */
const unlikeWords = `(?![./~$]|\\w+://|\\w+(?:Error|Exception|Token)\\b|\\w[\\w.]*[[(])(?:(?=${inWord}{0,99}\\d)(?=${inWord}{0,99}[A-Za-z])|(?=${inWord}{0,99}[A-Z]{2}[a-z]))${inWord}{6,}`;
/** `token: …`, `password …`. */
const secretInSentence = new RegExp(
  `((?<![\\w/-])(?:[Tt]oken|TOKEN|[Ss]ecret|[Pp]assw(?:or)?d|PASSWORD|[Pp]assphrase|[Aa][Pp][Ii][_ -]?[Kk]ey)["']?(?:\\s*:\\s*|=|\\s*=\\s*(?=["'])|\\s+(?:(?:is|was)\\s+)?)["'\`]?)${unlikeWords}`,
  'g',
);
const scheme = '(?:Basic|Bearer|Digest|Negotiate|Token|OAuth|[Aa][Pp][Ii]-?[Kk]ey)';
/** `Authorization: Basic …`, `X-Auth-Token: …`, `access_token: …`; not what a sentence says of them: `Authorization: denied`. */
const secretInField = new RegExp(
  `((?:\\b(?:[Aa]uthorization|AUTHORIZATION|[Cc]ookie|COOKIE)\\\\*["']?\\s*:\\s*\\\\*["']?(?:${scheme} +|(?!OAuth|HTTP))|\\bBasic +(?=[\\w+/]{0,99}[a-z][\\w+/]{0,99}[A-Z])(?=[\\w+/]{0,99}\\d)|(?<![\\w/-])\\w[\\w-]{0,64}[_-](?:[Tt]oken|TOKEN|[Ss]ecret|SECRET|[Pp]assw(?:or)?d|PASSWORD|(?<=(?:api|access|secret|private|auth|account)[_-]|(?:Api|API|Access|ACCESS|Secret|SECRET|Private|PRIVATE|Auth|AUTH|Account|ACCOUNT)[_-])(?:[Kk]ey|KEY))\\s*:\\s*["'\`]?))${unlikeWords}`,
  'g',
);
/** The same of letters only; not what a sentence says of them. */
const plainHeader = new RegExp(
  `(\\b(?:authorization\\\\*["']?\\s*:\\s*\\\\*["']?${scheme} +|x-(?:api-key|auth-token)["']?\\s*:\\s*["']?))(?!un|in|auth|cred)[a-z]{12,}(?![\\w(])`,
  'gi',
);
const secretInCookie =
  /(\b(?:set-)?cookie\\*["']?\s*:\s*\\*["']?)[\w.-]+=[^\s;"'\\]+(?:;\s*[\w.-]+=[^\s;"'\\]+)*/gi;

/** What messages say of a password instead of showing it: `required`, `invalid`; also types. */
const saidOfPasswords =
  '(?:\\w*(?:ed|ing|[ai]ble|str|correct|valid|known|error|failure|match)|none|null|true|false|empty|hidden|wrong|bool|text|optional|prompt|blank|unset|forbidden)(?![\\w!])';
/** `password: hunter`, `password = hunted`: a plain word that ends its clause, or that a user, a host or the like follows. */
const plainPassword = new RegExp(
  `((?<![a-z\\d/-])pass(?:word|phrase)["']?[ \\t]*[:=][ \\t]*["'\`]?)(?!(?<=: *["'\`]?)${saidOfPasswords}|(?:none|null|true|false|str|bool|text|empty|self|args|value|input)\\b)[a-z]{4,}!*(?![\\w.]*[\\w([:/-])(?! +(?!for |and |with |user|at )[a-z])`,
  'gi',
);

const secretKey = `[\\w.-]{0,64}?(?:${accessToken}|secret|passw(?:or)?d|passphrase|(?:api|access|private|secret|auth)[_-]?key|credential)`;
/** What is no secret in quotes or an element: what is said of one, a variable, something to fill in, or a sentence. */
const saidInQuotes = `(?!${saidOfPasswords}["'\\\\<]|\\s|\\[removed\\]|[$%][a-z_]{0,64}%?["'\\\\<]|[$%]?[{(<]{1,2}[\\w .:-]{0,64}[)}>]{1,2}s?["'\\\\<]|(?<!phrase[^\\w\\n]{1,30})(?=[^"'<\\n]{0,99}\\b(?:an?|the|this|is|are|was|has|be|no|not|to|of|in|on|by|for|it|your|must|may|can|should)\\b)(?:[^"'<\\s]{1,99} ){4})`;
/** A value of JSON, which may itself be in quotes; up to the same quote. */
const secretInQuotes = new RegExp(
  `((?<!\\\\)(?<quote>\\\\{0,8}["'])${secretKey}\\k<quote>\\s*(?::|=>)\\s*\\k<quote>)${saidInQuotes}(?:(?!(?<!\\\\)\\k<quote>)[^\\n])+`,
  'gi',
);
/** An element of XML. */
const secretInElement = new RegExp(
  `(<${secretKey}>\\s*(?=[^<]*</|[^\\n]{0,200}</)|"${secretKey}"><s>)${saidInQuotes}(?:(?!</)[^\\n])+`,
  'gi',
);

/** Patterns for the words of a command line, in a shell, a list or text in quotes. */
export const commandLine = {
  /** Where an option begins: also right after a quote, as in `arguments = "--token …"`. */
  option: '(?<![\\w-])-',
  /** Between an option and its value; not the end of a line, unless it continues. */
  gap: '(?:\\\\+[nrt]|[\\\\"\'`=, \\t]|(?<=[\\\\,][ \\t]*)\\r?\\n){1,40}',
  /** Up to the end of quotes that begin just before it. */
  inQuotes: '(?<=")[^"\\n\\\\]+|(?<=\')[^\'\\n]+|(?<=`)[^`\\n]+',
  word: '(?:[^\\s"\'`\\\\<]|\\\\(?!["\'])|<(?!/))+',
};
/** The end of an option's name whose value is a secret. `--pwd /folder` is a folder. */
const secretOption = `-?[\\w-]{0,64}?(?:${accessToken}|passw(?:or)?d|passphrase|passin|passout|secret|api[_-]?key|access[_-]?key|credentials?|(?<=[_-])(?:key|auth|pass|pw)|(?<=[_-])pwd(?![\\s"'=,]{1,6}/))`;
/** After an option in a sentence (`--token is required`), or a count: no secret. */
const plainWord =
  '(?!["\'`]? (?:is|are|was|were|has|had|must|may|can|cannot|should|needs?|requires?|required|expects?|expected|missing|not|and|or|to|in|for|from|with|without)(?=[\\s.,;:)]|$))(?![ =]\\d{1,3}(?![^\\s.,;:)]))';
/** `--token …`, `--wandb_key=…`. */
export const secretInOption = new RegExp(
  `(${commandLine.option}${secretOption}${plainWord}${commandLine.gap})(?!--|…|\\[removed\\])(?:${commandLine.inQuotes}|${commandLine.word})`,
  'gi',
);

const { option, gap, inQuotes, word } = commandLine;
export const userOption = `${option}(?:u(?:${gap})?|-user${gap})[^\\s:"'\`/,]+:`;
/** `curl -u me:word`, `mysql -pword`, `redis-cli -a word`, `wandb login key`. */
const logins: readonly RegExp[] = [
  new RegExp(
    `((?<![\\w/.-])(?:curl|wget|https?(?!:))[^\\n|;]{0,200}?${userOption})(?!//|\\[removed\\])(?:${inQuotes}|${word})`,
    'g',
  ),
  new RegExp(
    `(\\b(?:mysql|mariadb|mongo|psql|pg_|sqlcmd|sshpass|(?:docker|podman|apptainer|singularity)[\\s"',]+login)[^\\n|;]{0,200}?${option}[pP](?:${gap})?|\\b(?:redis-cli\\b[^\\n|;]{0,200}?${option}a|ldap\\w+\\b[^\\n|;]{0,200}?${option}w)${gap})(?!-|\\[removed\\])(?:${inQuotes}|${word})`,
    'g',
  ),
  /(\bwandb\b[^\n]{0,200}\s)[\w-]{40,}/g,
  /(\bmachine\s+\S+\s+login\s+\S+\s+password\s+)\S+/gi,
];

/** Found by where they are. */
export const placedSecrets: readonly SecretRule[] = [
  ...rule('secret in a URL', secretInQuery, secretInEncodedQuery),
  ...rule('token', secretInHeader, secretInCookie),
  ...rule('variable', secretInVariable),
];
/** Found by the words before them. */
export const namedSecrets: readonly SecretRule[] = [
  ...rule('secret option', secretInOption),
  ...rule('secret by its name', secretInQuotes, secretInElement, secretInField, plainHeader),
  ...rule('secret by its name', secretInSentence, plainPassword, /(\bPIN["']?\s*[:=]\s*)\d{4,8}(?![\w.])/g),
  ...rule('login', ...logins),
];

/** Text without the passwords, signatures and tokens of its URLs, headers, variables, command lines and sentences. */
export const withoutSecrets = (text: string): string =>
  [...secretForms, ...placedSecrets, ...namedSecrets].reduce(
    (kept, { pattern }) =>
      kept.replaceAll(pattern, (_, start?: unknown) => `${typeof start === 'string' ? start : ''}…`),
    text.replaceAll(secretInAddress, '$1'),
  );

/** The first few of many names, and how many more there are: `a, b and 3 more`. */
export function firstFew(names: readonly string[], max: number): string {
  const more = names.length - max;
  return `${names.slice(0, max).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/**
 * The most informative line of a failed program's output: the first that begins with "error" or "fatal", with the last
 * cause if causes are listed; else the last line. Stack traces are dropped.
 */
export function informativeLine(output: string): string {
  const boxed = boxedError(output);
  if (boxed !== undefined) return boxed;
  const lines = output
    .replace(/^\s*stack backtrace:[^]*/im, '')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  const error = lines.findIndex((line) => /^(error|fatal)\b|^×/i.test(line));
  const last = lines.at(-1) ?? '';
  if (error === -1) return last;
  const first = lines[error] ?? '';
  return lines.indexOf('Caused by:', error) === -1 ? first : `${first}: ${last.replace(/^\d+: /, '')}`;
}

/** Some programs draw their errors: a cross before the failure, arrows to its causes, lines wrapped at the terminal's width. */
function boxedError(output: string): string | undefined {
  const lines = output.split('\n').map((line) => line.replace(/^[\s│]+/, '').trimEnd());
  const what = lines.findIndex((line) => line.includes('×'));
  const cause = lines.findLastIndex((line) => line.startsWith('╰─▶'));
  if (what === -1) return undefined;
  return cause < what
    ? paragraphAt(lines, what)
    : `${paragraphAt(lines, what).replace(/\.$/, '')}: ${paragraphAt(lines, cause)}`;
}

function paragraphAt(lines: string[], at: number): string {
  const after = lines.slice(at + 1);
  const end = after.findIndex((line) => line === '' || /^(?:[├╰╭⚠]|help:)/.test(line));
  const text = [lines[at], ...(end === -1 ? after : after.slice(0, end))].join('\n');
  // Lines are also wrapped after a hyphen, without a space.
  const joined = text.replaceAll(/(?<=\w-)\n/g, '').replaceAll('\n', ' ');
  return joined.replace(/^.*?(?:×|╰─▶)\s*(?:×\s*)?/, '');
}

/** A sentence cut at its `code`, which Updraft's own sentences mark as Markdown does. */
export const codeSpans = <T>(sentence: string, asCode: (code: string) => T): (string | T)[] =>
  sentence.split(/`([^`]+)`/).map((part, index) => (index % 2 === 1 ? asCode(part) : part));
