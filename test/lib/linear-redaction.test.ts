// Tests that redaction takes linear time for any text. Each pattern is tested with strings that consist of prefixes of its own matches.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createTextRedaction, LinearPattern } from '../../src/lib/text-redaction.ts'
import { linearPattern, replacedBy } from '../support/linear-pattern.ts'
import { secretShapes } from '../../src/lib/secret-shapes.ts'

const length = 128 * 1024
/** CPU times shorter than this are not compared, ms. A pattern that scans the whole string once for each prefix takes seconds. */
const negligible = 40

/** Returns the CPU time of the fastest of several runs, ms. It does not include the time of other processes. */
function timeOf(work: () => void, tries = 5): number {
  let min = Infinity
  for (let tried = 0; tried < tries && min > negligible / 8; tried += 1) {
    const begun = process.threadCpuUsage()
    work()
    min = Math.min(min, process.threadCpuUsage(begun).user / 1_000)
  }
  return min
}

/**
 * Returns the strings whose redaction does not take linear time: a string four times as long takes more than nine times as long. The factor of four
 * makes the difference clear.
 */
function slowTexts(redact: (text: string) => unknown, families: readonly string[], size = length): string[] {
  return families.filter(family => {
    const [whole, quarter] = [size, size / 4].map(units =>
      family.repeat(Math.ceil(units / family.length)).slice(0, units),
    )
    const time = timeOf(() => redact(whole ?? ''))
    return time > negligible && time / timeOf(() => redact(quarter ?? '')) > 9
  })
}

/** Returns prefixes of a matching string, alone and followed by a character that does not match. */
function beginningsOf(pattern: RegExp): string[] {
  // Regular expression syntax that the string generator does not support is removed or replaced.
  const source = pattern.source
    .replace('[^]', '.')
    .replace(/\(\?<?[!=](?:[^()]|\\.)*\)|\\b|(?<!\[)\^|\|\$|\$(?=[)]|$)/g, '')
  const [match = ''] = fc.sample(fc.stringMatching(new RegExp(source, pattern.flags.replace(/[gim]/g, ''))), {
    numRuns: 1,
    seed: 7,
  })
  const ends = [...new Set([1, 3, 4, 6, 8, 12, 20, 32, match.length - 1, match.length])]
  return ends
    .filter(end => end > 0 && end <= match.length)
    .flatMap(end => ['', '!', ' '].map(tail => match.slice(0, end) + tail))
}

const words = [
  'eyJ-',
  'a@',
  'a.',
  '://',
  'x:',
  '-',
  '"',
  "'",
  '\\"',
  '\n',
  'é',
  '=',
  'cookie ',
  'password\n',
  '<a',
  'a_',
]
const names = ['token', 'password', 'AccountKey', 'x-api-key', '--secret', '<password', 'a:token', '?token', '"token"']
const escapes = [
  '%2DSG.aaaaaaaaaaaaaaaa',
  '%2Dsk-',
  '\\u002dghp_',
  '\u200b123456:',
  '\\',
  '\\n',
  '%',
  '%25',
  '%2',
  '&#',
  '&#x2d;',
  '&amp;',
  '\\u',
  '\\u{0',
  '\u200b',
  '[3',
  '[31m',
  '\u241b]',
  '\u001b[',
  '\u001b]',
  '\u001bP',
  '\u009b',
]
const after = [
  '=',
  '=$',
  ': ',
  ' ',
  '="',
  "='",
  '=\\"',
  '>',
  '><',
  ' a>',
  '" value="',
  '": "',
  '=[MASKED]',
  ': x-a: ',
  '=Bearer ',
]

describe('the running time of redaction', () => {
  it.each(secretShapes.flatMap(({ pattern, within }) => [pattern, ...(within === undefined ? [] : [within])]))(
    'redacts text in linear time for the pattern %s',
    pattern => {
      expect(slowTexts(text => text.replace(pattern, ''), beginningsOf(pattern))).toEqual([])
    },
  )

  it('redacts values of names such as password in linear time, also with all patterns applied', () => {
    const redactText = createTextRedaction([])
    const families = [...words, ...escapes, ...names.flatMap(name => after.map(end => name + end))]
    expect(slowTexts(redactText, families)).toEqual([])
    const begun = [...words, ...escapes, ...names].map(word => word + 'a'.repeat(length / 4))
    expect(slowTexts(redactText, begun)).toEqual([])
  })

  it("redacts text in linear time for the operator's own patterns", () => {
    const patterns = ['(a+)+$', '(?:a|aa)+b', 'x[^y]*z|x', '\\w+-\\w+-\\w+!', 'a[ab]{20}[cd]'].map(linearPattern)
    const families = ['a', 'x', 'ab', 'a-']
    const slow = patterns.filter(one => slowTexts(text => [...one.rangesIn(text)], families, 32 * 1024).length > 0)
    expect(slow.map(({ source }) => source)).toEqual([])
  })
})

describe("an operator's redaction pattern", () => {
  it('rejects a redaction pattern whose matching time could grow faster than linearly with the length of the text', () => {
    expect(LinearPattern.parse('(a)\\1')).toContain('has a backreference')
    expect(LinearPattern.parse('a(?=b)')).toContain('a look-around')
    expect(LinearPattern.parse('a{1001}')).toContain('a repetition above 1,000')
    expect(LinearPattern.parse('[ab]{500}')).toBe('is too large')
    expect(LinearPattern.parse('a*')).toBe('can match an empty string')
    expect(LinearPattern.parse('a(')).toBe('is not a valid regular expression')
  })

  it('matches the same strings with a redaction pattern as JavaScript does', () => {
    for (const source of [
      'ACME-[0-9a-f]{4}',
      '\\bkey\\d+\\b',
      '(?<name>x|y)z',
      '\\u0041\\.b',
      '[\\w-]+!',
      'ü\\p{Lu}',
      '^a|b$',
    ]) {
      for (const text of ['ACME-00ff ACME-0', 'key12 monkey1', 'xz yz z', 'A.b Axb', 'a-b! !', 'üÄ üä', 'ab ab']) {
        expect(replacedBy(linearPattern(source), text, '·')).toBe(text.replace(new RegExp(source, 'gu'), '·'))
      }
    }
  })

  it('removes the rest of a string after too many matches of a pattern', () => {
    expect(replacedBy(linearPattern('x'), 'x,'.repeat(29), '·')).toBe('·,'.repeat(29))
    expect(replacedBy(linearPattern('x'), 'x,'.repeat(200), '·')).toBe(`${'·,'.repeat(29)}·`)
  })
})
