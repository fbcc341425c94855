// What is known of the platform's troubles: for how long, and whose they are.
import { expect, it } from 'vitest'
import { pino } from 'pino'
import { createErrorThrottle } from '../../../src/platform/rest/error-throttle.ts'
import { PlatformError, type PlatformErrorKind } from '../../../src/platform/rest/platform-error.ts'
import { silentLog } from '../../../src/lib/log.ts'

const error = (kind: PlatformErrorKind, endpoint?: string): PlatformError =>
  new PlatformError({ kind, what: 'It does not work.', remedy: 'Look at it.', endpoint })

it('knows what is wrong with the platform until it answers again', () => {
  const troubles = createErrorThrottle(silentLog())
  expect(troubles.ofPlatform()).toBeUndefined()
  expect(troubles.failed('project 4', error('unauthorized'))).toBe('stop')
  expect(troubles.ofPlatform()?.kind).toBe('unauthorized')
  troubles.answered('project 5')
  expect(troubles.ofPlatform()).toBeUndefined()
})

it('does not take what is wrong with one project for a failure of the platform', () => {
  const troubles = createErrorThrottle(silentLog())
  expect(troubles.failed('project 4', error('not-found'))).toBe('go-on')
  expect(troubles.failed('project 4', error('timeout'))).toBe('go-on')
  expect(troubles.ofPlatform()).toBeUndefined()
})

it('takes three failures without an answer between them for the platform’s', () => {
  const troubles = createErrorThrottle(silentLog())
  for (const project of [1, 2]) expect(troubles.failed(`project ${project}`, error('timeout'))).toBe('go-on')
  expect(troubles.failed('project 3', error('timeout'))).toBe('stop')
  expect(troubles.ofPlatform()?.kind).toBe('timeout')
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
  return { lines, troubles: createErrorThrottle(log) }
}

it('knows the failures of one endpoint once others answer after them, and logs them once for all who ask it', () => {
  const { lines, troubles } = logged()
  const flags = (project: number) => error('unauthorized', `GET /projects/${project}/feature_flags`)
  expect(troubles.failed('flags of 1', flags(1))).toBe('stop')
  troubles.answered('agents of 1')
  // An answer may have been under way when the token was revoked.
  expect(troubles.failed('flags of 2', flags(2))).toBe('stop')
  troubles.answered('agents of 1')
  for (const project of [1, 2, 3, 4, 1, 2]) {
    expect(troubles.failed(`flags of ${project}`, flags(project))).toBe('go-on')
    troubles.answered('agents of 1')
  }
  expect(troubles.ofPlatform()).toBeUndefined()
  troubles.answered('flags of 1')
  const endpoint = 'GET /projects/:id/feature_flags'
  const both = (name: string) => [`warns of ${name}`, `over for ${name}`]
  const [warned, over] = both(endpoint)
  expect(lines).toEqual([...both('the platform'), warned, over])
})

it('stops for a token that all refuse, whatever was the endpoint’s own before', () => {
  const { lines, troubles } = logged()
  const flags = error('unauthorized', 'GET /projects/1/feature_flags')
  for (let round = 0; round < 3; round += 1) {
    troubles.failed('flags of 1', flags)
    troubles.answered('agents of 1')
  }
  expect(troubles.failed('flags of 1', flags)).toBe('go-on')
  expect(troubles.failed('agents of 1', error('unauthorized', 'GET /projects/1/cluster_agents'))).toBe('stop')
  expect(troubles.ofPlatform()).toBeDefined()
  // Who was answered there since it became the endpoint's own fails by something new.
  troubles.answered('others of 1')
  expect(troubles.failed('agents of 1', flags)).toBe('stop')
  expect(lines.filter(line => line === 'warns of the platform')).toHaveLength(3)
})
