// Tests webhook events that are not about a pipeline: the fields that are read for each kind, the identity of an event, and the fields that are never
// read.
import { linearPattern } from '../../support/linear-pattern.ts'
import { describe, expect, it } from 'vitest'
import { eventFile, eventFiles, type EventFile } from '../../fixtures/event-files.ts'
import { eventTable } from '../../../src/platform/webhook/event-table.ts'
import { createTextRedaction } from '../../../src/lib/text-redaction.ts'
import { everyEvent, noEvents, selectEvents } from '../../../src/platform/webhook/event-selection.ts'
import { parseDelivery, type ParseOptions } from '../../../src/platform/webhook/parse-delivery.ts'
import { profiles } from '../../../src/daemon/profile.ts'
import type { Parsed } from '../../../src/platform/port/webhook.ts'
import type { PlatformEvent } from '../../../src/model/event.ts'

const options: ParseOptions = { profile: profiles.generic, traceparent: false, events: everyEvent }
const instance = 'https://git.example.com'

function read({ event, text }: Pick<EventFile, 'event' | 'text'>, more: Partial<ParseOptions> = {}): PlatformEvent {
  return eventOf(parseDelivery({ event, instance, body: Buffer.from(text) }, { ...options, ...more }))
}

function eventOf(parsed: Parsed): PlatformEvent {
  if (parsed.outcome !== 'event') throw new Error(JSON.stringify(parsed))
  return parsed.event
}

/** Returns the event of a fixture with some fields changed. A field is given by its path, such as `object_attributes.active`. */
function changed(name: string, changes: Readonly<Record<string, unknown>>): PlatformEvent {
  const { event, text } = eventFile(name)
  const json = JSON.parse(text) as Record<string, unknown>
  for (const [path, value] of Object.entries(changes)) {
    const [field = '', inner] = path.split('.')
    if (inner === undefined) json[field] = value
    else json[field] = { ...(json[field] as object), [inner]: value }
  }
  return read({ event, text: JSON.stringify(json) })
}

it('has a fixture for every event kind', () => {
  expect([...new Set(eventFiles.map(({ word }) => word))].sort()).toEqual(eventTable.map(({ word }) => word).sort())
})

describe.each(eventFiles)('$name', file => {
  it("reads an event's fields as declared in the event table", async () => {
    const { object, key, content, ...event } = read(file)
    expect(event.kind).toBe(file.word)
    await expect(`${JSON.stringify({ ...event, isKeyed: key !== undefined }, null, 2)}\n`).toMatchFileSnapshot(
      `../events/${file.name}.json`,
    )
    expect(object).not.toBe(content)
  })

  it('recognises an event from the body of its delivery alone', () => {
    const whole = read(file)
    expect(read({ event: '', text: file.text })).toEqual(whole)
  })

  it('gives an event the same identity, however its JSON is formatted', () => {
    const turned = Object.fromEntries(Object.entries(JSON.parse(file.text) as object).toReversed())
    expect(read({ event: file.event, text: JSON.stringify(turned) })).toEqual(read(file))
  })

  it('exports an event without e-mail addresses, descriptions, comments and avatars', () => {
    const observed = JSON.stringify(read(file))
    expect(observed).not.toMatch(
      /@example|avatar|\.png|Secret plans|password|Sells tea|Nobody has|All of it|Boils|How we make/,
    )
  })

  it('ignores an event whose kind is not selected', () => {
    const parsed = parseDelivery(
      { event: file.event, instance, body: Buffer.from(file.text) },
      { ...options, events: noEvents },
    )
    expect(parsed.outcome).toBe('ignored')
  })
})

describe('the identity of an event', () => {
  const key = (name: string, changes: Readonly<Record<string, unknown>> = {}): string | undefined =>
    changed(name, changes).key

  it('identifies a deployment event by id, status and status time, whatever the time format', () => {
    for (const at of ['2025-03-11 09:04:31 UTC', '2025-03-11T10:04:31+01:00', '2025-03-11T09:04:31.250Z']) {
      expect(key('deployment', { status_changed_at: at, short_sha: 'abc' })).toBe(key('deployment'))
    }
    expect(key('deployment', { status: 'failed' })).not.toBe(key('deployment'))
    expect(key('deployment', { status_changed_at: '2025-03-11 09:04:32 UTC' })).not.toBe(key('deployment'))
    expect(key('deployment', { deployment_id: 16 })).not.toBe(key('deployment'))
  })

  it.each(['change', 'issue', 'note', 'emoji', 'milestone'])(
    'identifies an event of kind %s by id, action, update time and user',
    name => {
      expect(key(name, { 'object_attributes.title': 'another' })).toBe(key(name))
      expect(key(name, { 'object_attributes.id': 5 })).not.toBe(key(name))
      expect(key(name, { action: 'close', 'object_attributes.action': 'close' })).not.toBe(key(name))
      expect(key(name, { 'object_attributes.updated_at': '2025-03-12 09:00:00 UTC' })).not.toBe(key(name))
      expect(key(name, { user: { id: 24, username: 'bob' } })).not.toBe(key(name))
    },
  )

  it.each(['push', 'tag'])('identifies an event of kind %s by project, ref and both revisions', name => {
    expect(key(name, { total_commits_count: 9 })).toBe(key(name))
    for (const other of [{ ref: 'refs/heads/other' }, { before: 'a1' }, { after: 'b2' }, { project: { id: 8 } }]) {
      expect(key(name, other), JSON.stringify(other)).not.toBe(key(name))
    }
  })

  it('identifies all other events by their content and their order of arrival', () => {
    for (const name of [
      'release',
      'feature_flag',
      'access_token',
      'wiki_page',
      'member',
      'subgroup',
      'project',
      'vulnerability',
    ]) {
      expect(key(name), name).toBeUndefined()
    }
    const on = changed('feature_flag', {})
    const off = changed('feature_flag', { 'object_attributes.active': false })
    expect(off.object).toBe(on.object)
    expect(off.content).not.toBe(on.content)
    expect(changed('feature_flag', { 'object_attributes.id': 7 }).object).not.toBe(on.object)
  })

  it('identifies an event by its content if an old platform version reports no time', () => {
    expect(changed('deployment', { status_changed_at: null })).not.toHaveProperty('key')
    const odd = changed('deployment', { status_changed_at: '30 February' })
    expect(odd).not.toHaveProperty('at')
    expect(odd).not.toHaveProperty('key')
  })
})

describe('an event with an unusual payload', () => {
  it('names the missing identity fields of an event, and never shows a value', () => {
    const text = JSON.stringify({ object_kind: 'feature_flag', project: { id: null, name: 'secret-word' } })
    const parsed = parseDelivery({ instance, body: Buffer.from(text) }, options)
    expect(parsed).toEqual({
      outcome: 'unparseable',
      reason: expect.stringContaining('no usable project.id or project_id, object_attributes.id.') as string,
    })
    expect(JSON.stringify(parsed)).not.toContain('secret-word')
  })

  it('redacts secrets, e-mail addresses and configured patterns in the strings of an event', () => {
    const title = 'Tell ada@example.com: glpat-abcdefghijklmnopqrst opens ACME-77'
    const { event, text } = eventFile('change')
    const body = text.replace(/"title": "Ask[^"]*"/, `"title": "${title}"`)
    const redactText = createTextRedaction([linearPattern('ACME-[0-9]+')])
    expect(read({ event, text: body }, { redactText }).attributes['vcs.change.title']).toBe(
      'Tell [REDACTED]: [REDACTED] opens [REDACTED]',
    )
  })

  it("redacts an event's strings before truncating them", () => {
    const { event, text } = eventFile('change')
    const before = 'x'.repeat(1_010)
    const body = text.replace(/"title": "Ask[^"]*"/, `"title": "${before} glpat-abcdefghijklmnopqrst"`)
    expect(read({ event, text: body }).attributes['vcs.change.title']).toBe(`${before} [REDACTED]`)
  })

  it('assigns an event to the instance that matches its payload', () => {
    expect(changed('deployment', {}).instance).toBe(instance)
    const elsewhere = { ...options, platformUrl: 'https://other.example.com' }
    expect(read(eventFile('member'), elsewhere).instance).toBe('https://other.example.com')
  })

  it('maps the state of a merge request to the semantic conventions', () => {
    const stateOf = (state: string, draft: boolean): unknown =>
      changed('change', { 'object_attributes.state': state, 'object_attributes.draft': draft }).attributes[
        'vcs.change.state'
      ]
    expect([stateOf('opened', false), stateOf('opened', true), stateOf('locked', false)]).toEqual([
      'open',
      'wip',
      'wip',
    ])
    expect([stateOf('merged', true), stateOf('closed', false), stateOf('frozen', false)]).toEqual([
      'merged',
      'closed',
      'frozen',
    ])
  })

  it('marks a failed deployment as an error, and reports no result for a canceled deployment', () => {
    expect(changed('deployment', { status: 'failed' })).toMatchObject({ severity: 'error' })
    expect(changed('deployment', { status: 'canceled' }).attributes).not.toHaveProperty(['deployment.status'])
    expect(changed('deployment', { commit_url: null }).attributes['vcs.ref.head.revision']).toBe('279484c0')
  })
})

describe('the selection of events', () => {
  it('always selects pipelines and jobs, and selects other events by name', () => {
    const events = selectEvents(['issue'])
    for (const kind of ['pipeline', 'job', 'issue', 'confidential_issue', 'work_item'] as const)
      expect(events.takes(kind)).toBe(true)
    for (const kind of ['push', 'note', 'system', 'unknown'] as const) expect(events.takes(kind)).toBe(false)
    expect(events.row('work_item')?.word).toBe('issue')
    expect(events.row('pipeline')).toBeUndefined()
  })

  it("lists the event flags that a project's or a group's hook needs for the selected events", () => {
    const events = selectEvents(['deployment', 'access_token', 'member', 'repository_update'])
    const ofBoth = ['deployment_events', 'resource_access_token_events']
    expect(events.flags('project')).toEqual([...ofBoth, 'repository_update_events'])
    expect(events.flags('group')).toEqual([...ofBoth, 'member_events', 'repository_update_events'])
  })
})
