// Tests which changes a reload applies, and which need a restart. `reload-protections.test.ts` tests what a reload never removes.
import { expect, it } from 'vitest'
import { writeFileSync } from 'node:fs'
import { fileWith } from './given.ts'
import { running } from './running-config.ts'
import { reloadConfig } from '../../../src/daemon/configuration/reload.ts'

it('changes nothing if the configuration has not changed', () => {
  const { loaded, options } = running('webhook: { token: abc }\nstore: { url: "postgres://u:p@db/x" }')
  expect(reloadConfig(loaded, options)).toEqual({ ok: true, loaded, changed: [], restart: new Map() })
})

it('applies changed secrets alone, whether they are in the configuration file or in files that it names', () => {
  const { loaded, options, write } = running(
    'webhook: { token: abc }\ndestinations: [{ name: a, endpoint: http://a, headers: { x: one } }]',
  )
  const { token } = loaded.config.webhook
  write('webhook: { token: [def, ghi] }\ndestinations: [{ name: a, endpoint: http://a, headers: { x: two } }]')
  expect(reloadConfig(loaded, options)).toMatchObject({ ok: true, loaded, changed: [] })
  expect(token.current()?.map(one => one.reveal())).toEqual(['def', 'ghi'])
  expect(loaded.config.destinations[0]?.headers.current()?.get('x')?.reveal()).toBe('two')
  write(
    `webhook: { token_file: ${fileWith('from-file', 'token')} }\ndestinations: [{ name: a, endpoint: http://a, headers: { x: two } }]`,
  )
  expect(reloadConfig(loaded, options)).toMatchObject({ ok: true, changed: [] })
  expect(token.current()?.map(one => one.reveal())).toEqual(['from-file'])
})

it('applies new settings, except those that require a restart, which it lists without secrets', () => {
  const { loaded, options, write } = running(
    'webhook: { token: abc }\nsettle: 5s\nstore: { url: "postgres://u:one@db/x", max_size: 1GiB }\n',
  )
  write(
    'webhook: { token: def }\nsettle: 10s\nstore: { url: "postgres://u:two@db/x", max_size: 2GiB }\nrefs: { include: [main] }\n',
  )
  const found = reloadConfig(loaded, options)
  if (!found.ok) throw new Error('It has faults.')
  const { file } = options
  expect(found.changed).toEqual(['webhook.token', 'settle', 'refs.include'])
  expect([...found.restart.values()]).toEqual([
    `store.url: another value (${file}:3:15) needs a restart to apply; postgres://db/x stays in use until then.`,
    `store.max_size: 2GiB (${file}:3:50) needs a restart to apply; 1GiB stays in use until then.`,
  ])
  const { config } = found.loaded
  expect([config.settle, config.refs.include, config.store]).toEqual([10_000, ['main'], loaded.config.store])
  expect(config.webhook.token.current()?.[0]?.reveal()).toBe('def')
  expect(loaded.config.settle).toBe(5000)
  // The next reload lists the settings that require a restart again, because they still differ.
  const again = reloadConfig(found.loaded, options)
  expect(again).toMatchObject({ ok: true, loaded: found.loaded, changed: [] })
  expect(again.ok && [...again.restart.keys()]).toEqual(['store.url', 'store.max_size'])
})

it('applies nothing from a configuration with a different profile', () => {
  const { loaded, options, write } = running('platform: { profile: generic }')
  write('platform: { profile: gitlab }\nsettle: 10s')
  const found = reloadConfig(loaded, options)
  expect(found).toMatchObject({ ok: true, loaded, changed: [] })
  expect(found.ok && [...found.restart.keys()]).toEqual(['platform.profile'])
})

it('changes nothing if the new configuration has faults', () => {
  const { loaded, options, write } = running('webhook: { token: abc }')
  write('webhook: { token: def }\nsettle: soon')
  expect(reloadConfig(loaded, options)).toMatchObject({ ok: false, faults: [{ setting: 'settle' }] })
  expect(loaded.config.webhook.token.current()?.[0]?.reveal()).toBe('abc')
})

it("applies each destination's own token on a reload, even if the destinations are listed in another order", () => {
  const one = '{ name: one, endpoint: http://one, token: '
  const two = '{ name: two, endpoint: http://two, token: '
  const { loaded, options, write } = running(`destinations: [${one}a}, ${two}b}]`)
  write(`destinations: [${two}e}, ${one}f}]`)
  const found = reloadConfig(loaded, options)
  const tokens = found.ok
    ? found.loaded.config.destinations.map(({ name, token }) => [name, token.current()?.reveal()])
    : []
  expect(tokens).toEqual([
    ['two', 'e'],
    ['one', 'f'],
  ])
})

it('applies a secret file with changed templates only at a reload', () => {
  const secret = fileWith('x-scope-orgid=one', 'headers')
  const { loaded, options } = running(`destinations: [{ name: a, endpoint: 'http://a', headers_file: ${secret} }]`)
  const shown = (): string | undefined =>
    loaded.config.destinations[0]?.headers.current()?.get('x-scope-orgid')?.reveal()
  expect(shown()).toBe('one')
  writeFileSync(secret, 'x-scope-orgid=tenant-{group}')
  loaded.config.destinations[0]?.headers.reload()
  expect(shown()).toBe('one')
  const found = reloadConfig(loaded, options)
  expect(found).toMatchObject({ ok: true, changed: ['destinations[0].headers'] })
  expect(found.ok && found.loaded.config.destinations[0]?.headers.current()?.get('x-scope-orgid')?.reveal()).toBe(
    'tenant-{group}',
  )
  writeFileSync(secret, '')
  expect(reloadConfig(loaded, options)).toMatchObject({
    ok: false,
    faults: [{ what: expect.stringContaining('is empty') as string }],
  })
})
