// Tests the terminal waterfall of a trace: golden files of complete scenarios, and properties that hold at every width.
import { stripVTControlCharacters } from 'node:util'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { profiles } from '../../../src/daemon/profile.ts'
import { telemetrySettings } from '../../../src/core/telemetry/settings.ts'
import { shownSpans } from '../../../src/core/telemetry/shown-span.ts'
import { waterfall } from '../../../src/commands/terminal/waterfall.ts'
import type { WaterfallSpan } from '../../../src/simulator/waterfall-span.ts'
import { anyChunk } from './arbitraries.ts'
import { stories } from './stories.ts'

const settings = telemetrySettings({ profiles })

function spansOf(name: string): WaterfallSpan[] {
  return stories[name]!.flatMap(chunk => shownSpans(chunk, settings))
}

describe('the waterfalls of complete stories', () => {
  for (const name of Object.keys(stories)) {
    it(`match the golden file: ${name}`, async () => {
      await expect(`${waterfall(spansOf(name))}\n`).toMatchFileSnapshot(`../../golden/waterfalls/${name}.txt`)
    })
  }
})

describe('a waterfall', () => {
  it('shows every span of any chunk in a waterfall', () => {
    fc.assert(
      fc.property(anyChunk, chunk => {
        const spans = shownSpans(chunk, settings)
        const lines = waterfall(spans).split('\n')
        expect(lines.filter(line => /\S/.test(line)).length).toBeGreaterThanOrEqual(spans.length)
      }),
    )
  })

  it('draws a waterfall within the given width if that is at least 60 columns', () => {
    fc.assert(
      fc.property(fc.constantFrom(...Object.keys(stories)), fc.integer({ min: 60, max: 200 }), (name, width) => {
        for (const line of waterfall(spansOf(name), { width }).split('\n')) {
          if (!line.includes(' trace ')) expect(line.length).toBeLessThanOrEqual(width)
        }
      }),
    )
  })

  it('draws the same waterfall with colour as without', () => {
    const coloured = waterfall(spansOf('family'), { color: true })
    expect(coloured).toContain('\u001b[')
    const plain = (text: string) => stripVTControlCharacters(text).replace(/ +$/gm, '')
    expect(plain(coloured)).toBe(plain(waterfall(spansOf('family'))))
  })

  it('removes escape sequences from names before they are written to the terminal', () => {
    const spans = spansOf('success').map(span => ({ ...span, name: `${span.name}\u001b[31m\u0007\n` }))
    expect(waterfall(spans)).not.toMatch(/[\u001b\u0007]/)
  })

  it('draws nothing if there are no spans', () => {
    expect(waterfall([])).toBe('')
  })
})
