// The page and the route of ingest tokens.
import { z } from 'zod'
import { at, type ConsolePart } from '../../console/console-part.ts'
import { get } from '../../console/api/api-route.ts'
import { enforcementOf } from './asked-instance.ts'
import { rotationList, tokensPage, tokensShape, tokensView } from './page.ts'
import { sortBy } from '../../console/api/api-queries.ts'
import type { Enforcement } from './watched-enforcement.ts'
import type { PartContext } from '../../daemon/feature.ts'
import type { TokenOptions } from './options.ts'

export function tokensConsole(options: TokenOptions, { proxies, clock }: PartContext): ConsolePart {
  let watch: { readonly enforcement: (() => Enforcement) | undefined } | undefined
  /** The instance is asked when somebody looks first. */
  const own = () => {
    watch ??= { enforcement: enforcementOf(options, proxies, clock) }
    return { observabilityUrl: options.observability.url, enforcement: watch.enforcement?.() }
  }

  return {
    links: [{ group: 'Pipespan', link: ['/tokens', 'Tokens'] }],
    pages: parts => [
      at('/tokens', async context => tokensPage(await tokensView(parts, own(), context.query.get('sort')), context)),
    ],
    routes: parts => [
      get(
        '/tokens',
        'Ingest tokens in use, by name and fingerprint, and recorded rotations.',
        { query: z.object({ sort: sortBy(rotationList.keys) }), answer: tokensShape },
        async ({ sort }) => tokensView(parts, own(), sort),
      ),
    ],
  }
}
