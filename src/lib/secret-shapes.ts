// Patterns for secrets in job output. The patterns for tokens come from secretlint's recommended rules and from the platform. The other patterns are
// Pipespan's own (decision 105).
//
// An attacker may control the text, so every pattern must run in linear time. A failed match attempt may have read only a bounded number of
// characters, or characters that no other attempt reads. Therefore an unbounded character class must not be followed by a required part, unless the
// class excludes a character with which the pattern begins.

/** Describes one form of secret. The text matched by group 1 is kept; the rest of the match is replaced. */
export interface SecretShape {
  readonly pattern: RegExp
  /** A string that every match contains. It avoids running slow patterns: text without this string is skipped. */
  readonly needs?: string | undefined
  /** If set, the pattern is searched only within matches of this other pattern. */
  readonly within?: RegExp | undefined
  /** Returns false for a match that is not a secret. Such a match is kept. */
  readonly isSecret?: ((value: string) => boolean) | undefined
}

/** Matches values that are already redacted, and references to variables. */
const hidden = /^(?:\\?["'])?(?:\[REDACTED\]|\[MASKED\]|\$|\*{3})/

export function isShown(value: string): boolean {
  return !hidden.test(value)
}

/** Whether the value of a login option such as `-u` is a password. In `-u 1000:1000` and `-u host:/path` the value is not a credential. */
const isPassword = (value: string): boolean => isShown(value) && !/^(?:\d+$|\/)/.test(value)

/**
 * Tokens recognised by their prefix. The character before a token is restricted only if the prefix is so short that it may be the end of a word or
 * occur in base64: `task-…` does not contain the token `sk-…`. An underscore may precede any token.
 */
const tokens: readonly RegExp[] = [
  // The platform's personal, deploy, runner, job, trigger, feed, agent, OAuth, SCIM and other tokens.
  /gl(?:pat|dt|rt|rtr|cbt|ptt|ft|imt|agent|oas|soat|ffct|wt|fat)-[\w.-]{16,}/g,
  /(?:GR1348941|glcbt-)[\w-]{16,}/g,
  // Tokens of other forges and of registries.
  /(?<![A-Za-z0-9])gh[opusr]_[\w.-]{30,}/g,
  /github_pat_\w{40,}/g,
  /(?<![A-Za-z0-9])AT(?:BB|ATT3|CTT3)[\w=-]{24,}/g,
  /(?<![A-Za-z0-9])npm_[A-Za-z0-9]{30,}/g,
  /(?<![A-Za-z0-9])pypi-[\w-]{40,}/g,
  /dckr_(?:pat|oat)_[\w-]{20,}/g,
  /(?<![A-Za-z0-9])hv[sbr]\.[\w-]{20,}/g,
  // Tokens of cloud providers.
  /(?<![A-Z0-9])(?:A3T[A-Z0-9]|AKIA|AGPA|AIDA|AROA|AIPA|ANPA|ANVA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Z0-9])/g,
  /(?<![A-Za-z0-9])AIza[\w-]{35}/g,
  /(?<![A-Za-z0-9])ya29\.[\w-]{20,}/g,
  /GOCSPX-[\w-]{20,}/g,
  /(?<![A-Za-z0-9])do[opr]_v1_[0-9a-f]{40,}/g,
  /[\w~.]{3}\dQ~[\w~.-]{31,34}/g,
  /(?<![A-Za-z0-9])(?:cfk|cfut|cfat)_[A-Za-z0-9]{40,}/g,
  /(?<![A-Za-z0-9])vc[piark]_[A-Za-z0-9]{20,}/g,
  /(?<![A-Za-z0-9])dapi[A-Fa-f0-9]{32}/g,
  // Tokens of web services.
  /(?<![A-Za-z0-9])xox[abcdeoprs]-[\w-]{10,}/g,
  /(?<![A-Za-z0-9])xapp-\d-[\w-]{10,}/g,
  /https:\/\/hooks\.slack\.com\/(?:services|workflows)\/[\w/]{20,}/g,
  /https:\/\/discord(?:app)?\.com\/api\/webhooks\/\d{5,25}\/[\w-]{20,}/g,
  /(?<![A-Za-z0-9])[sr]k_(?:live|test)_[A-Za-z0-9]{16,}/g,
  /(?<![A-Za-z0-9])SG\.[\w-]{16,}\.[\w-]{16,}/g,
  /(?<![A-Za-z0-9])sk-(?:ant-|proj-|svcacct-|admin-)?[\w-]{32,}/g,
  /whsec_[A-Za-z0-9+/=]{16,}/g,
  /(?<![A-Za-z0-9])sq0[a-z]{3}-[\w-]{20,}/g,
  /(?<![A-Za-z0-9])(?:hf|api_org)_[A-Za-z0-9]{30,}/g,
  /(?<![A-Za-z0-9])gsk_[A-Za-z0-9]{40,}/g,
  /glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}/g,
  /(?<![A-Za-z0-9])shp(?:pa|ca|at|ss)_[a-zA-Z0-9]{32,}/g,
  /(?<![A-Za-z0-9])figd_[\w-]{40,}/g,
  /(?<![A-Za-z0-9])lin_api_\w{32,}/g,
  /(?<![A-Za-z0-9])ntn_\d{11}[A-Za-z0-9]{35}/g,
  /tskey-[a-z]{2,20}-\w{8,40}-\w{16,}/g,
  /AGE-SECRET-KEY-1[A-Z0-9]{40,}/g,
  /(?<![A-Za-z0-9])glc_eyJ[\w+/=-]{20,}/g,
  /(?<![A-Za-z0-9])pul-[0-9a-f]{40}/g,
  /sntry[su]_[\w+/=-]{30,}/g,
  /(?<![A-Za-z0-9])sq[pua]_[0-9a-f]{40}/g,
  /PMAK-[0-9a-f]{24}-[0-9a-f]{34}/g,
  /rubygems_[0-9a-f]{48}/g,
  /(?<![A-Za-z0-9])[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{60,}/g,
  /(?<![A-Za-z0-9])NRAK-[A-Z0-9]{27}/g,
  /(?<![A-Za-z0-9])dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[\w-]{1,35}\.)?[A-Za-z0-9]{40,}/g,
  /(?<![A-Za-z0-9])HRKU-[\w-]{36,}/g,
  /(?<![A-Za-z0-9])fo1_[\w-]{43}/g,
  /xkeysib-[0-9a-f]{64}-[A-Za-z0-9]{16}/g,
  /(?<![A-Za-z0-9])ops_eyJ[\w=-]{50,}/g,
  /CLOJARS_[0-9a-f]{60}/g,
  // Keys and account ids of Twilio, and bot tokens of Telegram.
  /(?<![A-Za-z0-9])(?:SK|AC)[0-9a-f]{32}(?![0-9a-f])/g,
  /(?<![A-Za-z0-9:-])\d{6,12}:[\w-]{34,36}(?![\w-])/g,
  // Private keys, even if their end is missing.
  /-----BEGIN [A-Z0-9 ]{0,40}(?:PRIVATE KEY|PGP MESSAGE)[A-Z ]{0,10}-----[^]*?(?:-----END [A-Z0-9 ]{0,40}-----|$)/g,
]

const authorization = String.raw`authorization(?:\\?["'])?\s{0,3}[:=]\s{0,3}(?:\[\s{0,3})?(?:\\?["'])?`
const parameter = String.raw`[\w-]{1,40}=(?:"[^"\n]{0,1024}"|[^\s,"'\\]{1,1024})`
/**
 * The scheme of a credential, whose name is kept. Any word may be a scheme if the string after it looks like a credential: it is long, or contains a
 * digit.
 */
const scheme = String.raw`(?:basic|bearer|token|digest|negotiate|[a-z][a-z-]{0,30}(?=\s{1,3}[^\s"',;\\]{16}|\s{1,3}[^\s"',;\\\d]{0,15}\d))`
/** A credential: one word, or two if the second looks like a credential, because the first may then be the scheme. */
const credential = String.raw`[^\s"',;\\]{6,1024}(?:\s{1,3}(?:[^\s"',;\\]{16,1024}|[^\s"',;\\\d]{5,15}\d[^\s"',;\\]{0,1024}))?`

/** Matches the prefixes of the tokens that require a boundary before them, but without this boundary. */
export const boundedTokens = new RegExp(
  tokens.flatMap(({ source }) => (source.startsWith('(?<!') ? source.slice(source.indexOf(')') + 1) : [])).join('|'),
  'y',
)

/** Matches the arguments of a login command after the name of the program, up to the next pipe. */
const login = /(?:docker|podman|buildah|skopeo|nerdctl|helm|oras|crane|az|oc|cf)\s(?:[\w-]{1,30}\s){0,3}login\s[^\n|]*/g

export const secretShapes: readonly SecretShape[] = [
  ...tokens.map(pattern => ({ pattern })),
  // JSON Web Tokens. The pattern also matches strings without a second part, which are not tokens, so that their characters are read only once.
  {
    pattern: /eyJ[\w-]{8,}(?:\.eyJ[\w-]{8,}(?:\.[\w-]*)?)?/g,
    isSecret: value => value.includes('.'),
  },
  // Authorization headers: either their parameters or a credential.
  {
    pattern: new RegExp(`(${authorization}[a-z][\\w-]{0,30}\\s{1,3})${parameter}(?:,\\s{0,3}${parameter}){0,19}`, 'gi'),
    isSecret: isShown,
  },
  { pattern: new RegExp(`(${authorization}(?:${scheme}\\s{1,3})?)${credential}`, 'gi'), isSecret: isShown },
  { pattern: /(bearer\s+)[\w.~+/=-]{12,}/gi },
  {
    pattern: /(cookie2?(?:(?:\\?["'])?\s{0,3}[:=]\s{0,3}|\s{1,3})(?:\\?["'])?)[\w!#$%&*+.^|~-]{1,256}=[^"'\n\\]*/gi,
    isSecret: isShown,
  },
  // Passwords in URLs and connection strings.
  { pattern: /(:\/\/[^\s/?#:@"']*:)[^\s/"'<>]+(?=@)/g, isSecret: isShown },
  { pattern: /([?&;]sig=)[^\s"'&#;]{6,}/gi },
  { pattern: /(sharedaccess(?:key|signature)\s?=)[^\s"';,]{6,}/gi },
  { pattern: /(;\s?pwd=)[^\s"';]+/gi, isSecret: isShown },
  // Credentials in Docker and npm files, in .netrc and in .pgpass.
  { pattern: /(\\?"auth\\?"\s{0,3}:\s{0,3}\\?"|(?<![A-Za-z0-9])_auth\s{0,3}=\s{0,3}["']?)[A-Za-z0-9+/_-]{6,}={0,2}/g },
  {
    pattern:
      /((?:machine\s{1,9}\S{1,256}\s{1,9}|(?:^[ \t]*|default\s{1,9})(?=login|account))(?:(?:login|account)\s{1,9}[^\s,;:]{1,256}\s{1,9}){0,3}password\s{1,9})\S+/gm,
    isSecret: isShown,
  },
  { pattern: /(^[ \t]*password[ \t]+)\S{4,}(?=[ \t]*$)/gm, isSecret: isShown },
  {
    pattern: /((?<=[\w.*-]):(?:\d{4,5}|\*):(?:[A-Za-z_][\w-]{0,62}|\*):(?:[A-Za-z_][\w.-]{0,62}|\*):)[^\s"',;\\]{4,}/g,
    isSecret: value => isShown(value) && !/^[0-9a-f:]+$/i.test(value),
  },
  // Passwords and tokens in command-line options.
  {
    pattern:
      /((?<![A-Za-z0-9])(?:-[uU]|--(?:(?:proxy|src|dest)-)?(?:user|creds?|auth))[ =]["']?[^\s:"'/]{1,100}:)[^\s"']+/g,
    isSecret: isPassword,
  },
  {
    pattern:
      /((?:^|[\s"'`=,([])(?:-[A-Za-z]{0,8}[uU]|--(?:(?:proxy|src|dest)-)?(?:user|creds?|auth))[ =]["'][^\s:"'/]{1,100}:)[^"'\n]+/g,
    isSecret: isPassword,
  },
  {
    within: /curl\s[^\n|]*/g,
    pattern: /(\s-[A-Za-z0-9#]{0,16}[uU][ =]?["']?[^\s:"'/-][^\s:"'/]{0,100}:)[^\s"']+/g,
    isSecret: isPassword,
  },
  {
    within: /(?:mysql|mariadb)[\w-]{0,20}\s[^\n|]*/g,
    pattern: /(\s-p["']?)[^\s"']+/g,
    isSecret: isShown,
  },
  { within: login, pattern: /(\s(?:-p\s?|--password[ =])["']?)[^\s"']+/g, isSecret: isShown },
  {
    within: /(?:sshpass|mongo\w{0,9})\s[^\n|]*/g,
    pattern: /(\s-p\s?["']?)[^\s"']+/g,
    isSecret: isShown,
  },
  {
    within: /(?:https?|xh)\s[^\n|]*/g,
    pattern: /(\s-a\s["']?[^\s:"'/]{1,100}:)[^\s"']+/g,
    isSecret: isPassword,
  },
  {
    within: /ldap(?:search|add|modify|delete|whoami|passwd)\s[^\n|]*/g,
    pattern: /(\s-w\s?["']?)[^\s"']+/g,
    isSecret: isShown,
  },
  { within: /openssl\s[^\n|]*/g, pattern: /(\s-[kK]\s["']?)[^\s"']+/g, isSecret: isShown },
  {
    pattern: /(-(?:(?:src|dest)?(?:store|key)|trust|user|admin)pass[ =:]["']?)(?!pass:)[^\s"']{4,}/gi,
    isSecret: isShown,
  },
  { within: /redis-cli\s[^\n|]*/g, pattern: /(\s-a\s["']?)[^\s"']+/g, isSecret: isShown },
  { pattern: /(-{1,2}pass(?:in|out)?(?:\s{1,3}|=)["']?pass:)[^\s"']+/g, isSecret: isShown },
  // E-mail addresses, but not `git@host`.
  { needs: '@', pattern: /(?<![\w.%+/:-])(?!git@)[\w.%+-]{1,64}@[a-z0-9](?:[a-z0-9-]{0,62}\.){1,6}[a-z]{2,24}\b/gi },
]
