// Gauges of states. Totals keep the number of the state, so that a change writes one row; exported is a point for each state, 1 for the one it is in.
import { labelsOf, type MeasuredRow } from './samples.ts'
import type { Point } from './data.ts'
import type { TelemetrySettings } from '../settings.ts'

/** The points of a row with states; none if the configuration drops their attribute. Those of other rows are unchanged. */
export function pointsOfStates(
  { states }: MeasuredRow,
  points: readonly Point[],
  { policy }: Pick<TelemetrySettings, 'policy'>,
): readonly Point[] {
  if (states === undefined) return points
  const named = states.values.map(state => labelsOf({ [states.attribute]: state }, { policy }))
  return points.flatMap(point =>
    named
      .filter(attributes => Object.keys(attributes).length > 0)
      .map((attributes, at) => ({
        ...point,
        attributes: { ...point.attributes, ...attributes },
        value: point.value === at ? 1 : 0,
      })),
  )
}
