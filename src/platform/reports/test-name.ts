// How a test is named, and what distinguishes it from all others of its job: the same in every run of it.
import { createHash } from 'node:crypto'
import type { TestName } from '../../model/test-report.ts'

export interface NamedCase {
  readonly name: string
  readonly classname: string
  readonly file?: string | undefined
}

/** Characters of a name that are kept. Parameters of a test may be of any length. */
const longestName = 1_024

/** The name with its class, unless it has that already; the suite's own name, else the class. */
export function testNameOf({ name, classname }: NamedCase, suite: string): TestName {
  const full = classname === '' || name.startsWith(classname) ? name : name === '' ? classname : `${classname}.${name}`
  return { suite: kept(suite === '' ? classname : suite), name: kept(full) }
}

/**
 * The first 48 bits of a SHA-256 over class and name, or over file and name where there is no class. Not over the suite: some name it after the
 * machine or the time. Among 100,000 tests two are alike once in 50,000 reports.
 */
export function testHashOf({ name, classname, file = '' }: NamedCase): number {
  const digest = createHash('sha256')
    .update(`${classname === '' ? file : classname}\n${name}`)
    .digest()
  return digest.readUIntBE(0, 6)
}

/** A copy: what is cut off a longer string keeps that in memory. */
function kept(text: string): string {
  if (text.length <= longestName) return text.toWellFormed()
  return Buffer.from(text.slice(0, longestName).toWellFormed()).toString()
}
