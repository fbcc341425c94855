// Tests how the store changes when a push may have changed a CI configuration, on both databases.
import { expect, it } from 'vitest'
import { bothDatabases } from '../../core/store/benches.ts'
import { ciPushes } from '../../../src/features/inventory/ci-pushes.ts'
import { closeAfterTest } from '../../support/after-test.ts'
import { fileWith } from '../../daemon/configuration/given.ts'
import { inventory } from '../../../src/features/inventory/feature.ts'
import { loadConfig } from '../../../src/daemon/configuration/load.ts'
import { pino } from 'pino'
import { profiles } from '../../../src/daemon/profile.ts'
import type { InventoryOptions } from '../../../src/features/inventory/options.ts'
import type { PlatformEvent } from '../../../src/model/event.ts'

const url = 'https://git.example.com'
const config = `platform: { url: '${url}', token: some-token }
inventory: { includes: [acme/shop, acme/shop/web], dependencies: [acme/shop] }
`

it.each(bothDatabases())(
  'makes the CI includes of a pushed project due for polling, and reads no other inventory state: %s',
  async (_, bench) => {
    const here = closeAfterTest(await bench())
    const logged: string[] = []
    const store = await here.open({ log: pino({ level: 'error' }, { write: line => logged.push(line) }) })
    const { inventoryStates } = store.repositories
    const later = here.now() + 7 * 24 * 3_600_000
    const states = [
      { kind: 'includes', of: 'acme/shop' },
      { kind: 'includes', of: 'acme/shop/web' },
      { kind: 'includes', of: 'other/acme/shop' },
      { kind: 'query', of: 'of includes acme/shop' },
    ]
    for (const state of states) await inventoryStates.put({ ...state, instance: url, nextAt: later, failures: 0 })
    for (const instance of [`${url} (groups 1a2b3c4d)`, `${url}.au`, 'https://git.example.org'])
      await inventoryStates.put({ ...states[0]!, instance, nextAt: later, failures: 0 })
    await here.sql(`INSERT INTO key_value (name, value) VALUES ('inventory ${url} dependencies acme/shop', 'damaged')`)
    const loaded = loadConfig({ env: {}, file: fileWith(config), profiles, features: [inventory] })
    if (!loaded.ok) throw new Error(JSON.stringify(loaded.faults))
    const { onEvent } = ciPushes(loaded.config as unknown as InventoryOptions, loaded)
    const push = { instance: url, touchesCi: true, project: { id: 3, path: 'acme/shop' } } as PlatformEvent
    await store.runs.transact([], { reports: onEvent?.(push, here.now()) })
    expect(logged).toEqual([])
    const due = (await inventoryStates.all()).filter(({ nextAt }) => nextAt <= here.now())
    expect(due).toMatchObject([
      { instance: `${url} (groups 1a2b3c4d)`, kind: 'includes', of: 'acme/shop' },
      { instance: url, kind: 'includes', of: 'acme/shop' },
    ])
  },
)
