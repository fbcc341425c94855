// Patterns of secrets in the texts of jobs. The patterns of tokens come from secretlint's recommended rules and from the platform; the others are our
// own (decision 84).
//
// An attacker may have chosen the text, so every pattern must take linear time. An attempt that fails may only have read a bounded number of
// characters, or characters that no other attempt reads. Therefore nothing may be required after an unbounded character class, unless the class
// excludes a character that the pattern begins with.

/** Describes one form of secrets. The text that group 1 matches is kept; the rest of the match is replaced. */
export interface SecretShape {
  readonly pattern: RegExp
  /** For slow patterns: a text that does not contain this string is not searched. */
  readonly needs?: string | undefined
  /** The pattern is only searched for within the matches of this one. */
  readonly within?: RegExp | undefined
  /** Answers false for a match that is not a secret; it is kept. */
  readonly isSecret?: ((value: string) => boolean) | undefined
}

/** Values that are already hidden, and references to variables. */
const hidden = /^(?:\\?["'])?(?:\[REDACTED\]|\[MASKED\]|\$|\*{3})/

export function isShown(value: string): boolean {
  return !hidden.test(value)
}

/** Excludes `-u 1000:1000` and `-u host:/path`, which are not credentials. */
const isPassword = (value: string): boolean => isShown(value) && !/^(?:\d+$|\/)/.test(value)

/** Tokens that are recognised by their beginning. */
const tokens: readonly RegExp[] = [
  // The platform's personal, deploy, runner, job, trigger, feed, agent, OAuth, SCIM and other tokens.
  /\bgl(?:pat|dt|rt|rtr|cbt|ptt|ft|imt|agent|oas|soat|ffct|wt|fat)-[\w.-]{16,}/g,
  /\b(?:GR1348941|glcbt-)[\w-]{16,}/g,
  // Other forges and registries.
  /\bgh[opusr]_[\w.-]{30,}/g,
  /\bgithub_pat_\w{40,}/g,
  /\bAT(?:BB|ATT3|CTT3)[\w=-]{24,}/g,
  /\bnpm_[A-Za-z0-9]{30,}/g,
  /\bpypi-[\w-]{40,}/g,
  /\bdckr_(?:pat|oat)_[\w-]{20,}/g,
  /\bhv[sbr]\.[\w-]{20,}/g,
  // Clouds.
  /\b(?:A3T[A-Z0-9]|AKIA|AGPA|AIDA|AROA|AIPA|ANPA|ANVA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b/g,
  /\bAIza[\w-]{35}/g,
  /\bya29\.[\w-]{20,}/g,
  /\bGOCSPX-[\w-]{20,}/g,
  /\bdo[opr]_v1_[0-9a-f]{40,}/g,
  /\b[\w~.]{3}\dQ~[\w~.-]{31,34}/g,
  /\b(?:cfk|cfut|cfat)_[A-Za-z0-9]{40,}/g,
  /\bvc[piark]_[A-Za-z0-9]{20,}/g,
  /\bdapi[A-Fa-f0-9]{32}/g,
  // Services.
  /\bxox[abeoprs]-[\w-]{10,}/g,
  /\bxapp-\d-[\w-]{10,}/g,
  /https:\/\/hooks\.slack\.com\/(?:services|workflows)\/[\w/]{20,}/g,
  /https:\/\/discord(?:app)?\.com\/api\/webhooks\/\d{5,25}\/[\w-]{20,}/g,
  /\b[sr]k_(?:live|test)_[A-Za-z0-9]{16,}/g,
  /\bSG\.[\w-]{16,}\.[\w-]{16,}/g,
  /\bsk-(?:ant-|proj-|svcacct-|admin-)?[\w-]{32,}/g,
  /\bwhsec_[A-Za-z0-9+/=]{16,}/g,
  /\bsq0[a-z]{3}-[\w-]{20,}/g,
  /\b(?:hf|api_org)_[A-Za-z0-9]{30,}/g,
  /\bgsk_[A-Za-z0-9]{40,}/g,
  /\bglsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}/g,
  /\bshp(?:pa|ca|at|ss)_[a-zA-Z0-9]{32,}/g,
  /\bfigd_[\w-]{40,}/g,
  /\blin_api_\w{32,}/g,
  /\bntn_\d{11}[A-Za-z0-9]{35}/g,
  /\btskey-[a-z]{2,20}-\w{8,40}-\w{16,}/g,
  // Twilio's keys and accounts, and tokens of Telegram's bots.
  /\b(?:SK|AC)[0-9a-f]{32}\b/g,
  /(?<![\w:-])\d{6,12}:[\w-]{34,36}(?![\w-])/g,
  // Private keys, also without their end.
  /-----BEGIN [A-Z0-9 ]{0,40}(?:PRIVATE KEY|PGP MESSAGE)[A-Z ]{0,10}-----[^]*?(?:-----END [A-Z0-9 ]{0,40}-----|$)/g,
]

/** The rest of a line after the name of a program, up to its next pipe. */
const login =
  /\b(?:docker|podman|buildah|skopeo|nerdctl|helm|oras|crane|az|oc|cf)\s(?:[\w-]{1,30}\s){0,3}login\s[^\n|]*/g

export const secretShapes: readonly SecretShape[] = [
  ...tokens.map(pattern => ({ pattern })),
  // JSON Web Tokens. A match without a second part is not a token. It is matched nevertheless, so that its characters are read only once.
  {
    pattern: /eyJ[\w-]{8,}(?:\.eyJ[\w-]{8,}(?:\.[\w-]*)?)?/g,
    isSecret: value => value.includes('.'),
  },
  // Authorization headers, and the whole value of a cookie header.
  {
    pattern:
      /(authorization(?:\\?["'])?\s{0,3}[:=]\s{0,3}(?:\\?["'])?(?:(?:basic|bearer|token|digest|negotiate)\s+)?)[^\s"',;\\]{6,}/gi,
    isSecret: isShown,
  },
  { pattern: /(\bbearer\s+)[\w.~+/=-]{12,}/gi },
  {
    pattern: /(\bcookie2?(?:(?:\\?["'])?\s{0,3}[:=]\s{0,3}|\s{1,3})(?:\\?["'])?)[\w!#$%&*+.^|~-]{1,256}=[^"'\n\\]*/gi,
    isSecret: isShown,
  },
  // Addresses and connection strings.
  { pattern: /(:\/\/[^\s/?#:@"']*:)[^\s/"'<>]+(?=@)/g, isSecret: isShown },
  { pattern: /([?&;]sig=)[^\s"'&#;]{6,}/gi },
  { pattern: /(\bsharedaccess(?:key|signature)\s?=)[^\s"';,]{6,}/gi },
  { pattern: /(;\s?pwd=)[^\s"';]+/gi, isSecret: isShown },
  // The credentials of Docker, npm and .netrc.
  { pattern: /(\\?"auth\\?"\s{0,3}:\s{0,3}\\?"|\b_auth\s{0,3}=\s{0,3}["']?)[A-Za-z0-9+/_-]{6,}={0,2}/g },
  {
    pattern:
      /((?:^[ \t]*|\b(?:machine[ \t]{1,9}\S{1,256}|default)[ \t]{1,9})login[ \t]{1,9}[^\s,;:]{1,256}[ \t]{1,9}password[ \t]{1,9})\S+/gm,
    isSecret: isShown,
  },
  { pattern: /(^[ \t]*password[ \t]+)\S{4,}(?=[ \t]*$)/gm, isSecret: isShown },
  // Options of programs.
  { pattern: /((?:^|\s)(?:-[uU]|--(?:proxy-)?user)[ =]["']?[^\s:"'/]{1,100}:)[^\s"']+/g, isSecret: isPassword },
  { within: /\bcurl\s[^\n|]*/g, pattern: /(\s-[uU]["']?[^\s:"'/-]{1,100}:)[^\s"']+/g, isSecret: isPassword },
  { within: /\b(?:mysql|mariadb)[\w-]{0,20}\s[^\n|]*/g, pattern: /(\s-p["']?)[^\s"']+/g, isSecret: isShown },
  { within: login, pattern: /(\s(?:-p\s?|--password[ =])["']?)[^\s"']+/g, isSecret: isShown },
  { within: /\b(?:sshpass|mongo\w{0,9})\s[^\n|]*/g, pattern: /(\s-p\s?["']?)[^\s"']+/g, isSecret: isShown },
  { within: /\bredis-cli\s[^\n|]*/g, pattern: /(\s-a\s["']?)[^\s"']+/g, isSecret: isShown },
  { pattern: /(\s-pass(?:in|out)?\s{1,3}["']?pass:)[^\s"']+/g, isSecret: isShown },
  // E-mail addresses, but not `git@host`.
  { needs: '@', pattern: /(?<![\w.%+/:-])(?!git@)[\w.%+-]{1,64}@[a-z0-9](?:[a-z0-9-]{0,62}\.){1,6}[a-z]{2,24}\b/gi },
]
