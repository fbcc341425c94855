// Setting types for credentials: tokens and signing secrets, whose messages never repeat any part of them; and PEM files with certificates and
// private keys, which must be usable when the configuration is read.
import { z } from 'zod'
import { Secret } from '../../lib/secret.ts'
import { type Wrong, quoted } from './config-fault.ts'
import { itemsOf } from './list-kinds.ts'
import { kind, refusing, type Kind, scalar } from './kind.ts'
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import { reasonOf } from '../../lib/fault.ts'

/** Returns why a string cannot be used as an HTTP header value; undefined if it can. */
export function headerValueProblem(value: string): string | undefined {
  if (/\p{Cc}/u.test(value)) return 'a control character'
  return /^[\u0020-\u007e]*$/.test(value) ? undefined : 'a character outside ASCII'
}

const asciiRemedy = 'Copy it again, as one line of printable ASCII.'

export const secret = secretOf('a secret', () => undefined)

/** Creates a setting type for secrets. `wrongOf` returns what else is wrong with the secret, without repeating any part of it. */
export function secretOf(noun: string, wrongOf: (value: string) => Wrong | undefined): Kind<Secret> {
  const schema = z
    .string()
    .transform(trimSpaces)
    .superRefine(
      refusing(value => {
        const problem = headerValueProblem(value)
        return problem === undefined ? wrongOf(value) : { what: `The secret contains ${problem}.`, remedy: asciiRemedy }
      }),
    )
  return kind(
    schema.transform(value => new Secret(value)),
    { noun, secret: true, remedy: asciiRemedy },
  )
}

/** A list of secrets that are all valid at the same time, for rotation. */
export const secretList = secretsThat(headerValueProblem, 'a list of secrets', asciiRemedy)

const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

/** Signing secrets in the Standard Webhooks format (standardwebhooks.com): `whsec_` and the base64-encoded key. */
export const signingTokens = secretsThat(
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
  const wrongOf = (items: readonly string[]): Wrong | undefined => {
    const problems = items.map(problemOf)
    const index = problems.findIndex(one => one !== undefined)
    const which = items.length === 1 ? 'The secret' : `Secret ${index + 1}`
    return index === -1 ? undefined : { what: `${which} contains ${problems[index] ?? ''}.`, remedy }
  }
  const texts = itemsOf(undefined, trimSpaces).pipe(z.array(z.string()).nonempty().superRefine(refusing(wrongOf)))
  return kind(
    texts.transform((items): readonly Secret[] => items.map(item => new Secret(item))),
    { noun, item: 'a secret', remedy, secret: true },
  )
}

/** Trims only spaces. A tab or a line break in a secret is a copy-and-paste mistake and is reported as a fault. */
function trimSpaces(given: string): string {
  return given.replace(/^ +| +$/g, '')
}

/** The path of a PEM file with certificates, relative to the working directory. */
export const certificateFile = pemFile('a PEM file with certificates', text => new X509Certificate(text))

export const keyFile = pemFile('a PEM file with an unencrypted private key', text => createPrivateKey(text))

function pemFile(noun: string, parse: (text: string) => unknown): Kind<string> {
  const remedy = `Use ${noun} that this process can read.`
  return scalar<string>({
    noun,
    remedy,
    read: path => {
      try {
        parse(readFileSync(path, 'utf8'))
        return path
      } catch (error) {
        const { code = 'unknown error', syscall } = error as NodeJS.ErrnoException
        if (code === 'EISDIR') return { what: `${quoted(path)} is not a regular file.`, remedy }
        return syscall === undefined ? undefined : { what: `${quoted(path)} cannot be read (${code}).`, remedy }
      }
    },
  })
}

/** Checks a certificate and its private key: both or neither must be set, and the key must match the first certificate. */
export function wrongPair(
  [certificate, certificatePath]: readonly [string, string | undefined],
  [key, keyPath]: readonly [string, string | undefined],
): Wrong | undefined {
  if (certificatePath === undefined && keyPath === undefined) return undefined
  if (certificatePath === undefined) return oneAlone(key, certificate)
  if (keyPath === undefined) return oneAlone(certificate, key)
  try {
    createSecureContext({ cert: readFileSync(certificatePath), key: readFileSync(keyPath) })
    return undefined
  } catch (error) {
    const what = `${certificate} and ${key} do not belong together (${reasonOf(error)}).`
    return { what, remedy: 'Use the key that the certificate was issued for.' }
  }
}

function oneAlone(given: string, missing: string): Wrong {
  return { what: `${given} requires ${missing}.`, remedy: 'Set both or neither.' }
}
