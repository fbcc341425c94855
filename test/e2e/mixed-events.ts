// Creates events of every shape that hooks send, one at a time. Some are identified by their content and may come in any order. The others have no
// version and must come in the order in which they happen. Each event has a mark that distinguishes its record from all others.
import { eventFile } from '../fixtures/event-files.ts'
import type { ReceivedLogRecord } from '../support/otlp-decode.ts'

export interface EventBody {
  readonly event: string
  readonly body: string
}

/** Returns the fixture with these fields changed, such as `object_attributes.id`. */
export function payload(name: string, changes: Readonly<Record<string, unknown>>): EventBody {
  const { event, text } = eventFile(name)
  const json = JSON.parse(text) as Record<string, unknown>
  for (const [path, value] of Object.entries(changes)) {
    const [field = '', inner] = path.split('.')
    if (inner === undefined) json[field] = value
    else json[field] = { ...(json[field] as object), [inner]: value }
  }
  return { event, body: JSON.stringify(json) }
}

const own = 'object_attributes'

type Changes = (n: number, second: string) => Readonly<Record<string, unknown>>

const ofObject: Changes = (n, second) => ({
  [`${own}.id`]: n + 1,
  [`${own}.updated_at`]: second,
  'user.username': `u${n}`,
})
const ofTip: Changes = n => ({ after: `f${n.toString(16).padStart(39, '0')}`, user_username: `u${n}` })

const keyed: readonly (readonly [string, Changes])[] = [
  ['deployment', (n, second) => ({ deployment_id: n + 1, status_changed_at: second, 'user.username': `u${n}` })],
  ['change', ofObject],
  ['push', ofTip],
  ['tag', ofTip],
  ['issue', ofObject],
  ['note', ofObject],
  ['milestone', (n, second) => ({ ...ofObject(n, second), user: { id: 23, username: `u${n}` } })],
  ['emoji', ofObject],
]

/** Returns an event that is identified by its content, so that it may come in any order. */
export function mixed(n: number): EventBody {
  const [name, changes] = keyed[n % keyed.length] ?? ['deployment', ofObject]
  return payload(name, changes(n, new Date(Date.UTC(2026, 0, 1) + n * 1_000).toISOString()))
}

/** Returns the mark of the event that `mixed(n)` creates. Only that event's record contains it. */
export const markOf = (n: number): string => `u${n}`

/** The events of one object, in the order in which they happen. The platform sends all of them without a time or a version. */
export interface Story {
  readonly mark: string
  readonly reported: readonly EventBody[]
  /** The bodies of the log records that these events become. */
  readonly bodies: readonly string[]
}

/** Returns the events of an object that is changed and changed back: the first and the third are equal. */
export function story(n: number): Story {
  const mark = `s${n}`
  const alternating = (
    name: string,
    changes: Readonly<Record<string, unknown>>,
    path: string,
    values: readonly [unknown, unknown],
    bodies: readonly [string, string],
  ): Story => {
    const [one, other] = values.map(value => payload(name, { ...changes, [path]: value }))
    if (one === undefined || other === undefined) throw new Error('`values` must have two entries')
    return { mark, reported: [one, other, one], bodies: [bodies[0], bodies[1], bodies[0]] }
  }
  switch (n % 5) {
    case 0: {
      const changes = { [`${own}.id`]: n + 1, [`${own}.name`]: mark, 'user.username': mark }
      const bodies = [`Feature flag ${mark}: on`, `Feature flag ${mark}: off`] as const
      return alternating('feature_flag', changes, `${own}.active`, [true, false], bodies)
    }
    case 1: {
      const bodies = [`Release ${mark}: create`, `Release ${mark}: delete`] as const
      return alternating('release', { tag: mark, user_username: mark }, 'action', ['create', 'delete'], bodies)
    }
    case 2: {
      const changes = { [`${own}.slug`]: mark, 'user.username': mark }
      const bodies = [`Wiki page ${mark}: create`, `Wiki page ${mark}: delete`] as const
      return alternating('wiki_page', changes, `${own}.action`, ['create', 'delete'], bodies)
    }
    case 3: {
      const bodies = ['Member: user_add_to_group', 'Member: user_remove_from_group'] as const
      const names = ['user_add_to_group', 'user_remove_from_group'] as const
      return alternating('member', { user_id: 1_000 + n, user_username: mark }, 'event_name', names, bodies)
    }
    default: {
      const changes = { [`${own}.id`]: mark }
      const bodies = ['Vulnerability high: confirmed', 'Vulnerability high: dismissed'] as const
      return alternating('vulnerability', changes, `${own}.state`, ['confirmed', 'dismissed'], bodies)
    }
  }
}

/** Returns an event that announces the expiry of a token. The event is identical each time. */
export function announced(n: number): EventBody {
  return payload('access_token', { [`${own}.id`]: n + 1, [`${own}.name`]: `t${n}` })
}

/** Returns the mark of the event from which this record was created. */
export function markOfRecord({ attributes }: ReceivedLogRecord): string {
  const carried = ['user.name', 'platform.access_token.name', 'platform.vulnerability.id'] as const
  return carried.map(key => attributes[key]).find(value => typeof value === 'string') ?? ''
}
