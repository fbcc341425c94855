// The pages of tests: flaky tests; the most failing and the slowest tests.
import { scopeAddress, scopeHeading } from '../layout/scope-heading.ts'
import { alternatives, card, empty, type Page, type Reader } from '../layout/frame.ts'
import { costlyTests, flakyTests, askedTests, testSpanNames, type AskedTests } from './test-figures.ts'
import { counted, duration, number } from '../layout/format.ts'
import { html, pathText, type Content, type Html } from '../layout/html.ts'
import { jobAddress } from '../pipelines/run-rows.ts'
import { ages, figures, sortedTable, type ShownColumn } from '../layout/sorting.ts'
import { spans } from '../layout/trend-spans.ts'
import type { PagesSettings, PagesSources } from '../ports.ts'
import type { TestFigures } from '../../store/ports/test-memory.ts'

/** Rows of each list. */
const maxRows = 50

type Sources = Pick<PagesSources, 'tests' | 'views'>
type Settings = Pick<PagesSettings, 'readsTests'>

export async function flakyTestsPage(parts: Sources, settings: Settings, reader: Reader): Promise<Page> {
  const asked = askedTests(reader.query, maxRows)
  const { flaky } = await flakyTests(parts, asked, reader.now)
  const lost = flaky.reduce((sum, { costMs }) => sum + costMs, 0)
  return {
    title: 'Flaky tests',
    content: html`${await heading('Flaky tests', '/tests', asked, parts, reader)}
      ${
        flaky.length > 0 &&
        html`<p class="summary">
          <strong>${counted(flaky.length, 'flaky test')}</strong>${flaky.length >= maxRows && ', or more'}; the jobs
          that failed with them took <strong>${duration(lost)}</strong>
        </p>`
      }
      ${card(
        reader.query.has('sort') ? 'Flaky tests' : 'Most time lost first',
        flaky.length === 0
          ? empty(noneOf('No test failed and passed on the same code', settings, asked))
          : testsTable('Flaky tests', { times: 'Revisions', cost: 'Time lost' }, flaky, reader, asked),
      )}
      <p class="dim">
        A test is flaky when it failed and passed on the same revision, or was repeated within one report until it
        passed. Time lost is the duration of the jobs that failed with it.
      </p>`,
  }
}

export async function costlyTestsPage(parts: Sources, settings: Settings, reader: Reader): Promise<Page> {
  const asked = askedTests(reader.query, maxRows)
  const { failed, slow } = await costlyTests(parts, asked, reader.now)
  const title = 'Failing and slow tests'
  return {
    title,
    content: html`${await heading(title, '/tests/costly', asked, parts, reader)}
      ${card(
        'Most failing',
        failed.length === 0
          ? empty(noneOf('No test failed', settings, asked))
          : testsTable('Most failing tests', { times: 'Failures', cost: 'Time lost' }, failed, reader, asked),
      )}
      ${card(
        'Slowest',
        slow.length === 0
          ? empty(noneOf('No test took any time', settings, asked))
          : testsTable('Slowest tests', { times: 'Runs', cost: 'Time', each: 'Each' }, slow, reader, asked),
      )}
      <p class="dim">
        Time lost is the duration of the jobs that failed with the test. A test counts as slow when it is among the ten
        slowest of its report.
      </p>`,
  }
}

/** `says`: the beginning of the sentence for an empty list. */
function noneOf(says: string, { readsTests = false }: Settings, { span, project }: AskedTests): Content {
  if (!readsTests) {
    return html`Test reports are not read. Set <code>PIPESPAN_TESTS=true</code>, with a
      <code>PIPESPAN_PLATFORM_TOKEN</code>, to see failing, slow and flaky tests of future jobs.`
  }
  return `${says} in the last ${spans[span].name}${project === undefined ? '' : ` in ${project}`}.`
}

async function heading(title: string, path: string, asked: AskedTests, parts: Sources, reader: Reader): Promise<Html> {
  const aside = alternatives('Which tests', [
    ['Flaky', scopeAddress(`${reader.base}/tests`, asked), path === '/tests'],
    ['Failing and slow', scopeAddress(`${reader.base}/tests/costly`, asked), path !== '/tests'],
  ])
  return scopeHeading({ title, path, names: testSpanNames, aside }, asked, parts, reader)
}

/** The heads of a list's columns. */
interface FigureNames {
  readonly times: string
  readonly cost: string
  /** Absent: without this column. */
  readonly each?: string
}

function testsTable(
  label: string,
  names: FigureNames,
  tests: readonly TestFigures[],
  reader: Reader,
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
    last: ages('Last', ({ lastAt }) => lastAt, reader),
    job: {
      head: 'In',
      cell: test => html`<a href="${jobAddress(reader.base, test, test.jobId)}">#${test.jobId}</a>`,
    },
  }
  return sortedTable(label, columns, tests, reader)
}
