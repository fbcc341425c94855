// Tests which hooks may be the daemon's own even though parts of their URLs are masked.
import { expect, it } from 'vitest'
import { maybeAt, restHook } from '../../../src/platform/rest/hooks.ts'

const ours = 'https://pipespan.example.com/ci/webhooks'

it.each([
  ['https://pipespan.example.com/{path}', ['path'], true],
  ['https://PIPESPAN.example.com/{a}/{b}/', ['a', 'b'], true],
  ['https://pipespan.example.com/{a}/webhooks', ['a'], true],
  ['https://{host}/ci/webhooks', ['host'], true],
  ['https://{team}.example.com/ci/webhooks', ['team', 'more'], true],
  // A URL without masked parts is never a candidate for the daemon's own hook, because it can be compared directly.
  ['https://pipespan.example.com/ci/webhooks', [], false],
  ['https://pipespan.example.com/{path}', [], false],
  ['https://pipespan.example.com/{path}', ['other'], false],
  ['https://chat.example.com/{path}', ['path'], false],
  ['https://pipespan.example.com/ci/{path}/hook', ['path'], false],
  ['https://pipespan.example.com/ci/webhooks{none}', ['none'], false],
  ['http://pipespan.example.com/{path}', ['path'], false],
  // These URLs could belong to any receiver.
  ['https://{host}/{path}', ['host', 'path'], false],
  ['{url}', ['url'], false],
  ['', ['url'], false],
])("decides whether the hook URL %s with the masked parts %j may be the daemon's own: %s", (url, urlVariables, is) => {
  expect(maybeAt(url, urlVariables, ours)).toBe(is)
})

it("compares a hook URL with thousands of masked parts to the daemon's URL without hanging", () => {
  const url = `https://pipespan.example.com/${'{a}s'.repeat(20_000)}`
  expect(maybeAt(url, ['a'], `https://pipespan.example.com/${'s'.repeat(10_000)}`)).toBe(false)
})

it("reads the names of a URL's masked parts from a list with invalid items", () => {
  const url = 'https://pipespan.example.com/{path}'
  const mayBeOurs = (url_variables: unknown) => restHook.parse({ id: 1, url, url_variables }).mayBeAt(ours)
  expect(mayBeOurs([{ key: 7 }, 'text', null, { key: 'path' }])).toBe(true)
  expect([[], null, 'path', undefined].map(mayBeOurs)).toEqual([false, false, false, false])
})
