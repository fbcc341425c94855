// The metrics of incidents: their values and attributes.
import { longBounds } from '../metrics/buckets.ts'
import { textRow, type AttributeRow } from './row.ts'
import type { IncidentFigures } from '../../model/incident.ts'
import type { MetricHead } from './metrics.ts'

export interface IncidentMetricRow extends MetricHead {
  readonly type: 'counter' | 'histogram'
  readonly attributes: readonly AttributeRow<IncidentFigures>[]
  readonly bounds?: readonly number[] | undefined
  /** The values of its point; none: it has no point. */
  readonly values: (figures: IncidentFigures) => readonly number[]
}

const severity: AttributeRow<IncidentFigures> = textRow(
  'platform.issue.severity',
  'known',
  figures => figures.severity,
  "the platform's word in small letters, as it was known then",
)

// prettier-ignore
export const incidentMetrics: readonly IncidentMetricRow[] = [
  { name: 'platform.incident.count', type: 'counter', number: 'int', unit: '{incident}', attributes: [severity], when: 'it was opened', values: ({ isOpening }) => (isOpening ? [1] : []),
    description: 'Incidents that were opened.' },
  { name: 'platform.incident.duration', type: 'histogram', number: 'double', unit: 's', bounds: longBounds, attributes: [severity], when: 'it was closed', values: ({ duration }) => (duration === undefined ? [] : [duration / 1_000]),
    description: 'Time from the opening of an incident to its end.' },
]
