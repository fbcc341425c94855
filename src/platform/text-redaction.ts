// Redacts texts of jobs before export: secrets by their form, e-mail addresses, and configured patterns. The platform only masks exact values of
// masked variables, so secrets that a tool fetched or encoded arrive here readable.

/** Redacts one text. */
export type RedactText = (text: string) => string

export const redacted = '[REDACTED]'

/** The name of a secret in an assignment: in a shell, YAML, JSON or a URL. */
const secretName = String.raw`[\w.-]{0,40}(?:passw(?:or)?d|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credential)s?[\w.-]{0,20}`

/**
 * Matches an assignment to such a name: `before` and `between` around the name, then the value's first character and the others. Values that are
 * hidden or variables stay.
 */
function assignment(before: string, between: string, first: string, others = first): RegExp {
  const hidden = String.raw`\[REDACTED\]|\[MASKED\]|\$|\*{3}`
  return new RegExp(`(${before}${secretName}${between})(?!${hidden})${first}${others}{5,}`, 'gi')
}

interface Shape {
  readonly pattern: RegExp
  /** Its first group is kept. */
  readonly keeps?: true
}

const shape = (pattern: RegExp): Shape => ({ pattern })
const behind = (pattern: RegExp): Shape => ({ pattern, keeps: true })

/** Each has a rare beginning, so that most lines are checked quickly. */
const shapes: readonly Shape[] = [
  // The platform's: personal, deploy, runner, job, trigger, feed, agent, OAuth, SCIM and other tokens.
  shape(/\bgl(?:pat|dt|rt|rtr|cbt|ptt|ft|imt|agent|oas|soat|ffct|wt|fat)-[\w.-]{16,}/g),
  shape(/\b(?:GR1348941|glcbt-)[\w-]{16,}/g),
  // Other forges and registries.
  shape(/\bgh[pousr]_[A-Za-z0-9]{30,}/g),
  shape(/\bgithub_pat_\w{40,}/g),
  shape(/\bnpm_[A-Za-z0-9]{30,}/g),
  shape(/\bpypi-[\w-]{40,}/g),
  shape(/\bdckr_(?:pat|oat)_[\w-]{20,}/g),
  shape(/\bhvs\.[\w-]{20,}/g),
  shape(/\bATATT3[\w=-]{30,}/g),
  // Clouds.
  shape(/\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b/g),
  shape(/\bAIza[\w-]{35}\b/g),
  shape(/\bya29\.[\w-]{20,}/g),
  shape(/\bGOCSPX-[\w-]{20,}/g),
  shape(/\bdo[opr]_v1_[0-9a-f]{40,}/g),
  shape(/\b[A-Za-z0-9_~.]{3}\dQ~[A-Za-z0-9_~.-]{31,34}/g),
  // Services.
  shape(/\bxox[abeoprs]-[\w-]{10,}/g),
  shape(/\bxapp-\d-[\w-]{10,}/g),
  shape(/https:\/\/hooks\.slack\.com\/(?:services|workflows)\/[\w/]{20,}/g),
  shape(/\b[sr]k_(?:live|test)_[A-Za-z0-9]{16,}/g),
  shape(/\bSG\.[\w-]{16,}\.[\w-]{16,}/g),
  shape(/\bsk-(?:ant-|proj-)?[\w-]{32,}/g),
  shape(/\bwhsec_[A-Za-z0-9+/=]{16,}/g),
  shape(/\bsq0[a-z]{3}-[\w-]{20,}/g),
  // JSON Web Tokens.
  shape(/\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.?[\w-]*/g),
  // Values after a name: in headers, URLs, assignments, options.
  behind(
    /((?:proxy-)?authorization["']?\s*[:=]\s*["']?(?:(?:basic|bearer|token|digest|negotiate)\s+)?)[^\s"',;]{6,}/gi,
  ),
  behind(/(\bbearer\s+)[\w.~+/=-]{12,}/gi),
  behind(/((?:private|job|deploy)-token["']?\s*[:=]\s*["']?)[^\s"',;]{6,}/gi),
  behind(/(\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s/?#:@"']{0,100}:)[^\s/@"']{1,300}(?=@)/gi),
  behind(assignment(String.raw`[?&]`, String.raw`=`, String.raw`[^\s"'&#]`)),
  behind(
    assignment(String.raw`(?:^|[\s"'{,;(])(?:--?)?`, String.raw`["']?\s{0,3}[:=]\s{0,3}["']?`, String.raw`[^\s"',;)}]`),
  ),
  behind(assignment(String.raw`(?:^|\s)--?`, String.raw`\s+["']?`, String.raw`[^\s"'/.-]`, String.raw`[^\s"']`)),
  // E-mail addresses, but not `git@host`.
  shape(/(?<![\w.%+/:-])(?!git@)[\w.%+-]{1,64}@[a-z0-9](?:[a-z0-9-]{0,62}\.){1,6}[a-z]{2,24}\b/gi),
]

/** Lines within a PEM block cannot be recognised by themselves. */
const keyBegins = /-----BEGIN [A-Z0-9 ]{0,40}(?:PRIVATE KEY|PGP MESSAGE)[A-Z ]{0,10}-----/
const keyEnds = /-----END [A-Z0-9 ]{0,40}-----/
/** A block without an end was cut; it counts for so many lines. */
const longestKey = 400

/** `more`: the configured patterns, with the flag `g`. */
export function createTextRedaction(more: readonly RegExp[]): RedactText {
  const all = [...shapes, ...more.map(shape)]
  return text => {
    let clean = withoutKeys(text)
    for (const { pattern, keeps } of all) {
      clean = clean.replace(pattern, keeps === undefined ? redacted : `$1${redacted}`)
    }
    return clean
  }
}

/** Called with each line in order: true within a PEM block. */
export function createKeyWatch(): (text: string) => boolean {
  let left = 0
  return text => {
    const isWithin = left > 0
    if (isWithin) left -= 1
    if (!text.includes('-----')) return isWithin
    const begins = keyBegins.exec(text)
    if (begins !== null && !keyEnds.test(text.slice(begins.index))) {
      left = longestKey
      return true
    }
    if (keyEnds.test(text)) left = 0
    return isWithin
  }
}

/** Redacts PEM blocks within one text, as in JSON, even if they are cut off. */
function withoutKeys(text: string): string {
  if (!text.includes('-----BEGIN')) return text
  const begins = keyBegins.exec(text)
  if (begins === null) return text
  const from = begins.index
  const end = keyEnds.exec(text.slice(from))
  const rest = end === null ? '' : withoutKeys(text.slice(from + end.index + end[0].length))
  return text.slice(0, from) + redacted + rest
}
