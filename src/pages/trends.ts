// Trends: how long pipelines and jobs take, wait and fail, over time and by project.
import { barChart, lineChart } from './charts.ts'
import { card, empty, table, type Page, type Reader } from './frame.ts'
import { counted, duration, number, percent, utc } from './format.ts'
import { html, type Content } from './html.ts'
import { hour, mostProjects, spans, type Span, type TrendLine, type Trends } from './trend-figures.ts'

export function trendsPage(trends: Trends, reader: Reader): Page {
  const { points, project, job, slowest, flakiest } = trends
  const runs = points.reduce((sum, point) => sum + point.runs, 0)
  const failed = points.reduce((sum, point) => sum + point.failed, 0)
  const of = [project?.name ?? 'All projects', job].filter(Boolean).join(', job ')
  return {
    title: `Trends: ${of}`,
    content: html`
      ${project !== undefined && html`<nav class="crumbs" aria-label="Where this is"><a href="${link(reader.base, { span: trends.span })}">Trends</a>${job !== undefined && html` / <a href="${link(reader.base, { span: trends.span, project: project.id })}">${project.name}</a>`}</nav>`}
      <div class="page-head">
        <h1>${of}</h1>
        ${choice(trends, reader.base)}
      </div>
      ${
        points.length === 0
          ? card(
              'Nothing yet',
              empty(
                `Nothing that passed or failed in the last ${spans[trends.span].name}. Figures appear some seconds after a pipeline was exported.`,
              ),
            )
          : html`<p class="summary">
                <strong>${counted(runs, job === undefined ? 'pipeline' : 'run')}</strong>, ${percent(failed / runs)}
                failed
              </p>
              <div class="charts">
                <div class="card">
                  ${lineChart(
                    'Duration',
                    points,
                    [
                      { name: 'median', css: 'p50', value: point => point.p50 },
                      { name: '95th percentile', css: 'p95', value: point => point.p95 },
                    ],
                    trends,
                  )}
                </div>
                <div class="card">
                  ${lineChart('Queue time', points, [{ name: 'median', css: 'queue-line', value: point => point.queueP50 }], trends)}
                </div>
                <div class="card">${barChart(job === undefined ? 'Pipelines' : 'Runs', points, trends)}</div>
              </div>
              <details class="card">
                <summary>The same as a table</summary>
                ${pointsTable(trends)}
              </details>`
      }
      <div class="columns even">
        <div>${card('Slowest jobs', jobsTable(slowest, trends, reader.base, 'No job ran more than once.'))}</div>
        <div>${card('Flakiest jobs', flakyTable(flakiest, trends, reader.base))}</div>
      </div>
      ${
        project === undefined &&
        card('Projects', projectsTable(trends, reader.base), {
          aside: trends.projects.length >= mostProjects && `the ${mostProjects} with the most pipelines`,
        })
      }
      <p class="dim">
        Percentiles are right within 5 %. Canceled and skipped ones are not counted. A job is flaky when it failed, and
        passed when it ran again for the same commit.
      </p>
    `,
  }
}

function link(base: string, asked: { span: Span; project?: number; job?: string }): string {
  const query = new URLSearchParams({ span: asked.span })
  if (asked.project !== undefined) query.set('project', String(asked.project))
  if (asked.job !== undefined) query.set('job', asked.job)
  return `${base}/trends?${query.toString()}`
}

function choice({ span, project, job }: Trends, base: string): Content {
  return html`<nav class="choice" aria-label="How long back">
    ${(Object.keys(spans) as Span[]).map(one => {
      const to = link(base, { span: one, ...(project && { project: project.id }), ...(job !== undefined && { job }) })
      return html`<a href="${to}" ${one === span && html` aria-current="true"`}>${spans[one].name}</a>`
    })}
  </nav>`
}

function pointsTable({ points, step }: Trends): Content {
  const rows = points
    .toReversed()
    .map(point => [
      step === hour ? utc(point.at).slice(0, 16) : utc(point.at).slice(0, 10),
      figure(number(point.runs)),
      figure(point.runs === 0 ? '–' : percent(point.failed / point.runs)),
      figure(duration(point.p50)),
      figure(duration(point.p95)),
      figure(duration(point.queueP50)),
    ])
  return html`<div class="short">
    ${table('Figures over time', ['When', 'Runs', 'Failed', 'Median', 'p95', 'Queue'], rows)}
  </div>`
}

function figure(text: string): Content {
  return html`<span class="figure">${text}</span>`
}

function jobName({ projectId, project, job }: TrendLine, span: Trends['span'], base: string): Content {
  return html`<span class="name"
    ><a href="${link(base, { span, project: projectId, job })}">${job}</a><br /><span class="dim"
      >${project}</span
    ></span
  >`
}

function jobsTable(lines: readonly TrendLine[], { span }: Trends, base: string, whenEmpty: string): Content {
  if (lines.length === 0) return empty(whenEmpty)
  const rows = lines.map(line => [
    jobName(line, span, base),
    figure(duration(line.p50)),
    figure(duration(line.p95)),
    figure(duration(line.queueP50)),
    figure(percent(line.failed / line.runs)),
    figure(number(line.runs)),
  ])
  return table('Slowest jobs', ['Job', 'Median', 'p95', 'Queue', 'Failed', 'Runs'], rows)
}

function flakyTable(lines: readonly TrendLine[], { span }: Trends, base: string): Content {
  if (lines.length === 0) return empty('No job failed and then passed for the same commit.')
  const rows = lines.map(line => [
    jobName(line, span, base),
    figure(number(line.flaky)),
    figure(percent(line.flaky / line.runs)),
    figure(percent(line.failed / line.runs)),
    figure(number(line.runs)),
  ])
  return table('Flakiest jobs', ['Job', 'Flaky', 'Of its runs', 'Failed', 'Runs'], rows)
}

function projectsTable({ projects, span }: Trends, base: string): Content {
  if (projects.length === 0) return empty('No project has figures yet.')
  const rows = projects.map(line => [
    html`<span class="name"><a href="${link(base, { span, project: line.projectId })}">${line.project}</a></span>`,
    figure(number(line.runs)),
    figure(percent(line.failed / line.runs)),
    figure(duration(line.p50)),
    figure(duration(line.p95)),
    figure(duration(line.queueP50)),
    figure(duration(line.queueP95)),
  ])
  return table('Projects', ['Project', 'Pipelines', 'Failed', 'Median', 'p95', 'Queue, median', 'Queue, p95'], rows)
}
