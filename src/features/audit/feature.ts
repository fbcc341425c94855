// Audit events of the platform: who changed what, in the instance, or in groups and projects. The platform sends no webhooks for them, so a poller
// reads them with each token, and each event becomes one log record. Start with `audit.ts`, which is the poller; `audit-window.ts` reads a time
// window page by page; `backfill.ts` reads past events. The feature adds a page, a doctor check, and `pipespan backfill --audit`.
import { auditClient, auditTaking, fullnessOf } from './audit-window.ts'
import { auditOptions } from './options.ts'
import { auditSources, backfillAudit } from './backfill.ts'
import { checkAudit } from './checks.ts'
import { createAuditPoller } from './audit.ts'
import { feature } from '../../daemon/feature.ts'

export const audit = feature({
  name: 'audit',
  options: auditOptions,
  perToken: {
    part: {
      why: 'remaining audit events are read after the next start',
      create: (options, { config, client, store, taking, leaseOf, errors, clock, log }) => {
        const { audit: sources = [], auditLookback: lookback } = options
        if (sources.length === 0) return undefined
        if (taking.rules.to.length === 0) {
          log.warn(
            'no destination is configured for log records, so audit events are not read (PIPESPAN_OBSERVABILITY_EXPORT)',
          )
          return undefined
        }
        return createAuditPoller({
          ...{ client: auditClient(client, options), sources, errors, clock, log },
          ...{ repositories: store.repositories, leases: store.leases, name: leaseOf('audit') },
          ...{ take: auditTaking(taking), isFull: fullnessOf(store) },
          ...{ interval: config.poll.interval, lookback },
        })
      },
    },
    checks: [{ name: 'audit', run: checkAudit }],
    costs: ({ audit: sources = [] }, { poll }) => {
      if (sources.length === 0) return []
      const rounds = Math.max(1, Math.round((sources.length * 60_000) / Math.max(1_000, poll.interval)))
      return [
        `Audit events (PIPESPAN_AUDIT): ${rounds} ${rounds === 1 ? 'request' : 'requests'} a minute, and 1 more for each 100 events.`,
      ]
    },
  },
  counts: [
    {
      ...{ name: 'pipespan.audit.requests', unit: '{request}', counter: 'requests' },
      description: 'Requests for audit events.',
    },
    {
      ...{ name: 'pipespan.audit.events', unit: '{event}', counter: 'read' },
      description: 'New audit events that were read.',
    },
  ],
  backfill: {
    flag: 'audit',
    what: 'the audit events of PIPESPAN_AUDIT',
    sources: auditSources,
    run: backfillAudit,
  },
  console: async (options, context) => (await import('./page.ts')).auditConsole(options, context),
})
