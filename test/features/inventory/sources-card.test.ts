// Tests what the sources page shows about the inventory.
import { expect, it } from 'vitest'
import { html } from '../../../src/console/layout/html.ts'
import { inventoryCard, inventoryLines } from '../../../src/console/sources/inventory.ts'
import { openInventoryWorld } from './world.ts'
import type { Owner } from '../../../src/core/store/ports/scope.ts'
import type { PagesSources } from '../../../src/console/ports.ts'

const shop = 'brightwater/shop/storefront'

function readerAt(now: number): Parameters<typeof inventoryCard>[1] {
  return { now, base: '', address: '/sources', query: new URLSearchParams() }
}

function words(card: ReturnType<typeof inventoryCard>): string {
  return html`${card}`
    .toString()
    .replaceAll('<wbr />', '')
    .replace(/<[^>]+>/g, ' ')
    .replace(/\s+/g, ' ')
}

it('shows which inventory items were read, and which were refused and how to fix that, but no hidden projects, whether configured by id or path', async () => {
  await using world = await openInventoryWorld()
  world.answers(/\/enablement$/, { message: '403 Forbidden' }, 403)
  await world.inventory({ feature_flags: [shop, '320'], dependency_firewall: [shop] }).turn()
  const all = { repositories: world.store.repositories } as unknown as PagesSources
  const shown = words(inventoryCard(await inventoryLines(all), readerAt(world.now())))
  expect(shown).toContain(`refused dependency firewall ${shop} –`)
  expect(shown).toContain('The token may not read this resource (403')
  expect(shown).toContain(`answered feature flags ${shop} just now`)
  expect(shown).toContain('answered feature flags 320')
  const sees = ({ path }: Owner): boolean => !path.startsWith('brightwater/platform')
  const rest = await inventoryLines(world.store.reads({ bounds: 'hidden', sees }))
  expect(rest.map(({ of }) => of)).toEqual([shop, shop])
})

it('shows what a message has between backticks as code', () => {
  const line = { kind: 'query', of: 'issues', state: 'refused', nextAt: 0 } as const
  const card = inventoryCard([{ ...line, message: 'Test `queries` with `a`, and a ` alone.' }], readerAt(0))
  expect(html`${card}`.toString()).toContain('Test <code>queries</code> with <code>a</code>, and a ` alone.')
})
