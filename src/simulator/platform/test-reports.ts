// The JUnit reports of the simulated platform's jobs, as three frameworks write them. A job whose script failed has failing tests. They
// pass when it is retried, so they are flaky.
import { gzipSync } from 'node:zlib'
import { Random } from './random.ts'
import type { TestFramework } from './plan.ts'
import type { SimJob, SimPipeline } from './state.ts'

interface SimCase {
  readonly name: string
  readonly seconds: number
  readonly outcome: 'passed' | 'failed' | 'skipped' | 'rerun'
}

interface SimSuite {
  readonly name: string
  readonly startedAt: number
  readonly seconds: number
  readonly cases: readonly SimCase[]
}

const subjects: Readonly<Record<TestFramework, readonly string[]>> = {
  pytest: ['cart', 'stock', 'prices', 'shipping', 'returns'],
  surefire: ['OrderService', 'PaymentGateway', 'Ledger', 'Voucher'],
  jest: ['Basket', 'Search box', 'Checkout page', 'Product list', 'Menu'],
}
const deeds = [
  'is empty at first',
  'adds up',
  'rounds to cents',
  'survives a restart',
  'waits for the network',
  'says what is wrong',
  'keeps its order',
]

/** The gzipped report of a finished job; undefined if it has none. */
export function testReportOf(job: SimJob, { sha }: SimPipeline): Buffer | undefined {
  const { tests: framework, name } = job.plan
  const { startedAt, finishedAt, failureReason } = job
  if (framework === undefined || startedAt === undefined || finishedAt === undefined) return undefined
  // A runner that failed uploads nothing.
  if (failureReason !== undefined && failureReason !== 'script_failure') return undefined
  // The commit decides which tests are flaky; each run has different durations.
  const code = new Random(parseInt(sha.slice(0, 7), 16) + name.length)
  const run = new Random(job.id)
  const unlucky = code.whole(0, 6)
  const names = subjects[framework]
  const seconds = ((finishedAt - startedAt) / 1_000) * 0.7
  let at = startedAt + (finishedAt - startedAt) * 0.2
  const suites = names.map((suite, index): SimSuite => {
    const cases = deeds.map((deed, n): SimCase => {
      const isUnlucky = n === unlucky && index < 2
      const skips = n === 6 && index === 3
      const outcome =
        isUnlucky && failureReason !== undefined
          ? 'failed'
          : isUnlucky && index === 0 && framework === 'surefire'
            ? 'rerun'
            : skips
              ? 'skipped'
              : 'passed'
      return { name: deed, outcome, seconds: (seconds / names.length / deeds.length) * run.between(0.2, 1.6) }
    })
    const own = cases.reduce((sum, one) => sum + one.seconds, 0)
    const placed = { name: suite, startedAt: at, seconds: own, cases }
    at += own * 1_000
    return placed
  })
  return gzipSync(writers[framework](suites))
}

const writers: Readonly<Record<TestFramework, (suites: readonly SimSuite[]) => string>> = { pytest, surefire, jest }

/** One suite for everything; timestamps without a time zone. */
function pytest(suites: readonly SimSuite[]): string {
  const cases = suites.flatMap(({ name, cases: own }) =>
    own.map(({ name: deed, seconds, outcome }) => {
      const about = `classname="tests.test_${name}" name="test_${deed.replaceAll(' ', '_')}" time="${seconds.toFixed(3)}"`
      if (outcome === 'skipped')
        return `<testcase ${about}><skipped type="pytest.skip" message="not on this machine">tests/test_${name}.py:12</skipped></testcase>`
      if (outcome !== 'failed') return `<testcase ${about} />`
      return `<testcase ${about}><failure message="AssertionError: assert 3 == 2">    def test_${deed.replaceAll(' ', '_')}():
&gt;       assert len(${name}()) == 2
E       AssertionError: assert 3 == 2

tests/test_${name}.py:41: AssertionError</failure></testcase>`
    }),
  )
  const seconds = suites.reduce((sum, one) => sum + one.seconds, 0)
  const at = new Date(suites[0]?.startedAt ?? 0).toISOString().replace('Z', '000')
  return `<?xml version="1.0" encoding="utf-8"?><testsuites name="pytest tests"><testsuite name="pytest" time="${seconds.toFixed(3)}" timestamp="${at}" hostname="runner">${cases.join('')}</testsuite></testsuites>`
}

/** One XML document per class, concatenated; durations such as `1,234.5`; reruns within one report. */
function surefire(suites: readonly SimSuite[]): string {
  const figure = (seconds: number) => seconds.toLocaleString('en', { maximumFractionDigits: 3 })
  return suites
    .map(({ name, seconds, cases }) => {
      const of = `com.example.shop.${name}Test`
      const method = (deed: string) => deed.replace(/ (\w)/g, (_, letter: string) => letter.toUpperCase())
      const shown = cases.map(({ name: deed, seconds: own, outcome }) => {
        const about = `name="${method(deed)}" classname="${of}" time="${figure(own)}"`
        const trace = `<![CDATA[java.util.concurrent.TimeoutException: no answer within 2 s
	at ${of}.${method(deed)}(${name}Test.java:${20 + deed.length})]]>`
        const words = 'message="no answer within 2 s" type="java.util.concurrent.TimeoutException"'
        if (outcome === 'skipped') return `<testcase ${about}><skipped/></testcase>`
        if (outcome === 'failed') return `<testcase ${about}><failure ${words}>${trace}</failure></testcase>`
        if (outcome === 'rerun')
          return `<testcase ${about}><flakyFailure ${words}><stackTrace>${trace}</stackTrace></flakyFailure></testcase>`
        return `<testcase ${about}/>`
      })
      return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuite name="${of}" time="${figure(seconds)}" tests="${cases.length}">\n${shown.join('\n')}\n</testsuite>\n`
    })
    .join('')
}

/** One suite per file, each with a timestamp. */
function jest(suites: readonly SimSuite[]): string {
  const shown = suites.map(({ name, seconds, startedAt, cases }) => {
    const file = `src/${name.toLowerCase().replaceAll(' ', '-')}.test.ts`
    const own = cases.map(({ name: deed, seconds: took, outcome }) => {
      const about = `classname="${name} ${deed}" name="${name} ${deed}" time="${took.toFixed(3)}" file="${file}"`
      if (outcome === 'skipped') return `<testcase ${about}><skipped/></testcase>`
      if (outcome !== 'failed') return `<testcase ${about}></testcase>`
      return `<testcase ${about}><failure>Error: expect(received).toBe(expected) // Object.is equality

Expected: 2
Received: 3
    at Object.&lt;anonymous&gt; (${file}:31:20)</failure></testcase>`
    })
    return `<testsuite name="${name}" tests="${cases.length}" time="${seconds.toFixed(3)}" timestamp="${new Date(startedAt).toISOString().slice(0, 19)}" file="${file}">${own.join('')}</testsuite>`
  })
  return `<?xml version="1.0" encoding="UTF-8"?><testsuites name="jest tests">${shown.join('')}</testsuites>`
}
