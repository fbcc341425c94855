import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { duration, size, utc } from '../../src/console/layout/format.ts'
import { html, safeUrl } from '../../src/console/layout/html.ts'
import { binaryText } from '../support/binary-text.ts'

describe('an HTML template', () => {
  it('escapes every string in a template, in content and in attributes', () => {
    fc.assert(
      fc.property(binaryText(), text => {
        const inside = html`<p title="${text}">${text}</p>`.toString().slice('<p title="'.length, -'</p>'.length)
        expect(inside.replace('">', '')).not.toMatch(/[<>"']/)
      }),
    )
  })

  it('accepts lists, numbers and templates in a template, and omits undefined and false', () => {
    const list = html`<ul>
      ${[1, 2].map(one => html`<li>${one}</li>`)}${undefined}${false}${null}
    </ul>`
    expect(list.toString().replace(/\s/g, '')).toBe('<ul><li>1</li><li>2</li></ul>')
  })

  it('makes control characters visible, and replaces lone surrogates', () => {
    expect(html`${'a\u0000b\ud800'}`.toString()).toBe('a\ufffdb\ufffd')
  })

  it('replaces direction marks, so that they cannot reorder the characters shown', () => {
    const turned = html`${'exit 0 \u202e1 txe\u202c \u2066x\u2069'}`
    expect(turned.toString()).toBe('exit 0 \ufffd1 txe\ufffd \ufffdx\ufffd')
    expect(html`${'שלום'}`.toString()).toBe('שלום')
  })
})

it.each(['javascript:alert(1)', 'data:text/html,x', ' JavaScript:x', '//x', 'x'])(
  'does not turn the URL %j into a link',
  url => {
    expect(safeUrl(url)).toBeUndefined()
  },
)

it.each([
  [0, '0 ms'],
  [999, '999 ms'],
  [4_230, '4.2 s'],
  [59_400, '59 s'],
  [59_600, '1 m 00 s'],
  [725_000, '12 m 05 s'],
  [12_000_000, '3 h 20 m'],
  [187_200_000, '2 d 4 h'],
  [undefined, '–'],
])('formats a duration of %s ms as %s', (ms, text) => {
  expect(duration(ms)).toBe(text)
})

it('formats times in UTC, and sizes with powers of two', () => {
  expect(utc(Date.UTC(2026, 5, 1, 12, 0, 5))).toBe('2026-06-01 12:00:05')
  expect([size(512), size(1_536), size(300 * 2 ** 20)]).toEqual(['512 B', '1.5 KiB', '300 MiB'])
})
