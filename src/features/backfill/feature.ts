// `pipespan backfill`: finds what happened in the past, for a running daemon to export, or exports it itself. Read `command.ts` first: one run of the
// command. It reads pipelines (`pipelines.ts`, and project by project `past-pipelines.ts`), or, if a flag asks for it, what another
// feature reads (`Backfill` in the shape of features). An interrupted backfill continues when the same command runs again.
import { addBackfillCommand } from './command-line.ts'
import { feature } from '../../daemon/feature.ts'

export const backfill = feature({
  name: 'backfill',
  commands: addBackfillCommand,
  console: async () => (await import('./console.ts')).backfillConsole,
})
