// Tests failures between the client and the platform: which requests are retried, and what the error messages contain.
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import {
  answer,
  clientOf,
  fixture,
  inTurn,
  json,
  poll,
  rejection,
  startPlatform,
  type Reply,
} from './platform-server.ts'
import { allOf } from '../../../src/platform/rest/pages.ts'
import { parseErrorBody } from '../../../src/platform/rest/errors.ts'

const project = (fixture('group-projects.json') as unknown[])[0]
const html = { 'content-type': 'text/html; charset=utf-8' }
const isJson = { 'content-type': 'application/json' }
const reset: Reply = (_asked, response) => response.destroy()
const cutOff: Reply = (_asked, response) => {
  response.writeHead(200, { ...isJson, 'content-length': '1000' }).write('{"id": 4711,')
  setTimeout(() => response.destroy(), 5)
}

describe('a request to the platform', () => {
  it.each([
    ['a 500', answer(500, '')],
    ['a 502 with a page of a proxy', answer(502, '<html><title>502 Bad Gateway</title></html>', html)],
    ['a 503', answer(503, 'down')],
    ['a connection that is reset', reset],
    ['an answer that breaks off', cutOff],
    ['JSON that is cut off', answer(200, '{"id": 4711, "name": "Cra', isJson)],
  ])('pauses and retries a request after %s', async (_what, reply) => {
    await using platform = await startPlatform(inTurn(reply, reply, json(project)))
    await using test = clientOf(platform.url)
    await expect(test.client.project(4711, poll)).resolves.toMatchObject({ id: 4711 })
    expect(platform.asked).toHaveLength(3)
    const [first, second] = test.clock.slept
    expect(first).toBeGreaterThanOrEqual(500)
    expect(second).toBeGreaterThanOrEqual(1_000)
  })

  it('retries a request a limited number of times', async () => {
    await using platform = await startPlatform(answer(502, '<html><title>Bad Gateway</title>', html))
    await using test = clientOf(platform.url)
    const error = await rejection(test.client.project(4711, poll))
    expect(error).toMatchObject({ kind: 'unavailable', status: 502, passing: true, endpoint: 'GET /projects/4711' })
    expect(error.message).toContain('(502 at GET /projects/4711: "Bad Gateway")')
    expect(platform.asked).toHaveLength(4)
  })

  it.each([400, 401, 403, 404, 405, 414, 422])('does not retry a request after the status %d', async status => {
    await using platform = await startPlatform(answer(status, '{"message":"no"}', isJson))
    await using test = clientOf(platform.url)
    expect(await rejection(test.client.project(4711, poll))).toMatchObject({ status, detail: 'no', passing: false })
    expect(platform.asked).toHaveLength(1)
  })

  it('reports the reason and how to fix it if the platform cannot be reached', async () => {
    // Port 1 is used, because another process may have taken a port that was free a moment ago.
    await using test = clientOf('http://127.0.0.1:1')
    const error = await rejection(test.client.project(4711, poll))
    expect(error).toMatchObject({ kind: 'network', detail: 'ECONNREFUSED' })
    expect(error.message).toMatch(
      /cannot be reached \(GET \/projects\/4711: ECONNREFUSED\)\. Check PIPESPAN_PLATFORM_URL/,
    )
  })

  it('aborts and retries a request after its timeout', async () => {
    const silent: Reply = (_asked, response) => response.flushHeaders()
    await using platform = await startPlatform(inTurn(silent, json(project)))
    const timeouts = { connect: 1_000, answer: 50 }
    // The request is retried as often as necessary, because on a slow machine the second response may also be late.
    const retry = { tries: 1_000, refusals: 1, first: 1, max: 1 }
    await using patient = clientOf(platform.url, { timeouts, retry })
    await expect(patient.client.project(4711, poll)).resolves.toMatchObject({ id: 4711 })
    platform.reply = silent
    await using test = clientOf(platform.url, { timeouts })
    const error = await rejection(test.client.project(4711, poll))
    expect(error).toMatchObject({ kind: 'timeout', detail: 'no response within 50 ms' })
  })

  it('aborts a stream that is not complete in time, with a transient error', async () => {
    await using platform = await startPlatform((_asked, response) => {
      const timer = setInterval(() => response.write('x'), 5)
      response.on('close', () => clearInterval(timer))
    })
    await using test = clientOf(platform.url, { timeouts: { connect: 1_000, answer: 1_900, stream: 2_000 } })
    const log = test.client.jobLog(3, 1, { priority: 'inside', maxBytes: 2 ** 30, onWindow: () => undefined })
    expect(await rejection(log)).toMatchObject({ kind: 'slow', passing: true, detail: 'incomplete after 2 s' })
  })

  it('does not abort a stream that the caller reads slowly', async () => {
    const size = 4 * 1024 * 1024
    await using platform = await startPlatform((_asked, response) => response.end(Buffer.alloc(size)))
    await using test = clientOf(platform.url, { timeouts: { connect: 1_000, answer: 900, stream: 1_000 } })
    const read = test.client.jobArtifact(3, 1, { type: 'dotenv' }, { priority: 'inside' }, async body => {
      let bytes = 0
      for await (const chunk of body) {
        // This pause is longer than the timeout of the whole stream.
        if (bytes === 0) await pause(1_100)
        bytes += chunk.length
      }
      return bytes
    })
    await expect(read).resolves.toBe(size)
  })

  it("ends a request when its abort signal is aborted, with the signal's reason", async () => {
    const leaving = new AbortController()
    await using platform = await startPlatform(() => leaving.abort(new Error('shutting down')))
    await using test = clientOf(platform.url)
    await expect(test.client.project(4711, { ...poll, signal: leaving.signal })).rejects.toThrow('shutting down')
  })

  it('ends a request when the client is closed, whether the request is queued or in flight', async () => {
    const { promise: arrived, resolve: arrive } = Promise.withResolvers<true>()
    await using platform = await startPlatform(() => arrive(true))
    await using test = clientOf(platform.url, { concurrency: 1 })
    const calls = [1, 2, 3].map(id => rejection(test.client.project(id, poll)))
    await arrived
    await test.client.close()
    for (const error of await Promise.all(calls)) expect(error.message).toBe('the platform client was closed')
    await expect(test.client.project(4, poll)).rejects.toThrow('closed')
  })

  it.each(['[]', '{}', '1'])(
    'rejects a response that contains more than 500,000 values, without parsing it: %s',
    async value => {
      await using platform = await startPlatform((_asked, response) => {
        response.writeHead(200, isJson).end(`[${`${value},`.repeat(600_000)}1]`)
      })
      await using test = clientOf(platform.url)
      expect(await rejection(test.client.project(4711, poll))).toMatchObject({
        kind: 'too-large',
        detail: 'more than 500000 values',
      })
    },
  )

  it('ends a request with an error when an endless response reaches the size limit', async () => {
    const { promise: gone, resolve: leave } = Promise.withResolvers<true>()
    await using platform = await startPlatform((_asked, response) => {
      response.writeHead(200, isJson).on('close', () => leave(true))
      const pour = (): void => {
        while (!response.destroyed && response.write('['.repeat(65_536)));
      }
      response.on('drain', pour)
      pour()
    })
    await using test = clientOf(platform.url, { maxBytes: 100_000 })
    const error = await rejection(test.client.project(4711, poll))
    expect(error).toMatchObject({ kind: 'too-large', detail: 'more than 100000 bytes' })
    await gone
    expect(platform.asked).toHaveLength(1)
  })
})

it("reads only the beginning of an error response's body", async () => {
  await using platform = await startPlatform(
    answer(403, `{"message":"no","more":"${'x'.repeat(40 * 1024 * 1024)}"}`, isJson),
  )
  await using test = clientOf(platform.url)
  expect(await rejection(test.client.project(1, poll))).toMatchObject({
    status: 403,
    detail: expect.stringContaining('no') as string,
  })
})

describe('an unusable response from the platform', () => {
  it.each<[string, Reply, RegExp]>([
    [
      'a login page',
      answer(200, '<!DOCTYPE html><title>Sign in</title>', html),
      /\(200 at GET \/projects\/4711: "Sign in"\)/,
    ],
    ['a page with the content type of JSON', answer(200, '<html>', isJson), /does not come from the platform's API/],
    [
      'a page that begins with a comment',
      answer(200, '<!-- by a proxy --><p>Sign in', isJson),
      /does not come from the platform's API/,
    ],
    [
      'plain text with the content type of JSON',
      answer(200, 'Service check passed', isJson),
      /does not come from the platform's API/,
    ],
    ['plain text', answer(200, 'It works!', { 'content-type': 'text/plain' }), /"It works!"/],
    ['a redirect to a login page', answer(302, '', { location: '/users/sign_in' }), /\(302 at/],
    ['a redirect without a target', answer(301, ''), /\(301 at/],
    ['a page that says 404', answer(404, '<html><title>Not here</title>', html), /A web page answered.*"Not here"/],
  ])('detects a response that does not come from the API: %s', async (_what, reply, message) => {
    await using platform = await startPlatform(reply)
    await using test = clientOf(platform.url)
    const error = await rejection(test.client.project(4711, poll))
    expect(error).toMatchObject({ kind: 'not-the-api', passing: false })
    expect(error.message).toMatch(message)
    expect(error.message).toMatch(/Check PIPESPAN_PLATFORM_URL: .*login page/)
  })

  it('reports an invalid response with the names of its invalid fields, without their values', async () => {
    await using platform = await startPlatform(json({ id: 'seven', name: 'Crane' }))
    await using test = clientOf(platform.url)
    const error = await rejection(test.client.pipeline(4711, 7, poll))
    expect(error).toMatchObject({ kind: 'unexpected-answer', detail: 'not as documented: id, status' })
  })

  it('detects a response that is an object instead of a list', async () => {
    await using platform = await startPlatform(json({ message: 'hello' }))
    await using test = clientOf(platform.url)
    const error = await rejection(allOf(test.client.pipelineJobs(4711, 7, poll)))
    expect(error).toMatchObject({ kind: 'unexpected-answer', detail: 'a list was expected' })
  })
})

describe("the platform's error message", () => {
  it.each([
    ['{"message":"404 Project Not Found"}', '404 Project Not Found'],
    [
      '{"message":{"name":["is too short","is taken"],"sha":["is missing"]}}',
      'name is too short, is taken; sha is missing',
    ],
    ['{"error":"404 Not Found"}', '404 Not Found'],
    ['{"error":"insufficient_scope","error_description":"needs more","scope":"api"}', 'insufficient_scope: needs more'],
    ['{"message":null,"error":"scope is invalid"}', 'scope is invalid'],
    ['{"odd":["thing",3]}', 'odd thing, 3'],
    ['"just words"', 'just words'],
    ['Retry later\n', 'Retry later'],
    ['<html>\n<title> 502 </title>', '502'],
    ['<html>nothing', 'a web page'],
    ['', undefined],
    ['null', undefined],
    ['{}', undefined],
  ])("extracts the platform's message from the body of an error response: %s", (body, detail) => {
    expect(parseErrorBody({ text: body, type: undefined, secrets: [] }).detail).toBe(detail)
  })

  it("shortens the platform's error message to one line", () => {
    const { detail } = parseErrorBody({ text: `a\n\nb ${'x'.repeat(10_000)}`, type: undefined, secrets: [] })
    expect(detail).toMatch(/^a b x+…$/)
    expect(detail!.length).toBeLessThan(210)
  })

  it("returns the platform's error message as an error code if the message is a single word", () => {
    expect(
      parseErrorBody({ text: '{"error":"insufficient_scope","error_description":"x"}', type: undefined, secrets: [] })
        .code,
    ).toBe('insufficient_scope')
    expect(parseErrorBody({ text: '{"error":"404 Not Found"}', type: undefined, secrets: [] }).code).toBeUndefined()
  })

  it("reports whether the token's scope or its role is insufficient", async () => {
    await using platform = await startPlatform(
      answer(403, '{"error":"insufficient_scope","error_description":"needs more"}'),
    )
    await using test = clientOf(platform.url)
    const scope = await rejection(test.client.project(1, poll))
    expect(scope.message).toMatch(/scope is not sufficient \(403 .*Create a token that may read the API/)
    platform.reply = answer(403, '{"message":"403 Forbidden"}')
    const role = await rejection(test.client.project(1, poll))
    expect(role.message).toMatch(/may not read this resource \(403 .*Give the token's user a role/)
  })
})
