// Tests that webhook headers are recognised in the spellings of both vendors.
import { describe, expect, it } from 'vitest'
import { headerOf } from '../../src/platform/vendor.ts'
import { profiles } from '../../src/daemon/profile.ts'

const { generic, gitlab } = profiles

describe('webhook headers', () => {
  it.each([
    ['generic', 'x-service-event', generic],
    ['generic', 'x-gitlab-event', generic],
    ['gitlab', 'x-service-event', gitlab],
    ['gitlab', 'x-gitlab-event', gitlab],
  ] as const)('reads webhook headers under profile %s in the spelling %s', (_name, header, profile) => {
    expect(headerOf({ [header]: 'Pipeline Hook' }, 'Event', profile)).toBe('Pipeline Hook')
  })

  it("prefers the webhook headers in the profile's own spelling", () => {
    const headers = { 'x-service-instance': 'https://service', 'x-gitlab-instance': 'https://lab' }
    expect(headerOf(headers, 'Instance', generic)).toBe('https://service')
    expect(headerOf(headers, 'Instance', gitlab)).toBe('https://lab')
  })

  it('treats blank webhook headers as absent', () => {
    expect(headerOf({ 'x-service-token': ' ', 'x-gitlab-token': 'sesame' }, 'Token', generic)).toBe('sesame')
    expect(headerOf({ 'x-service-token': '' }, 'Token', generic)).toBeUndefined()
    expect(headerOf({}, 'Event-UUID', gitlab)).toBeUndefined()
  })

  it('uses the first value of a repeated webhook header', () => {
    expect(headerOf({ 'x-service-webhook-uuid': ['a', 'b'] }, 'Webhook-UUID', generic)).toBe('a')
    expect(headerOf({ 'x-service-webhook-uuid': [] }, 'Webhook-UUID', generic)).toBeUndefined()
  })
})
