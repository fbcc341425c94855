// The pages of tests: flaky tests; the most failing and the slowest tests.
import { card, empty, type Page, type Reader } from '../layout/frame.ts'
import { costlyTests, flakyTests, askedTests, testSpanNames, type AskedTests } from './test-figures.ts'
import { counted, duration, number, since } from '../layout/format.ts'
import { html, pathText, type Content, type Html } from '../layout/html.ts'
import { jobAddress } from '../pipelines/run-rows.ts'
import { sortedTable, type ShownColumn } from '../layout/sorting.ts'
import { spans } from '../layout/trend-spans.ts'
import type { PagesSettings, PagesSources } from '../ports.ts'
import type { TestFigures } from '../../store/ports/test-memory.ts'

/** Rows of each list. */
const most = 50
/** How many projects are suggested in the form. */
const mostProjects = 500

type Sources = Pick<PagesSources, 'tests' | 'views'>
type Settings = Pick<PagesSettings, 'readsTests'>

export async function flakyTestsPage(parts: Sources, settings: Settings, reader: Reader): Promise<Page> {
  const asked = askedTests(reader.query, most)
  const { flaky } = await flakyTests(parts, asked, reader.now)
  const lost = flaky.reduce((sum, { costMs }) => sum + costMs, 0)
  return {
    title: 'Flaky tests',
    content: html`${await heading('Flaky tests', '/tests', asked, parts, reader)}
      ${
        flaky.length > 0 &&
        html`<p class="summary">
          <strong>${counted(flaky.length, 'flaky test')}</strong>${flaky.length >= most && ', or more'}; the jobs that
          failed with them took <strong>${duration(lost)}</strong>
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
  const asked = askedTests(reader.query, most)
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

async function heading(
  title: string,
  here: string,
  asked: AskedTests,
  { views }: Sources,
  { base }: Reader,
): Promise<Html> {
  const { span, project } = asked
  const projects = await views.projects(mostProjects)
  const others = [
    ['/tests', 'Flaky'],
    ['/tests/costly', 'Failing and slow'],
  ] as const
  return html`<div class="page-head">
      <h1>${title}</h1>
      <nav class="choice" aria-label="Which tests">
        ${others.map(
          ([to, name]) =>
            html`<a href="${base}${to}${queryOf(asked)}" ${to === here && html` aria-current="page"`}>${name}</a>`,
        )}
      </nav>
      <nav class="choice" aria-label="How long back">
        ${testSpanNames.map(
          one =>
            html`<a
              href="${base}${here}${queryOf({ ...asked, span: one })}"
              ${one === span && html` aria-current="true"`}
              >${spans[one].name}</a
            >`,
        )}
      </nav>
    </div>
    <form class="filters of-one card" method="get" action="${base}${here}" role="search" aria-label="Choose a project">
      <input type="hidden" name="span" value="${span}" />
      <label class="wide">Project<input name="project" value="${project}" list="projects" autocomplete="off" /></label>
      <datalist id="projects">${projects.map(path => html`<option value="${path}"></option>`)}</datalist>
      <span class="buttons"
        ><button>Show</button><a class="button plain" href="${base}${here}${queryOf({ span })}">All projects</a></span
      >
    </form>`
}

function queryOf({ span, project }: Pick<AskedTests, 'span' | 'project'>): string {
  const query = new URLSearchParams({ span })
  if (project !== undefined) query.set('project', project)
  return `?${query.toString()}`
}

function figure(text: string): Content {
  return html`<span class="figure">${text}</span>`
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
            >${chosen === undefined && html`<a href="${queryOf({ span, project })}">${pathText(project)}</a>, `}job
            ${job}</span
          ></span
        >`,
    },
    times: { head: names.times, of: ({ times }) => times, cell: ({ times }) => figure(number(times)) },
    cost: { head: names.cost, of: ({ costMs }) => costMs, cell: ({ costMs }) => figure(duration(costMs)) },
    ...(names.each !== undefined && {
      each: { head: names.each, of: eachOf, cell: (test: TestFigures) => figure(duration(eachOf(test))) },
    }),
    last: { head: 'Last', of: ({ lastAt }) => lastAt, cell: ({ lastAt }) => since(lastAt, reader.now) },
    job: {
      head: 'In',
      cell: test => html`<a href="${jobAddress(reader.base, test, test.jobId)}">#${test.jobId}</a>`,
    },
  }
  return sortedTable(label, columns, tests, reader)
}
