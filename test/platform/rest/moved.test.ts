// Tests projects and groups that have moved: the client follows a move, remembers it, and forgets it when the new path fails.
import { describe, expect, it } from 'vitest'
import { answer, clientOf, fixture, json, poll, rejection, startPlatform, type Reply } from './platform-server.ts'
import { allOf } from '../../../src/platform/rest/pages.ts'
import { createMoves } from '../../../src/platform/rest/moved.ts'

const project = (fixture('group-projects.json') as unknown[])[0]
const old = '/api/v4/projects/harbour%2Fcrane'

/** Answers every address below the old path with a redirect to the new one. */
const moved =
  (status: number, to: string, withQuery = true): Reply =>
  (asked, response) => {
    if (!asked.path.startsWith(old)) {
      json(asked.path.endsWith('s') ? [] : project)(asked, response)
      return
    }
    const location = to + asked.path.slice(old.length) + (withQuery ? asked.url.slice(asked.path.length) : '')
    answer(status, '', { location })(asked, response)
  }

describe('a project that has moved', () => {
  it.each([301, 308])('is followed after a %d, and then requested directly with all its paths', async status => {
    await using platform = await startPlatform(moved(status, '/api/v4/projects/81'))
    await using test = clientOf(platform.url)
    await allOf(test.client.projectPipelines('harbour/crane', { source: 'parent_pipeline' }, poll))
    await test.client.project('harbour/crane', poll)
    await allOf(test.client.pipelineJobs('harbour/crane', 7, poll))
    expect(platform.asked.map(({ path }) => path)).toEqual([
      `${old}/pipelines`,
      '/api/v4/projects/81/pipelines',
      '/api/v4/projects/81',
      '/api/v4/projects/81/pipelines/7/jobs',
    ])
    expect(platform.asked[1]!.query.get('source')).toBe('parent_pipeline')
    expect(platform.asked.every(({ headers }) => headers['private-token'] !== undefined)).toBe(true)
  })

  it('is requested with the original query if the new address has none', async () => {
    await using platform = await startPlatform(moved(301, '/api/v4/projects/81', false))
    await using test = clientOf(platform.url)
    await allOf(test.client.pipelineJobs('harbour/crane', 7, poll))
    expect(platform.asked[1]!.query.get('include_retried')).toBe('true')
  })

  it('is found with one more request after it has moved back', async () => {
    await using platform = await startPlatform(moved(301, '/api/v4/projects/81'))
    await using test = clientOf(platform.url)
    await test.client.project('harbour/crane', poll)
    platform.reply = (asked, response) => {
      const reply = asked.path.endsWith('81') ? answer(404, '{"message":"404 Project Not Found"}') : json(project)
      reply(asked, response)
    }
    platform.asked.length = 0
    await test.client.project('harbour/crane', poll)
    await test.client.project('harbour/crane', poll)
    expect(platform.asked.map(({ path }) => path)).toEqual(['/api/v4/projects/81', old, old])
  })

  it('is not asked again for a log that its new address does not have', async () => {
    const gone = answer(404, '{"message":"404 Not found"}')
    const redirected = moved(301, '/api/v4/projects/81')
    await using platform = await startPlatform((asked, response) =>
      (asked.path.startsWith(old) ? redirected : gone)(asked, response),
    )
    await using test = clientOf(platform.url)
    const log = test.client.jobLog('harbour/crane', 1, { ...poll, maxBytes: 9, onWindow: () => undefined })
    expect(await rejection(log)).toMatchObject({ kind: 'not-found' })
    expect(platform.asked).toHaveLength(2)
  })

  it('does not affect another project', async () => {
    await using platform = await startPlatform(moved(301, '/api/v4/projects/81'))
    await using test = clientOf(platform.url)
    await test.client.project('harbour/crane', poll)
    await test.client.project('harbour/other', poll)
    expect(platform.asked.at(-1)!.path).toBe('/api/v4/projects/harbour%2Fother')
  })

  it('ends with an error if its redirects form a circle', async () => {
    await using platform = await startPlatform((asked, response) => {
      answer(301, '', { location: asked.path.endsWith('/1') ? 'projects/2' : '1' })(asked, response)
    })
    await using test = clientOf(platform.url)
    const error = await rejection(test.client.project(1, poll))
    expect(error).toMatchObject({ kind: 'not-the-api', detail: 'redirects without end' })
    expect(platform.asked.length).toBeLessThan(10)
  })
})

describe('the memory of moves', () => {
  it('is bounded, and drops the oldest', () => {
    const moves = createMoves()
    for (let id = 0; id <= 10_000; id++) moves.remember(`/api/v4/projects/p${id}`, `/api/v4/projects/${id}`)
    expect(moves.current('/api/v4/projects/p0/hooks')).toBe('/api/v4/projects/p0/hooks')
    expect(moves.current('/api/v4/projects/p1/hooks')).toBe('/api/v4/projects/1/hooks')
  })

  it('stores a single address if more than its project changed', () => {
    const moves = createMoves()
    moves.remember('/api/v4/projects/1/hooks', '/api/v4/elsewhere')
    expect(moves.current('/api/v4/projects/1/hooks')).toBe('/api/v4/elsewhere')
    expect(moves.current('/api/v4/projects/1')).toBe('/api/v4/projects/1')
    expect(moves.forget('/api/v4/projects/1/hooks')).toBe(true)
    expect(moves.forget('/api/v4/projects/1/hooks')).toBe(false)
  })

  it('follows a platform whose root path changed', () => {
    const moves = createMoves()
    moves.remember('/api/v4/projects/1/hooks', '/git/api/v4/projects/1/hooks')
    expect(moves.current('/api/v4/projects/1')).toBe('/git/api/v4/projects/1')
  })
})
