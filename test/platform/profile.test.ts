// The vendor table and how webhook headers are found in either spelling.
import { describe, expect, it } from 'vitest'
import { collectors } from '../../src/platform/inventory/collectors.ts'
import { eventWords } from '../../src/platform/webhook/event-selection.ts'
import { headerOf } from '../../src/platform/vendor.ts'
import { maxQueryBytes, queryText } from '../../src/platform/inventory/query.ts'
import { profiles } from '../../src/app/profile.ts'

const { generic, gitlab } = profiles

describe('webhook headers', () => {
  it.each([
    ['generic', 'x-service-event', generic],
    ['generic', 'x-gitlab-event', generic],
    ['gitlab', 'x-service-event', gitlab],
    ['gitlab', 'x-gitlab-event', gitlab],
  ] as const)('under profile %s the spelling %s is understood', (_name, header, profile) => {
    expect(headerOf({ [header]: 'Pipeline Hook' }, 'Event', profile)).toBe('Pipeline Hook')
  })

  it('the own spelling of the profile comes first', () => {
    const headers = { 'x-service-instance': 'https://service', 'x-gitlab-instance': 'https://lab' }
    expect(headerOf(headers, 'Instance', generic)).toBe('https://service')
    expect(headerOf(headers, 'Instance', gitlab)).toBe('https://lab')
  })

  it('a blank header is an absent one', () => {
    expect(headerOf({ 'x-service-token': ' ', 'x-gitlab-token': 'sesame' }, 'Token', generic)).toBe('sesame')
    expect(headerOf({ 'x-service-token': '' }, 'Token', generic)).toBeUndefined()
    expect(headerOf({}, 'Event-UUID', gitlab)).toBeUndefined()
  })

  it('of a header that came several times the first counts', () => {
    expect(headerOf({ 'x-service-webhook-uuid': ['a', 'b'] }, 'Webhook-UUID', generic)).toBe('a')
    expect(headerOf({ 'x-service-webhook-uuid': [] }, 'Webhook-UUID', generic)).toBeUndefined()
  })
})

describe('the vendor table', () => {
  it('says what the telemetry contract says', () => {
    expect(profiles).toEqual({
      generic: {
        name: 'generic',
        namespace: 'platform.',
        provider: 'platform',
        headerPrefix: 'X-Service-',
        events: eventWords,
        inventory: collectors,
        maxQueryBytes,
        queryText,
        variables: { export: 'SERVICE_OBSERVABILITY_EXPORT', token: 'SERVICE_OBSERVABILITY_TOKEN' },
      },
      gitlab: {
        name: 'gitlab',
        namespace: 'gitlab.',
        provider: 'gitlab',
        headerPrefix: 'X-Gitlab-',
        events: eventWords,
        inventory: collectors,
        maxQueryBytes,
        queryText,
        variables: { export: 'GITLAB_OBSERVABILITY_EXPORT', token: 'GITLAB_OBSERVABILITY_TOKEN' },
      },
    })
  })
})
