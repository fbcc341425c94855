// Says where a project's telemetry goes: by the choice of projects, of the configuration and of each destination.
import { checkDestinations } from './destinations.ts'
import { reportOf, type Finding } from './finding.ts'
import type { Destination } from '../../export/destination.ts'
import type { Selection } from '../../processing/selection.ts'

/** One finding for each destination, and whether those that take the project answer; a warning if nothing is exported. */
export async function checkRoutes(
  destinations: readonly Destination[],
  selection: Pick<Selection, 'project'>,
  project: string,
): Promise<Finding[]> {
  const report = reportOf('routes')
  if (!selection.project(project)) {
    const remedy =
      'Change projects.include (PIPESPAN_PROJECTS_INCLUDE) or projects.exclude (PIPESPAN_PROJECTS_EXCLUDE).'
    return [report('warning', `${project} is excluded: it is not exported.`, remedy)]
  }
  // Its ID is only known to the platform; whatever it is, it has a value.
  const subject = { path: project, projectId: 0 }
  const takes = ({ takes: isTaken }: Destination): boolean => isTaken?.(subject) ?? true
  if (destinations.length > 0 && !destinations.some(takes)) {
    const remedy = 'Add it to `projects.include` of a destination, or list a destination without `projects`.'
    return [report('warning', `No destination takes ${project}: it is not exported.`, remedy)]
  }
  const routes = destinations.map(one => {
    const signals = Object.keys(one.signals).join(', ')
    const values = Object.entries(one.headerValues?.(subject) ?? {}).map(
      ([name, value]) => `{${name}} = ${name === 'project.id' ? 'its ID' : value}`,
    )
    const headers = values.length === 0 ? '' : `, with ${values.join(', ')} in its headers`
    if (takes(one)) return report('fine', `${project} goes to "${one.name}": ${signals}${headers}.`)
    const why = one.headerValues !== undefined && one.headerValues(subject) === undefined
    return report(
      'skipped',
      `${project} does not go to "${one.name}": ${why ? 'a template of its headers has no value' : 'not among its projects'}.`,
    )
  })
  return [...routes, ...(await checkDestinations(destinations.filter(takes), false, subject))]
}
