// Tests that the strings in a test report are redacted before they are truncated. Redaction regularly yields to the event loop, so that a report
// never blocks other work.
import { expect, it } from 'vitest'
import { createTextRedaction, inTurns, redactedTo, redactedValue } from '../../../src/lib/text-redaction.ts'
import { readJunit, cleanTests } from '../../../src/platform/reports/read-tests.ts'

const secret = 'glpat-abcdefghijklmnopqrst'
const redactText = createTextRedaction([])

async function* bytesOf(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text)
}

it("leaves no part of a secret at the end of a test's name, message or stack trace", async () => {
  const cut = (limit: number): string => `${'x'.repeat(limit - 10)} ${secret}`
  const failure = `<failure message="${cut(300)}" type="${cut(300)}">${cut(300)}</failure>`
  const report = `<testsuite name="${cut(1_024)}"><testcase name="${cut(1_024)}">${failure}</testcase></testsuite>`
  const read = await readJunit(bytesOf(report), { maxText: 300 + 2_048, keptCases: 10 })
  const clean = JSON.stringify(await cleanTests(read, redactText, 300), (_, value: unknown) =>
    value instanceof Map ? [...(value as Map<unknown, unknown>)] : value,
  )
  expect(clean).not.toContain('glpat')
  expect(clean).toContain('x [REDACTED"')
})

it('removes the end of a string that was already truncated, even if redaction shortened the rest', () => {
  const text = `${secret} `.repeat(200).slice(0, 128 + 2_048)
  expect(redactedTo(128, text, redactText)).not.toContain('glpat')
  expect(redactedTo(128, 'short', redactText)).toBe('short')
})

it('redacts a value because of its key, even if the key is a secret itself', () => {
  expect(redactedValue('db.password', 'kettle', redactText)).toBe('[REDACTED]')
  expect(redactedValue('db.name', 'kettle', redactText)).toBe('kettle')
  expect(redactedValue(secret, 'kettle', redactText)).toBe('[REDACTED]')
})

it('yields to other work after redacting at most 16 KiB of text', async () => {
  const slices = [0]
  const counting = inTurns(text => {
    slices.push((slices.pop() ?? 0) + text.length)
    return text
  })
  let isOver = false
  const others = (): void => {
    slices.push(0)
    if (!isOver) setImmediate(others)
  }
  setImmediate(others)
  for (let count = 0; count < 3_000; count += 1) await counting('x'.repeat(count % 3 === 0 ? 4_000 : 10))
  isOver = true
  expect(slices.reduce((sum, one) => sum + one, 0)).toBe(1_000 * 4_000 + 2_000 * 10)
  expect(Math.max(...slices)).toBeLessThanOrEqual(16 * 1024)
})
