// Tests when a failed request stops all other requests, and whether a failure is attributed to the platform, to an endpoint or to a project.
import { expect, it } from 'vitest'
import { pino } from 'pino'
import { createErrorThrottle } from '../../../src/platform/rest/error-throttle.ts'
import { PlatformError, type PlatformErrorKind } from '../../../src/platform/port.ts'
import { silentLog } from '../../../src/lib/log.ts'

const error = (kind: PlatformErrorKind, endpoint?: string): PlatformError =>
  new PlatformError({ kind, what: 'It does not work.', remedy: 'Look at it.', endpoint })

it('reports that the platform is failing until the platform responds again', () => {
  const throttle = createErrorThrottle(silentLog())
  expect(throttle.ofPlatform()).toBeUndefined()
  expect(throttle.failed('project 4', error('unauthorized'))).toBe('stop')
  expect(throttle.ofPlatform()?.kind).toBe('unauthorized')
  throttle.answered('project 5')
  expect(throttle.ofPlatform()).toBeUndefined()
})

it('does not attribute the failure of one project to the platform', () => {
  const throttle = createErrorThrottle(silentLog())
  expect(throttle.failed('project 4', error('not-found'))).toBe('go-on')
  expect(throttle.failed('project 4', error('timeout'))).toBe('go-on')
  expect(throttle.ofPlatform()).toBeUndefined()
})

it('attributes three consecutive failures to the platform', () => {
  const throttle = createErrorThrottle(silentLog())
  for (const project of [1, 2]) expect(throttle.failed(`project ${project}`, error('timeout'))).toBe('go-on')
  expect(throttle.failed('project 3', error('timeout'))).toBe('stop')
  expect(throttle.ofPlatform()?.kind).toBe('timeout')
})

function logged() {
  const lines: string[] = []
  const log = pino(
    { base: null },
    {
      write: (line: string) => {
        const { level, subject } = JSON.parse(line) as { level: number; subject: string }
        lines.push(`${level > 30 ? 'warns of' : 'over for'} ${subject}`)
      },
    },
  )
  return { lines, throttle: createErrorThrottle(log) }
}

it('attributes a failure to its endpoint if other endpoints respond after it, and logs the failure once', () => {
  const { lines, throttle } = logged()
  const flags = (project: number) => error('unauthorized', `GET /projects/${project}/feature_flags`)
  expect(throttle.failed('flags of 1', flags(1))).toBe('stop')
  throttle.answered('agents of 1')
  // The earlier response may have been in transit when the token was revoked.
  expect(throttle.failed('flags of 2', flags(2))).toBe('stop')
  throttle.answered('agents of 1')
  for (const project of [1, 2, 3, 4, 1, 2]) {
    expect(throttle.failed(`flags of ${project}`, flags(project))).toBe('go-on')
    throttle.answered('agents of 1')
  }
  expect(throttle.ofPlatform()).toBeUndefined()
  throttle.answered('flags of 1')
  const endpoint = 'GET /projects/:id/feature_flags'
  const both = (name: string) => [`warns of ${name}`, `over for ${name}`]
  const [warned, over] = both(endpoint)
  expect(lines).toEqual([...both('the platform'), warned, over])
})

it('stops all requests if every endpoint rejects the token', () => {
  const { lines, throttle } = logged()
  const flags = error('unauthorized', 'GET /projects/1/feature_flags')
  for (let round = 0; round < 3; round += 1) {
    throttle.failed('flags of 1', flags)
    throttle.answered('agents of 1')
  }
  expect(throttle.failed('flags of 1', flags)).toBe('go-on')
  expect(throttle.failed('agents of 1', error('unauthorized', 'GET /projects/1/cluster_agents'))).toBe('stop')
  expect(throttle.ofPlatform()).toBeDefined()
  // If another request has succeeded in the meantime, the next failure counts as a new one.
  throttle.answered('others of 1')
  expect(throttle.failed('agents of 1', flags)).toBe('stop')
  expect(lines.filter(line => line === 'warns of the platform')).toHaveLength(3)
})
