// The waterfall of a job's sections, or why there is none.
import { aboutSections, sectionRows } from './job-sections.ts'
import { empty } from '../layout/frame.ts'
import { html, type Content } from '../layout/html.ts'
import { isFinished } from '../../model/status.ts'
import { waterfallDrawing } from '../waterfall/waterfall-drawing.ts'
import type { JobDetail } from './job-detail.ts'
import type { PagesSettings } from '../ports.ts'
import type { WaterfallRow } from '../waterfall/waterfall-row.ts'

export function sectionsContent(
  { pipeline, job, sections }: JobDetail,
  { jobSections = [] }: Pick<PagesSettings, 'jobSections'>,
): Content {
  if (sections === undefined || sections.sections.length === 0) return empty(whyNone(job.status, jobSections))
  const { projectId, pipelineId } = pipeline
  const place = { projectId, pipelineId, depth: 0 }
  const own: WaterfallRow = {
    ...{ ...place, kind: 'job', id: job.id, label: job.name, critical: false, retried: job.retried },
    ...{ status: job.status, start: sections.start, end: sections.end },
  }
  const rows = [own, ...sectionRows(sections, place)]
  const to = Math.max(sections.end, sections.start + 1)
  return html`${waterfallDrawing({ rows, from: sections.start, to }, { description: 'The job and its sections over time' })}
  ${aboutSections(sections).map(text => html`<p class="dim">${text}</p>`)}`
}

function whyNone(status: string, jobSections: readonly string[]): Content {
  if (jobSections.length === 0) {
    return html`Sections come from the job’s log, which is not read. Set <code>PIPESPAN_JOB_SECTIONS</code> to
      <code>failed</code>, <code>slow</code> or <code>all</code>, with a <code>PIPESPAN_PLATFORM_TOKEN</code>, to see
      the sections of future jobs.`
  }
  if (!isFinished(status)) return 'Sections are read from the log after the pipeline has ended.'
  return html`No sections: <code>PIPESPAN_JOB_SECTIONS</code> (${jobSections.join(', ')}) does not include this job, its
    log has not been read yet or cannot be read, or the log has no sections.`
}
