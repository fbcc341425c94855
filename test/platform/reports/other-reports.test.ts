// Tests job reports other than test reports. Valid reports are read completely, invalid ones never yield wrong numbers, and the size of every report
// is limited.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { readCoverage } from '../../../src/platform/reports/coverage.ts'
import { readDotenv, readFindings } from '../../../src/platform/reports/read-report.ts'
import { createTextRedaction } from '../../../src/lib/text-redaction.ts'
import { metricLimits, readMetrics } from '../../../src/platform/reports/open-metrics.ts'

/** Yields the bytes in chunks, like a network connection. */
async function* inPieces(bytes: Uint8Array, size = 1_000): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}
const redactText = createTextRedaction([])
const readMetricsOf = async (source: AsyncIterable<Uint8Array>) => {
  const { report, dropped, fault } = await readMetrics(source, redactText)
  return { metrics: report?.metrics ?? [], dropped, fault }
}
const readDotenvOf = async (source: AsyncIterable<Uint8Array>, isAllowed: (key: string) => boolean) => {
  const { report, dropped, fault } = await readDotenv(source, isAllowed, redactText)
  return { values: report?.dotenv ?? {}, dropped, fault }
}
const totalsOf = async (text: string) => (await readCoverage(zipped(text))).report?.coverage
const zipped = (text: string, size?: number) => inPieces(gzipSync(text), size)

describe('a metrics report', () => {
  it('reads the samples of a metrics report with their labels, and ignores all other lines', async () => {
    const { metrics, dropped, fault } = await readMetricsOf(
      zipped(`# TYPE build_size_bytes gauge
# HELP build_size_bytes Size of the bundle.
build_size_bytes{bundle="app \\"one\\"",path="C:\\\\dist"} 123456
build_size_bytes{bundle="vendor}",} 7.5e3 1700000000 # {trace_id="x"} 1
load:p95   +0.25
load_p99 1.5 2.5
nothing
half{a="b" 3
not_a_number NaN
words words
with_reserved{project_id="7",__name__="x",zone="b",area="a"} -1
# EOF
`),
    )
    expect(fault).toBeUndefined()
    expect(metrics).toEqual([
      { name: 'build_size_bytes', labels: { bundle: 'app "one"', path: 'C:\\dist' }, value: 123456 },
      { name: 'build_size_bytes', labels: { bundle: 'vendor}' }, value: 7500 },
      { name: 'load:p95', labels: {}, value: 0.25 },
      { name: 'load_p99', labels: {}, value: 1.5 },
      { name: 'with_reserved', labels: { area: 'a', zone: 'b' }, value: -1 },
    ])
    expect(dropped).toBe(4)
  })

  it('reads a metrics report up to the maximum number of series, and counts the series that it drops', async () => {
    const lines = Array.from({ length: 100_000 }, (_, n) => `series{number="${n}"} ${n}`)
    const { metrics, dropped, fault } = await readMetricsOf(zipped(lines.join('\n'), 65_536))
    expect(fault).toBeUndefined()
    expect(metrics).toHaveLength(metricLimits.series)
    expect(dropped).toBe(100_000 - metricLimits.series)
  })

  it('reads a metrics report up to the maximum number of metric names', async () => {
    const lines = Array.from({ length: 300 }, (_, n) => `name_${n} ${n}`)
    const { metrics, dropped } = await readMetricsOf(zipped(lines.join('\n')))
    expect([metrics.length, dropped]).toEqual([metricLimits.names, 300 - metricLimits.names])
  })

  it('returns the samples before the first error in a metrics report, and the reason for the error', async () => {
    const whole = gzipSync(Array.from({ length: 400 }, (_, n) => `series{at="${(n * 7919) % 1000}"} ${n}`).join('\n'))
    const cut = await readMetricsOf(inPieces(whole.subarray(0, whole.length - 20)))
    expect(cut.fault?.reason).toBe('truncated')
    expect(cut.metrics.length).toBeGreaterThan(10)
    const noGzip = new Uint8Array([0, 1, 2, 3, 4])
    expect((await readMetricsOf(inPieces(noGzip))).fault?.reason).toBe('not_gzip')
    expect((await readMetricsOf(inPieces(Buffer.from('PK\u0003\u0004 and more')))).fault?.reason).toBe('archive')
    expect((await readMetricsOf(inPieces(new Uint8Array()))).fault?.reason).toBe('empty')
    expect((await readMetricsOf(zipped('<html>no metrics</html>'))).fault?.reason).toBe('foreign')
    const line = `a{b="${'x'.repeat(200_000)}"} 1\nc 2\n`
    expect(await readMetricsOf(zipped(line))).toMatchObject({ metrics: [{ name: 'c' }], dropped: 1 })
  })
})

describe('a dotenv report', () => {
  it('reads only the allowed keys of a dotenv report', async () => {
    const { values, dropped, fault } = await readDotenvOf(
      zipped('VERSION=1.2.3\r\n URL = https://x.example/?a=b \nPASSWORD=hunter2\nno assignment\n=x\nVERSION=1.2.4'),
      key => key !== 'PASSWORD',
    )
    expect(fault).toBeUndefined()
    expect(values).toEqual({ VERSION: '1.2.4', URL: 'https://x.example/?a=b' })
    expect(dropped).toBe(0)
  })

  it('reads at most a hundred keys from a dotenv report', async () => {
    const lines = Array.from({ length: 1_000 }, (_, n) => `KEY_${n}=${n}`)
    const { values, dropped } = await readDotenvOf(zipped(lines.join('\n')), () => true)
    expect([Object.keys(values).length, dropped]).toEqual([100, 900])
  })
})

const cobertura = (lines: string) => `<?xml version="1.0" ?>
<!DOCTYPE coverage SYSTEM "http://cobertura.sourceforge.net/xml/coverage-04.dtd">
<coverage ${lines} version="6.5"><packages><package><classes/></package></packages></coverage>`

describe('a coverage report', () => {
  it("reads Cobertura's totals from the root element, and adds up the totals of several documents", async () => {
    const one = cobertura(
      'line-rate="0.9" lines-covered="90" lines-valid="100" branches-covered="1" branches-valid="4"',
    )
    const two = cobertura(
      'line-rate="0.5" lines-covered="150" lines-valid="300" branches-covered="0" branches-valid="0"',
    )
    expect(await totalsOf(one)).toEqual({ lines: 90, branches: 25 })
    expect(await totalsOf(`${one}\n${two}`)).toEqual({ lines: 60, branches: 25 })
    expect(await totalsOf(cobertura('line-rate="0.5" branch-rate="0.25"'))).toEqual({ lines: 50, branches: 25 })
  })

  it("reads JaCoCo's totals from the elements below the root", async () => {
    const jacoco = `<?xml version="1.0"?><!DOCTYPE report PUBLIC "-//JACOCO//DTD Report 1.1//EN" "report.dtd"><report name="app">
      <package name="a"><counter type="LINE" missed="9" covered="1"/></package>
      <counter type="LINE" missed="25" covered="75"/><counter type="BRANCH" missed="1" covered="1"/></report>`
    expect(await totalsOf(jacoco)).toEqual({ lines: 75, branches: 50 })
  })

  it('reads a coverage report with or without an XML namespace prefix', async () => {
    const jacoco = `<j:report xmlns:j="urn:j"><j:counter type="LINE" missed="1" covered="3"/></j:report>`
    expect(await totalsOf(jacoco)).toEqual({ lines: 75, branches: undefined })
    const root = '<c:coverage xmlns:c="urn:c" lines-covered="1" lines-valid="4"/>'
    expect(await totalsOf(root)).toEqual({ lines: 25, branches: undefined })
    expect((await readCoverage(zipped('<coverage:other xmlns:coverage="urn:c"/>'))).fault?.reason).toBe('foreign')
  })

  it('returns no coverage totals if the report cannot be read to its end', async () => {
    const reason = async (text: string) => (await readCoverage(zipped(text))).fault?.reason
    expect(await reason('this is not XML')).toBe('not_xml')
    expect(await reason('<testsuites/>')).toBe('foreign')
    expect(await reason('<report><counter type="LINE" missed="1" covered="1"/>')).toBe('truncated')
    expect(await reason('<a>'.repeat(200))).toBe('too_deep')
    expect(
      await reason('<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;&a;">]><coverage line-rate="1">&b;</coverage>'),
    ).toBe('entities')
    const small = { packed: 1_000_000, unpacked: 10_000, depth: 100, cases: 0 }
    const long = cobertura('line-rate="1"') + ' '.repeat(20_000)
    expect((await readCoverage(zipped(long), small)).fault?.reason).toBe('too_large')
  })
})

describe('a findings report', () => {
  const counted = async (type: Parameters<typeof readFindings>[1], report: unknown, size?: number) => {
    const { report: read, fault } = await readFindings(zipped(JSON.stringify(report), size), type)
    return fault?.reason ?? Object.fromEntries((read?.findings ?? []).map(({ severity, count }) => [severity, count]))
  }

  it('counts findings by severity, whatever else their report contains and however its bytes are split', async () => {
    const quality = [
      { description: 'a "severity": "x" \\', severity: 'major', location: { severity: 'no' }, tags: ['severity'] },
      { severity: 'minor' },
      { severity: 'major', nested: [{ severity: 'blocker' }] },
      { description: 'no severity' },
      { severity: 'of its own' },
    ]
    const byQuality = { major: 2, minor: 1, unknown: 1, other: 1 }
    for (const size of [1, 2, 7, 1_000]) expect(await counted('codequality', quality, size)).toEqual(byQuality)
    const scan = {
      version: '15.0.0',
      vulnerabilities: [
        { severity: 'High', identifiers: [{ severity: 'Low' }] },
        { severity: 'Critical' },
        { id: 'x' },
      ],
      remediations: [{ severity: 'High' }],
    }
    expect(await counted('sast', scan)).toEqual({ high: 1, critical: 1, unknown: 1 })
    const sarif = {
      runs: [
        { tool: { driver: { rules: [{ level: 'error' }] } }, results: [{ level: 'error' }, {}] },
        { results: [{ level: 'note', locations: [{ level: 'none' }] }] },
      ],
    }
    expect(await counted('sarif', sarif)).toEqual({ error: 1, warning: 1, note: 1 })
    expect(await counted('sast', { vulnerabilities: [] })).toEqual({})
    expect(await counted('sarif', { runs: [] })).toEqual({})
  })

  it('counts no findings if the report is of another kind or truncated', async () => {
    expect(await counted('codequality', { vulnerabilities: [] })).toBe('foreign')
    expect(await counted('sast', [{ severity: 'High' }])).toBe('foreign')
    const reason = async (text: string) => (await readFindings(zipped(text), 'sast')).fault?.reason
    expect(await reason('{"vulnerabilities": [{"severity": "High"}')).toBe('truncated')
    expect(await reason('{"vulnerabilities": "')).toBe('truncated')
    expect(await reason('{"vulnerabilities": [{]}')).toBe('malformed')
    expect(await reason('<html>')).toBe('not_json')
    expect(await reason('['.repeat(200))).toBe('truncated')
    expect(await reason(`[${'[],'.repeat(800_000)}0]`)).toBe('too_many')
    expect(await reason(`[${' '.repeat(17 * 1024 * 1024)}]`)).toBe('too_large')
  })

  it('reads large findings reports one after another, but does not make them wait for one that arrives slowly', async () => {
    const slow = Promise.withResolvers<undefined>()
    let read = 0
    const blank = Buffer.from(' '.repeat(64 * 1024))
    async function* large(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('{"vulnerabilities": [')
      for (let piece = 0; piece < 40; piece += 1, read += blank.length) yield blank
      await slow.promise
      yield Buffer.from('{"severity": "High"}]}')
    }
    const both = [readFindings(large(), 'sast'), readFindings(large(), 'sast')]
    const small = await readFindings(zipped('{"vulnerabilities": [{"severity": "Low"}]}'), 'sast')
    expect(small.report?.findings).toEqual([{ type: 'sast', severity: 'low', count: 1 }])
    for (let turn = 0; turn < 1_000; turn += 1) await nextTurn()
    // One large report is read as far as it has arrived. The other large report is read only up to 1 MiB until its turn comes.
    expect(read / blank.length).toBeGreaterThanOrEqual(40 + 15)
    expect(read / blank.length).toBeLessThanOrEqual(40 + 16)
    slow.resolve(undefined)
    for (const { report } of await Promise.all(both))
      expect(report?.findings).toEqual([{ type: 'sast', severity: 'high', count: 1 }])
  })

  it('leaves no connection open if a report is rejected because of its first bytes', async () => {
    let isOpen = true
    async function* source(): AsyncGenerator<Uint8Array> {
      try {
        for (;;) yield Buffer.alloc(1024 * 1024)
      } finally {
        isOpen = false
      }
    }
    expect((await readFindings(source(), 'sast')).fault?.reason).toBe('not_gzip')
    expect(isOpen).toBe(false)
  })

  it('accepts any number of commas and brackets in the descriptions of a findings report', async () => {
    const text = `"\\${'[{,'.repeat(600_000)}`
    expect(await counted('sast', { vulnerabilities: [{ severity: 'High', text }, { severity: 'Low' }] })).toEqual({
      high: 1,
      low: 1,
    })
    const many = `[${'[],'.repeat(800_000)}0]`
    const { fault } = await readFindings(zipped(`{"text": "\\\\", "vulnerabilities": ${many}}`), 'sast')
    expect(fault?.reason).toBe('too_many')
  })

  it('reads a findings report that consists of several concatenated files', async () => {
    const one = '{"vulnerabilities": [{"severity": "High"}]}'
    const { report } = await readFindings(zipped(`${one}\n${one}${one}`), 'sast')
    expect(report?.findings).toEqual([{ type: 'sast', severity: 'high', count: 3 }])
    expect((await readFindings(zipped(`${one} half`), 'sast')).fault?.reason).toBe('not_json')
    expect((await readFindings(zipped(one.repeat(1_001)), 'sast')).fault?.reason).toBe('too_many')
  })
})
