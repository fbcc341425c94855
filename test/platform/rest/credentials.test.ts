// Tests that the client sends its token to the platform and to no other host, and never shows it.
import { createServer } from 'node:https'
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { answer, clientOf, fixture, inTurn, json, poll, rejection, startPlatform, token } from './platform-server.ts'
import { listen } from '../../support/after-test.ts'
import { allOf } from '../../../src/platform/rest/pages.ts'
import { PlatformError } from '../../../src/platform/port.ts'

const project = (fixture('group-projects.json') as unknown[])[0]

const tls = new URL('../../fixtures/tls/', import.meta.url)

describe('the token of the platform client', () => {
  it.each([
    ['private', { 'private-token': token }],
    ['bearer', { authorization: `Bearer ${token}` }],
    ['job', { 'job-token': token }],
  ] as const)('sends the token in the header for its token type: %s', async (tokenType, expected) => {
    await using platform = await startPlatform(json(project))
    await using test = clientOf(platform.url, { tokenType })
    await test.client.project(4711, poll)
    const { headers } = platform.asked[0]!
    expect(headers).toMatchObject({ ...expected, 'user-agent': 'Pipespan/test', accept: 'application/json' })
    const others = ['private-token', 'authorization', 'job-token'].filter(name => !(name in expected))
    for (const name of others) expect(headers).not.toHaveProperty(name)
  })

  it("reads the token from its file for every request, without the line break at the file's end", async () => {
    await using platform = await startPlatform(json(project))
    const tokens = ['first\n', 'second\n', '\n', undefined]
    await using test = clientOf(platform.url, { token: () => tokens[platform.asked.length] })
    for (let call = 0; call < 4; call++) await test.client.project(4711, poll)
    expect(platform.asked.map(({ headers }) => headers['private-token'])).toEqual([
      'first',
      'second',
      undefined,
      undefined,
    ])
  })

  it('retries a rejected request at once if the token has been rotated in the meantime', async () => {
    await using platform = await startPlatform(inTurn(answer(401, '{"message":"401 Unauthorized"}'), json(project)))
    await using test = clientOf(platform.url, { token: () => (platform.asked.length === 0 ? 'old' : 'new') })
    await expect(test.client.project(4711, poll)).resolves.toMatchObject({ id: 4711 })
    expect(platform.asked.map(({ headers }) => headers['private-token'])).toEqual(['old', 'new'])
  })

  it('does not send a token again after the platform has rejected it', async () => {
    await using platform = await startPlatform(answer(401, '{"message":"401 Unauthorized"}'))
    await using test = clientOf(platform.url)
    const error = await rejection(test.client.project(4711, poll))
    expect(error).toMatchObject({ kind: 'unauthorized', status: 401 })
    expect(error.message).toBe(
      'The platform does not accept the token (401 at GET /projects/4711: "401 Unauthorized"). ' +
        'Check PIPESPAN_PLATFORM_TOKEN and PIPESPAN_PLATFORM_TOKEN_TYPE: the token may have expired or been revoked.',
    )
    expect(platform.asked).toHaveLength(1)
  })

  it('rejects a token that is not a valid header value, without sending or showing it', async () => {
    await using platform = await startPlatform(json(project))
    await using test = clientOf(platform.url, { token: () => 'two\nlines' })
    const error = await rejection(test.client.project(4711, poll))
    expect(error).toBeInstanceOf(PlatformError)
    expect(error.message).not.toContain('two')
    expect(platform.asked).toHaveLength(0)
  })

  it('never sends the token to another host that a redirect or a next-page link names', async () => {
    await using foreign = await startPlatform(json([]))
    await using platform = await startPlatform(answer(301, '', { location: `${foreign.url}/api/v4/projects/1` }))
    await using test = clientOf(platform.url)
    const redirected = await rejection(test.client.project(4711, poll))
    expect(redirected).toMatchObject({ kind: 'foreign-host' })
    expect(redirected.message).toBe(
      `The platform's redirect leads to another host, ${foreign.url} (GET /projects/4711); the token was not sent there. ` +
        `If that is the platform's own address, set PIPESPAN_PLATFORM_URL to it.`,
    )
    platform.reply = inTurn(json([], { link: `<${foreign.url}/api/v4/pipelines?cursor=1>; rel="next"` }), json([]))
    await allOf(test.client.ownPipelines({}, poll))
    expect(foreign.asked).toHaveLength(0)
  })

  it('follows the redirect of a streamed response to another host without sending the token, and never to a less secure connection', async () => {
    await using storage = await startPlatform(answer(200, 'done'))
    const [key, cert] = ['key', 'crt'].map(end => readFileSync(new URL(`localhost.${end}`, tls), 'utf8'))
    const secure = createServer({ key, cert }, (_, response) =>
      response.writeHead(302, { location: `${storage.url}/log` }).end(),
    )
    await using test = clientOf(`https://localhost:${await listen(secure)}`, { ca: cert })
    const log = { ...poll, maxBytes: 9, onWindow: () => undefined }
    expect(await rejection(test.client.jobLog(1, 2, log))).toMatchObject({ kind: 'foreign-host' })
    await using platform = await startPlatform(answer(302, '', { location: 'ftp://storage.example/log' }))
    await using other = clientOf(platform.url)
    expect(await rejection(other.client.jobLog(1, 2, log))).toMatchObject({ kind: 'foreign-host' })
    expect(storage.asked).toHaveLength(0)
    platform.reply = answer(302, '', { location: `${storage.url}/log` })
    await other.client.jobLog(1, 2, log)
    expect(storage.asked.map(({ headers }) => headers['private-token'])).toEqual([undefined])
  })

  it.each(['//evil.example', 'https://evil.example/api/v4/pipelines', '/\\evil.example', '@evil.example'])(
    'does not send the token to a stored next-page URL on another host: %s',
    async from => {
      await using platform = await startPlatform(json([]))
      await using test = clientOf(platform.url)
      await expect(allOf(test.client.ownPipelines({}, { ...poll, from }))).resolves.toEqual({ items: [], left: 0 })
      expect(platform.asked).toHaveLength(1)
    },
  )

  it('never shows the token in an error or a log, even if the platform echoes it', async () => {
    const echo = `you sent ${token} and ${encodeURIComponent(token)}`
    const replies = [
      answer(400, JSON.stringify({ message: { token: [echo] } })),
      answer(401, JSON.stringify({ error: echo })),
      answer(403, JSON.stringify({ error: 'insufficient_scope', error_description: echo })),
      answer(404, echo),
      answer(500, `<html><title>${echo}</title>${echo}`, { 'content-type': 'text/html' }),
      answer(200, `<html><title>${echo}</title>`, { 'content-type': 'text/html' }),
      answer(200, echo, { 'content-type': 'text/plain' }),
      answer(200, `["${echo}`, { 'content-type': 'application/json' }),
      json({ id: echo }),
      answer(302, '', { location: `https://login.example.com/?token=${token}` }),
      answer(301, '', { location: `https://${token.slice(0, 4)}.example.com/?token=${token}` }),
      (_asked: unknown, response: { destroy: () => void }) => response.destroy(),
    ]
    for (const reply of replies) {
      await using platform = await startPlatform(reply)
      await using test = clientOf(platform.url)
      const error = await rejection(test.client.project(4711, poll))
      const shown = [error.message, error.stack, JSON.stringify(error), String(error.cause), ...test.logged].join('\n')
      expect(error).toBeInstanceOf(PlatformError)
      expect(shown).not.toContain(token)
      expect(shown).not.toContain(encodeURIComponent(token))
    }
  })
})
