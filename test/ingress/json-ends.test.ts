// Which bodies are taken for a JSON object by their first and last bytes.
import { expect, test } from 'vitest'
import { looksLikeJsonObject } from '../../src/ingress/json-ends.ts'

test.each([
  ['an object', [0x7b, 0x7d]],
  ['an object after a byte order mark', [0xef, 0xbb, 0xbf, 0x7b, 0x7d]],
  ['an object between white space', [0x20, 0x09, 0x7b, 0x7d, 0x0a, 0x0d]],
  ['an object between a byte order mark and white space', [0xef, 0xbb, 0xbf, 0x0a, 0x7b, 0x7d, 0x20]],
])('accepts %s as a possible JSON document', (_, bytes) => {
  expect(looksLikeJsonObject(Uint8Array.from(bytes))).toBe(true)
})

test.each([
  ['nothing', []],
  ['a byte order mark alone', [0xef, 0xbb, 0xbf]],
  ['one brace', [0x7b]],
  ['a list', [0x5b, 0x5d]],
  ['the first byte of a mark', [0xef, 0x20, 0x20, 0x7b, 0x7d]],
  ['the first two bytes of a mark', [0xef, 0xbb, 0x20, 0x7b, 0x7d]],
  ['the first and last byte of a mark', [0xef, 0x20, 0xbf, 0x7b, 0x7d]],
  ['the second byte of a mark', [0x78, 0xbb, 0x78, 0x7b, 0x7d]],
  ['the last two bytes of a mark', [0x78, 0xbb, 0xbf, 0x7b, 0x7d]],
  ['the last byte of a mark', [0x78, 0x78, 0xbf, 0x7b, 0x7d]],
  ['two marks', [0xef, 0xbb, 0xbf, 0xef, 0xbb, 0xbf, 0x7b, 0x7d]],
  ['white space that JSON does not have', [0x0b, 0x7b, 0x7d]],
])('rejects %s as a JSON document', (_, bytes) => {
  expect(looksLikeJsonObject(Uint8Array.from(bytes))).toBe(false)
})
