// Tests which kind of event a delivery is about, according to its header and its body.
import { describe, expect, it } from 'vitest'
import {
  eventKindOf,
  eventKindOfBody,
  eventKindOfHeader,
  quickEventKind,
} from '../../../src/platform/webhook/event-kind.ts'

describe("the event kind in a delivery's header", () => {
  it.each([
    ['Pipeline Hook', 'pipeline'],
    ['pipeline hook', 'pipeline'],
    [' Pipeline Hook ', 'pipeline'],
    ['Job Hook', 'job'],
    ['Build Hook', 'job'],
    ['Push Hook', 'push'],
    ['Tag Push Hook', 'tag_push'],
    ['Merge Request Hook', 'merge_request'],
    ['Confidential Note Hook', 'confidential_note'],
    ['Resource Access Token Hook', 'resource_access_token'],
    ['Deployment Hook', 'deployment'],
    ['Teleport Hook', 'unknown'],
    ['constructor Hook', 'unknown'],
    ['__proto__ Hook', 'unknown'],
  ] as const)('reads from the event header %s the event kind %s', (event, kind) => {
    expect(eventKindOfHeader(event)).toBe(kind)
  })

  it.each([
    ...[undefined, '', '  ', 'Hook', 'System Hook', 'system hook'],
    ...['Pipeline', 'Pipeline events', 'Pipeline Event', 'Job updated', 'constructor', '__proto__'],
  ])('reads no event kind from the event header %o, so that the body determines it', event => {
    expect(eventKindOfHeader(event)).toBeUndefined()
  })
})

describe("the event kind in a delivery's body", () => {
  it.each([
    [{ object_kind: 'pipeline' }, 'pipeline'],
    [{ object_kind: 'build' }, 'job'],
    [{ object_kind: 'push', event_name: 'push' }, 'push'],
    [{ object_kind: 'teleport' }, 'unknown'],
    [{ event_name: 'push' }, 'push'],
    [{ event_name: 'project_create' }, 'project'],
    [{ event_name: 'user_add_to_team' }, 'member'],
    [{ event_name: 'user_access_request_to_group' }, 'member'],
    [{ event_name: 'subgroup_destroy' }, 'subgroup'],
    [{ event_name: 'user_create' }, 'system'],
    [{ event_name: 'group_create' }, 'system'],
    [{ object_attributes: {}, builds: [] }, 'pipeline'],
    [{ object_attributes: {}, jobs: [] }, 'pipeline'],
    [{ object_attributes: {} }, 'unknown'],
    [{ object_attributes: [], builds: [] }, 'unknown'],
    [{ object_kind: 5, build_id: 1, build_status: 'success' }, 'job'],
    [{}, 'unknown'],
    [[], 'unknown'],
    [null, 'unknown'],
    [7, 'unknown'],
    ['pipeline', 'unknown'],
  ] as const)('reads from the body %j the event kind %s', (body, kind) => {
    expect(eventKindOfBody(body)).toBe(kind)
  })
})

describe('the event kind before a delivery is processed', () => {
  it.each(['pipeline', 'build', 'push', 'note'])(
    'reads the event kind %s from the body, unless it is located late in a large body',
    kind => {
      const padding = 'x'.repeat(70_000)
      const bodies = [{ object_kind: kind }, { object_kind: kind, padding }, { padding, object_kind: kind }]
      const found = bodies.map(body => quickEventKind('issue', Buffer.from(JSON.stringify(body))))
      const expected = eventKindOf('issue', { object_kind: kind })
      expect(found).toEqual([expected, expected, undefined])
    },
  )

  it('uses the event kind from the header if the body is not JSON', () => {
    for (const body of ['', 'push', '{"object_kind":']) expect(quickEventKind('push', Buffer.from(body))).toBe('push')
  })
})
