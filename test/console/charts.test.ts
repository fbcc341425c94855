// Tests charts over time: how they are drawn, and where their points link to.
import { describe, expect, it } from 'vitest'
import fc from 'fast-check'
import { lineChart } from '../../src/console/charts/line-chart.ts'
import { niceDuration, niceMax } from '../../src/console/charts/plot.ts'
import { runsLink } from '../../src/console/charts/plot.ts'
import { stackedBars } from '../../src/console/charts/stacked-bars.ts'

const hour = 3_600_000
const day = 24 * hour
const since = Date.UTC(2026, 5, 1)
const frame = { since, until: since + 30 * day, step: day }

interface Step {
  readonly at: number
  readonly passed: number
  readonly failed: number
}

function bars(steps: readonly Step[], more: Partial<Parameters<typeof stackedBars<Step>>[0]> = {}): string {
  return stackedBars<Step>({
    ...{ label: 'Runs', frame, steps, shown: String },
    areas: [
      { name: 'failed', css: 'bad', value: ({ failed }) => failed },
      { name: 'passed', css: 'good', value: ({ passed }) => passed },
    ],
    ...more,
  }).toString()
}

function numbersOf(svg: string, name: string): number[] {
  return [...svg.matchAll(new RegExp(`<rect[^>]* ${name}="([\\d.]+)"`, 'gs'))].map(([, text]) => Number(text))
}

describe('stacked bars', () => {
  it('draws stacked bars whose heights match their values, within the drawing', () => {
    const counts = fc.record({ passed: fc.nat(5_000), failed: fc.nat(5_000) })
    fc.assert(
      fc.property(fc.array(counts, { minLength: 1, maxLength: 30 }), some => {
        const steps = some.map((one, index) => ({ ...one, at: since + index * day }))
        const max = niceMax(Math.max(1, ...steps.map(({ passed, failed }) => passed + failed)))
        const svg = bars(steps)
        const [heights, tops] = [numbersOf(svg, 'height'), numbersOf(svg, 'y')]
        const values = steps.flatMap(({ passed, failed }) => [failed, passed].filter(value => value > 0))
        expect(heights).toHaveLength(values.length)
        heights.forEach((height, index) => expect(height).toBeCloseTo(((values[index] ?? 0) / max) * 166, 0))
        expect(Math.min(...tops, 200)).toBeGreaterThanOrEqual(9.9)
      }),
    )
  })

  it('links each bar to the pipelines of its step, and describes its parts', () => {
    const svg = bars([{ at: since + 2 * day, passed: 3, failed: 1 }], {
      href: ({ at }) => runsLink('/spans', at, frame, { project: 'acme/shop' }),
    })
    expect(svg).toContain('href="/spans/pipelines?project=acme%2Fshop&amp;since=2026-06-03&amp;until=2026-06-03"')
    expect(svg).toContain('<title>06-03: 4 (failed 1, passed 3)</title>')
  })

  it('draws no bar for a step without values', () => {
    expect(bars([{ at: since, passed: 0, failed: 0 }])).not.toContain('<rect')
  })
})

describe('a chart', () => {
  it("marks the events in a chart's period, and marks failures with a cross", () => {
    const svg = lineChart({
      ...{ label: 'Duration', frame, points: [], lines: [] },
      moments: [
        { at: since + day, isBad: false, description: 'Deployment to <eu>', href: '/jobs/1' },
        { at: since + 2 * day, isBad: true, description: 'Deployment failed' },
        { at: since - 1, isBad: true, description: 'before' },
      ],
    }).toString()
    expect(svg).toContain('<title>2026-06-02 00:00:00 UTC: Deployment to &lt;eu&gt;</title')
    expect(svg.match(/class="moment (good|bad)"/g)).toEqual(['class="moment good"', 'class="moment bad"'])
    expect(svg).toContain('href="/jobs/1"')
    expect(svg).not.toContain('before')
  })

  it("labels hours on a chart's axis with their time, which the script converts to the browser's time zone", () => {
    const hours = { since, until: since + day, step: hour }
    const svg = lineChart({
      label: 'Duration',
      frame: hours,
      points: [{ at: since, p50: 90_000 }],
      lines: [{ name: 'median', css: 'p50', value: ({ p50 }) => p50 }],
    }).toString()
    expect(svg).toContain('<title>00:00 UTC: median 1 m 30 s</title>')
    expect(svg).toContain('data-at="2026-06-01T00:00:00.000Z" data-form="hour"')
  })

  it("ends a chart's axis at a round value that is not below any of the values", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 40 * day }), value => {
        expect(niceMax(value)).toBeGreaterThanOrEqual(value)
        expect(niceDuration(value)).toBeGreaterThanOrEqual(value)
      }),
    )
  })
})

describe('the link for a step in a chart', () => {
  it("ends the linked period at the last minute of an hour, because the end of the list's period is inclusive", () => {
    const link = runsLink('', since + 5 * hour, { step: hour }, { job: 'unit tests' })
    expect(link).toBe('/pipelines?job=unit+tests&since=2026-06-01T05%3A00&until=2026-06-01T05%3A59')
  })
})
