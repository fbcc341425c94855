// The name of a test, and the hash that identifies it in all runs of its job.
import { createHash } from 'node:crypto'
import { maxSecret } from '../text-redaction.ts'
import type { TestName } from '../../model/test-report.ts'

export interface NamedCase {
  readonly name: string
  readonly classname: string
  readonly file?: string | undefined
}

/** Characters of a name that are exported. Parameters of a test may be of any length. More are kept until the name is redacted. */
export const maxTestName = 1_024
const maxKept = maxTestName + maxSecret

/** The name with its class, unless it begins with that. The suite's name, or else the class. */
export function testNameOf({ name, classname }: NamedCase, suite: string): TestName {
  const full = classname === '' || name.startsWith(classname) ? name : name === '' ? classname : `${classname}.${name}`
  return { suite: kept(suite === '' ? classname : suite), name: kept(full) }
}

/**
 * The first 48 bits of a SHA-256 over class and name, or over file and name without a class, and over the ordinal of a further test of that name. Not
 * over the suite, because some name it after the machine or the time. With 100,000 tests, two have the same hash in one of 50,000 reports.
 */
export function testHashOf({ name, classname, file = '' }: NamedCase, ordinal?: number): number {
  const digest = createHash('sha256')
    .update(`${classname === '' ? file : classname}\n${name}${ordinal === undefined ? '' : `\n${ordinal}`}`)
    .digest()
  return digest.readUIntBE(0, 6)
}

/** A copy, because a slice would keep the whole string in memory. */
function kept(text: string): string {
  if (text.length <= maxKept) return text.toWellFormed()
  return Buffer.from(text.slice(0, maxKept).toWellFormed()).toString()
}
