// Tests failures that a JUnit report attributes to a suite instead of a case.
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { googletest, jest, phpunit, pytest, pytestTeardown, repeated, surefire } from './junit-samples.ts'
import { read, totalsOf } from './read-junit.ts'

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
