// Tests the reader for JUnit reports. It supports every dialect, and no uploaded file can harm it.
import { deflateRawSync, gzipSync } from 'node:zlib'
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readJunit } from '../../../src/platform/reports/read-tests.ts'
import { reportCaps } from '../../../src/platform/reports/report-fault.ts'
import { readSeconds } from '../../../src/platform/reports/junit-cases.ts'
import { isFull, runs } from '../../full.ts'
import { googletest, jest, phpunit, pytest, repeated, surefire } from './junit-samples.ts'
import { options, read, totalsOf } from './read-junit.ts'

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
