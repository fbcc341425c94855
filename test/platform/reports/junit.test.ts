// Tests the reader for JUnit reports. It supports every dialect, and no uploaded file can harm it.
import { deflateRawSync, gzipSync } from 'node:zlib'
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readJunit, type TestReadOptions } from '../../../src/platform/reports/read-tests.ts'
import { reportCaps } from '../../../src/platform/reports/report-fault.ts'
import { readSeconds } from '../../../src/platform/reports/junit-cases.ts'
import { isFull, runs } from '../../full.ts'
import { googletest, jest, phpunit, pytest, pytestTeardown, repeated, surefire } from './junit-samples.ts'

const options: TestReadOptions = { maxText: 4_096, keptCases: 1_000 }

async function* inOne(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

async function read(text: string | Uint8Array, caps = reportCaps) {
  const packed = typeof text === 'string' ? gzipSync(text) : text
  return readJunit(inOne(packed), { ...options, caps })
}

async function totalsOf(text: string) {
  const { report } = await read(text)
  expect(report.fault).toBeUndefined()
  const { total, passed, failed, errored, skipped, flaky } = report.totals
  return [total, passed, failed, errored, skipped, flaky]
}

describe("a test framework's JUnit report", () => {
  it('counts every case by its most severe result', async () => {
    expect(await totalsOf(pytest)).toEqual([4, 1, 1, 1, 1, 0])
    expect(await totalsOf(jest)).toEqual([2, 1, 1, 0, 0, 0])
    expect(await totalsOf(phpunit)).toEqual([2, 2, 0, 0, 0, 0])
    expect(await totalsOf(googletest)).toEqual([3, 1, 1, 0, 1, 0])
    const weighty =
      '<testsuite><testcase name="a"><skipped/><error/><failure message="m"/><error/></testcase></testsuite>'
    expect(await totalsOf(weighty)).toEqual([1, 0, 1, 0, 0, 0])
  })

  it('counts a test as flaky if it failed and passed, but not if all of its reruns failed', async () => {
    expect(await totalsOf(surefire)).toEqual([3, 2, 1, 0, 0, 1])
    const flakyIn = async (text: string) => (await read(text)).report.flaky.map(({ name }) => name)
    expect(await flakyIn(surefire)).toEqual(['com.example.OrderTest.retries'])
    const both = readFileSync('test/fixtures/reports/surefire-flaky.xml', 'utf8')
    expect(await totalsOf(both)).toEqual([3, 2, 0, 1, 0, 1])
    expect(await flakyIn(both)).toEqual(['it.Hooks.createsHook'])
  })

  it('counts each case that passed after a failed run as a flaky test, whichever elements the report uses for runs', async () => {
    const reruns = ['flakyFailure', 'flakyError', 'rerunFailure', 'rerunError']
    const elements = fc.shuffledSubarray([...reruns, 'failure', 'error', 'skipped', 'system-out'])
    await fc.assert(
      fc.asyncProperty(elements, async all => {
        const cases = `<testcase name="a">${all.map(name => `<${name} message="m"/>`).join('')}</testcase>`
        const { report, outcomes } = await read(`<testsuite name="s">${cases}</testsuite>`)
        const hasPassed = !all.some(name => ['failure', 'error', 'skipped'].includes(name))
        const isFlaky = hasPassed && all.some(name => reruns.includes(name))
        expect([report.totals.flaky, report.flaky.length, outcomes.flaky.size]).toEqual(Array(3).fill(isFlaky ? 1 : 0))
        expect(outcomes.passed.size).toBe(hasPassed ? 1 : 0)
      }),
      runs(200),
    )
  })

  it('reports a failure with its suite, file, line, type, message and stack trace', async () => {
    const { report } = await read(surefire)
    expect(report.failures).toEqual([
      {
        suite: 'com.example.OrderTest',
        name: 'com.example.OrderTest.cancels',
        result: 'fail',
        seconds: 0.125,
        type: 'org.opentest4j.AssertionFailedError',
        message: 'expected: <1> but was: <2>',
        stack:
          'org.opentest4j.AssertionFailedError: expected: <1> but was: <2>\n\tat com.example.OrderTest.cancels(OrderTest.java:55)',
      },
    ])
    expect((await read(jest)).report.failures).toMatchObject([
      {
        name: 'Basket removes',
        file: 'src/basket.test.ts',
        line: 31,
        message: 'Error: expect(received).toBe(expected)',
      },
    ])
    expect((await read(googletest)).report.failures).toMatchObject([
      { message: 'first\nline', stack: 'math_test.cc:20' },
    ])
  })

  it('reports a suite for each element that contains test cases, whether or not the element is nested', async () => {
    expect((await read(phpunit)).report.suites).toMatchObject([
      { name: 'App\\Tests\\PriceTest', seconds: 0.5, failed: false },
      { name: 'App\\Tests\\TaxTest', seconds: 0.25, failed: false },
    ])
    expect((await read(surefire)).report.suites).toMatchObject([{ seconds: 1234.5, failed: true }])
    expect((await read(jest)).report.suites).toMatchObject([
      { name: 'Basket', startedAt: Date.UTC(2026, 0, 5, 10, 0, 20), cases: [{ result: 'pass' }, { result: 'fail' }] },
    ])
  })

  it('reads a JUnit report to its end even if it consists of several concatenated XML documents', async () => {
    expect(await totalsOf(pytest + surefire + '\n' + jest)).toEqual([9, 4, 3, 1, 1, 1])
    const members = Buffer.concat([gzipSync(pytest), gzipSync(jest)])
    expect((await read(members)).report.totals.total).toBe(6)
  })

  it('continues to read a JUnit report after an unfinished XML document', async () => {
    const { report } = await read(
      pytest.slice(0, pytest.indexOf('<testcase classname="tests.test_cart" name="test_later"')) + jest,
    )
    expect(report.totals).toMatchObject({ total: 5, failed: 2, errored: 1 })
    expect(report.fault?.reason).toBe('truncated')
  })

  it('decodes a JUnit report in its declared encoding', async () => {
    const text =
      '<?xml version="1.0" encoding="ISO-8859-1"?><testsuite><testcase name="größer"><failure message="ä"/></testcase></testsuite>'
    expect((await read(gzipSync(Buffer.from(text, 'latin1')))).report.failures).toMatchObject([
      { name: 'größer', message: 'ä' },
    ])
    const wide = Buffer.from(`\ufeff${text.replace('ISO-8859-1', 'UTF-16')}`, 'utf16le')
    expect((await read(gzipSync(wide))).report.failures).toMatchObject([{ name: 'größer' }])
  })

  it("parses durations in a JUnit report in any locale's notation", () => {
    const spelled = ['0.103', '0,103', '1,234.5', '1.234,5', '1,234,567', '1e-05', ' 2 ', '0.', '.5']
    expect(spelled.map(readSeconds)).toEqual([0.103, 0.103, 1234.5, 1234.5, 1_234_567, 0.00001, 2, 0, 0.5])
    expect(['', 'NaN', '-1', '1:02', 'Infinity', '5 s'].map(readSeconds)).toEqual(Array(6).fill(undefined))
  })
})

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

describe('a test suite that itself failed', () => {
  const failuresIn = async (text: string) =>
    (await read(text)).report.failures.map(({ suite, name, ordinal, result, message }) => [
      suite,
      name,
      ordinal,
      result,
      message,
    ])

  it("counts a failed suite as a failed case with the suite's name, in addition to its cases", async () => {
    const text = readFileSync('test/fixtures/reports/suite-level-error.xml', 'utf8')
    expect(await totalsOf(text)).toEqual([3, 1, 1, 1, 0, 0])
    expect(await failuresIn(text)).toEqual([
      ['src/app.test.ts', 'src/app.test.ts', undefined, 'error', 'Suite failed to run: cannot find module ./app'],
      ['src/hooks.test.ts', 'src/hooks.test.ts', undefined, 'fail', 'afterAll hook failed'],
    ])
    expect((await read(text)).report.failures[1]?.stack).toBe('at hooks.test.ts:4')
    expect((await read(text)).report.suites).toMatchObject([
      { failed: true, count: 1 },
      { failed: true, count: 2 },
    ])
  })

  it('counts each error element of a suite as a failed case, whether the suite is nested or the root', async () => {
    const nested = `<testsuites name="all"><error message="root"/><testsuite name="outer"><testsuite name="inner" file="a.php">
      <failure message="one">stack</failure><error/><testcase name="a"/></testsuite><failure message="two"/></testsuite></testsuites>`
    expect(await totalsOf(nested)).toEqual([5, 1, 2, 2, 0, 0])
    expect(await failuresIn(nested)).toEqual([
      ['inner', 'inner', undefined, 'fail', 'one'],
      ['inner', 'inner', 2, 'error', undefined],
      ['outer', 'outer', undefined, 'fail', 'two'],
      ['all', 'all', undefined, 'error', 'root'],
    ])
  })

  it('names an unnamed failed suite after its file or the enclosing suite', async () => {
    const nameless = `<testsuite name="outer"><testsuite file="a.js"><error/></testsuite><testsuite><error/></testsuite></testsuite>`
    expect((await failuresIn(nameless)).map(([, name]) => name)).toEqual(['a.js', 'outer'])
    expect((await failuresIn('<testsuites><failure/></testsuites>')).map(([, name]) => name)).toEqual(['test suite'])
  })

  it('does not treat a suite as failed because of its output or the content of other elements', async () => {
    const text = `<testsuite name="s" errors="0"><properties><property name="failure"/><error/></properties><skipped/>
      <system-out><failure/></system-out><system-err>an error</system-err><testcase name="a"/></testsuite>`
    expect(await totalsOf(text)).toEqual([1, 1, 0, 0, 0, 0])
  })

  it('counts the runs of a test independently of a failure of the suite itself', async () => {
    const withError = pytestTeardown.replace(
      '</testsuite>',
      '<error message="session"/><error message="again"/></testsuite>',
    )
    expect(await totalsOf(withError)).toEqual([4, 1, 1, 2, 0, 0])
    const two = '<testsuite name="s" tests="2"><testcase name="a"/><testcase name="a"/><error/></testsuite>'
    expect(await totalsOf(two)).toEqual([3, 2, 0, 1, 0, 0])
  })

  it('reports a mismatch if a suite declares more failures and errors than it contains', async () => {
    const faultOf = async (text: string) => (await read(text)).report.fault
    const suiteOf = (declared: string, cases: string) =>
      `<testsuites ${declared}><testsuite name="s">${cases}</testsuite></testsuites>`
    const failed = '<testcase name="a"><failure/></testcase>'
    expect(await faultOf(suiteOf('failures="1" errors="1"', failed))).toEqual({
      reason: 'mismatch',
      detail: expect.stringMatching(
        /^A suite of the report declares 2 failures and errors, but contains 1\. Check the job's log/,
      ) as string,
    })
    expect((await faultOf(`<testsuite failures="1"><testcase name="a"/></testsuite>`))?.reason).toBe('mismatch')
    const inner = `<testsuites failures="1"><testsuite failures="0">${failed}</testsuite><testsuite errors="1"><testcase name="b"/></testsuite></testsuites>`
    expect((await faultOf(inner))?.reason).toBe('mismatch')
    // One framework's failure may be another framework's error, and some frameworks count each run or each assertion.
    const again = '<testcase name="b"><error/><rerunError/><rerunError/></testcase>'
    for (const fine of [
      suiteOf('failures="0" errors="1"', failed),
      suiteOf('errors="3" failures="1"', failed + again),
      suiteOf('failures="x"', ''),
      suiteOf('', failed),
    ])
      expect(await faultOf(fine)).toBeUndefined()
    for (const sample of [pytest, surefire, jest, phpunit, googletest, pytestTeardown, repeated])
      expect((await read(sample)).report.fault?.reason).toBeUndefined()
    expect((await faultOf('<testsuite errors="2"><testcase name="a"/>'))?.reason).toBe('truncated')
  })
})

describe('an uploaded JUnit report', () => {
  const reasonOf = async (text: string | Uint8Array, caps = reportCaps) => (await read(text, caps)).report.fault?.reason

  it('reports why an uploaded file is not a JUnit report', async () => {
    expect(await reasonOf(Buffer.alloc(0))).toBe('empty')
    expect(await reasonOf(gzipSync(''))).toBe('not_xml')
    expect(await reasonOf(Buffer.from('PK\x03\x04 an archive'))).toBe('archive')
    expect(await reasonOf(Buffer.from([1, 2, 3, 4, 5]))).toBe('not_gzip')
    expect(await reasonOf('no tests were run')).toBe('not_xml')
    expect(await reasonOf('<!DOCTYPE html><html><body>Sign in</body></html>')).toBe('not_junit')
    expect(await reasonOf('<testsuites/>')).toBeUndefined()
    expect(await reasonOf(Buffer.from(pytest))).toBeUndefined()
  })

  it('reads a JUnit report up to the position at which it is truncated or damaged', async () => {
    const long = `<testsuite name="s">${Array.from({ length: 20_000 }, (_, n) => `<testcase name="case ${n * 7919}" time="0.001"/>`).join('')}</testsuite>`
    const whole = gzipSync(long)
    const cut = await read(whole.subarray(0, whole.length >> 1))
    expect(cut.report.fault?.reason).toBe('truncated')
    expect(cut.report.totals.total).toBeGreaterThan(1_000)
    const damaged = Buffer.from(whole)
    damaged.writeUInt32LE(0, whole.length - 8)
    const { report } = await read(damaged)
    expect(report.totals.total).toBeGreaterThan(19_000)
    expect(report.fault?.reason).toBe('damaged')
    expect(await reasonOf('<testsuite><testcase name="a"/><testcase name="b"')).toBe('truncated')
    expect(await reasonOf(Buffer.concat([Buffer.from('1f8b0800', 'hex'), deflateRawSync('x')]))).toMatch(
      /damaged|truncated/,
    )
  })

  it('rejects a JUnit report that declares XML entities, and never expands them', async () => {
    const lol = Array.from({ length: 9 }, (_, n) => `<!ENTITY lol${n + 1} "${`&lol${n};`.repeat(10)}">`).join('')
    const bomb = `<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY lol0 "lol">${lol}]><testsuite><testcase name="&lol9;"/></testsuite>`
    const { report } = await read(bomb)
    expect(report.fault).toMatchObject({ reason: 'entities', detail: expect.stringContaining('line 1') as string })
    expect(report.totals.total).toBe(0)
    const file =
      '<!DOCTYPE t [<!ENTITY xxe SYSTEM "file:///etc/passwd">]><testsuite><testcase name="&xxe;"/></testsuite>'
    expect(await reasonOf(file)).toBe('entities')
    expect(
      await reasonOf('<!DOCTYPE testsuite SYSTEM "junit.dtd"><testsuite><testcase name="a"/></testsuite>'),
    ).toBeUndefined()
  })

  it('skips invalid XML in a JUnit report, and reports it as an error', async () => {
    const { report } = await read(
      '<testsuite><testcase name="a & b"><failure message="x &nbsp; \u001b[31m">1 < 2</failure></testcase><testcase name="c"/></testsuite>',
    )
    expect(report.totals).toMatchObject({ total: 2, failed: 1 })
    expect(report.fault?.reason).toBe('malformed')
    const tail = await read(`${pytest}${'x'.repeat(5_000_000)}`)
    expect(tail.report).toMatchObject({ totals: { total: 4 }, fault: { reason: 'malformed' } })
  })

  it('reads a JUnit report up to the size limits for reports', async () => {
    const caps = { packed: 100_000, unpacked: 200_000, depth: 20, cases: 1_000 }
    expect(await reasonOf(gzipSync(`<testsuite>${' '.repeat(300_000)}</testsuite>`), caps)).toBe('too_large')
    const noise = `<testsuite>${'no two bytes are saved of this. '.repeat(4_000)}</testsuite>`
    expect(await reasonOf(gzipSync(noise, { level: 0 }), caps)).toBe('too_large')
    expect(await reasonOf('<testsuite>'.repeat(30), caps)).toBe('too_deep')
    expect(
      await reasonOf(
        `<testsuite><testcase ${Array.from({ length: 1_100 }, (_, n) => `a${n}="1"`).join(' ')}/></testsuite>`,
      ),
    ).toBe('too_large')
    expect(await reasonOf(`<testsuite><testcase name="${'x'.repeat(3_000_000)}"/></testsuite>`)).toBe('too_large')
    const { report } = await read(`<testsuite>${'<testcase name="a" classname="b"/>'.repeat(3_000)}</testsuite>`, caps)
    expect(report.fault?.reason).toBe('too_many')
    expect(report.dropped.cases).toBe(2_000)
  })

  it('reads up to 100,000 cases in a JUnit report, and only counts further cases', async () => {
    const cases = isFull ? 500_000 : 120_000
    async function* source() {
      yield gzipSync(
        `<testsuite name="big">${Array.from({ length: cases }, (_, n) => `<testcase name="${n}"/>`).join('')}</testsuite>`,
      )
    }
    const { report, outcomes } = await readJunit(source(), options)
    expect(report.totals).toMatchObject({ total: 100_000, passed: 100_000 })
    expect(report.dropped.cases).toBe(cases - 100_000)
    expect(outcomes.passed.size).toBe(100_000)
    expect(report.fault).toMatchObject({ reason: 'too_many', detail: expect.stringContaining(String(cases)) as string })
  })

  it('returns at most 100 test failures, with shortened messages, and counts the others', async () => {
    const failing = `<testcase name="N"><failure message="${'m'.repeat(9_000)}">${'s'.repeat(90_000)}</failure></testcase>`
    const { report } = await read(
      `<testsuite>${Array.from({ length: 130 }, (_, n) => failing.replace('N', String(n))).join('')}</testsuite>`,
    )
    expect(report.failures).toHaveLength(100)
    expect(report.dropped.failures).toBe(30)
    expect(report.totals.failed).toBe(130)
    for (const { message, stack } of report.failures) expect([message?.length, stack?.length]).toEqual([4_096, 4_096])
  })

  it("propagates read errors from a report's source", async () => {
    async function* source() {
      yield gzipSync(pytest).subarray(0, 100)
      throw new Error('connection reset')
    }
    await expect(readJunit(source(), options)).rejects.toThrow('connection reset')
  })
})

describe('a JUnit report that is read in pieces', () => {
  const whole = Buffer.concat([gzipSync(pytest), gzipSync(surefire + repeated), gzipSync(googletest + phpunit)])
  const broken = gzipSync(`${pytest}<testsuite><testcase name="ü"><failure>é`)

  async function* inWindows(bytes: Uint8Array, cuts: readonly number[]): AsyncGenerator<Uint8Array> {
    let from = 0
    for (const cut of [...cuts.map(share => Math.floor(share * bytes.length))].sort((a, b) => a - b)) {
      yield bytes.subarray(from, cut)
      from = cut
    }
    yield bytes.subarray(from)
  }

  it('returns the same result however the bytes of a JUnit report are split', async () => {
    const shares = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 12 })
    for (const bytes of [whole, Buffer.from(pytest + surefire), broken.subarray(0, -9), whole.subarray(0, -300)]) {
      const expected = await read(bytes)
      await fc.assert(
        fc.asyncProperty(shares, async cuts => {
          expect(await readJunit(inWindows(bytes, cuts), options)).toEqual(expected)
        }),
        runs(200),
      )
    }
  })
})
