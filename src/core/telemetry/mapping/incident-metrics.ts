// The metrics of incidents: their values and attributes.
import { longBounds } from '../../../model/totals.ts'
import { textRow, type AttributeRow } from './row.ts'
import type { IncidentFigures } from '../../../model/incident.ts'
import type { FiguresRow } from './metrics.ts'

const severity: AttributeRow<IncidentFigures> = textRow(
  'platform.issue.severity',
  'known',
  figures => figures.severity,
  "the platform's word in small letters, as it was known then",
)

// prettier-ignore
export const incidentMetrics: readonly FiguresRow<IncidentFigures>[] = [
  { name: 'platform.incident.count', type: 'counter', number: 'int', unit: '{incident}', attributes: [severity], when: 'it was opened', values: ({ isOpening }) => (isOpening ? [1] : []),
    description: 'Incidents that were opened.' },
  { name: 'platform.incident.duration', type: 'histogram', number: 'double', unit: 's', bounds: longBounds, attributes: [severity], when: 'it was closed', values: ({ duration }) => (duration === undefined ? [] : [duration / 1_000]),
    description: 'Time from the opening of an incident to its end.' },
]
