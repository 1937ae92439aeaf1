/** One of these patterns. */
export const any = (...parts: string[]): string => `(?:${parts.join('|')})`;

// How many characters a pattern looks ahead: a word may be huge.
const near = '{0,99}';
export const name = '{0,64}';

// In URLs

const parameter =
  '(?:authz|access_token|token|key|password|sig|[\\w-]*signature|[\\w-]*credential|x-amz-[\\w-]+)';
const inQuery = '[^&#\\s"\'<>()|,;]';
const percent = '%(?:25)*';
/** Only where a query parameter can begin: folders may be called `key=1`. */
const secretInQuery = new RegExp(`(?<=^|[?&;\\s"'(<])(${parameter}=)${inQuery}+`, 'gi');
/** The same in a URL that is itself a parameter. */
const secretInEncodedQuery = new RegExp(
  `(?<=${percent}(?:3F|26))(${parameter}${percent}3D)(?:(?!${percent}26)${inQuery})+`,
  'gi',
);
export const secretInAddress = /(:\/\/)[^/?#\s"'@]*@/g;

// By form

const key = any(
  'hf_[A-Za-z0-9]{20,}|gh[pousr]_\\w{20,}|github_pat_\\w{20,}|glpat-[\\w-]{16,}|AIza[\\w-]{30,}|npm_\\w{30,}',
  '(?:sk-|pypi-)(?=\\w*[\\dA-Z])\\w{16,}[\\w-]*|sk-(?:proj|ant|admin|svcacct|or)-[\\w-]{16,}|xox[abprs]-[\\w-]{10,}',
  'wandb_v\\d_\\w{16,}|do[opr]_v1_\\w{20,}|[sr]k_(?:live|test)_\\w{10,}|SG\\.[\\w-]{16,}\\.[\\w-]{16,}',
);
const webhook = any('hooks\\.slack\\.com/\\w+', '(?:\\w+\\.)?discord(?:app)?\\.com/api/webhooks');
// The end of a private key may be missing, or its line ends escaped.
const keyBegin = '-----BEGIN [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----';
const keyLines = '(?:[A-Za-z0-9+/=\\s]|\\\\+[nrt]|(?:Proc-Type|DEK-Info):[^\\n\\\\]*)*';

/**
 * Found by their form, wherever they are; also after an underscore, as in names of files. Of every pattern, the first
 * group, if it has one, stays.
 */
export const secretForms: readonly RegExp[] = [
  /(?<![A-Za-z0-9])eyJ[\w-]{10,}(?:\.[\w-]*){0,2}/g,
  /(?<![A-Za-z0-9])(?:AKIA|ASIA|AIDA|AROA|AGPA)[A-Z0-9]{16}(?![A-Za-z0-9])/g,
  new RegExp(`(?<![A-Za-z0-9])${key}`, 'g'),
  new RegExp(`(https://${webhook}/)[\\w/-]+`, 'g'),
  new RegExp(`${keyBegin}${keyLines}(?:-----END [A-Z0-9 ]*-----)?`, 'g'),
  /(\bPrivate-Lines: \d+\r?\n)(?:[A-Za-z0-9+/=]+\r?(?:\n|$))+/g,
];

// By the words before them

/** Not the words of a language model: `tokenizer`, `max_token`, `pad_token`. */
export const accessToken =
  '(?<!(?:^|[^a-z])(?:max|min|num|per|pad|eos|bos|sep|cls|unk|mask)[_-]?)token(?!i[sz])';
export const password = 'passw(?:or)?d';
/** `WANDB_API_KEY=…`; not a path, a URL or a macro, which only name a secret. */
const variable = `(?:${accessToken}|secret|${password}|_pass|_pw|api_?key|access_?key)`;
export const secretInVariable = new RegExp(
  `(?<![\\w/])(\\w*${variable}=)(?![./~$]|\\w+://)[^\\s"';]{8,}`,
  'gi',
);

/** Not the word after "bearer" in a sentence: secrets contain digits or dots. */
const secretInHeader = /(Bearer(?:\s|%20)+)(?=[\w~+/%=-]*[\d.][\w~+/%=-])[\w.~+/%=-]+/gi;
const cookie = '[\\w.-]+=[^\\s;"\'\\\\]+';
const secretInCookie = new RegExp(
  `(\\b(?:set-)?cookie\\\\*["']?\\s*:\\s*\\\\*["']?)${cookie}(?:;\\s*${cookie})*`,
  'gi',
);

const inWord = '[^\\s"\'`,;()<>]';
/** The name of an error, code (`token: List[Int64]`), a path or a URL. */
const noSecret = any('[./~$]', '\\w+://', '\\w+(?:Error|Exception|Token)\\b', '\\w[\\w.]*[[(]');
const mixed = any(`(?=${inWord}${near}\\d)(?=${inWord}${near}[A-Za-z])`, `(?=${inWord}${near}[A-Z]{2}[a-z])`);
/** Not a plain word. */
const unlikeWords = `(?!${noSecret})${mixed}${inWord}{6,}`;

/** `word`, `Word` or `WORD`: other spellings are names in code. */
const spelled = (...words: string[]): string =>
  any(...words.flatMap((word) => [word, word.charAt(0).toUpperCase() + word.slice(1), word.toUpperCase()]));
const passwords = spelled('password', 'passwd');
const spoken = any(spelled('token'), passwords, '[Ss]ecret', '[Pp]assphrase', '[Aa][Pp][Ii][_ -]?[Kk]ey');
/** `token: …`, `password …`. */
const secretInSentence = new RegExp(
  `((?<![\\w/-])${spoken}["']?(?:\\s*:\\s*|=|\\s*=\\s*(?=["'])|\\s+(?:(?:is|was)\\s+)?)["'\`]?)${unlikeWords}`,
  'g',
);

const scheme = '(?:Basic|Bearer|Digest|Negotiate|Token|OAuth|[Aa][Pp][Ii]-?[Kk]ey)';
const colon = '\\\\*["\']?\\s*:\\s*\\\\*["\']?';
/** Not what a sentence says of it: `Authorization: denied`. */
const header = `\\b${spelled('authorization', 'cookie')}${colon}(?:${scheme} +|(?!OAuth|HTTP))`;
const basic = `\\bBasic +(?=[\\w+/]${near}[a-z][\\w+/]${near}[A-Z])(?=[\\w+/]${near}\\d)`;
const serviceKey = `(?<=${spelled('api', 'access', 'secret', 'private', 'auth', 'account')}[_-])${spelled('key')}`;
const fieldName = `(?<![\\w/-])\\w[\\w-]${name}[_-]${any(spelled('token', 'secret'), passwords, serviceKey)}`;
/** `Authorization: Basic …`, `X-Auth-Token: …`, `access_token: …`. */
const secretInField = new RegExp(
  `(${any(header, basic, `${fieldName}\\s*:\\s*["'\`]?`)})${unlikeWords}`,
  'g',
);
/** The same of letters only; not what a sentence says of them. */
const plainHeader = new RegExp(
  `(\\b(?:authorization${colon}${scheme} +|x-(?:api-key|auth-token)["']?\\s*:\\s*["']?))` +
    '(?!un|in|auth|cred)[a-z]{12,}(?![\\w(])',
  'gi',
);

/** What messages say of a password instead of showing it; also types and values of code. */
const saidOfPasswords = any(
  '(?:un|in)?(?:authenticated|authorized|changed|correct|defined|known|provided|set|specified|supported|valid)',
  'denied|disabled|enabled|encrypted|entered|expected|expired|failed|hashed|ignored|incoming|locked|masked|missing',
  'needed|pending|redacted|refused|rejected|removed|required|revoked|saved|stored',
  '\\w*(?:[ai]ble|str|error|failure|match)',
  'blank|bool|empty|false|forbidden|hidden|none|null|optional|prompt|text|true|wrong',
);
const codeValues = '(?:none|null|true|false|str|bool|text|empty|self|args|value|input)';
const clauseEnd = '(?![\\w.]*[\\w([:/-])(?! +(?!for |and |with |user|at )[a-z])';
/** `password: hunter`: a plain word that ends its clause, or that a user, a host or the like follows. */
const plainPassword = new RegExp(
  `((?<![a-z\\d/-])pass(?:word|phrase)["']?[ \\t]*[:=][ \\t]*["'\`]?)` +
    `(?!(?<=: *["'\`]?)${saidOfPasswords}(?![\\w!])|${codeValues}\\b)[a-z]{4,}!*${clauseEnd}`,
  'gi',
);

const secretKey =
  `[\\w.-]${name}?(?:${accessToken}|secret|${password}|passphrase|credential|` +
  '(?:api|access|private|secret|auth)[_-]?key)';
const quoteOrTag = '["\'\\\\<]';
const smallWord = '(?:an?|the|this|is|are|was|has|be|no|not|to|of|in|on|by|for|it|your|must|may|can|should)';
/** What is no secret in quotes or an element: what is said of one, a variable, something to fill in, or a sentence. */
const saidInQuotes = `(?!${any(
  `${saidOfPasswords}(?![\\w!])${quoteOrTag}`,
  '\\s|\\[removed\\]',
  `[$%][a-z_]${name}%?${quoteOrTag}`,
  `[$%]?[{(<]{1,2}[\\w .:-]${name}[)}>]{1,2}s?${quoteOrTag}`,
  `(?<!phrase[^\\w\\n]{1,30})(?=[^"'<\\n]${near}\\b${smallWord}\\b)(?:[^"'<\\s]{1,99} ){4}`,
)})`;
/** A value of JSON, which may itself be in quotes; up to the same quote. */
const secretInQuotes = new RegExp(
  `((?<!\\\\)(?<quote>\\\\{0,8}["'])${secretKey}\\k<quote>\\s*(?::|=>)\\s*\\k<quote>)` +
    `${saidInQuotes}(?:(?!(?<!\\\\)\\k<quote>)[^\\n])+`,
  'gi',
);
/** An element of XML. */
const secretInElement = new RegExp(
  `(<${secretKey}>\\s*(?=[^<]*</|[^\\n]{0,200}</)|"${secretKey}"><s>)${saidInQuotes}(?:(?!</)[^\\n])+`,
  'gi',
);

/** Found by where they are. */
export const placedSecrets: readonly RegExp[] = [
  ...[secretInQuery, secretInEncodedQuery, secretInHeader, secretInCookie, secretInVariable],
];
/** Found by the words before them. */
export const namedSecrets: readonly RegExp[] = [
  ...[secretInQuotes, secretInElement, secretInField, plainHeader, secretInSentence, plainPassword],
  /(\bPIN["']?\s*[:=]\s*)\d{4,8}(?![\w.])/g,
];

export const hide = (text: string, patterns: readonly RegExp[]): string =>
  patterns.reduce(
    (kept, pattern) =>
      kept.replaceAll(pattern, (_, start?: unknown) => `${typeof start === 'string' ? start : ''}…`),
    text.replaceAll(secretInAddress, '$1'),
  );

/** A URL, or a server's message, without passwords, signatures and tokens. */
export const messageWithoutSecrets = (text: string): string =>
  hide(text, [...secretForms, ...placedSecrets, ...namedSecrets]);
