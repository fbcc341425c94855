// Generates the section of docs/EVENTS.md on regressions from their attribute table.
import { attributes, names } from '../../../src/features/regressions/regression-event.ts'
import { table } from '../../../scripts/docs/markdown.ts'

export function events(): string {
  const rows = attributes.map(([key, type, note]) => [`\`${key}\``, type, note])
  return [
    '## Regressions',
    `With \`regression\` in \`PIPESPAN_EVENTS\`: \`${names.detected}\` (WARN) when a pipeline, a job or a section of a job has become slower or less reliable, and
\`${names.resolved}\` (INFO) when that is over, once each over all replicas. No webhook reports them: Pipespan finds them in its own data ([how](regressions.md)). Their time is the end of the run that made it certain;
their trace and span are those of the first bad run. Regressions that were flagged while \`regression\` was not selected are not exported later.`,
    table(['attribute', 'type', 'note'], rows),
  ].join('\n\n')
}
