// What is known of the platform's troubles: for how long, and whose they are.
import { expect, it } from 'vitest'
import { createErrorThrottle } from '../../../src/platform/rest/error-throttle.ts'
import { PlatformError, type PlatformErrorKind } from '../../../src/platform/rest/platform-error.ts'
import { silentLog } from '../../../src/lib/log.ts'

const error = (kind: PlatformErrorKind): PlatformError =>
  new PlatformError({ kind, what: 'It does not work.', remedy: 'Look at it.' })

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
