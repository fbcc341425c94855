// Kinds of secrets: tokens and signing secrets. No message about one repeats any of it.
import { Secret } from '../../lib/secret.ts'
import { listSchema } from './list-kinds.ts'
import { wrong, type Kind } from './kind.ts'

/** Why a text cannot be the value of an HTTP header; undefined if it can. */
export function headerValueProblem(value: string): string | undefined {
  if (/\p{Cc}/u.test(value)) return 'a control character'
  return /^[\u0020-\u007e]*$/.test(value) ? undefined : 'a character outside ASCII'
}

const asciiRemedy = 'Copy it again, as one line of printable ASCII.'

export const secret: Kind<Secret> = {
  noun: 'a secret',
  secret: true,
  schema: { type: 'string' },
  parse: raw => {
    if (typeof raw !== 'string') return wrong('More than one value is given.', 'Write one text.')
    const problem = headerValueProblem(raw)
    if (problem === undefined) return { value: new Secret(trimSpaces(raw)) }
    return wrong(`The secret contains ${problem}.`, asciiRemedy)
  },
  show: String,
}

/** Several secrets, all of them valid, for rotation. */
export const secretList: Kind<readonly Secret[]> = secretsThat(headerValueProblem, 'a list of secrets', asciiRemedy)

const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

/** Secrets as Standard Webhooks (standardwebhooks.com) writes them: `whsec_` and the key in base64. */
export const signingTokens: Kind<readonly Secret[]> = secretsThat(
  value => {
    const [, key] = /^whsec_(.+)$/s.exec(value) ?? []
    return key !== undefined && base64.test(key) ? undefined : 'something other than whsec_ and base64'
  },
  'a list of signing secrets',
  'Copy the signing token of the webhook as the platform showed it: whsec_ and the key in base64.',
)

function secretsThat(
  problemOf: (value: string) => string | undefined,
  noun: string,
  remedy: string,
): Kind<readonly Secret[]> {
  return {
    noun,
    secret: true,
    schema: listSchema({ type: 'string' }),
    parse: raw => {
      if (raw instanceof Map) return wrong('A mapping is not a list.', 'Write a list: [one, two].')
      const items = (typeof raw === 'string' ? raw.split(',') : [...(raw as readonly string[])])
        .map(trimSpaces)
        .filter(item => item !== '')
      if (items.length === 0) return wrong('No secret is given.', remedy)
      for (const [index, item] of items.entries()) {
        const problem = problemOf(item)
        const which = items.length === 1 ? 'The secret' : `Secret ${index + 1}`
        if (problem !== undefined) return wrong(`${which} contains ${problem}.`, remedy)
      }
      return { value: items.map(item => new Secret(item)) }
    },
    show: secrets => secrets.map(String).join(','),
  }
}

/** Trims spaces only: a tab or a line break in a secret is a copying mistake, and has its fault. */
function trimSpaces(text: string): string {
  return text.replace(/^ +| +$/g, '')
}
