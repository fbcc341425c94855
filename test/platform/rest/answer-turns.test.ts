// Tests that large answers of the platform are parsed and checked in many short turns of the event loop, with the same result as in one.
import { expect, it } from 'vitest'
import { z } from 'zod'
import { answer, clientOf, json, poll, rejection, startPlatform } from './platform-server.ts'
import { allOf } from '../../../src/platform/rest/pages.ts'
import { bytesPerTurn } from '../../../src/platform/reports/unpack.ts'
import { createReader } from '../../../src/platform/rest/read.ts'
import { jsonOf } from '../../../src/platform/rest/answer-json.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { turnsDuring } from '../../support/turns.ts'
import type { Requester } from '../../../src/platform/rest/request.ts'

const isJson = { 'content-type': 'application/json' }
const jobs = Array.from({ length: 100 }, (_, n) => ({
  ...{ id: n + 1, status: 'success', name: `é${n}`, artifacts: [{ file_type: 'junit', size: n }] },
  ...{
    tag_list: ['a', null],
    commit: { id: 'c0ffee', message: `"${'wörds\n'.repeat(2_000)}` },
    extra: [0, -1.5e3, true],
  },
}))

it('parses a large answer in turns', async () => {
  const body = Buffer.from(JSON.stringify(jobs))
  expect(await turnsDuring(jsonOf(body))).toBeGreaterThanOrEqual(Math.floor(body.length / bytesPerTurn))
  expect(await jsonOf(body)).toEqual(JSON.parse(body.toString()))
  expect(await jsonOf(Buffer.concat([Buffer.from('\ufeff'), body]))).toHaveLength(100)
})

it.each(['', '{"a":[1,}', '[1][2]', '[nul]', '"'])('refuses invalid JSON, small or large: %s', async text => {
  const spaces = ' '.repeat(300 * 1024)
  for (const body of [text, text + spaces]) await expect(jsonOf(Buffer.from(body))).rejects.toThrow()
})

it('checks the items of a page in turns', async () => {
  const items = Array.from({ length: 10_000 }, (_, id) => ({ id }))
  const url = new URL('https://git.example.com/api/v4/things')
  const get = async () => ({ json: items, headers: {}, url, endpoint: 'GET /things' })
  const reader = createReader('https://git.example.com/api/v4', { get } as unknown as Requester, silentLog())
  const reading = allOf(reader.pages('/things', z.object({ id: z.number() }), poll))
  expect(await turnsDuring(reading)).toBeGreaterThanOrEqual(500)
  expect((await reading).items).toHaveLength(10_000)
})

it('reads a page of a hundred large jobs', async () => {
  await using platform = await startPlatform(json(jobs))
  await using test = clientOf(platform.url)
  const { items: found } = await allOf(test.client.pipelineJobs(1, 2, poll))
  expect(found).toHaveLength(100)
  expect(found[7]).toMatchObject({ id: 8, name: 'é7', tag_list: ['a'], artifacts: [{ file_type: 'junit', size: 7 }] })
  expect(found[7]?.commit?.message).toBe(jobs[7]?.commit.message)
})

it('reads only the beginning of an error', async () => {
  await using platform = await startPlatform(
    answer(403, `{"message":"no","more":"${'x'.repeat(40 * 1024 * 1024)}"}`, isJson),
  )
  await using test = clientOf(platform.url)
  expect(await rejection(test.client.project(1, poll))).toMatchObject({
    status: 403,
    detail: expect.stringContaining('no') as string,
  })
})
