// Notifications in the configuration: what a message cannot be about, names that are taken, and that no address is shown.
import { expect, it } from 'vitest'
import { describeConfig } from '../../../src/daemon/configuration/reader.ts'
import { faults, good } from '../../daemon/configuration/given.ts'
import { redact } from '../../../src/lib/secret.ts'

const url = 'https://hooks.example.com/services/T0PSECRET/B0PSECRET/hook-token'

it('warns of a subject that cannot be observed, if it is named', () => {
  const env = { PIPESPAN_WEBHOOK_TOKEN: 'x', PIPESPAN_EVENTS: 'none', PIPESPAN_REGRESSIONS_ENABLED: 'false' }
  const of = (subjects: string): readonly string[] =>
    good(env, `notifications: [{ name: chat, url: '${url}'${subjects} }]`).warnings.map(one => one.slice(0, 86))
  expect(of('')).toEqual([])
  expect(of(', of: [default-branch, dead-letters]')).toEqual([])
  expect(of(', of: [deployments, regressions, flaky-tests]')).toEqual([
    expect.stringContaining('notifications[0].of: Nothing is known about regressions'),
    expect.stringContaining('notifications[0].of: Nothing is known about deployments'),
    expect.stringContaining('notifications[0].of: Nothing is known about flaky-tests'),
  ])
})

it('refuses a name that a destination or another notification has', () => {
  const receivers = ['one', 'chat', 'chat'].map(name => `{ name: ${name}, url: '${url}' }`).join(', ')
  const yaml = `destinations: [{ name: one, endpoint: 'http://localhost:4318' }]\nnotifications: [${receivers}]`
  expect(faults({ PIPESPAN_WEBHOOK_TOKEN: 'x' }, yaml)).toEqual([
    expect.stringContaining('The name one is already used.'),
    expect.stringContaining('The name chat is already used.'),
  ])
})

it('shows no address of a webhook, and removes its path from every text', () => {
  const loaded = good({ PIPESPAN_WEBHOOK_TOKEN: 'x' }, `notifications: [{ name: chat, url: '${url}' }]`)
  expect(describeConfig(loaded)).not.toContain('T0PSECRET')
  expect(redact(`POST ${url} failed`)).toBe('POST https://hooks.example.com[secret] failed')
})
