// Tests what the sources page shows about the platform's API, based on the stored state of the sources.
import { describe, expect, it } from 'vitest'
import { apiFacts, apiTables, type DiscoveryView } from '../../src/console/sources/api-clients.ts'
import { html } from '../../src/console/layout/html.ts'
import type { Flow } from '../../src/console/overview/flow.ts'

const now = Date.UTC(2026, 5, 1, 12)
const instance = 'https://git.example.com'

function reported(
  apiClients: Flow['apiClients'],
  discovery: Partial<DiscoveryView> = {},
  hasPlatformToken = true,
): string {
  const nothing = { polledProjects: [], ownPipelines: [], sweeps: [], hooks: [], budgets: [], refusedEndpoints: [] }
  const view = {
    ...{ flow: { apiClients, platformErrors: [] }, setup: { platform: instance, hasPlatformToken, platforms: [] } },
    discovery: { ...nothing, ...discovery },
  }
  return html`${apiTables(view, { now, base: '', address: '/sources', query: new URLSearchParams() })}${apiFacts(view, now)}`
    .toString()
    .replaceAll('<wbr />', '')
    .replace(/<[^>]+>/g, ' ')
    .replace(/\s+/g, ' ')
}

describe('the sources page', () => {
  it('shows for each hook whether it is enabled, when it last delivered, and what responses its deliveries got', () => {
    const answers = { 200: 1_402, 503: 2, 'no answer': 1 }
    const text = reported(
      { redelivery: { found: 3, accepted: 2, oversize: 0 } },
      {
        hooks: [
          {
            ...{ instance, kind: 'group', id: 7, owner: 'team', newest: 9, state: 'executable', answers },
            lastDeliveryAt: now - 120_000,
          },
          { instance, kind: 'project', id: 8, owner: 'team/shop', newest: 9, state: 'disabled', answers: {} },
        ],
      },
    )
    expect(text).toContain('enabled #7 of group team 2 min ago 200: 1,402, 503: 2 , no answer: 1')
    expect(text).toContain('switched off #8 of project team/shop – –')
    expect(text).toContain('3 failed deliveries, 2 of them new')
  })

  it('explains how to enable hook checks if they are off, and shows no hooks without a token', () => {
    expect(reported({ details: { completed: 1, gone: 0, failed: 0 } })).toContain('PIPESPAN_REDELIVERY')
    expect(reported({}, {}, false)).not.toContain('s hooks')
  })

  it('shows the pipelines found by the poller, its progress, and the remaining budget', () => {
    const text = reported(
      { poller: { rounds: 41, requests: 304, discovered: 86 } },
      {
        budgets: [{ account: 'abc', tokens: 291.7, at: now, pausedUntil: now + 90_000 }],
        polledProjects: [
          {
            instance,
            project: 4711,
            path: 'team/shop',
            seen: now - 5_000,
            childrenSeen: 0,
            ranAt: now,
            active: [[1, now]],
          },
        ],
        sweeps: [{ instance, group: 'team', startedAt: now - 3_600_000, since: now, count: 12, done: false }],
      },
    )
    expect(text).toContain('By polling 86 pipelines found before a webhook arrived')
    expect(text).toContain('41 rounds, 304 requests for lists')
    expect(text).toContain('291 requests available now')
    expect(text).toContain('for 1 m 30 s')
    expect(text).toContain('team/shop 2026-06-01 11:59:55 – 1')
    expect(text).toContain('All of team 12 projects scanned since 2026-06-01 11:00, in progress')
  })
})
