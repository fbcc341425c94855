// A pattern as the configuration reads it.
import { LinearPattern } from '../../src/lib/linear-pattern.ts'

export function linearPattern(source: string): LinearPattern {
  const read = LinearPattern.parse(source)
  if (typeof read === 'string') throw new Error(`${source} ${read}`)
  return read
}
