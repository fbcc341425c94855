import { expect, it } from 'vitest'
import { runsOf } from '../../../src/platform/job-log/show-log.ts'

const esc = '\u001b'

it.each([
  ['plain', [{ text: 'plain' }]],
  [
    `${esc}[31;1mred${esc}[0;m and ${esc}[92mgreen`,
    [{ text: 'red', bold: true, colour: 1 }, { text: ' and ' }, { text: 'green', colour: 10 }],
  ],
  [`${esc}[1mbold${esc}[22m not`, [{ text: 'bold', bold: true }, { text: ' not' }]],
  [
    `${esc}[38;5;4mblue${esc}[38;5;200mpink${esc}[38;2;1;2;31mtrue`,
    [{ text: 'blue', colour: 4 }, { text: 'pink' }, { text: 'true' }],
  ],
  [`${esc}[48;5;1mground${esc}[39m`, [{ text: 'ground' }]],
  [`${esc}[2Kcleared${esc}[3`, [{ text: 'cleared' }]],
  [`${esc}]8;;${esc}[31mx${esc}\\link`, undefined],
])('parses the colours of %j', (raw, runs) => {
  if (runs !== undefined) expect(runsOf(raw)).toEqual(runs)
  expect(
    runsOf(raw)
      .map(({ text }) => text)
      .join(''),
  ).not.toContain(esc)
})
