// What a server said, as one short line for logs, pages and messages: without control characters, this process's secrets, or anything else that looks
// like a secret.
import { createTextRedaction } from './text-redaction.ts'
import { plainLine } from './plain-text.ts'
import { redact } from './redaction.ts'

/** Characters of a text that are looked at, and characters of the line made from it that are searched in all encodings. */
const [maxScanned, maxDecoded] = [65_536, 2_048]

const redactText = createTextRedaction([])

/** A foreign text as one line, redacted, at most `longest` characters of it; undefined when nothing is left. */
export function briefly(text: string, longest: number, also: readonly string[] = []): string | undefined {
  const line = text.slice(0, maxScanned).replace(/\s+/g, ' ')
  const clean = plainLine(redactText(redact(line, also, maxDecoded)))
  if (clean === '') return undefined
  return clean.length > longest ? `${clean.slice(0, longest)}…` : clean
}
