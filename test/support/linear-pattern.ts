// Parses a redaction pattern as the configuration does.
import { LinearPattern } from '../../src/lib/text-redaction.ts'
import { withoutRanges } from '../../src/lib/plain-text.ts'

export function linearPattern(source: string): LinearPattern {
  const read = LinearPattern.parse(source)
  if (typeof read === 'string') throw new Error(`${source} ${read}`)
  return read
}

export function replacedBy(pattern: LinearPattern, text: string, replacement: string): string {
  return withoutRanges(text, [...pattern.rangesIn(text)], replacement)
}
