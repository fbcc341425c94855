// Shows the backfills in progress on the sources page.
import { z } from 'zod'
import { backfillProgress, progressShape } from './past-pipelines.ts'
import { onSources } from '../../console/sources/api-clients.ts'
import { utc } from '../../console/layout/format.ts'
import type { ConsolePart } from '../../console/console-part.ts'
import type { Millis } from '../../model/instant.ts'

export const backfillConsole: ConsolePart = {
  fills: [
    onSources({
      fields: { backfills: z.array(progressShape) },
      read: async ({ repositories }) => ({ backfills: await repositories.of(backfillProgress).all() }),
      facts: ({ backfills }) =>
        backfills.map(({ since, until }) => ['Backfill', `from ${dayOf(since)} to ${dayOf(until)}, in progress`]),
    }),
  ],
}

function dayOf(at: Millis): string {
  return utc(at).slice(0, 10)
}
