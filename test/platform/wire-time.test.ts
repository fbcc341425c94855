// Tests every time format that the platform uses, and strings that are not times.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseWireTime } from '../../src/platform/wire-read.ts'
import { runs } from '../full.ts'

const quarterPast = Date.UTC(2016, 7, 12, 15, 23, 28)

describe('a time from the platform', () => {
  it.each([
    ['2016-08-12 15:23:28 UTC', quarterPast],
    ['2016-08-12T15:23:28Z', quarterPast],
    ['2016-08-12t15:23:28z', quarterPast],
    ['2016-08-12T15:23:28.000Z', quarterPast],
    ['2016-08-12T15:23:28.819Z', quarterPast + 819],
    ['2016-08-12T15:23:28.8Z', quarterPast + 800],
    ['2016-08-12T15:23:28.819999Z', quarterPast + 819],
    ['2016-08-12 17:23:28 +0200', quarterPast],
    ['2016-08-12T17:23:28+02:00', quarterPast],
    ['2016-08-12T17:23:28+0200', quarterPast],
    ['2016-08-12T17:23:28.250+02:00', quarterPast + 250],
    ['2016-08-12T10:53:28-04:30', quarterPast],
    ['2016-08-13T00:23:28+09:00', quarterPast],
    ['2016-08-12T15:23:28+00:00', quarterPast],
    ['2016-08-12T15:23:28', quarterPast],
    [' 2016-08-12 15:23:28 UTC\n', quarterPast],
    ['2024-02-29 00:00:00 UTC', Date.UTC(2024, 1, 29)],
    ['1971-01-01 00:00:00 UTC', Date.UTC(1971, 0, 1)],
    ['2261-12-31 23:59:59 UTC', Date.UTC(2261, 11, 31, 23, 59, 59)],
  ])('parses the time %s', (text, millis) => {
    expect(parseWireTime(text)).toBe(millis)
  })

  it.each([
    '',
    'yesterday',
    'NaN',
    '2016-08-12',
    '1471015408',
    '2023-02-29 00:00:00 UTC',
    '2016-02-30 10:00:00 UTC',
    '2016-13-01 10:00:00 UTC',
    '2016-00-10 10:00:00 UTC',
    '2016-08-12 24:00:00 UTC',
    '2016-08-12 15:60:00 UTC',
    '2016-08-12 15:23:60 UTC',
    '2016-08-12 15:23:28 CEST',
    '2016-08-12T15:23:28+24:00',
    '2016-08-12T15:23:28+02:60',
    '1970-12-31 23:59:59 UTC',
    '1971-01-01T00:00:00+01:00',
    '2262-01-01 00:00:00 UTC',
    '2261-12-31T23:59:59-01:00',
    '0000-00-00 00:00:00 UTC',
    '0095-01-01 00:00:00 UTC',
    '2016-08-00 10:00:00 UTC',
    '+012016-08-12T15:23:28Z',
    '2016-08-12 15:23:28 UTC and more',
  ])('parses no time from the text %o', text => {
    expect(parseWireTime(text)).toBeUndefined()
  })

  it.each([undefined, null, 0, quarterPast, Number.NaN, true, {}, [], ['2016-08-12 15:23:28 UTC']])(
    'does not accept the value %o as a time',
    value => {
      expect(parseWireTime(value)).toBeUndefined()
    },
  )

  it('parses the same instant in any format and time zone to the same time', () => {
    const instant = fc.date({ min: new Date('1971-01-02'), max: new Date('2261-12-30'), noInvalidDate: true })
    fc.assert(
      fc.property(instant, fc.integer({ min: -14 * 60, max: 14 * 60 }), fc.boolean(), (date, zone, spaced) => {
        const local = new Date(date.getTime() + zone * 60_000).toISOString().slice(0, -1)
        const hours = String(Math.trunc(Math.abs(zone) / 60)).padStart(2, '0')
        const minutes = String(Math.abs(zone) % 60).padStart(2, '0')
        const sign = zone < 0 ? '-' : '+'
        const text = spaced
          ? `${local.replace('T', ' ')} ${sign}${hours}${minutes}`
          : `${local}${sign}${hours}:${minutes}`
        expect(parseWireTime(text)).toBe(date.getTime())
      }),
    )
  })

  it('never parses a string to a time outside the valid range', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.stringMatching(/^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(Z| UTC)?$/)), text => {
        const time = parseWireTime(text)
        if (time === undefined) return
        expect(new Date(time).toISOString().slice(0, 19)).toBe(text.replace(' ', 'T').slice(0, 19))
      }),
    )
  })
})

it("validates times in the platform's usual format as strictly as those in other formats", () => {
  const twoDigits = (max: number): fc.Arbitrary<string> => fc.nat(max).map(number => String(number).padStart(2, '0'))
  const date = fc.tuple(
    fc.integer({ min: 1960, max: 2270 }).map(String),
    twoDigits(14),
    twoDigits(33),
    twoDigits(25),
    twoDigits(61),
    twoDigits(61),
  )
  fc.assert(
    fc.property(date, ([year, month, day, hour, minute, second]) => {
      const text = `${year}-${month}-${day} ${hour}:${minute}:${second}`
      expect(parseWireTime(`${text} UTC`)).toBe(parseWireTime(`${text}+00:00`))
    }),
    runs(2_000),
  )
})
