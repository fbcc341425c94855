// The page and the route of audit events.
import { z } from 'zod'
import { at, type ConsolePart } from '../../console/console-part.ts'
import { atMost, nextPage } from '../../console/api/api-queries.ts'
import { auditPage, auditPlacePattern, auditShape, auditView } from './page.ts'
import { get } from '../../console/api/api-route.ts'
import { NotShown } from '../../console/layout/not-shown.ts'
import { notShownPage } from '../../console/access/entrance.ts'
import { perToken, type PartContext } from '../../daemon/feature.ts'
import type { AuditOptions } from './options.ts'

export function auditConsole(options: AuditOptions, context: PartContext): ConsolePart {
  const own = () => ({
    adminToken: context.config.admin.token.current(),
    isRead: perToken(context, options).some(({ audit = [] }) => audit.length > 0),
  })
  return {
    secret: () =>
      own().isRead ? { links: [{ group: 'Pipespan', link: ['/audit', 'Audit'] }], timeline: ['audit'] } : undefined,
    pages: parts => [
      at('/audit', async request => {
        const view = await auditView(parts, own(), request.query.get('after') ?? undefined)
        return view instanceof NotShown ? notShownPage(view) : auditPage(view, own().isRead, request)
      }),
    ],
    routes: parts => [
      get(
        '/audit',
        'Exported audit events, newest first, paginated, and how far they have been read. Requires an admin token to be configured.',
        { query: z.object({ after: nextPage(auditPlacePattern), limit: atMost(200).default(50) }), answer: auditShape },
        async ({ after, limit }) => auditView(parts, own(), after, limit),
      ),
    ],
  }
}
