// Says where a project's telemetry goes, by the destinations' choice of projects.
import { reportOf, type Finding } from './finding.ts'
import type { Destination } from '../../export/destination.ts'

/** One finding for each destination; a warning if none takes the project. */
export function checkRoutes(destinations: readonly Destination[], project: string): Finding[] {
  const report = reportOf('routes')
  const takes = ({ takes: isTaken }: Destination): boolean => isTaken?.(project) ?? true
  if (destinations.length > 0 && !destinations.some(takes)) {
    const remedy = 'Add it to `projects.include` of a destination, or list a destination without `projects`.'
    return [report('warning', `No destination takes ${project}: it is not exported.`, remedy)]
  }
  return destinations.map(one => {
    const signals = Object.keys(one.signals).join(', ')
    return takes(one)
      ? report('fine', `${project} goes to "${one.name}": ${signals}.`)
      : report('skipped', `${project} does not go to "${one.name}": not among its projects.`)
  })
}
