// The tables of the page of costs: what each line cost, and how much of that was wasted.
import { card, type RequestContext } from '../../../console/layout/frame.ts'
import { type Content, type Html } from '../../../console/layout/html.ts'
import { wastedPurposes, type CostLine, type CostSum } from './rows.ts'
import type { WastedPurpose } from '../counting/counted-chunk.ts'
import { figure, number } from '../../../console/layout/format.ts'
import { figures, sortedTable, type ShownColumn } from '../../../console/layout/sorting.ts'
import type { Costs } from './figures.ts'

export const wastedNames: Readonly<Record<WastedPurpose, readonly [name: string, meaning: string]>> = {
  retried: ['Retried', 'Replaced by a later run of the same job'],
  superseded: ['Superseded', 'Canceled because the branch had a newer pipeline'],
  failed: ['Failed', 'Failed and was not retried'],
}

export function costTable(
  costs: Costs,
  title: string,
  some: readonly CostLine[],
  context: RequestContext,
  nameOf: (line: CostLine) => Content,
  most?: number,
): Html {
  const aside = most !== undefined && ofMost(costs, some, most)
  return card(title, costLines(costs, title, some, context, nameOf), { aside })
}

/** Says that there may be more lines than these; false if these are all. */
export function ofMost({ unit }: Costs, some: readonly CostLine[], most: number): string | false {
  return some.length >= most && `the ${most} with the most ${unit === undefined ? 'job time' : 'cost'}`
}

/** `title`: in the plural, unless the head of the first column is given. */
export function costLines<Line extends CostLine>(
  { unit }: Costs,
  title: string,
  some: readonly Line[],
  context: RequestContext,
  nameOf: (line: Line) => Content,
  head = title.replace(/(?:(?<=ss)e)?s$/, ''),
): Html {
  const name: ShownColumn<Line> = {
    head,
    of: ({ name, project, bucket }) => bucket ?? (name || project),
    cell: nameOf,
  }
  return sortedTable(title, { name, ...costColumns(unit) }, some, context)
}

/** All but the name. */
export function costColumns<Line extends CostLine>(unit: string | undefined): Record<string, ShownColumn<Line>> {
  const show = (sum: CostSum): Content => figure(unit === undefined ? minutes(sum) : amount(sum, unit))
  const valueOf = ({ totalMs, cost }: CostSum): number => (unit === undefined ? totalMs : cost)
  return {
    ...(unit !== undefined && {
      cost: { head: 'Cost', of: (line: Line) => line.cost, cell: (line: Line) => figure(amount(line, unit)) },
    }),
    time: { head: 'Job time', of: ({ totalMs }) => totalMs, cell: line => figure(minutes(line)) },
    jobs: figures('Jobs', ({ runs }) => runs, number),
    ...Object.fromEntries(
      wastedPurposes.map((purpose): [string, ShownColumn<Line>] => [
        purpose,
        {
          head: wastedNames[purpose][0],
          of: ({ wasted }) => valueOf(wasted[purpose]),
          cell: ({ wasted }) => show(wasted[purpose]),
        },
      ]),
    ),
  }
}

/** Minutes, as runners' time is priced. */
export function minutes({ totalMs }: CostSum): string {
  if (totalMs === 0) return '–'
  const value = totalMs / 60_000
  return `${value >= 100 ? number(Math.round(value)) : value.toFixed(1)} min`
}

export function amount({ cost }: CostSum, unit: string): string {
  if (cost === 0) return '–'
  return `${cost.toLocaleString('en', { minimumFractionDigits: 2, maximumFractionDigits: 2 })} ${unit}`
}
