// Draws how many jobs ran at the same time over the last day, stacked by the tags of their runners. The table on the page has the same figures
// as sums.
import { fullWidth, stackedBars } from '../charts/stacked-bars.ts'
import type { Html } from '../layout/html.ts'
import type { RunnersView } from './runner-figures.ts'

/** Maximum number of sets of tags with an area of their own. */
const maxShown = 5

interface Step {
  readonly at: number
  readonly index: number
}

interface Busy {
  readonly name: string
  readonly css: string
  readonly busy: readonly number[]
}

export function busyChart(view: RunnersView): Html {
  const { since, until, stepMs: step } = view
  const areas = areasOf(view)
  return stackedBars({
    label: 'Jobs that ran at the same time, by tags of the runner',
    width: fullWidth,
    frame: { since, until, step },
    steps: Array.from({ length: Math.round((until - since) / step) }, (_, index) => ({
      at: since + index * step,
      index,
    })),
    areas: areas.map(({ name, css, busy }) => ({ name, css, value: (step: Step) => busy[step.index] ?? 0 })),
    shown: value => (Number.isInteger(value) ? String(value) : value.toFixed(1)),
  })
}

/** The busiest sets of tags, and one area for all others. */
function areasOf({ tagSets }: RunnersView): Busy[] {
  const ran = tagSets.filter(({ busy }) => busy.some(value => value > 0))
  const shown = ran.length > maxShown ? ran.slice(0, maxShown - 1) : ran
  const others = ran.slice(shown.length)
  const areas = shown.map(({ tagSet, busy }, index) => ({ name: nameOf(tagSet), css: `series-${index + 1}`, busy }))
  if (others.length === 0) return areas
  const busy = others[0]?.busy.map((_, at) => others.reduce((sum, one) => sum + (one.busy[at] ?? 0), 0)) ?? []
  return [...areas, { name: `${others.length} others`, css: `series-${maxShown}`, busy }]
}

function nameOf(tagSet: string | undefined): string {
  if (tagSet === undefined) return 'unknown tags'
  return tagSet === '' ? 'no tags' : tagSet.replaceAll(',', ', ')
}
