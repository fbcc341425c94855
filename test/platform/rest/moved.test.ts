// Tests requests for projects and groups that have moved. The client follows the redirects.
import { describe, expect, it } from 'vitest'
import { answer, clientOf, fixture, json, poll, rejection, startPlatform, type Reply } from './platform-server.ts'
import { allOf } from '../../../src/platform/rest/pages.ts'

const project = (fixture('group-projects.json') as unknown[])[0]
const old = '/api/v4/projects/harbour%2Fcrane'

/** Responds to every request under the old path with a redirect to the new path. */
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
  it.each([301, 308])("follows a moved project's redirect (status %d) with the query and the token", async status => {
    await using platform = await startPlatform(moved(status, '/api/v4/projects/81'))
    await using test = clientOf(platform.url)
    await allOf(test.client.projectPipelines('harbour/crane', { source: 'parent_pipeline' }, poll))
    await test.client.project('harbour/crane', poll)
    expect(platform.asked.map(({ path }) => path)).toEqual([
      `${old}/pipelines`,
      '/api/v4/projects/81/pipelines',
      old,
      '/api/v4/projects/81',
    ])
    expect(platform.asked[1]!.query.get('source')).toBe('parent_pipeline')
    expect(platform.asked.every(({ headers }) => headers['private-token'] !== undefined)).toBe(true)
  })

  it('does not follow the redirect of a request that modifies data, and reports the new path', async () => {
    await using platform = await startPlatform(moved(308, '/api/v4/projects/81'))
    await using test = clientOf(platform.url)
    const wish = { pipelineEvents: true, jobEvents: true }
    const error = await rejection(test.client.createHook({ project: 'harbour/crane' }, wish, poll))
    expect(error).toMatchObject({ kind: 'not-found', status: 308 })
    expect(error.message).toContain('has moved to /api/v4/projects/81/hooks')
    expect(platform.asked).toHaveLength(1)
  })

  it("requests a moved project with the original query if the redirect's URL has none", async () => {
    await using platform = await startPlatform(moved(301, '/api/v4/projects/81', false))
    await using test = clientOf(platform.url)
    await allOf(test.client.pipelineJobs('harbour/crane', 7, poll))
    expect(platform.asked[1]!.query.get('include_retried')).toBe('true')
  })

  it('reports an error if redirects form a loop', async () => {
    await using platform = await startPlatform((asked, response) => {
      answer(301, '', { location: asked.path.endsWith('/1') ? 'projects/2' : '1' })(asked, response)
    })
    await using test = clientOf(platform.url)
    const error = await rejection(test.client.project(1, poll))
    expect(error).toMatchObject({ kind: 'not-the-api', detail: 'redirects without end' })
    expect(platform.asked.length).toBeLessThan(10)
  })
})
