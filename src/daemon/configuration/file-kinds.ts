// Kinds of PEM files that must be usable when the configuration is read: certificates and private keys.
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import { quoted, type Wrong } from './config-fault.ts'
import { reasonOf } from '../../lib/fault.ts'
import { scalar, type Kind } from './kind.ts'

/** Paths are relative to the working directory. */
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

/** Both or neither must be given, and the key must be that of the first certificate. */
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
