// The test pages: flaky tests, the tests that fail most often, and the slowest tests.
import { scopeAddress, scopeHeading } from '../../../console/layout/scope-heading.ts'
import {
  alternatives,
  card,
  empty,
  howCounted,
  table,
  type Page,
  type RequestContext,
} from '../../../console/layout/frame.ts'
import { costlyTests, flakyTests, askedTests, maxSummed, testSpanNames, type AskedTests } from './test-figures.ts'
import { counted, duration, figure, number, utc } from '../../../console/layout/format.ts'
import { fullWidth, stackedBars } from '../../../console/charts/stacked-bars.ts'
import { groupCards } from '../../../console/layout/groups.ts'
import { html, pathText, type Content, type Html } from '../../../console/layout/html.ts'
import { jobAddress } from '../../../console/pipelines/run-rows.ts'
import { ages, figures, sortedTable, type ShownColumn } from '../../../console/layout/sorting.ts'
import { runsLink } from '../../../console/charts/plot.ts'
import { chartDays, spans } from '../../../console/layout/trend-spans.ts'
import type { PagesSettings, PagesSources } from '../../../console/ports.ts'
import type { FlakyDay, TestFigures } from '../test-reads.ts'

const maxRows = 50

type Sources = Pick<PagesSources, 'on' | 'views'>
type Settings = Pick<PagesSettings, 'groupBy'> & { readonly readsTests: boolean }

export async function flakyTestsPage(parts: Sources, settings: Settings, context: RequestContext): Promise<Page> {
  const asked = askedTests(context.query, maxRows)
  const { flaky, days, total, ...groups } = await flakyTests(parts, settings, asked, context.now)
  const here = `${context.base}/tests`
  return {
    title: 'Flaky tests',
    content: html`${await heading('Flaky tests', '/tests', asked, parts, context)}
    ${
      flaky.length > 0 &&
      html`<p class="summary">
        <strong>${counted(total.tests, 'flaky test')}</strong>${total.tests >= maxSummed && ', or more'}; the jobs that
        failed with them took <strong>${duration(total.lostMs)}</strong>
      </p>`
    }
    ${flakyChart(days, asked, context)}
    ${groupCards(
      groups,
      {
        tests: figures('Flaky tests', ({ tests }) => tests, number),
        cost: figures('Time lost', ({ lostMs }) => lostMs, duration),
      },
      {
        group: project => scopeAddress(here, { ...asked, project }),
        value: own => scopeAddress(here, { ...asked, own }),
      },
      context,
    )}
    ${card(
      context.query.has('sort') ? 'Flaky tests' : 'Most time lost first',
      flaky.length === 0
        ? empty(noneOf('No test failed and passed on the same code', settings, asked))
        : testsTable('Flaky tests', { times: 'Revisions', cost: 'Time lost' }, flaky, context, asked),
    )}
    ${howCounted(
      html`A test is flaky when it failed and passed on the same revision, or was repeated within one report until it
      passed. Time lost is the duration of the jobs that failed with it. In sums, a job counts once, however many of its
      tests are flaky.`,
    )}`,
  }
}

/** The chart of flaky tests by day; empty if there are none. */
function flakyChart(days: readonly FlakyDay[], asked: AskedTests, { base, now }: RequestContext): Content {
  if (days.length === 0) return ''
  const frame = chartDays(asked.span, now)
  const href = ({ at }: FlakyDay): string => runsLink(base, at, frame, { project: asked.project, own: asked.own })
  return html`<div class="card">
    ${stackedBars({
      ...{ frame, width: fullWidth, label: 'Flaky tests found by day', steps: days, shown: number },
      areas: [
        { name: 'failed, then passed when the job ran again', css: 'series-3', value: ({ retried }) => retried },
        { name: 'repeated within a report', css: 'series-1', value: ({ repeated }) => repeated },
      ],
      href,
    })}
    <details>
      <summary>Show as a table</summary>
      ${table(
        'Flaky tests found by day',
        ['Day', 'Failed, then passed', 'Repeated within a report'],
        days
          .toReversed()
          .map(one => [
            html`<a href="${href(one)}">${utc(one.at).slice(0, 10)}</a>`,
            figure(number(one.retried)),
            figure(number(one.repeated)),
          ]),
      )}
    </details>
  </div>`
}

export async function costlyTestsPage(parts: Sources, settings: Settings, context: RequestContext): Promise<Page> {
  const asked = askedTests(context.query, maxRows)
  const { failed, slow } = await costlyTests(parts, asked, context.now)
  const title = 'Failing and slow tests'
  return {
    title,
    content: html`${await heading(title, '/tests/costly', asked, parts, context)}
    ${card(
      'Most failing',
      failed.length === 0
        ? empty(noneOf('No test failed', settings, asked))
        : testsTable('Most failing tests', { times: 'Failures', cost: 'Time lost' }, failed, context, asked),
    )}
    ${card(
      'Slowest',
      slow.length === 0
        ? empty(noneOf('No test took any time', settings, asked))
        : testsTable('Slowest tests', { times: 'Runs', cost: 'Time', each: 'Each' }, slow, context, asked),
    )}
    ${howCounted(
      html`Time lost is the duration of the jobs that failed with the test. A test counts as slow when it is among the
      ten slowest of its report.`,
    )}`,
  }
}

/** Returns a sentence to show instead of an empty list. `description` is the beginning of the sentence. */
function noneOf(description: string, { readsTests }: Settings, { span, project }: AskedTests): Content {
  if (!readsTests) {
    return html`Test reports are not read. Set <code>PIPESPAN_TESTS=true</code>, with a
      <code>PIPESPAN_PLATFORM_TOKEN</code>, to see failing, slow and flaky tests of future jobs.`
  }
  return `${description} in the last ${spans[span].name}${project === undefined ? '' : ` in ${project}`}.`
}

async function heading(
  title: string,
  path: string,
  asked: AskedTests,
  parts: Sources,
  context: RequestContext,
): Promise<Html> {
  const aside = alternatives('Which tests', [
    ['Flaky', scopeAddress(`${context.base}/tests`, asked), path === '/tests'],
    ['Failing and slow', scopeAddress(`${context.base}/tests/costly`, asked), path !== '/tests'],
  ])
  return scopeHeading({ title, path, names: testSpanNames, aside }, asked, parts, context)
}

/** The column headings of a list of tests. */
interface FigureNames {
  readonly times: string
  readonly cost: string
  /** The heading of an optional column. If it is not set, the list has no such column. */
  readonly each?: string
}

function testsTable(
  label: string,
  names: FigureNames,
  tests: readonly TestFigures[],
  context: RequestContext,
  { span, project: chosen }: AskedTests,
): Html {
  const eachOf = ({ costMs, times }: TestFigures): number => costMs / times
  const columns: Record<string, ShownColumn<TestFigures>> = {
    test: {
      head: 'Test',
      of: ({ name }) => name,
      cell: ({ suite, name, project, job }) =>
        html`<span class="name test-name"
          >${name}${suite !== '' && !name.startsWith(suite) && html`<br /><span class="dim">${suite}</span>`}<br /><span
            class="dim"
            >${chosen === undefined && html`<a href="${scopeAddress('', { span, project })}">${pathText(project)}</a>, `}job
            ${job}</span
          ></span
        >`,
    },
    times: figures(names.times, ({ times }) => times, number),
    cost: figures(names.cost, ({ costMs }) => costMs, duration),
    ...(names.each !== undefined && { each: figures(names.each, eachOf, duration) }),
    last: ages('Last', ({ lastAt }) => lastAt, context),
    job: {
      head: 'In',
      cell: test => html`<a href="${jobAddress(context.base, test, test.jobId, context)}">#${test.jobId}</a>`,
    },
  }
  return sortedTable(label, columns, tests, context)
}
