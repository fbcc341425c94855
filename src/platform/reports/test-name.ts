// Makes the name of a test, and the hash that identifies the test in all runs of its job.
import { createHash } from 'node:crypto'
import { maxSecret } from '../../lib/text-redaction.ts'
import type { TestName } from '../../model/test-report.ts'

export interface NamedCase {
  readonly name: string
  readonly classname: string
  readonly file?: string | undefined
}

/** Maximum length of a name that is exported, because a test's parameters may be of any length. More is kept until the name is redacted. */
export const maxTestName = 1_024
const maxKept = maxTestName + maxSecret

/** `name`: class and name, or only the name if it begins with the class. `suite`: the suite's name, or the class if the suite has none. */
export function testNameOf({ name, classname }: NamedCase, suite: string): TestName {
  const full = classname === '' || name.startsWith(classname) ? name : name === '' ? classname : `${classname}.${name}`
  return { suite: shortened(suite === '' ? classname : suite), name: shortened(full) }
}

/**
 * The first 48 bits of a SHA-256 over class and name (file and name if there is no class), and over the ordinal of a further test of that name. The
 * suite is not part of it, because some reports name suites after the machine or the time. In a report of 100,000 tests, the probability that two
 * of them have the same hash is 1 in 50,000.
 */
export function testHashOf({ name, classname, file = '' }: NamedCase, ordinal?: number): number {
  const digest = createHash('sha256')
    .update(`${classname === '' ? file : classname}\n${name}${ordinal === undefined ? '' : `\n${ordinal}`}`)
    .digest()
  return digest.readUIntBE(0, 6)
}

/** Cuts a text. The result is a copy, because a slice would keep the whole string in memory. */
function shortened(text: string): string {
  if (text.length <= maxKept) return text.toWellFormed()
  return Buffer.from(text.slice(0, maxKept).toWellFormed()).toString()
}
