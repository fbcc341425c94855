// Tests the content and the recipients of notifications: text from projects contains no secrets, no receiver is notified about itself, and each
// condition is announced once. Also tests the validation of the options.
import { expect, it } from 'vitest'
import { createNotifier } from '../../../src/features/notifications/notifier.ts'
import { createTextRedaction } from '../../../src/lib/text-redaction.ts'
import { ofDeadLetters } from '../../../src/features/notifications/conditions.ts'
import { type Condition, ownInstance } from '../../../src/model/condition.ts'
import { describeConfig } from '../../../src/daemon/configuration/reader.ts'
import { faults, good } from '../../daemon/configuration/given.ts'
import { redact } from '../../../src/lib/secret.ts'
import { chunkOf, deliver } from '../../support/of-run.ts'
import { closeAfterTest } from '../../support/after-test.ts'
import { createStandingWatch } from '../../../src/features/notifications/standing-watch.ts'
import { isEvent } from '../../../src/model/event.ts'
import { knownConditions } from '../../../src/features/notifications/documents.ts'
import { openSqlite } from '../../support/stores.ts'
import { silentLog } from '../../../src/lib/log.ts'

it('redacts secrets in the title, text and details of a notification', () => {
  const token = ['glpat-', 'aB3dE6gH9jK2mN5pQ8sT'].join('')
  const notifier = createNotifier(
    [{ name: 'chat', of: ['default-branch'], since: 0 }],
    createTextRedaction([]),
    'generic',
  )
  const condition: Condition = {
    ...{ kind: 'default-branch', instance: 'https://git.example.com', project: { id: 1 }, subject: 'main' },
    ...{ state: 'broken', version: [1, 1], at: 1, title: `plain ${token}`, text: `GET /a?b=${token} 403` },
    details: { a: token },
  }
  const routed = JSON.stringify(notifier.route(condition))
  expect(routed.split('[REDACTED]')).toHaveLength(4)
  expect(routed).not.toContain(token)
})

it('notifies all receivers of dead letters except the one that rejected the messages', () => {
  const rule = (name: string) => ({ name, of: ['dead-letters'] as const, since: 0 })
  const notifier = createNotifier([rule('chat'), rule('mail')], text => text, 'generic')
  const told = (destination: string) => notifier.route(ofDeadLetters(destination, 1, 1)).map(({ to }) => to)
  expect(told('chat')).toEqual([['mail']])
  expect(told('default')).toEqual([['chat', 'mail']])
})

const url = 'https://hooks.example.com/services/T0PSECRET/B0PSECRET/hook-token'

it('warns about a configured notification subject that the daemon cannot observe', () => {
  const env = { PIPESPAN_WEBHOOK_TOKEN: 'x', PIPESPAN_EVENTS: 'none', PIPESPAN_REGRESSIONS_ENABLED: 'false' }
  const of = (subjects: string): readonly string[] =>
    good(env, `notifications: [{ name: chat, url: '${url}'${subjects} }]`).warnings.map(one => one.slice(0, 86))
  expect(of('')).toEqual([])
  expect(of(', of: [default-branch, dead-letters]')).toEqual([])
  expect(of(', of: [deployments, regressions, flaky-tests]')).toEqual([
    expect.stringContaining('notifications[0].of: With this configuration, there are no messages about regressions'),
    expect.stringContaining('notifications[0].of: With this configuration, there are no messages about deployments'),
    expect.stringContaining('notifications[0].of: With this configuration, there are no messages about flaky-tests'),
  ])
})

it('rejects a notification rule with the name of a destination or of another rule', () => {
  const receivers = ['one', 'chat', 'chat'].map(name => `{ name: ${name}, url: '${url}' }`).join(', ')
  const yaml = `destinations: [{ name: one, endpoint: 'http://localhost:4318' }]\nnotifications: [${receivers}]`
  expect(faults({ PIPESPAN_WEBHOOK_TOKEN: 'x' }, yaml)).toEqual([
    expect.stringContaining('The name one is already used.'),
    expect.stringContaining('The name chat is already used.'),
  ])
})

it('never shows the URL of a notification webhook, and redacts its path wherever it occurs', () => {
  const loaded = good({ PIPESPAN_WEBHOOK_TOKEN: 'x' }, `notifications: [{ name: chat, url: '${url}' }]`)
  expect(describeConfig(loaded)).not.toContain('T0PSECRET')
  expect(redact(`POST ${url} failed`)).toBe('POST https://hooks.example.com[secret] failed')
})

it('announces once that a watched condition is broken, and once that it is fixed', async () => {
  let now = Date.now()
  const store = closeAfterTest(openSqlite(':memory:', { now: () => now, maxSize: 2 ** 30 }))
  let state: Condition['state'] = 'fixed'
  const watch = createStandingWatch({
    notifier: createNotifier([{ name: 'chat', of: ['tokens'], since: 0 }], text => text, 'generic'),
    ...{ runs: store.runs, outbox: store.outbox, conditions: store.repositories.of(knownConditions), destinations: [] },
    standing: [
      async at => [
        {
          ...{ kind: 'tokens', instance: ownInstance, subject: 'one', state, at, version: [Math.round(at)] },
          ...{ title: `it is ${state}`, details: {} },
        },
      ],
    ],
    lease: { isMine: async () => true, release: async () => undefined },
    onMessage: () => undefined,
    clock: { now: () => now, sleep: async () => undefined },
    log: silentLog(),
  })
  const titles = async (): Promise<string[]> => {
    now += 60_000
    await watch.checkAll()
    const items = await deliver(store, { destination: 'chat', signal: 'notifications' })
    return items.map(chunkOf).flatMap(chunk => (isEvent(chunk) ? chunk.event.body : []))
  }
  expect(await titles()).toEqual([])
  state = 'broken'
  expect(await titles()).toEqual(['it is broken'])
  expect(await titles()).toEqual([])
  state = 'fixed'
  expect(await titles()).toEqual(['it is fixed'])
  expect(await titles()).toEqual([])
})
