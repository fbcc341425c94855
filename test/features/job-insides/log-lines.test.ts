// Tests how the page of a job shows the lines of its log.
import { expect, it } from 'vitest'
import { html } from '../../../src/console/layout/html.ts'
import { wholeLog } from '../../../src/features/job-insides/pages/log-lines.ts'

it.each([
  [1, '1 line (6 B) is left out here.'],
  [2, '2 lines (6 B) are left out here.'],
])('says how many lines of a log are left out: %i', (lines, sentence) => {
  const log = {
    as: 'log' as const,
    lines: [{ number: 9, runs: [{ text: 'last' }] }],
    sections: [],
    missing: { number: 8, lines, bytes: 6 },
    isWhole: true,
  }
  expect(html`${wholeLog(log, false)}`.toString().replace(/\s+/g, ' ')).toContain(sentence)
})
