// Tests whether cases of a JUnit report with the same name are counted as separate tests or as runs of one test.
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { runs } from '../../full.ts'
import { pytestTeardown, repeated } from './junit-samples.ts'
import { read, totalsOf } from './read-junit.ts'

describe('same-named test cases in one suite', () => {
  const caseOf = (result: string, attributes = 'name="x" classname="C"') =>
    `<testcase ${attributes}>${result === 'pass' ? '' : `<${result} message="${result}"/>`}</testcase>`
  const suiteOf = (cases: readonly string[], attributes = '') =>
    `<testsuite name="s" ${attributes}>${cases.join('')}</testsuite>`
  /** Returns a suite of test cases with the same name. Each case is given by its attribute and its result, such as `attempt=1 failure`. */
  const runsOf = (...cases: readonly string[]) =>
    suiteOf(
      cases.map(one => {
        const [attribute = '', result = ''] = one.split(' ')
        return caseOf(result, `name="x" classname="C" ${attribute.replace('=', '="')}"`)
      }),
    )

  it('counts same-named cases as separate tests, so that a passed test never hides a failed one', async () => {
    expect(await totalsOf(suiteOf(['pass', 'pass', 'failure'].map(one => caseOf(one))))).toEqual([3, 2, 1, 0, 0, 0])
    expect(await totalsOf(repeated)).toEqual([6, 3, 3, 0, 0, 0])
    const { report } = await read(suiteOf(['failure', 'pass', 'error'].map(one => caseOf(one))))
    expect(report.totals).toMatchObject({ total: 3, passed: 1, failed: 1, errored: 1, flaky: 0 })
    expect(report.flaky).toEqual([])
    expect(report.failures.map(({ name, ordinal, message }) => [name, ordinal, message])).toEqual([
      ['C.x', undefined, 'failure'],
      ['C.x', 3, 'error'],
    ])
    expect(report.suites[0]).toMatchObject({
      count: 3,
      cases: [{ result: 'fail' }, { result: 'pass', ordinal: 2 }, { result: 'error', ordinal: 3 }],
    })
  })

  it('counts unnamed cases as separate tests', async () => {
    const nameless = suiteOf(['pass', 'failure', 'pass', 'skipped'].map(one => caseOf(one, '')))
    expect(await totalsOf(nameless)).toEqual([4, 2, 1, 0, 1, 0])
  })

  it('counts same-named cases as separate tests, whatever their results', async () => {
    const results = fc.array(fc.constantFrom('pass', 'failure', 'error', 'skipped'), { maxLength: 90 })
    await fc.assert(
      fc.asyncProperty(results, async all => {
        const { report, outcomes } = await read(suiteOf(all.map(one => caseOf(one))))
        const of = (result: string) => all.filter(one => one === result).length
        const { total, passed, failed, errored, skipped, flaky } = report.totals
        expect([total, passed, failed, errored, skipped, flaky]).toEqual([
          ...[all.length, of('pass'), of('failure'), of('error'), of('skipped'), 0],
        ])
        expect(report.failures).toHaveLength(failed + errored)
        expect([outcomes.passed.size, outcomes.failed.size]).toEqual([passed, failed + errored])
      }),
      runs(200),
    )
  })

  it('identifies same-named cases across reports by name and ordinal, and the first of them by its name alone', async () => {
    const of = async (...all: readonly string[]) => (await read(suiteOf(all.map(one => caseOf(one))))).outcomes
    const [alone, three, red] = [
      await of('pass'),
      await of('pass', 'pass', 'pass'),
      await of('pass', 'pass', 'failure'),
    ]
    expect([...three.passed]).toEqual([...alone.passed, ...[...three.passed].slice(1)])
    expect([...red.failed.keys()]).toEqual([[...three.passed][2]])
    expect([...red.passed]).toEqual([...three.passed].slice(0, 2))
  })

  it.each(['attempt', 'retry', 'rerun'])(
    'counts same-named cases as runs of one test if their attribute "%s" numbers the runs',
    async attribute => {
      const [first, second, third] = attribute === 'attempt' ? [1, 2, 3] : [0, 1, 2]
      const run = (number: number | undefined, result: string) => `${attribute}=${number} ${result}`
      expect(await totalsOf(runsOf(run(first, 'failure'), run(second, 'pass')))).toEqual([1, 1, 0, 0, 0, 1])
      expect(await totalsOf(runsOf(run(first, 'failure'), run(second, 'skipped')))).toEqual([1, 0, 1, 0, 0, 0])
      // The last run determines the result of the test.
      expect(await totalsOf(runsOf(run(first, 'pass'), run(second, 'pass'), run(third, 'failure')))).toEqual([
        ...[1, 0, 1, 0, 0, 1],
      ])
      expect(await totalsOf(runsOf(run(first, 'skipped'), run(second, 'pass')))).toEqual([1, 1, 0, 0, 0, 0])
      // The suite has two tests with the same name, each with a second run.
      const two = runsOf(run(first, 'failure'), run(second, 'pass'), run(first, 'error'), run(second, 'error'))
      expect(await totalsOf(two)).toEqual([2, 1, 0, 1, 0, 1])
      // No run of this suite's test passed.
      const none = runsOf(run(first, 'failure'), run(second, 'error'), run(third, 'failure'))
      expect(await totalsOf(none)).toEqual([1, 0, 1, 0, 0, 0])
      expect((await read(two)).report.failures).toMatchObject([{ name: 'C.x', ordinal: 2, result: 'error' }])
    },
  )

  it('counts same-named cases as runs of one test if only the later cases have the attribute for reruns', async () => {
    expect(await totalsOf(runsOf('a=b failure', 'rerun=true pass'))).toEqual([1, 1, 0, 0, 0, 1])
    expect(await totalsOf(runsOf('a=b failure', 'retry=1 error', 'retry=2 pass'))).toEqual([1, 1, 0, 0, 0, 1])
  })

  it('counts same-named cases as separate tests if the attribute that numbers runs has the same value in all of them', async () => {
    for (const attribute of ['retry=2', 'attempt=1', 'rerun=false', 'retry=always'])
      expect(await totalsOf(runsOf(`${attribute} pass`, `${attribute} pass`, `${attribute} failure`))).toEqual([
        ...[3, 2, 1, 0, 0, 0],
      ])
  })

  it('counts same-named cases as separate tests if they are in different files or on different lines', async () => {
    const at = (line: number, retry: number, result: string) =>
      caseOf(result, `name="x" classname="C" file="a.js" line="${line}" retry="${retry}"`)
    expect(await totalsOf(suiteOf([at(1, 0, 'failure'), at(9, 1, 'pass')]))).toEqual([2, 1, 1, 0, 0, 0])
    expect(await totalsOf(suiteOf([at(1, 0, 'failure'), at(1, 1, 'pass')]))).toEqual([1, 1, 0, 0, 0, 1])
  })

  it('counts same-named cases as runs of one test if the suite counts them as one', async () => {
    expect(await totalsOf(pytestTeardown)).toEqual([2, 1, 1, 0, 0, 0])
    expect((await read(pytestTeardown)).report.failures).toMatchObject([{ message: 'assert 1 == 2' }])
    const [a, b] = [caseOf('failure'), caseOf('pass', 'name="y"')]
    expect(await totalsOf(suiteOf([a, b, caseOf('pass')], 'tests="2"'))).toEqual([2, 2, 0, 0, 0, 1])
  })

  it('treats two cases as one run if the second case reports an error in the teardown', async () => {
    const text = readFileSync('test/fixtures/reports/pytest-call-and-teardown.xml', 'utf8')
    expect(await totalsOf(text)).toEqual([2, 1, 1, 0, 0, 0])
    const teardown =
      '<testcase name="x" classname="C"><error message="failed on teardown with &quot;E&quot;"/></testcase>'
    const other = caseOf('pass', 'name="y"')
    const passes = suiteOf([caseOf('pass'), teardown, other], 'tests="2"')
    expect(await totalsOf(passes)).toEqual([2, 1, 0, 1, 0, 0])
    // Before release 6, pytest wrote a different message for a failed teardown.
    const older = suiteOf(
      [caseOf('pass'), teardown.replace('failed on teardown', 'test teardown failure'), other],
      'tests="2"',
    )
    expect(await totalsOf(older)).toEqual([2, 1, 0, 1, 0, 0])
    // The first run failed in its teardown, and the second one passed.
    expect(await totalsOf(suiteOf([caseOf('pass'), teardown, caseOf('pass'), other], 'tests="2"'))).toEqual([
      ...[2, 2, 0, 0, 0, 1],
    ])
  })

  it('counts same-named cases as separate tests if the suite counts them separately or its count is implausible', async () => {
    const three = ['pass', 'pass', 'failure'].map(one => caseOf(one))
    for (const tests of ['3', '2', '4', '0', '', 'x'])
      expect(await totalsOf(suiteOf(three, `tests="${tests}"`))).toEqual([3, 2, 1, 0, 0, 0])
    // This suite's count includes the tests of nested suites.
    expect(await totalsOf(suiteOf([...three, suiteOf([])], 'tests="1"'))).toEqual([3, 2, 1, 0, 0, 0])
  })

  it('reports at most 100 failures, and omits tests that passed when they were rerun', async () => {
    const failing = (name: string, run: number, result: string) => caseOf(result, `name="${name}" attempt="${run}"`)
    const retried = Array.from({ length: 150 }, (_, n) => [failing(`r${n}`, 1, 'failure'), failing(`r${n}`, 2, 'pass')])
    const lost = Array.from({ length: 130 }, (_, n) => failing(`f${n}`, 1, 'failure'))
    const { report } = await read(suiteOf([...retried.flat(), ...lost]))
    expect([report.failures.length, report.dropped.failures, report.totals.flaky]).toEqual([100, 30, 150])
  })
})
